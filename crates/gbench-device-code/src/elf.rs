//! ELF files of 64 bits, little-endian, as far as device code needs them.
//!
//! The author of a pull request controls the bytes. Every offset and size is checked, no allocation trusts a size that a file
//! merely claims, and all work is limited by [`WORK`].

use std::cell::Cell;

use super::error::CodeError;

/// Bytes that one file may make a reader walk and hash. A real library of ten thousand kernels stays far below this; sections
/// and symbols that overlap on purpose do not.
const WORK: u64 = 8 << 30;
/// Longer names are rejected. The names of heavily templated kernels reach some thousand bytes.
const LONGEST_NAME: usize = 1 << 16;

const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;

pub(super) const MACHINE_CUDA: u16 = 190;
pub(super) const TYPE_RELOCATABLE: u16 = 1;
const TYPE_SYMBOLS: u32 = 2;
const TYPE_RELA: u32 = 4;
const TYPE_NO_BYTES: u32 = 8;
const TYPE_REL: u32 = 9;
const FLAG_EXECUTABLE: u64 = 4;
/// From here on a symbol's section number has another meaning.
const RESERVED_SECTIONS: u16 = 0xff00;

pub(super) struct Elf<'a> {
    pub machine: u16,
    pub kind: u16,
    pub abi: u8,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
    work: Cell<u64>,
}

pub(super) struct Section<'a> {
    pub name: &'a [u8],
    pub kind: u32,
    flags: u64,
    /// Empty if the section only reserves memory.
    pub bytes: &'a [u8],
    /// Size in memory; larger than `bytes` if the section only reserves memory.
    pub size: u64,
    link: u32,
    info: u32,
}

impl Section<'_> {
    pub(crate) fn is_code(&self) -> bool {
        self.flags & FLAG_EXECUTABLE != 0
    }

    pub(crate) fn only_reserves(&self) -> bool {
        self.kind == TYPE_NO_BYTES
    }
}

pub(super) struct Symbol<'a> {
    pub name: &'a [u8],
    pub is_function: bool,
    pub is_section: bool,
    /// Bits of `st_other`; device code marks kernels there.
    pub other: u8,
    /// The section that defines it; `None`: another file does.
    pub section: Option<usize>,
    pub value: u64,
    pub size: u64,
}

/// A place in a section that the loader fills in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub addend: i64,
    pub symbol: usize,
}

impl<'a> Elf<'a> {
    pub(crate) fn is(bytes: &[u8]) -> bool {
        bytes.starts_with(b"\x7fELF\x02\x01")
    }

    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, CodeError> {
        let broken = || CodeError::Malformed("its ELF header ends early");
        if !Self::is(bytes) || bytes.len() < HEADER {
            return Err(broken());
        }
        let mut elf = Self {
            machine: u16_at(bytes, 18).ok_or_else(broken)?,
            kind: u16_at(bytes, 16).ok_or_else(broken)?,
            abi: bytes[8],
            flags: u32_at(bytes, 48).ok_or_else(broken)?,
            sections: Vec::new(),
            work: Cell::new(0),
        };
        elf.read_sections(bytes)?;
        Ok(elf)
    }

    fn read_sections(&mut self, bytes: &'a [u8]) -> Result<(), CodeError> {
        let broken = || CodeError::Malformed("its table of sections lies outside the file");
        let table = usize_at(bytes, 40).ok_or_else(broken)?;
        let entry_size = u16_at(bytes, 58).ok_or_else(broken)?;
        let mut count = usize::from(u16_at(bytes, 60).ok_or_else(broken)?);
        let mut names = usize::from(u16_at(bytes, 62).ok_or_else(broken)?);
        if table == 0 {
            return Ok(());
        }
        if usize::from(entry_size) != SECTION_HEADER {
            return Err(CodeError::Malformed("its section headers have another size than 64 bytes"));
        }
        let table = bytes.get(table..).ok_or_else(broken)?;
        // With 65 280 sections or more, the counts are in the first header.
        if count == 0 {
            count = usize_at(table, 32).ok_or_else(broken)?;
        }
        if names == 0xffff {
            names = u32_at(table, 40).ok_or_else(broken)? as usize;
        }
        let size = count.checked_mul(SECTION_HEADER).ok_or_else(broken)?;
        let headers = table.get(..size).ok_or_else(broken)?;

        let mut name_offsets = Vec::with_capacity(count);
        for header in headers.chunks_exact(SECTION_HEADER) {
            let (name, section) = section(bytes, header)?;
            name_offsets.push(name);
            self.sections.push(section);
        }
        let names = self.sections.get(names).map_or(&[][..], |section| section.bytes);
        for (index, offset) in name_offsets.into_iter().enumerate() {
            self.sections[index].name = self.name(names, offset)?;
        }
        Ok(())
    }

