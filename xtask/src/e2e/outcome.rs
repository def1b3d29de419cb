//! How a case ends when it does not pass. A miss carries both sides, what was expected and what was
//! seen, so that the report can be read without opening the code of the case.

pub type Checked = Result<(), Stopped>;

#[derive(Debug)]
pub enum Stopped {
    Missed {
        expected: String,
        saw: String,
    },
    /// The case cannot be shown here, and why. Never counted as passed.
    Skipped {
        why: String,
    },
    /// The driver itself could not go on.
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

/// `saw` is only asked for when the expectation was not met.
#[expect(clippy::fn_params_excessive_bools, reason = "an expectation is met or not")]
pub fn expect<S: Into<String>>(met: bool, expected: &str, saw: impl FnOnce() -> S) -> Checked {
    if met { Ok(()) } else { Err(Stopped::missed(expected, saw())) }
}

/// The beginning of a text for a report: enough to recognise it.
pub fn short(text: &str) -> String {
    const LIMIT: usize = 600;
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}
