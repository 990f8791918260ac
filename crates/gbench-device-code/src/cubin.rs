//! One cubin: its architecture, the tools that wrote it, its kernels.

use std::collections::{BTreeSet, HashMap};

use super::code::ArchKernel;

use super::{
    attributes::{FRAME_SIZE, REGISTERS, STACK_SIZE, TOOLKIT, attributes, of_symbol},
    elf::{Elf, MACHINE_CUDA, Symbol, TYPE_RELOCATABLE, u32_at},
    error::CodeError,
    identity::{KernelHasher, LaunchLimits},
};

/// In `st_other` of a function: a kernel, which the host may launch.
const KERNEL: u8 = 0x10;
const ABI_7_ACCELERATED: u32 = 0x800;
/// The result repeats the kernels' names; in total they are at most this many times as long as the file.
const NAMES_RATIO: usize = 4;

pub(super) struct Cubin {
    pub arch: String,
    pub kernels: Vec<(String, ArchKernel)>,
    /// Versions such as `13.5.37`.
    pub toolkits: BTreeSet<String>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Cubin, CodeError> {
    let elf = Elf::read(bytes)?;
    if elf.machine != MACHINE_CUDA {
        return Err(CodeError::Malformed("a cubin in it is an ELF file for another machine"));
    }
    if elf.kind == TYPE_RELOCATABLE {
        return Err(CodeError::Relocatable);
    }
    let tools = Tools::read(&elf);
    let sm = sm(&elf)?;
    Ok(Cubin {
        arch: format!("sm_{sm}{}", suffix(&elf, &tools, sm)),
        kernels: kernels(&elf, bytes.len(), sm)?,
        toolkits: tools.versions(),
    })
}

/// CUDA 12.9 writes ABI 7 up to Hopper and ABI 8 from Blackwell on; CUDA 13.5 writes ABI 8 for all.
fn sm(elf: &Elf<'_>) -> Result<u32, CodeError> {
    match elf.abi {
        7 => Ok(elf.flags & 0xff),
        8 => Ok(elf.flags >> 8 & 0xff),
        abi => Err(CodeError::Abi(abi)),
    }
}

/// `a` of `sm_90a` or `f` of `sm_100f`: code that only that card, or its family, runs. It is in the tools' notes; before there
/// were notes, it was a bit of the header. (CUDA 13.5 sets no bit in the header.)
fn suffix(elf: &Elf<'_>, tools: &Tools, sm: u32) -> &'static str {
    let asked = |suffix: &str| tools.archs.contains(&format!("sm_{sm}{suffix}"));
    match () {
        () if asked("a") || elf.abi == 7 && elf.flags & ABI_7_ACCELERATED != 0 => "a",
        () if asked("f") => "f",
        () => "",
    }
}

fn kernels(elf: &Elf<'_>, file_size: usize, sm: u32) -> Result<Vec<(String, ArchKernel)>, CodeError> {
    let symbols = elf.symbols()?;
    let said = said_of_functions(elf);
    let identity = KernelHasher::new(elf, &symbols, sm);
    let mut kernels = Vec::new();
    let mut names = 0usize;
    for (index, symbol) in symbols.iter().enumerate() {
        let Some(section) = kernel_section(elf, symbol) else { continue };
        names = names.saturating_add(symbol.name.len());
        if names > file_size.saturating_mul(NAMES_RATIO) {
            return Err(CodeError::TooLarge);
        }
        let said = said.get(&index).copied().unwrap_or_default();
        let launch = LaunchLimits {
            registers: said.registers,
            stack: said.stack,
            frame: said.frame,
            shared: identity.shared_bytes(section),
        };
        let kernel = ArchKernel {
            sha256: identity.of_kernel(section, symbol.value, &launch)?,
            registers: said.registers,
            shared_bytes: Some(launch.shared.saturating_sub(reserved(sm))),
            frame_bytes: said.stack.or(said.frame).filter(|&stack| stack != u32::MAX).map(u64::from),
        };
        kernels.push((String::from_utf8_lossy(symbol.name).into_owned(), kernel));
    }
    Ok(kernels)
}

/// Bytes that compilers count as a kernel's shared memory and that the system takes of each block, from sm_90 on, wherever the
/// kernel uses shared memory. Neither ptxas' log nor a card's limit has them; `cuobjdump -res-usage` does.
fn reserved(sm: u32) -> u64 {
    if sm >= 90 { 1024 } else { 0 }
}

fn kernel_section(elf: &Elf<'_>, symbol: &Symbol<'_>) -> Option<usize> {
    let section = symbol.section.filter(|_| symbol.is_function && symbol.other & KERNEL != 0)?;
    elf.sections[section].is_code().then_some(section)
}

#[derive(Clone, Copy, Default)]
struct Said {
    registers: Option<u32>,
    stack: Option<u32>,
    frame: Option<u32>,
}

/// By the function's symbol.
fn said_of_functions(elf: &Elf<'_>) -> HashMap<usize, Said> {
    let mut functions = HashMap::<usize, Said>::new();
    for attribute in elf.sections_named(".nv.info").flat_map(|section| attributes(section.bytes)) {
        let Some((symbol, value)) = of_symbol(&attribute) else { continue };
        match attribute.number {
            REGISTERS => functions.entry(symbol).or_default().registers = Some(value),
            STACK_SIZE => functions.entry(symbol).or_default().stack = Some(value),
            FRAME_SIZE => functions.entry(symbol).or_default().frame = Some(value),
            _ => {}
        }
    }
    functions
}

/// The tools that wrote the cubin, as far as they are recorded.
#[derive(Default)]
struct Tools {
    /// `13.5.37`, from the notes that newer tools leave. The tool's name is not kept, because all tools of one toolkit make
    /// the same code.
    noted: BTreeSet<String>,
    /// `12.9`, from the kernels' attributes.
    versions: BTreeSet<String>,
    /// The architectures requested of the tools: `sm_90a`.
    archs: BTreeSet<String>,
}

impl Tools {
    fn read(elf: &Elf<'_>) -> Self {
        let mut tools = Self::default();
        for section in elf.sections_named(".note.nv.tkinfo") {
            tools.read_notes(section.bytes);
        }
        let lists = elf.sections.iter().filter(|section| section.name.starts_with(b".nv.info."));
        for attribute in lists.flat_map(|section| attributes(section.bytes)) {
            if attribute.number == TOOLKIT
                && let Some(version) = u32_at(attribute.value, 0).filter(|version| *version < 10_000)
            {
                tools.versions.insert(format!("{}.{}", version / 10, version % 10));
            }
        }
        tools
    }

    /// Each note: sizes of name and content, a type, the name, the content; name and content are padded to 4 bytes.
    fn read_notes(&mut self, mut bytes: &[u8]) {
        while let (Some(name), Some(size)) = (u32_at(bytes, 0), u32_at(bytes, 4)) {
            let start = (name as usize).saturating_add(3) / 4 * 4;
            let start = start.saturating_add(12);
            let Some(content) = bytes.get(start..start.saturating_add(size as usize)) else { return };
            self.read_note(content);
            let end = start + (size as usize).saturating_add(3) / 4 * 4;
            bytes = bytes.get(end..).unwrap_or_default();
        }
    }

    /// The content: u32 version, then the offsets of file, tool, version, build and options in the text that follows.
    fn read_note(&mut self, content: &[u8]) {
        let text = |index: usize| -> Option<&str> {
            let texts = content.get(24..)?;
            let text = texts.get(u32_at(content, 4 * index)? as usize..)?;
            std::str::from_utf8(text.split(|&byte| byte == 0).next()?).ok()
        };
        // "Cuda compilation tools, release 13.5, V13.5.37"
        let version = text(3).and_then(|text| text.rsplit_once(" V")).map_or("", |(_, version)| version);
        if is_version(version) {
            self.noted.insert(version.to_owned());
        }
        let options = text(5).unwrap_or_default().split([' ', '=']);
        self.archs.extend(options.filter(|word| word.starts_with("sm_") && word.len() < 16).map(Into::into));
    }

    fn versions(self) -> BTreeSet<String> {
        if self.noted.is_empty() { self.versions } else { self.noted }
    }
}

/// The version goes into the record.
fn is_version(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