    /// Counts work on a file; too much of it is an error.
    pub(crate) fn spend(&self, bytes: u64) -> Result<(), CodeError> {
        let work = self.work.get().saturating_add(bytes);
        self.work.set(work);
        if work > WORK { Err(CodeError::TooLarge) } else { Ok(()) }
    }

    fn name(&self, table: &'a [u8], offset: u32) -> Result<&'a [u8], CodeError> {
        if table.is_empty() {
            return Ok(&[]);
        }
        let rest =
            table.get(offset as usize..).ok_or(CodeError::Malformed("a name lies outside its table"))?;
        let within = &rest[..rest.len().min(LONGEST_NAME)];
        let end = within
            .iter()
            .position(|&byte| byte == 0)
            .ok_or(CodeError::Malformed("a name has no end within 64 KiB"))?;
        self.spend(end as u64)?;
        Ok(&within[..end])
    }

    pub(crate) fn sections_named(&self, name: &str) -> impl Iterator<Item = &Section<'a>> {
        self.sections.iter().filter(move |section| section.name == name.as_bytes())
    }

    pub(crate) fn symbols(&self) -> Result<Vec<Symbol<'a>>, CodeError> {
        let Some(table) = self.sections.iter().find(|section| section.kind == TYPE_SYMBOLS) else {
            return Ok(Vec::new());
        };
        let names = self.sections.get(table.link as usize).map_or(&[][..], |section| section.bytes);
        table.bytes.chunks_exact(SYMBOL).map(|entry| self.symbol(names, entry)).collect()
    }

    fn symbol(&self, names: &'a [u8], entry: &[u8]) -> Result<Symbol<'a>, CodeError> {
        let broken = || CodeError::Malformed("a symbol ends early");
        let section = u16_at(entry, 6).ok_or_else(broken)?;
        if section == 0xffff {
            return Err(CodeError::Malformed("it has more than 65 279 sections"));
        }
        let kind = entry[4] & 0xf;
        Ok(Symbol {
            name: self.name(names, u32_at(entry, 0).ok_or_else(broken)?)?,
            is_function: kind == 2,
            is_section: kind == 3,
            other: entry[5],
            section: (section != 0
                && section < RESERVED_SECTIONS
                && usize::from(section) < self.sections.len())
            .then_some(usize::from(section)),
            value: u64_at(entry, 8).ok_or_else(broken)?,
            size: u64_at(entry, 16).ok_or_else(broken)?,
        })
    }

    /// By section, each list sorted by offset.
    pub(crate) fn relocations(&self) -> Vec<Vec<Relocation>> {
        let mut all: Vec<Vec<Relocation>> = Vec::new();
        all.resize_with(self.sections.len(), Vec::new);
        for section in &self.sections {
            let entry_size = match section.kind {
                TYPE_RELA => 24,
                TYPE_REL => 16,
                _ => continue,
            };
            if let Some(list) = all.get_mut(section.info as usize) {
                list.extend(section.bytes.chunks_exact(entry_size).filter_map(relocation));
            }
        }
        for list in &mut all {
            list.sort_unstable();
        }
        all
    }
}

fn section<'a>(bytes: &'a [u8], header: &[u8]) -> Result<(u32, Section<'a>), CodeError> {
    let broken = || CodeError::Malformed("a section lies outside the file");
    let kind = u32_at(header, 4).ok_or_else(broken)?;
    let size = u64_at(header, 32).ok_or_else(broken)?;
    let content = if kind == TYPE_NO_BYTES || kind == 0 {
        &[][..]
    } else {
        let start = usize_at(header, 24).ok_or_else(broken)?;
        let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size)).ok_or_else(broken)?;
        bytes.get(start..end).ok_or_else(broken)?
    };
    let section = Section {
        name: &[],
        kind,
        flags: u64_at(header, 8).ok_or_else(broken)?,
        bytes: content,
        size,
        link: u32_at(header, 40).ok_or_else(broken)?,
        info: u32_at(header, 44).ok_or_else(broken)?,
    };
    Ok((u32_at(header, 0).ok_or_else(broken)?, section))
}

/// REL relocations have their addend in the section's bytes.
fn relocation(entry: &[u8]) -> Option<Relocation> {
    let info = u64_at(entry, 8)?;
    Some(Relocation {
        offset: u64_at(entry, 0)?,
        // The lower half is the type, the upper one the symbol.
        kind: (info & 0xffff_ffff) as u32,
        symbol: usize::try_from(info >> 32).ok()?,
        addend: u64_at(entry, 16).map_or(0, u64::cast_signed),
    })
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64_at(bytes, at)?).ok()
}
