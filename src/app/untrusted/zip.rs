//! A zip archive, read strictly. The structure is parsed here and not by a library, because libraries are lenient where an
//! enemy needs it: they look for another directory where the first is broken, take the last of two files of one name, and
//! reserve memory for as many files as the archive claims to hold.
//!
//! Format: PKWARE's APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::caps::{ALL, DEPTH, FILE, FILES, Files, PATH, RATIO, refused};
use crate::model::Result;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Bytes of the three headers, without names and extras.
const LOCAL_SIZE: usize = 30;
const CENTRAL_SIZE: usize = 46;
const END_SIZE: usize = 22;

/// Encrypted; strongly encrypted; patched; with a masked directory.
const REFUSED_FLAGS: u16 = 1 | 1 << 5 | 1 << 6 | 1 << 13;
const SIZES_LATER: u16 = 1 << 3;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;

pub(super) struct Archive<'a> {
    name: String,
    files: BTreeMap<String, Entry<'a>>,
}

struct Entry<'a> {
    listed: Listed,
    packed: &'a [u8],
}

/// The entry of a file in the central directory.
struct Listed {
    path: String,
    is_folder: bool,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    at: usize,
}

impl<'a> Archive<'a> {
    /// Reads the structure; nothing is unpacked yet.
    pub(super) fn open(name: &str, bytes: &'a [u8]) -> Result<Self> {
        let files = parse(bytes).map_err(|what| refused(name, what))?;
        Ok(Self { name: name.to_owned(), files })
    }
}

impl Files for Archive<'_> {
    fn names(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    fn read(&self, path: &str) -> Result<String> {
        let entry = self.files.get(path).ok_or("it is gone".to_owned());
        let text = entry.and_then(unpack);
        text.map_err(|what| refused(&self.name, format!("`{path}`: {what}")))
    }
}

fn parse(bytes: &[u8]) -> Result<BTreeMap<String, Entry<'_>>, String> {
    if bytes.len() as u64 > ALL {
        return Err(format!("the archive has {} bytes, and {ALL} are allowed", bytes.len()));
    }
    let listed = listed(bytes)?;
    let mut files = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut spans = Vec::with_capacity(listed.len());
    for listed in listed {
        let span = data(bytes, &listed).map_err(|what| format!("`{}`: {what}", listed.path))?;
        spans.push((listed.at, span.end));
        if !seen.insert(listed.path.clone()) {
            return Err(format!("two files are called `{}`", listed.path));
        }
        if !listed.is_folder {
            let packed = bytes.get(span).unwrap_or_default();
            files.insert(listed.path.clone(), Entry { listed, packed });
        }
    }
    // One piece of data behind many names is how a small archive becomes a large folder.
    spans.sort_unstable();
    if spans.windows(2).any(|two| two[0].1 > two[1].0) {
        return Err("files of the archive overlap".into());
    }
    if let Some(path) = files.keys().find(|path| above(path).any(|folder| files.contains_key(folder))) {
        return Err(format!("`{path}` lies in what is a file itself"));
    }
    Ok(files)
}

/// The folders of a path: `a/b` and `a` of `a/b/c`.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn listed(bytes: &[u8]) -> Result<Vec<Listed>, String> {
    let broken = || "it is not a zip archive, or it is cut short".to_owned();
    let end_at = bytes.len().checked_sub(END_SIZE).ok_or_else(broken)?;
    if u32_at(bytes, end_at) != Some(END) {
        return Err(broken());
    }
    let short = |offset| u16_at(bytes, end_at + offset).unwrap_or(u16::MAX);
    let long = |offset| u32_at(bytes, end_at + offset).unwrap_or(u32::MAX);
    let (disks, here, count, comment) = ((short(4), short(6)), short(8), short(10), short(20));
    let (size, start) = (long(12), long(16));
    if count == u16::MAX || size == u32::MAX || start == u32::MAX {
        return Err("it is a zip64 archive, which something this small is not".into());
    }
    if disks != (0, 0) || here != count || comment != 0 {
        return Err(broken());
    }
    if usize::from(count) > FILES {
        return Err(format!("it holds {count} files, and {FILES} are allowed"));
    }
    let (size, start) = (size as usize, start as usize);
    if start.checked_add(size) != Some(end_at) {
        return Err("its directory does not end where it should".into());
    }
    let mut at = start;
    let mut total: u64 = 0;
    let mut found = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let (listed, next) = central(bytes, at, start)?;
        total += listed.size;
        if total > ALL {
            return Err(format!("unpacked it would have more than {ALL} bytes"));
        }
        found.push(listed);
        at = next;
    }
    if at != end_at {
        return Err("its directory has more entries than it declares".into());
    }
    Ok(found)
}

