//! Reviews, through the program.
