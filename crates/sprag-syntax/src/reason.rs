//! Reasons why a change is not proved.

/// Why nothing was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    ParseError,
    Language,
    TooLarge,
    Binary,
    RenameEscapes,
    EffectOrder,
    Ambiguous,
    BadInput,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::ParseError => "parse_error",
            Reason::Language => "language",
            Reason::TooLarge => "too_large",
            Reason::Binary => "binary",
            Reason::RenameEscapes => "rename_escapes",
            Reason::EffectOrder => "effect_order",
            Reason::Ambiguous => "ambiguous",
            Reason::BadInput => "bad_input",
        }
    }
}
