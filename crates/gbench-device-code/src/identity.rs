//! The hash of one kernel, over the parts of a cubin that decide how the kernel runs. The crate's documentation lists them.
//!
//! The walk begins at the kernel's instructions and continues to every part of the file that they may reach: functions, data,
//! banks of constants. A part gets a number when it is first met, and is written once, in that order. Names of parts are
//! ignored, because they may contain the source file's name or a count over the whole module. Only parts that the file does
//! not define, such as `vprintf`, are written by name.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use sha2::{Digest, Sha256};

use super::{
    attributes::{OF_A_LAUNCH, PARAMETER_BANK, attributes},
    elf::{Elf, Relocation, Symbol, u64_at},
    error::CodeError,
};

/// Must change when the input changes, so that hashes of two versions are never confused.
const VERSION: &[u8] = b"gbench device code 1";
/// Instructions have 16 bytes from Volta on; before, 8 bytes and another form.
const VOLTA: u32 = 70;
const INSTRUCTION: usize = 16;

pub(super) struct KernelHasher<'a> {
    elf: &'a Elf<'a>,
    symbols: &'a [Symbol<'a>],
    relocations: Vec<Vec<Relocation>>,
    /// The sections of each function, by the function's name in the names of sections.
    of_functions: HashMap<&'a [u8], OfFunction>,
    /// The banks of the whole module, such as `.nv.constant3`.
    banks: BTreeMap<u8, usize>,
    sm: u32,
    /// Hashes of bytes of a section that several kernels reach, by section, start and end.
    hashed: RefCell<HashMap<(usize, usize, usize), [u8; 32]>>,
    /// Cache: a section of instructions may read a bank of the module.
    readers: RefCell<HashMap<(usize, u8), bool>>,
}

#[derive(Default)]
struct OfFunction {
    attributes: Option<usize>,
    shared: Option<usize>,
    constants: BTreeMap<u8, usize>,
}

pub(super) struct LaunchLimits {
    pub registers: Option<u32>,
    pub stack: Option<u32>,
    pub frame: Option<u32>,
    pub shared: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// Instructions and constants of that function.
    Code { section: usize },
    /// Bytes of a section of data, or of one that only reserves memory.
    Data { section: usize, start: u64, end: u64 },
}

