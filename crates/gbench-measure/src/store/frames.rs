//! A file of frames that only grows: a cache, never the only copy. Unreadable parts are computed again.
//!
//! ```text
//! header: its length (4 bytes, little-endian) and its text
//! frame:  length of key and payload (4 bytes each), CRC-32 (4 bytes), key, payload
//! ```
//!
//! The CRC-32 of key and payload continues that of the previous frame, so that it covers everything up to there. A killed
//! writer leaves a torn frame at the end: readers stop before it, and the next writer removes it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::journal::create_ignored_dir;

/// The most bytes of one frame; a larger one was not written here.
const MAX_FRAME: u32 = 1 << 30;

#[derive(Clone, Debug)]
pub struct FrameFile {
    path: PathBuf,
    header: String,
}

/// The extent to which a file was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesRead {
    /// Bytes up to the end of the last accepted frame; 0 if the file does not exist, or has another version.
    good: u64,
    frames: u64,
    sum: u32,
    length: u64,
}

impl FrameFile {
    /// `header`: the version of the frames' contents; a file with another one is treated as empty.
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

    /// Passes key and payload of every whole frame to `show`, in order, until one is torn or `show` rejects it (`false`).
    /// Errors: the file exists and cannot be read.
    pub fn read(&self, mut show: impl FnMut(&str, &[u8]) -> bool) -> io::Result<FramesRead> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FramesRead::default()),
            Err(error) => return Err(error),
        };
        let mut read = FramesRead { length: file.metadata()?.len(), ..FramesRead::default() };
        let mut file = BufReader::with_capacity(1 << 20, file);
        let expected = self.header();
        let mut header = vec![0; expected.len()];
        if !filled(&mut file, &mut header)? || header != expected {
            return Ok(read);
        }
        read.good = expected.len() as u64;
        let mut bytes = Vec::new();
        loop {
            let mut sizes = [0; 12];
            if !filled(&mut file, &mut sizes)? {
                break;
            }
            let [key, payload, sum] = [0, 4, 8]
                .map(|at| u32::from_le_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]));
            let length = key.checked_add(payload).filter(|length| key > 0 && *length <= MAX_FRAME);
            let Some(length) = length else { break };
            bytes.resize(length as usize, 0);
            if !filled(&mut file, &mut bytes)? || checksum(read.sum, &bytes) != sum {
                break;
            }
            let (key, payload) = bytes.split_at(key as usize);
            let Ok(key) = std::str::from_utf8(key) else { break };
            if !show(key, payload) {
                break;
            }
            (read.good, read.frames, read.sum) = (read.good + 12 + u64::from(length), read.frames + 1, sum);
        }
        Ok(read)
    }

    /// Adds frames after the accepted ones, replacing anything else that follows them. If another writer has written since,
    /// the file is not changed. Errors: the file cannot be written.
    pub fn append<K: AsRef<str>, P: AsRef<[u8]>>(
        &self,
        read: FramesRead,
        frames: impl Iterator<Item = (K, P)>,
    ) -> io::Result<()> {
        let mut file = self.locked()?;
        let mut left = read.frames;
        let now = self.read(|_, _| {
            let is_known = left > 0;
            left = left.saturating_sub(1);
            is_known
        })?;
        let is_as_read = (now.good, now.frames, now.sum) == (read.good, read.frames, read.sum);
        if !is_as_read || now.length > read.length {
            return Ok(());
        }
        file.set_len(read.good)?;
        file.seek(SeekFrom::Start(read.good))?;
        let mut out = io::BufWriter::with_capacity(1 << 20, &file);
        if read.good == 0 {
            out.write_all(&self.header())?;
        }
        let (mut bytes, mut sum) = (Vec::new(), read.sum);
        for (key, payload) in frames {
            let (key, payload) = (key.as_ref(), payload.as_ref());
            bytes.clear();
            bytes.extend(key.as_bytes());
            bytes.extend(payload);
            if bytes.len() as u64 > u64::from(MAX_FRAME) {
                break;
            }
            sum = checksum(sum, &bytes);
            for size in [key.len() as u32, payload.len() as u32, sum] {
                out.write_all(&size.to_le_bytes())?;
            }
            out.write_all(&bytes)?;
        }
        out.flush()
    }

    /// Empties the file, so that everything is computed again. Errors: it cannot be written.
    pub fn discard(&self) -> io::Result<()> {
        self.locked()?.set_len(0)
    }

    fn locked(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            create_ignored_dir(folder)?;
        }
        let file = File::options().create(true).read(true).write(true).truncate(false).open(&self.path)?;
        file.lock()?;
        Ok(file)
    }
}

fn checksum(before: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// True if the whole buffer was filled; `false` at the end of the file.
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

    fn fresh() -> (tempfile::TempDir, FrameFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = FrameFile::new(folder.path().join("cache/a"), "1");
        (folder, file)
    }

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
        let (_folder, file) = fresh();
        let (none, read) = keys(&file);
        assert!(none.is_empty());
        append(&file, read, &["a", "bb"]);
        let (some, read) = keys(&file);
        assert_eq!(some, ["a", "bb"]);
        append(&file, read, &["c"]);
        assert_eq!(keys(&file).0, ["a", "bb", "c"]);
        assert!(keys(&FrameFile::new(file.path, "2")).0.is_empty(), "another version");
    }

    #[test]
    fn a_torn_or_spoilt_end_costs_its_frames_and_no_others() {
        let (_folder, file) = fresh();
        append(&file, FramesRead::default(), &["a", "b", "c"]);
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
    fn what_a_reader_refuses_is_written_over() {
        let (_folder, file) = fresh();
        append(&file, FramesRead::default(), &["a", "b", "c"]);
        let mut shown = 0;
        let read = file.read(|_, _| {
            shown += 1;
            shown < 2
        });
        append(&file, read.unwrap(), &["d"]);
        assert_eq!(keys(&file).0, ["a", "d"]);
        // A file that the system extended before a crash ends in zeros.
        let bytes = [std::fs::read(file.path()).unwrap(), vec![0; 4096]].concat();
        std::fs::write(file.path(), bytes).unwrap();
        let (some, read) = keys(&file);
        assert_eq!(some, ["a", "d"]);
        append(&file, read, &["e"]);
        assert_eq!(keys(&file).0, ["a", "d", "e"]);
    }

    #[test]
    fn nothing_is_added_behind_frames_that_another_writer_put_there() {
        let (_folder, file) = fresh();
        append(&file, FramesRead::default(), &["a", "b"]);
        let (_, read) = keys(&file);
        file.discard().unwrap();
        append(&file, read, &["c"]);
        assert!(keys(&file).0.is_empty(), "emptied meanwhile");
        append(&file, keys(&file).1, &["x", "y"]);
        append(&file, read, &["c"]);
        assert_eq!(keys(&file).0, ["x", "y"], "as long as before, and another one");
    }

    #[test]
    fn a_writer_that_was_slower_adds_nothing() {
        let (_folder, file) = fresh();
        let (_, read) = keys(&file);
        append(&file, read, &["a"]);
        append(&file, read, &["a"]);
        assert_eq!(keys(&file).0, ["a"]);
    }
}
