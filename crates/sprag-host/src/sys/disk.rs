//! The few operations by which Sprag changes files. They form a trait, so that a test can fail each of them,
//! like `kill -9` or a full disk.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::SystemTime;

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;

pub trait Disk {
    /// Appends in one write, so that lines of two processes never mix.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    fn sync(&self, file: &File) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty or missing directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    fn make_dirs(&self, path: &Path) -> io::Result<()>;

    /// Reports whether nothing may be written.
    fn is_read_only(&self) -> bool {
        false
    }
}

/// The real disk.
pub struct RealDisk;

impl Disk for RealDisk {
    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        // Records hold prompts and commands, so only the user may read them.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }
}

/// A disk with a delay before every sync. Not in release builds.
#[cfg(debug_assertions)]
pub struct SlowDisk(pub std::time::Duration);

#[cfg(debug_assertions)]
impl Disk for SlowDisk {
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "being slow is all it is for")]
        std::thread::sleep(self.0);
        RealDisk.sync(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_dirs(path)
    }
}

/// Replaces a file in one step and syncs it: a reader sees the old bytes or the new.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_by_pieces(disk, path, bytes, usize::MAX)
}

/// Replaces a file and writes at most this many bytes at once.
pub fn replace_by_pieces(disk: &dyn Disk, path: &Path, bytes: &[u8], size: usize) -> io::Result<()> {
    put(disk, path, bytes.chunks(size), |file| disk.sync(file))?;
    sync_parent(disk, path)
}

/// Makes directories below a root in the repository. Refuses a link among them, which could point anywhere.
pub fn make_dirs_within(disk: &dyn Disk, root: &Path, dir: &Path) -> io::Result<()> {
    let below = dir.strip_prefix(root).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut at = root.to_path_buf();
    for part in std::iter::once(None).chain(below.components().map(Some)) {
        at.extend(part);
        if fs::symlink_metadata(&at).is_ok_and(|found| !found.is_dir()) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    disk.make_dirs(dir)
}

/// Replaces a derived file without a sync: Sprag can rebuild it after a power cut.
pub fn replace_derived(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(disk, path, [bytes], |_| Ok(()))
}

fn put<'a>(
    disk: &dyn Disk,
    path: &Path,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    sync: impl Fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let temp = parent.join(temp_name(path)?);
    let file = File::options().write(true).create_new(true).mode(0o600).open(&temp)?;
    let written = pieces
        .into_iter()
        .try_for_each(|piece| disk.append(&file, piece))
        .and_then(|()| sync(&file))
        .and_then(|()| disk.rename(&temp, path));
    if written.is_err() {
        // The first error is the one to report.
        disk.remove(&temp).discard("`sprag store clean` removes remaining temporary files");
    }
    written
}

/// Copies a derived file in pieces, with the time of the original: git trusts its data on files that are
/// older than its index. Returns the number of bytes.
pub fn copy_derived(
    disk: &dyn Disk,
    mut from: impl io::Read,
    modified: SystemTime,
    to: &Path,
) -> io::Result<u64> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut copied = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        disk.append(&file, &buffer[..count])?;
        copied += count as u64;
    }
    file.set_modified(modified)?;
    Ok(copied)
}

/// Returns a temporary name for this file. The name is random, so that no other program can create it first.
pub fn temp_name(path: &Path) -> io::Result<String> {
    Ok(format!(".{}.{:x}.{}", std::process::id(), random()?, file_name(path)))
}

pub fn random() -> io::Result<u64> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(random))
}

/// Opens a regular file only. A link could point elsewhere, and a pipe would block.
pub fn open_regular(path: &Path) -> io::Result<File> {
    regular(path, File::options().read(true))
}

/// Opens a file of Sprag for appending or locking, and creates it if it is missing.
pub fn append_regular(path: &Path) -> io::Result<File> {
    regular(path, File::options().read(true).append(true).create(true).mode(0o600))
}

/// Opens a file of Sprag to replace its content in place.
pub fn write_regular(path: &Path) -> io::Result<File> {
    let file = regular(path, File::options().write(true).create(true).truncate(false).mode(0o600))?;
    file.set_len(0)?;
    Ok(file)
}

/// Reads a whole file of Sprag, up to a limit.
pub fn read_regular(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        Err(io::Error::other(format!("`{}` is larger than {cap} bytes", path.display())))
    } else {
        Ok(bytes)
    }
}

fn regular(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let opened = options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(path);
    let is_other = match &opened {
        Ok(file) => !file.metadata()?.is_file(),
        Err(_) => fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()),
    };
    if is_other { Err(not_regular(path)) } else { opened }
}

/// Returns the error for a path that is not a regular file.
pub fn not_regular(path: &Path) -> io::Error {
    io::Error::other(format!("`{}` is not a regular file", path.display()))
}

/// Reads a foreign file as text: only a regular one, up to a limit. A pipe or a device would block or fill
/// the memory.
pub fn read_small(path: &Path, cap: u64) -> io::Result<String> {
    let file = File::options().read(true).custom_flags(nonblocking()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(cap + 1).read_to_string(&mut text)?;
    if text.len() as u64 > cap { Err(io::Error::other(format!("larger than {cap} bytes"))) } else { Ok(text) }
}

fn nonblocking() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0)
}

/// A disk that refuses all changes.
pub struct ReadOnly;

impl Disk for ReadOnly {
    fn append(&self, _: &File, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn make_dirs(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn is_read_only(&self) -> bool {
        true
    }
}

/// Reports whether a file was last changed before this time.
pub fn is_older(path: &Path, than: Timestamp) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.is_some_and(|since| i64::try_from(since.as_millis()).is_ok_and(|millis| millis < than.millis()))
}

/// Removes a directory with its files, and its directories down to this depth. Deeper content is not from
/// Sprag, so it stays and causes an error.
pub fn remove_all(disk: &dyn Disk, dir: &Path, depth: usize) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        match (entry.file_type()?.is_dir(), depth) {
            (true, 0) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            (true, _) => remove_all(disk, &entry.path(), depth - 1)?,
            (false, _) => disk.remove(&entry.path())?,
        }
    }
    disk.remove_dir(dir)
}

/// Makes the parent directory of a file.
pub fn make_parent(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    disk.make_dirs(path.parent().ok_or(io::ErrorKind::InvalidInput)?)
}

/// Syncs the directory entry of a new file.
pub fn sync_parent(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => disk.sync(&File::open(parent)?),
        None => Ok(()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
