//! Fatbins: containers of one program's device code for several architectures, as files or in the section `.nv_fatbin` of
//! objects, libraries and programs.
//!
//! The format is not published. This description was derived from files that `fatbinary` 13.5 writes with each of its
//! compression modes:
//!
//! ```text
//! fatbin:  u32 0xBA55ED50, u16 version, u16 header's size, u64 size of all entries
//! entry:   u16 kind, u16 version, u32 header's size, u64 payload with padding, u32 compressed payload or 0, ...
//!          at 28 u32 sm, at 40 u64 flags, at 56 u64 size once unpacked
//! kinds:   1 PTX, 2 cubin, 256 several in one payload (nvcc --concat): from byte 64 of the header on u32 number,
//!          u32 size, and for each 64 bytes: u16 kind, u16 version, u32 where in the payload, u64 size, ...
//! flags:   0x2000 LZ4, 0x8000 zstd
//! ```

use std::{borrow::Cow, io::Read};

use super::{
    elf::{u16_at, u32_at, u64_at, usize_at},
    error::CodeError,
};

const MAGIC: u32 = 0xBA55_ED50;
const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;
const KIND_SEVERAL: u16 = 256;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";
/// Offset of the headers of [`KIND_SEVERAL`] in the entry's header, and the length of each.
const INNER_HEADERS: usize = 64;
const INNER_HEADER: usize = 64;
/// Larger unpacked entries are refused; NVIDIA's largest are some ten MiB.
const LARGEST_ENTRY: usize = 256 << 20;
/// Limit for all packed entries of a file together. Even the largest libraries stay below.
const LARGEST_FILE: u64 = 8 << 30;
/// LZ4 cannot pack tighter; a larger claimed size would only make us reserve memory.
const LZ4_RATIO: usize = 255;

pub(super) fn is(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(MAGIC)
}

/// The contents besides cubins.
#[derive(Default)]
pub(super) struct FatbinContents {
    pub ptx: bool,
    /// Code that is neither cubin nor PTX, such as the compiler's own for linking.
    pub other: bool,
    /// Each text of PTX, where it is requested.
    pub texts: Option<Vec<Vec<u8>>>,
    unpacked: u64,
}

impl FatbinContents {
    fn take_ptx(&mut self, text: &[u8]) {
        if let Some(texts) = &mut self.texts {
            texts.push(text.split(|byte| *byte == 0).next().unwrap_or_default().to_vec());
        }
    }
}

/// Calls `cubin` with each cubin of the adjacent fatbins in `bytes`, unpacking one at a time.
pub(super) fn each_cubin(
    mut bytes: &[u8],
    found: &mut FatbinContents,
    cubin: &mut impl FnMut(&[u8]) -> Result<(), CodeError>,
) -> Result<(), CodeError> {
    loop {
        // The linker pads between fatbins of different objects.
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        bytes = &bytes[zeros..];
        if bytes.is_empty() {
            return Ok(());
        }
        if !is(bytes) {
            return Err(CodeError::Malformed("something other than a fatbin is among fatbins"));
        }
        let broken = || CodeError::Malformed("a fatbin is longer than what holds it");
        let start = usize::from(u16_at(bytes, 6).ok_or_else(broken)?);
        let size = usize_at(bytes, 8).ok_or_else(broken)?;
        if start < 16 {
            return Err(CodeError::Malformed("a fatbin's header is shorter than 16 bytes"));
        }
        let end = start.checked_add(size).ok_or_else(broken)?;
        each_entry(bytes.get(start..end).ok_or_else(broken)?, found, cubin)?;
        bytes = &bytes[end..];
    }
}

