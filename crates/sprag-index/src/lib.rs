//! Index segments and ranking, pure over bytes.
