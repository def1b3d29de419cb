//! Results that a caller does without, each with the reason why that is safe.

pub trait Discard {
    /// Throws the result away. `why` says in at least three words why that is safe; `tidy` counts them.
    fn discard(self, why: &'static str);
}

impl<T, E> Discard for Result<T, E> {
    fn discard(self, _why: &'static str) {}
}