fn each_entry(
    mut bytes: &[u8],
    found: &mut FatbinContents,
    cubin: &mut impl FnMut(&[u8]) -> Result<(), CodeError>,
) -> Result<(), CodeError> {
    while !bytes.is_empty() {
        let broken = || CodeError::Malformed("an entry is longer than its fatbin");
        let kind = u16_at(bytes, 0).ok_or_else(broken)?;
        let header_size = u32_at(bytes, 4).ok_or_else(broken)? as usize;
        let size = usize_at(bytes, 8).ok_or_else(broken)?;
        if header_size < 64 {
            return Err(CodeError::Malformed("an entry's header is shorter than 64 bytes"));
        }
        let end = header_size.checked_add(size).ok_or_else(broken)?;
        let header = bytes.get(..header_size).ok_or_else(broken)?;
        let payload = bytes.get(header_size..end).ok_or_else(broken)?;
        match kind {
            KIND_CUBIN => cubin(&unpacked(header, payload, found)?)?,
            KIND_SEVERAL => each_inner(header, &unpacked(header, payload, found)?, found, cubin)?,
            KIND_PTX => {
                found.ptx = true;
                if found.texts.is_some() {
                    let text = unpacked(header, payload, found)?;
                    found.take_ptx(&text);
                }
            }
            _ => found.other = true,
        }
        bytes = &bytes[end..];
    }
    Ok(())
}

fn each_inner(
    header: &[u8],
    payload: &[u8],
    found: &mut FatbinContents,
    cubin: &mut impl FnMut(&[u8]) -> Result<(), CodeError>,
) -> Result<(), CodeError> {
    let broken = || CodeError::Malformed("an entry of several is shorter than its header claims");
    let count = u32_at(header, INNER_HEADERS).ok_or_else(broken)? as usize;
    let headers = header.get(INNER_HEADERS + 8..).ok_or_else(broken)?;
    if count > headers.len() / INNER_HEADER {
        return Err(broken());
    }
    for inner in headers.chunks_exact(INNER_HEADER).take(count) {
        let start = u32_at(inner, 4).ok_or_else(broken)? as usize;
        let size = usize_at(inner, 8).ok_or_else(broken)?;
        let end = start.checked_add(size).ok_or_else(broken)?;
        let content = || payload.get(start..end).ok_or_else(broken);
        match u16_at(inner, 0).ok_or_else(broken)? {
            KIND_CUBIN => cubin(content()?)?,
            KIND_PTX => {
                found.ptx = true;
                found.take_ptx(content()?);
            }
            _ => found.other = true,
        }
    }
    Ok(())
}

fn unpacked<'a>(
    header: &[u8],
    payload: &'a [u8],
    found: &mut FatbinContents,
) -> Result<Cow<'a, [u8]>, CodeError> {
    let broken = || CodeError::Malformed("an entry's header ends early");
    let packed_size = u32_at(header, 16).ok_or_else(broken)? as usize;
    let flags = u64_at(header, 40).ok_or_else(broken)?;
    let size = usize_at(header, 56).ok_or_else(broken)?;
    if packed_size == 0 && flags & (FLAG_LZ4 | FLAG_ZSTD) == 0 {
        return Ok(payload.into());
    }
    let arch = u32_at(header, 28).ok_or_else(broken)?;
    let packed = payload
        .get(..packed_size)
        .ok_or(CodeError::Malformed("a packed entry is longer than its payload"))?;
    found.unpacked = found.unpacked.saturating_add(size as u64);
    if size > LARGEST_ENTRY || found.unpacked > LARGEST_FILE {
        return Err(CodeError::TooLarge);
    }
    let unpacked = if packed.starts_with(ZSTD_MAGIC) {
        unpacked_zstd(packed, size)
    } else if flags & FLAG_LZ4 != 0 {
        unpacked_lz4(packed, size)
    } else {
        None
    };
    unpacked.map(Into::into).ok_or(CodeError::Packed { arch })
}

/// Grows with the output, not with the claimed size.
fn unpacked_zstd(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
    decoder.take(size as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() == size).then_some(unpacked)
}

fn unpacked_lz4(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    if size / LZ4_RATIO > packed.len() {
        return None;
    }
    let mut unpacked = vec![0; size];
    let written = lz4_flex::block::decompress_into(packed, &mut unpacked).ok()?;
    (written == size).then_some(unpacked)
}
