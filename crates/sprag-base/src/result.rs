//! Results that a caller ignores on purpose, with the reason.

pub trait Discard {
    /// Ignores the result. `why` says in at least three words why that is safe; `tidy` counts the words.
    fn discard(self, why: &'static str);
}

impl<T, E> Discard for Result<T, E> {
    fn discard(self, _why: &'static str) {}
}
