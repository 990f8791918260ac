//! Constants that only the host gives a value.

use super::elf::{Elf, Symbol};
use super::error::CodeError;
use super::identity::operands_in;
use super::ptx;

/// The bank of a module's `__constant__` variables.
const BANK: u8 = 3;
/// Blackwell's load of a constant into a uniform register, whose offset begins a bit earlier.
const UNIFORM_LOAD: u64 = 0x7ac;

/// The names, as in the machine code, of the `__constant__` variables that contain only zeros and that the kernel reads. One
/// that the source sets to zero is among them. A variable that is only read at a computed place, such as an array of
/// structures, may be missing: instructions then have no offset that shows it.
///
/// Errors: it is not a cubin.
pub fn unset_constants(cubin: &[u8], kernel: &str) -> Result<Vec<String>, CodeError> {
    let elf = Elf::read(cubin)?;
    let text = format!(".text.{kernel}");
    let words: Vec<u64> =
        elf.sections_named(&text).flat_map(|section| operands_in(section.bytes, BANK)).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let symbols = elf.symbols()?;
    let bank = |symbol: &Symbol| {
        let section = symbol.section.and_then(|section| elf.sections.get(section));
        let is_variable = !symbol.is_function && !symbol.is_section && symbol.size > 0;
        section.filter(|section| is_variable && section.name == b".nv.constant3")
    };
    let constants: Vec<&Symbol> = symbols.iter().filter(|symbol| bank(symbol).is_some()).collect();
    let is_unset = |symbol: &&&Symbol| {
        let start = usize::try_from(symbol.value).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(symbol.size).unwrap_or(usize::MAX));
        let bytes = bank(symbol).and_then(|section| section.bytes.get(start..end));
        bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    };
    let offsets: Vec<u64> = words.into_iter().filter_map(|word| offset(word, constants.len() == 1)).collect();
    let is_read = |symbol: &&&Symbol| {
        let end = symbol.value.saturating_add(symbol.size);
        offsets.iter().any(|offset| (symbol.value..end).contains(offset))
    };
    let found = constants.iter().filter(is_unset).filter(is_read);
    Ok(found.map(|symbol| String::from_utf8_lossy(symbol.name).into_owned()).collect())
}

/// Names of the variables of a cubin or of PTX, as in that code. Errors: it is neither.
pub fn variables(code: &[u8]) -> Result<Vec<String>, CodeError> {
    if ptx::is(code) {
        return Ok(ptx::variables(code));
    }
    let symbols = Elf::read(code)?.symbols()?;
    let is_one = |it: &&Symbol| !it.is_function && !it.is_section && it.size > 0 && it.section.is_some();
    Ok(symbols.iter().filter(is_one).map(|it| String::from_utf8_lossy(it.name).into_owned()).collect())
}

/// Bytes from the beginning of the bank. `None`: a register has the place, unless the bank has one variable.
fn offset(word: u64, is_only: bool) -> Option<u64> {
    const NO_REGISTER: u64 = 0xff;
    const INDEXED: [u64; 3] = [0xb82, 0xabb, UNIFORM_LOAD];
    let operation = word & 0xfff;
    let offset = if operation == UNIFORM_LOAD { word >> 37 & 0x1_ffff } else { word >> 38 & 0xffff };
    let is_indexed = INDEXED.contains(&operation) && word >> 24 & 0xff != NO_REGISTER;
    (is_only || offset > 0 || !is_indexed).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_of_a_constant_has_its_offset() {
        // Of `c[0x3][0x1c]` and `c[0x3][R5 + 0x10]`, and of `c[0x3][UR4]`, as NVRTC 13.5 writes them.
        let of = |operation: u64, register: u64, offset: u64, shift: u32| {
            operation | register << 24 | offset << shift | 3 << 54
        };
        assert_eq!(offset(of(0xa02, 0, 0x1c, 38), false), Some(0x1c));
        assert_eq!(offset(of(0xb82, 5, 0x10, 38), false), Some(0x10));
        assert_eq!(offset(of(UNIFORM_LOAD, 0xff, 0x1c, 37), false), Some(0x1c));
        assert_eq!((offset(of(0xb82, 5, 0, 38), false), offset(of(0xb82, 5, 0, 38), true)), (None, Some(0)));
        assert_eq!(offset(of(0xb82, 0xff, 0, 38), false), Some(0));
    }

    #[test]
    fn a_file_that_is_not_a_cubin_has_no_constants() {
        assert!(unset_constants(b"no", "k").is_err());
    }
}
