//! Zip archives by hand, byte for byte: also such as no writer would write.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// One file and what the headers say of it.
#[derive(Clone, Debug)]
pub struct Raw {
    pub name: Vec<u8>,
    /// As it lies in the archive.
    pub packed: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub checksum: u32,
    pub packed_size: u32,
    pub size: u32,
    /// Unix mode, in the upper half of the attributes.
    pub mode: u32,
    /// The local header's name, where it is another.
    pub local_name: Option<Vec<u8>>,
    /// Where the directory says that it lies, where that is somewhere else.
    pub at: Option<u32>,
}

/// A file stored as it is.
pub fn stored(name: &str, data: &[u8]) -> Raw {
    raw(name, data, data.to_vec(), 0)
}

/// A file deflated as tightly as it goes.
pub fn deflated(name: &str, data: &[u8]) -> Raw {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    raw(name, data, encoder.finish().unwrap(), 8)
}

fn raw(name: &str, data: &[u8], packed: Vec<u8>, method: u16) -> Raw {
    let mut checksum = flate2::Crc::new();
    checksum.update(data);
    Raw {
        name: name.into(),
        packed_size: packed.len() as u32,
        packed,
        method,
        flags: 0,
        checksum: checksum.sum(),
        size: data.len() as u32,
        mode: 0o100_644,
        local_name: None,
        at: None,
    }
}

/// The archive of some files.
pub fn archive(files: &[Raw]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for file in files {
        places.push(bytes.len() as u32);
        let name = file.local_name.as_ref().unwrap_or(&file.name);
        bytes.extend(0x0403_4b50_u32.to_le_bytes());
        bytes.extend(shorts(&[20, file.flags, file.method, 0, 0]));
        bytes.extend(longs(&[file.checksum, file.packed_size, file.size]));
        bytes.extend(shorts(&[name.len() as u16, 0]));
        bytes.extend(name);
        bytes.extend(&file.packed);
    }
    let start = bytes.len() as u32;
    for (file, place) in files.iter().zip(places) {
        bytes.extend(0x0201_4b50_u32.to_le_bytes());
        bytes.extend(shorts(&[3 << 8 | 20, 20, file.flags, file.method, 0, 0]));
        bytes.extend(longs(&[file.checksum, file.packed_size, file.size]));
        bytes.extend(shorts(&[file.name.len() as u16, 0, 0, 0, 0]));
        bytes.extend(longs(&[file.mode << 16, file.at.unwrap_or(place)]));
        bytes.extend(&file.name);
    }
    let size = bytes.len() as u32 - start;
    bytes.extend(0x0605_4b50_u32.to_le_bytes());
    bytes.extend(shorts(&[0, 0, files.len() as u16, files.len() as u16]));
    bytes.extend(longs(&[size, start]));
    bytes.extend(shorts(&[0]));
    bytes
}

fn shorts(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn longs(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
