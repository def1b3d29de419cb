//! Where the repository is. Commands name files relative to it, so that they can be started from anywhere.

use std::path::Path;
use std::path::PathBuf;

pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("this package is a folder below the workspace root").to_path_buf()
}