impl<'a> KernelHasher<'a> {
    pub(crate) fn new(elf: &'a Elf<'a>, symbols: &'a [Symbol<'a>], sm: u32) -> Self {
        let mut of_functions = HashMap::<&[u8], OfFunction>::new();
        let mut banks = BTreeMap::new();
        for (index, section) in elf.sections.iter().enumerate() {
            let Some(name) = section.name.strip_prefix(b".nv.") else { continue };
            if let Some(function) = name.strip_prefix(b"info.") {
                of_functions.entry(function).or_default().attributes = Some(index);
            } else if let Some(function) = name.strip_prefix(b"shared.") {
                of_functions.entry(function).or_default().shared = Some(index);
            } else if let Some((bank, function)) = name.strip_prefix(b"constant").and_then(bank) {
                match function {
                    Some(function) => {
                        of_functions.entry(function).or_default().constants.insert(bank, index);
                    }
                    None => {
                        banks.insert(bank, index);
                    }
                }
            }
        }
        let relocations = elf.relocations();
        let (hashed, readers) = (RefCell::default(), RefCell::default());
        Self { elf, symbols, relocations, of_functions, banks, sm, hashed, readers }
    }

    fn of_function(&self, code: usize) -> Option<&OfFunction> {
        self.of_functions.get(self.elf.sections[code].name.strip_prefix(b".text.")?)
    }

    /// Static shared memory of a block, as `cuobjdump -res-usage` reports it: with what the system takes.
    pub(crate) fn shared_bytes(&self, code: usize) -> u64 {
        let section = self.of_function(code).and_then(|function| function.shared);
        section.map_or(0, |section| self.elf.sections[section].size)
    }

    /// `entry` is the kernel's offset in the section.
    pub(crate) fn of_kernel(
        &self,
        code: usize,
        entry: u64,
        launch: &LaunchLimits,
    ) -> Result<String, CodeError> {
        let mut walk =
            Walk { identity: self, hash: Sha256::new(), parts: Vec::new(), numbers: HashMap::new() };
        walk.text(VERSION);
        walk.number(entry);
        for value in [launch.registers, launch.stack, launch.frame] {
            walk.number(value.map_or(u64::MAX, u64::from));
        }
        walk.number(launch.shared);
        walk.launch_attributes(code);
        walk.meet(Part::Code { section: code });
        walk.write_parts()?;
        Ok(format!("{:x}", walk.hash.finalize()))
    }

    /// A linked file has no relocations for constants: the instruction contains the bank's number. An operand of the form
    /// `c[BANK][OFFSET]` has it in bits 54 to 58, if bits 9 to 11 are 3 or 5. If such an instruction uses those bits for
    /// something else, a bank is added that the kernel does not read. `nvdisasm` 13.5 shows such an operand in 9 100 of 291
    /// 440 instructions for sm_75 to sm_120: none is missed, and none is added.
    fn may_read(&self, section: usize, bank: u8) -> Result<bool, CodeError> {
        if self.sm < VOLTA {
            return Ok(true);
        }
        if let Some(known) = self.readers.borrow().get(&(section, bank)) {
            return Ok(*known);
        }
        let bytes = self.elf.sections[section].bytes;
        self.elf.spend(bytes.len() as u64)?;
        let reads = operands_in(bytes, bank).next().is_some();
        self.readers.borrow_mut().insert((section, bank), reads);
        Ok(reads)
    }

    fn hash_of(&self, section: usize, bytes: &[u8], start: usize) -> Result<[u8; 32], CodeError> {
        let key = (section, start, start + bytes.len());
        if let Some(hash) = self.hashed.borrow().get(&key) {
            return Ok(*hash);
        }
        self.elf.spend(bytes.len() as u64)?;
        let hash = Sha256::digest(bytes).into();
        self.hashed.borrow_mut().insert(key, hash);
        Ok(hash)
    }
}

/// The first words of the instructions of Volta or later that may have an operand in this bank of constants.
pub(super) fn operands_in(instructions: &[u8], bank: u8) -> impl Iterator<Item = u64> {
    let words = instructions.chunks_exact(INSTRUCTION).filter_map(|instruction| u64_at(instruction, 0));
    words.filter(move |low| matches!(low >> 9 & 7, 3 | 5) && low >> 54 & 0x1f == u64::from(bank))
}

/// `3` is the module's bank 3, `0.kernel` a kernel's bank 0.
fn bank(text: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    match text[digits..].split_first() {
        None => Some((number, None)),
        Some((b'.', function)) => Some((number, Some(function))),
        Some(_) => None,
    }
}

struct Walk<'a> {
    identity: &'a KernelHasher<'a>,
    hash: Sha256,
    /// In the order in which they were met.
    parts: Vec<Part>,
    numbers: HashMap<Part, u64>,
}

