//! The results of a case that does not pass. A miss has both sides, expected and seen, so that the report is
//! clear without the code of the case.

pub type Checked = Result<(), Stopped>;

#[derive(Debug)]
pub enum Stopped {
    Missed {
        expected: String,
        saw: String,
    },
    /// The case cannot run here, for this reason. It never counts as passed.
    Skipped {
        why: String,
    },
    /// The driver itself failed.
    Broke(anyhow::Error),
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Stopped {
        Stopped::Broke(error)
    }
}

impl Stopped {
    pub fn missed(expected: &str, saw: impl Into<String>) -> Stopped {
        Stopped::Missed { expected: expected.to_owned(), saw: saw.into() }
    }
}

/// Returns an error if the expectation was not met. Only then it calls `saw`.
#[expect(clippy::fn_params_excessive_bools, reason = "an expectation is met or not")]
pub fn expect<S: Into<String>>(met: bool, expected: &str, saw: impl FnOnce() -> S) -> Checked {
    if met { Ok(()) } else { Err(Stopped::missed(expected, saw())) }
}

/// Returns the beginning of a text for a report.
pub fn short(text: &str) -> String {
    const LIMIT: usize = 600;
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}
