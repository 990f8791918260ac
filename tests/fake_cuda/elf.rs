//! What a cubin says of its kernels: an ELF file with e_machine 190.
//!
//! Two versions exist: toolkit 12.9 writes ABI 7, which keeps the architecture in the lowest byte of e_flags, toolkit 13.5 writes
//! ABI 8, which keeps it in the second. Registers and frame stand in `.nv.info` for all kernels, parameters in `.nv.info.NAME`; the
//! size of `.nv.shared.NAME` is the static shared memory, which from sm_90 on counts the 1 KiB that the system keeps, as
//! `cuobjdump -res-usage` does.

use std::collections::{BTreeMap, BTreeSet};

use crate::code_object;

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub offset: usize,
    pub size: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: String,
    pub registers: u32,
    pub frame: u32,
    pub shared: u32,
    /// What `__launch_bounds__` allows; 0 where it says nothing.
    pub most_threads: u32,
    pub parameters: Vec<Parameter>,
}

#[derive(Debug)]
pub struct Cubin {
    /// 90 for sm_90; 0 for a card of AMD's.
    pub sm: u32,
    /// Of AMD's: `gfx90a`.
    pub gfx: Option<String>,
    pub kernels: BTreeMap<String, Kernel>,
    /// All names of the symbol table, by which a library of twins is chosen.
    pub symbols: BTreeSet<String>,
    /// Bytes of each variable.
    pub variables: BTreeMap<String, usize>,
    /// Bytes of the module's own constants.
    pub constants: u32,
    /// The major version of the toolkit that wrote it; 0 where nothing in it says.
    pub toolkit: u32,
}

/// How many bytes the image behind a pointer has, by its own header. None: it is no ELF file of 64 bits.
///
/// # Safety
/// 64 bytes can be read at `image`.
pub unsafe fn length(image: *const u8) -> Option<usize> {
    // SAFETY: the caller's promise; what is no ELF file is not read beyond its first four bytes.
    let magic = unsafe { std::slice::from_raw_parts(image, 4) };
    if magic != b"\x7fELF" {
        return None;
    }
    // SAFETY: an ELF file has a header of 64 bytes.
    let header = unsafe { std::slice::from_raw_parts(image, 64) };
    let table = number(header, 0x28, 8)? as usize;
    let end = table.checked_add((number(header, 0x3a, 2)? * number(header, 0x3c, 2)?) as usize)?;
    let programs = number(header, 0x20, 8)? as usize;
    let programs = programs.checked_add((number(header, 0x36, 2)? * number(header, 0x38, 2)?) as usize)?;
    Some(end.max(programs).max(64))
}

/// None: damaged, or for another kind of machine.
pub fn read(bytes: &[u8]) -> Option<Cubin> {
    const CUDA: u64 = 190;
    const AMD: u64 = 224;
    if bytes.get(..4)? != b"\x7fELF" {
        return None;
    }
    match number(bytes, 0x12, 2)? {
        CUDA => {}
        AMD => return read_amd(bytes),
        _ => return None,
    }
    let (version, flags) = (*bytes.get(8)?, number(bytes, 0x30, 4)? as u32);
    let sm = if version >= 8 { flags >> 8 & 0xff } else { flags & 0xff };
    let sections = sections(bytes)?;
    let find = |name: &str| sections.iter().find(|section| section.name == name);
    let symbols = symbols(find(".symtab")?, find(".strtab")?)?;
    let mut kernels: BTreeMap<String, Kernel> = symbols
        .iter()
        .filter(|symbol| symbol.entry && find(&format!(".text.{}", symbol.name)).is_some())
        .map(|symbol| (symbol.name.clone(), Kernel { name: symbol.name.clone(), ..Kernel::default() }))
        .collect();
    for kernel in kernels.values_mut() {
        kernel.shared = find(&format!(".nv.shared.{}", kernel.name)).map_or(0, |section| section.size as u32);
        if let Some(own) = find(&format!(".nv.info.{}", kernel.name)) {
            of_kernel(kernel, own.bytes)?;
        }
    }
    for (attribute, value) in attributes(find(".nv.info").map_or(&[][..], |section| section.bytes))? {
        const REGISTERS: u8 = 0x2f;
        const FRAME: u8 = 0x11;
        if attribute != REGISTERS && attribute != FRAME {
            continue;
        }
        let symbol = symbols.get(number(value, 0, 4)? as usize)?;
        let Some(kernel) = kernels.get_mut(&symbol.name) else { continue };
        let place = if attribute == REGISTERS { &mut kernel.registers } else { &mut kernel.frame };
        *place = number(value, 4, 4)? as u32;
    }
    let constants = find(".nv.constant3").map_or(0, |section| section.size as u32);
    let variables =
        symbols.iter().filter(|it| it.variable > 0).map(|it| (it.name.clone(), it.variable)).collect();
    let toolkit = toolkit(&sections).unwrap_or(0);
    let symbols = symbols.into_iter().map(|symbol| symbol.name).collect();
    Some(Cubin { sm, gfx: None, kernels, symbols, variables, constants, toolkit })
}

