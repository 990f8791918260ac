//! A file of frames that only grows: a cache beside what it was made from, never the truth. What cannot be read of it is made again.
//!
//! ```text
//! header: its length (4 bytes, little-endian) and its text
//! frame:  length of key and payload (4 bytes each), CRC-32 of both (4 bytes), key, payload
//! ```
//!
//! A writer that is killed leaves a torn frame at the end: readers stop before it, and the next writer takes it off.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::journal::create_ignored_dir;

/// Bytes of one frame: more is none that was written here.
const MAX_FRAME: u32 = 1 << 30;

/// A cache file.
#[derive(Clone, Debug)]
pub struct FrameFile {
    path: PathBuf,
    header: String,
}

/// How far a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramesRead {
    /// Bytes up to the end of the last whole frame; 0 where the file is not there, or of another version.
    good: u64,
}

impl FrameFile {
    /// `header`: the version of what the frames hold; a file with another one counts as empty.
    pub fn new(path: PathBuf, header: impl Into<String>) -> Self {
        Self { path, header: header.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = (self.header.len() as u32).to_le_bytes().to_vec();
        bytes.extend(self.header.as_bytes());
        bytes
    }

    /// Shows key and payload of every whole frame, in order, until one is torn or `show` finds that it is not what it should be
    /// (`false`). Errors: the file is there and cannot be read.
    pub fn read(&self, mut show: impl FnMut(&str, &[u8]) -> bool) -> io::Result<FramesRead> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FramesRead { good: 0 }),
            Err(error) => return Err(error),
        };
        let mut file = BufReader::with_capacity(1 << 20, file);
        let expected = self.header();
        let mut header = vec![0; expected.len()];
        if !filled(&mut file, &mut header)? || header != expected {
            return Ok(FramesRead { good: 0 });
        }
        let mut good = expected.len() as u64;
        let mut bytes = Vec::new();
        loop {
            let mut sizes = [0; 12];
            if !filled(&mut file, &mut sizes)? {
                break;
            }
            let [key, payload, sum] = [0, 4, 8]
                .map(|at| u32::from_le_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]));
            let Some(length) = key.checked_add(payload).filter(|length| *length <= MAX_FRAME) else { break };
            bytes.resize(length as usize, 0);
            if !filled(&mut file, &mut bytes)? || crc32fast::hash(&bytes) != sum {
                break;
            }
            let (key, payload) = bytes.split_at(key as usize);
            let Ok(key) = std::str::from_utf8(key) else { break };
            if !show(key, payload) {
                break;
            }
            good += 12 + u64::from(length);
        }
        Ok(FramesRead { good })
    }

    /// Adds frames behind what was read, in the place of anything torn. Another writer that was faster keeps what it wrote, and nothing
    /// is added. Errors: the file cannot be written.
    pub fn append<K: AsRef<str>, P: AsRef<[u8]>>(
        &self,
        read: FramesRead,
        frames: impl Iterator<Item = (K, P)>,
    ) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            create_ignored_dir(folder)?;
        }
        let mut file =
            File::options().create(true).read(true).write(true).truncate(false).open(&self.path)?;
        file.lock()?;
        // The others' frames may be torn or of another version, and only who holds the lock can tell.
        let now = self.read(|_, _| true)?;
        if now.good > read.good {
            return Ok(());
        }
        file.set_len(read.good)?;
        file.seek(SeekFrom::Start(read.good))?;
        let mut out = io::BufWriter::with_capacity(1 << 20, &file);
        if read.good == 0 {
            out.write_all(&self.header())?;
        }
        let mut bytes = Vec::new();
        for (key, payload) in frames {
            let (key, payload) = (key.as_ref(), payload.as_ref());
            bytes.clear();
            bytes.extend(key.as_bytes());
            bytes.extend(payload);
            if bytes.len() as u64 > u64::from(MAX_FRAME) {
                break;
            }
            for size in [key.len() as u32, payload.len() as u32, crc32fast::hash(&bytes)] {
                out.write_all(&size.to_le_bytes())?;
            }
            out.write_all(&bytes)?;
        }
        out.flush()
    }

    /// Takes the file away, so that all is made again.
    pub fn discard(&self) {
        // One that cannot be removed is read as it is, and costs time.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the whole buffer was filled; `false` at the end of the file.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(file: &FrameFile) -> (Vec<String>, FramesRead) {
        let mut keys = Vec::new();
        let read = file.read(|key, payload| {
            assert_eq!(payload, key.repeat(3).as_bytes());
            keys.push(key.to_owned());
            true
        });
        (keys, read.unwrap())
    }

    fn append(file: &FrameFile, read: FramesRead, keys: &[&str]) {
        let payloads: Vec<String> = keys.iter().map(|key| key.repeat(3)).collect();
        let frames = keys.iter().zip(&payloads).map(|(key, payload)| (*key, payload.as_bytes()));
        file.append(read, frames).unwrap();
    }

    #[test]
    fn what_was_appended_is_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = FrameFile::new(folder.path().join("cache/a"), "version 1");
        let (none, read) = keys(&file);
        assert!(none.is_empty());
        append(&file, read, &["a", "bb"]);
        let (some, read) = keys(&file);
        assert_eq!(some, ["a", "bb"]);
        append(&file, read, &["c"]);
        assert_eq!(keys(&file).0, ["a", "bb", "c"]);
        assert!(keys(&FrameFile::new(file.path, "version 2")).0.is_empty(), "another version");
    }

    #[test]
    fn a_torn_or_spoilt_end_costs_its_frames_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = FrameFile::new(folder.path().join("a"), "1");
        append(&file, FramesRead { good: 0 }, &["a", "b", "c"]);
        let whole = std::fs::read(file.path()).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(file.path(), &whole[..cut]).unwrap();
            let (some, read) = keys(&file);
            assert!(some.len() < 3);
            append(&file, read, &["d"]);
            assert_eq!(keys(&file).0.len(), some.len() + 1, "cut at {cut}");
        }
        for flipped in 0..whole.len() {
            let mut spoilt = whole.clone();
            spoilt[flipped] ^= 1;
            std::fs::write(file.path(), spoilt).unwrap();
            assert!(keys(&file).0.len() < 3, "flipped at {flipped}");
        }
    }

    #[test]
    fn a_writer_that_was_slower_adds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = FrameFile::new(folder.path().join("a"), "1");
        let (_, read) = keys(&file);
        append(&file, read, &["a"]);
        append(&file, read, &["a"]);
        assert_eq!(keys(&file).0, ["a"]);
    }
}