impl Walk<'_> {
    fn number(&mut self, number: u64) {
        self.hash.update(number.to_le_bytes());
    }

    /// With its length, so that different sequences of texts never give the same bytes.
    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.hash.update(text);
    }

    fn launch_attributes(&mut self, code: usize) {
        let function = self.identity.of_function(code);
        let section = function.and_then(|function| function.attributes);
        let bytes = section.map_or(&[][..], |section| self.identity.elf.sections[section].bytes);
        let mut list: Vec<(u8, &[u8])> = attributes(bytes)
            .filter(|attribute| OF_A_LAUNCH.contains(&attribute.number))
            .map(|attribute| match attribute.number {
                // Begins with a symbol's number, which depends on the other kernels of the file.
                PARAMETER_BANK => (attribute.number, attribute.value.get(4..).unwrap_or_default()),
                number => (number, attribute.value),
            })
            .collect();
        list.sort_unstable();
        self.number(list.len() as u64);
        for (number, value) in list {
            self.number(number.into());
            self.text(value);
        }
    }

    fn meet(&mut self, part: Part) -> u64 {
        let next = self.parts.len() as u64;
        let number = *self.numbers.entry(part).or_insert(next);
        if number == next {
            self.parts.push(part);
        }
        number
    }

    fn write_parts(&mut self) -> Result<(), CodeError> {
        let mut written = 0;
        while let Some(&part) = self.parts.get(written) {
            written += 1;
            match part {
                Part::Code { section } => self.write_code(section)?,
                Part::Data { section, start, end } => self.write_data(section, start, end)?,
            }
        }
        Ok(())
    }

    fn write_code(&mut self, section: usize) -> Result<(), CodeError> {
        self.text(b"code");
        self.write_bytes(section, 0, u64::MAX)?;
        if let Some(function) = self.identity.of_function(section) {
            for (&bank, &constants) in &function.constants {
                self.text(b"bank of the function");
                self.number(bank.into());
                self.write_bytes(constants, 0, u64::MAX)?;
            }
        }
        for (&bank, &constants) in &self.identity.banks {
            if self.identity.may_read(section, bank)? {
                let end = self.identity.elf.sections[constants].size;
                let number = self.meet(Part::Data { section: constants, start: 0, end });
                self.text(b"bank of the module");
                self.number(bank.into());
                self.number(number);
            }
        }
        Ok(())
    }

    fn write_data(&mut self, section: usize, start: u64, end: u64) -> Result<(), CodeError> {
        self.text(b"data");
        self.write_bytes(section, start, end)
    }

    /// The bytes from `start` to `end`, as far as the section has them, and their relocations.
    fn write_bytes(&mut self, index: usize, start: u64, end: u64) -> Result<(), CodeError> {
        let identity = self.identity;
        let section = &identity.elf.sections[index];
        let end = end.min(section.size);
        self.number(end.saturating_sub(start));
        self.number(section.only_reserves().into());
        let within = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(section.bytes.len());
        let (from, to) = (within(start), within(end));
        let hash = identity.hash_of(index, section.bytes.get(from..to).unwrap_or_default(), from)?;
        self.text(&hash);

        let all = &identity.relocations[index];
        let first = all.partition_point(|relocation| relocation.offset < start);
        let some = &all[first..];
        let count = some.partition_point(|relocation| relocation.offset < end);
        identity.elf.spend(16 * count as u64)?;
        self.number(count as u64);
        for relocation in &some[..count] {
            self.number(relocation.offset - start);
            self.number(relocation.kind.into());
            self.number(relocation.addend.cast_unsigned());
            self.write_target(relocation.symbol);
        }
        Ok(())
    }

    fn write_target(&mut self, symbol: usize) {
        let Some(symbol) = self.identity.symbols.get(symbol) else {
            self.text(b"nothing");
            return;
        };
        let Some(index) = symbol.section else {
            self.text(b"elsewhere");
            self.text(symbol.name);
            return;
        };
        let section = &self.identity.elf.sections[index];
        if section.is_code() {
            let number = self.meet(Part::Code { section: index });
            self.text(b"code");
            self.number(number);
            self.number(symbol.value);
        } else if section.name.starts_with(b".nv.shared.") {
            // The place of a variable in shared memory decides on bank conflicts.
            self.text(b"shared");
            self.number(symbol.value);
            self.number(symbol.size);
        } else {
            let (start, end) = if symbol.is_section || symbol.size == 0 {
                (0, section.size)
            } else {
                (symbol.value, symbol.value.saturating_add(symbol.size))
            };
            let number = self.meet(Part::Data { section: index, start, end });
            self.text(b"data");
            self.number(number);
            self.number(symbol.value.wrapping_sub(start));
        }
    }
}