fn read_amd(bytes: &[u8]) -> Option<Cubin> {
    let sections = sections(bytes)?;
    let find = |name: &str| sections.iter().find(|section| section.name == name);
    let symbols = symbols(find(".symtab")?, find(".strtab")?)?;
    let (kernels, gfx) = code_object::read(find(".note")?.bytes)?;
    let variables =
        symbols.iter().filter(|it| it.variable > 0).map(|it| (it.name.clone(), it.variable)).collect();
    let symbols = symbols.into_iter().map(|symbol| symbol.name).collect();
    Some(Cubin { sm: 0, gfx: Some(gfx), kernels, symbols, variables, constants: 0, toolkit: 0 })
}

/// Newer toolkits leave a note (`Cuda compilation tools, release 13.5, V13.5.37`), older ones an attribute of each kernel (124).
fn toolkit(sections: &[Section<'_>]) -> Option<u32> {
    const TOOLKIT: u8 = 0x37;
    const RELEASE: &str = "release ";
    if let Some(note) = sections.iter().find(|section| section.name == ".note.nv.tkinfo") {
        let text = String::from_utf8_lossy(note.bytes).into_owned();
        let (_, version) = text.split_once(RELEASE)?;
        return version.split_once('.')?.0.parse().ok();
    }
    let own = sections.iter().filter(|section| section.name.starts_with(".nv.info."));
    let mut said = own.filter_map(|section| attributes(section.bytes)).flatten();
    let (_, value) = said.find(|(attribute, _)| *attribute == TOOLKIT)?;
    Some(number(value, 0, 4)? as u32 / 10)
}

struct Section<'a> {
    name: String,
    /// Empty where the section has no bytes of its own in the file.
    bytes: &'a [u8],
    size: usize,
}

fn sections(bytes: &[u8]) -> Option<Vec<Section<'_>>> {
    const NO_BYTES: u64 = 8;
    let (table, each) = (number(bytes, 0x28, 8)? as usize, number(bytes, 0x3a, 2)? as usize);
    let (count, names) = (number(bytes, 0x3c, 2)? as usize, number(bytes, 0x3e, 2)? as usize);
    let header = |index: usize| bytes.get(table + index * each..table + (index + 1) * each);
    let content = |header: &[u8]| {
        let (kind, offset, size) = (number(header, 4, 4)?, number(header, 24, 8)?, number(header, 32, 8)?);
        if kind == NO_BYTES || size == 0 {
            return Some(&[][..]);
        }
        bytes.get(offset as usize..offset.checked_add(size)? as usize)
    };
    let names = content(header(names)?)?;
    (0..count)
        .map(|index| {
            let header = header(index)?;
            let name = text(names, number(header, 0, 4)? as usize)?;
            Some(Section { name, bytes: content(header)?, size: number(header, 32, 8)? as usize })
        })
        .collect()
}

struct Symbol {
    name: String,
    /// A function that the host may launch.
    entry: bool,
    /// Bytes of a variable; 0 for all others.
    variable: usize,
}

fn symbols(table: &Section, names: &Section) -> Option<Vec<Symbol>> {
    const VARIABLE: u8 = 1;
    const FUNCTION: u8 = 2;
    const ENTRY: u8 = 0x10;
    table
        .bytes
        .chunks_exact(24)
        .map(|symbol| {
            let entry = symbol[4] & 0xf == FUNCTION && symbol[5] & ENTRY != 0;
            let is_variable = symbol[4] & 0xf == VARIABLE;
            let variable = if is_variable { number(symbol, 16, 8)? as usize } else { 0 };
            Some(Symbol { name: text(names.bytes, number(symbol, 0, 4)? as usize)?, entry, variable })
        })
        .collect()
}

/// The records of a `.nv.info` section that hold bytes: a format, an attribute, and a length before the bytes. The other
/// formats hold their two bytes in place of the length.
fn attributes(mut bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    const SIZED: u8 = 4;
    let mut found = Vec::new();
    while bytes.len() >= 4 {
        let size = if bytes[0] == SIZED { number(bytes, 2, 2)? as usize } else { 0 };
        if bytes[0] == SIZED {
            found.push((bytes[1], bytes.get(4..4 + size)?));
        }
        bytes = bytes.get(4 + size..)?;
    }
    Some(found)
}

fn of_kernel(kernel: &mut Kernel, bytes: &[u8]) -> Option<()> {
    const PARAMETER: u8 = 0x17;
    const MOST_THREADS: u8 = 0x05;
    let mut parameters = BTreeMap::new();
    for (attribute, value) in attributes(bytes)? {
        match attribute {
            PARAMETER => {
                let (ordinal, offset) = (number(value, 4, 2)?, number(value, 6, 2)? as usize);
                let size = (number(value, 8, 4)? >> 18) as usize;
                parameters.insert(ordinal, Parameter { offset, size });
            }
            MOST_THREADS => {
                kernel.most_threads =
                    (number(value, 0, 4)? * number(value, 4, 4)? * number(value, 8, 4)?) as u32;
            }
            _ => {}
        }
    }
    kernel.parameters = parameters.into_values().collect();
    Some(())
}

fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn text(bytes: &[u8], offset: usize) -> Option<String> {
    let rest = bytes.get(offset..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}