/// One file of the central directory at `at`, and where the next one begins. Files lie before `limit`.
fn central(bytes: &[u8], at: usize, limit: usize) -> Result<(Listed, usize), String> {
    let cut = || "its directory is cut short".to_owned();
    let header = bytes.get(at..at + CENTRAL_SIZE).ok_or_else(cut)?;
    if u32_at(header, 0) != Some(CENTRAL) {
        return Err(cut());
    }
    let short = |offset| u16_at(header, offset).unwrap_or(0);
    let long = |offset| u32_at(header, offset).unwrap_or(0);
    let lengths = [short(28), short(30), short(32)].map(usize::from);
    let name_at = at + CENTRAL_SIZE;
    let next = name_at + lengths.iter().sum::<usize>();
    let name = bytes.get(name_at..name_at + lengths[0]).filter(|_| next <= bytes.len()).ok_or_else(cut)?;
    let name = std::str::from_utf8(name)
        .map_err(|_| format!("a name is not UTF-8: {}", String::from_utf8_lossy(name).escape_debug()))?;
    let is_folder = name.ends_with('/');
    let path = safe_path(name.strip_suffix('/').unwrap_or(name))?;
    let listed = Listed {
        is_folder,
        flags: short(8),
        method: short(10),
        checksum: long(16),
        packed: long(20).into(),
        size: long(24).into(),
        at: long(42) as usize,
        path,
    };
    let wrong = |what: String| Err(format!("`{}`: {what}", listed.path));
    // Unix keeps the kind of a file in the upper half; elsewhere it is zero.
    let kind = (long(38) >> 16) & FILE_TYPE;
    let expected = if is_folder { DIRECTORY } else { REGULAR };
    if kind != 0 && kind != expected {
        return wrong("it is a link or a special file".into());
    }
    if listed.flags & REFUSED_FLAGS != 0 {
        return wrong("it is encrypted".into());
    }
    if !matches!(listed.method, 0 | 8) {
        return wrong(format!("it is packed by method {}", listed.method));
    }
    if listed.packed == u64::from(u32::MAX) || listed.size > FILE {
        return wrong(format!("unpacked it would have {} bytes, and {FILE} are allowed", listed.size));
    }
    if listed.size > 1 << 20 && listed.size > RATIO * listed.packed {
        return wrong(format!(
            "it is packed {} times, and {RATIO} are allowed",
            listed.size / listed.packed.max(1)
        ));
    }
    if listed.method == 0 && listed.size != listed.packed || is_folder && listed.size != 0 {
        return wrong("its sizes contradict each other".into());
    }
    if listed.at >= limit || short(34) != 0 {
        return wrong("it does not lie in this archive".into());
    }
    Ok((listed, next))
}

/// The place of a file's packed data. Errors: its own header contradicts the directory.
fn data(bytes: &[u8], listed: &Listed) -> Result<std::ops::Range<usize>, String> {
    let contradicts = || "its header contradicts the directory".to_owned();
    let header = bytes.get(listed.at..listed.at + LOCAL_SIZE).ok_or_else(contradicts)?;
    let short = |offset| u16_at(header, offset).unwrap_or(u16::MAX);
    let long = |offset| u32_at(header, offset).unwrap_or(u32::MAX);
    if long(0) != LOCAL || short(6) != listed.flags || short(8) != listed.method {
        return Err(contradicts());
    }
    let name_at = listed.at + LOCAL_SIZE;
    let start = name_at + usize::from(short(26)) + usize::from(short(28));
    let name = bytes.get(name_at..name_at + usize::from(short(26))).ok_or_else(contradicts)?;
    let slash = if listed.is_folder { "/" } else { "" };
    if name != format!("{}{slash}", listed.path).as_bytes() {
        return Err(contradicts());
    }
    let said = (long(14), u64::from(long(18)), u64::from(long(22)));
    let later = listed.flags & SIZES_LATER != 0 && said == (0, 0, 0);
    if !later && said != (listed.checksum, listed.packed, listed.size) {
        return Err(contradicts());
    }
    let end = start + listed.packed as usize;
    bytes.get(start..end).map(|_| start..end).ok_or_else(|| "it ends behind the archive".into())
}

fn safe_path(name: &str) -> Result<String, String> {
    let shown = || name.chars().take(100).collect::<String>().escape_debug().to_string();
    if name.len() > PATH || name.split('/').count() > DEPTH {
        return Err(format!("the path `{}...` is too long or too deep", shown()));
    }
    let leaves = name.starts_with('/') || name.contains(['\\', ':']) || name.chars().any(char::is_control);
    if leaves || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("gbench-ci does not write a path such as `{}`", shown()));
    }
    Ok(name.to_owned())
}

/// The whole text of a file; never more bytes than the directory says, which is at most [`FILE`].
fn unpack(Entry { listed, packed }: &Entry) -> Result<String, String> {
    let mut bytes = Vec::new();
    let consumed = if listed.method == 8 {
        let mut reader = DeflateDecoder::new(*packed).take(listed.size + 1);
        reader.read_to_end(&mut bytes).map_err(|error| format!("it cannot be unpacked: {error}"))?;
        reader.get_ref().total_in()
    } else {
        bytes.extend_from_slice(packed);
        bytes.len() as u64
    };
    let mut checksum = Crc::new();
    checksum.update(&bytes);
    if bytes.len() as u64 != listed.size || checksum.sum() != listed.checksum {
        return Err("its size or its checksum is not what the archive says".into());
    }
    if consumed != packed.len() as u64 {
        return Err("there is more behind its end".into());
    }
    String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 text: {}", error.utf8_error()))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
