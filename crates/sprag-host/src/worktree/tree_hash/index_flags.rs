//! Clears index bits that hide files. Git skips files that the index marks as unchanged or not checked out.
//! Any command can set these bits, and approved work must not change behind them. So Sprag clears them in the
//! copy of the index from which it writes a tree. Git has no command that clears all of them.

/// Bits of the flags of an index entry.
const ASSUME_UNCHANGED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
/// Mode of a directory entry that stands for all its files.
const SPARSE_DIRECTORY: u32 = 0o040_000;

/// Clears the bits of existing files. A file that is not checked out keeps its entry. Leaves an index of
/// unknown format alone. Reports whether any file was hidden.
pub(crate) fn reveal(index: &mut [u8], is_there: impl Fn(&[u8]) -> bool) -> bool {
    // The index does not state the length of its hashes. With a wrong length the first name does not fit.
    let found = [20, 32].into_iter().find_map(|hash| Some((hash, hidden(index, hash, &is_there)?)));
    let Some((hash, hidden)) = found.filter(|(_, hidden)| !hidden.is_empty()) else {
        return false;
    };
    for Bit { at, mask } in hidden {
        let flags = word(index, at).unwrap_or_default() & !mask;
        index[at..at + 2].copy_from_slice(&flags.to_be_bytes());
    }
    // Zeroes mean that there is no checksum.
    let end = index.len().saturating_sub(hash);
    index[end..].fill(0);
    true
}

struct Bit {
    at: usize,
    mask: u16,
}

/// Returns the bits that hide files. `None`: the index does not use hashes of this length.
fn hidden(index: &[u8], hash: usize, is_there: impl Fn(&[u8]) -> bool) -> Option<Vec<Bit>> {
    let version = long(index, 4).filter(|version| index.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = long(index, 8)?;
    let mut bits = Vec::new();
    let mut name = Vec::new();
    let mut start = 12;
    for _ in 0..count {
        let mode = long(index, start + 24)?;
        let flags_at = start + 40 + hash;
        let flags = word(index, flags_at)?;
        let more = if flags & EXTENDED != 0 { word(index, flags_at + 2)? } else { 0 };
        let name_at = flags_at + if flags & EXTENDED != 0 { 4 } else { 2 };
        start = match version {
            4 => {
                let (strip, at) = varint(index, name_at)?;
                name.truncate(name.len().checked_sub(strip)?);
                let end = at + memchr::memchr(0, index.get(at..)?)?;
                name.extend_from_slice(&index[at..end]);
                end + 1
            }
            _ => {
                let end = name_at + memchr::memchr(0, index.get(name_at..)?)?;
                name.clear();
                name.extend_from_slice(&index[name_at..end]);
                // Padded with one to eight zeroes.
                start + ((end - start + 8) & !7)
            }
        };
        if usize::from(flags & NAME_LENGTH) != name.len().min(usize::from(NAME_LENGTH)) {
            return None;
        }
        if flags & ASSUME_UNCHANGED != 0 {
            bits.push(Bit { at: flags_at, mask: ASSUME_UNCHANGED });
        }
        if more & SKIP_WORKTREE != 0 && mode != SPARSE_DIRECTORY && is_there(&name) {
            bits.push(Bit { at: flags_at + 2, mask: SKIP_WORKTREE });
        }
    }
    Some(bits)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Returns a number in the format of version 4, and its end.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, at));
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_can_be_tried(version in 0_u8..6, count: u32, rest: Vec<u8>) {
            let mut index = [b"DIRC\0\0\0", &[version][..], &count.to_be_bytes(), &rest].concat();
            let before = index.len();
            reveal(&mut index, |_| true);
            prop_assert_eq!(index.len(), before);
        }
    }
}
