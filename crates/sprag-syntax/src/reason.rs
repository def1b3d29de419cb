//! Reasons why a change is not proved.

/// The reason why a change is not proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnprovenReason {
    ParseError,
    Language,
    TooLarge,
    Binary,
    RenameEscapes,
    EffectOrder,
    Ambiguous,
    BadInput,
}

impl UnprovenReason {
    pub fn name(self) -> &'static str {
        match self {
            UnprovenReason::ParseError => "parse_error",
            UnprovenReason::Language => "language",
            UnprovenReason::TooLarge => "too_large",
            UnprovenReason::Binary => "binary",
            UnprovenReason::RenameEscapes => "rename_escapes",
            UnprovenReason::EffectOrder => "effect_order",
            UnprovenReason::Ambiguous => "ambiguous",
            UnprovenReason::BadInput => "bad_input",
        }
    }
}
