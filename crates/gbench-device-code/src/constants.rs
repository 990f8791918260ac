//! Constants that only the host gives a value.

use super::elf::Elf;
use super::error::CodeError;
use super::identity::has_operand_in;

/// The bank of a module's `__constant__` variables.
const BANK: u8 = 3;

/// The names, as in the machine code, of the `__constant__` variables that contain only zeros, if the kernel may read any of
/// them. One that the source sets to zero is among them. Empty for cards before Volta, whose instructions differ.
///
/// Errors: it is not a cubin.
pub fn unset_constants(cubin: &[u8], kernel: &str) -> Result<Vec<String>, CodeError> {
    let elf = Elf::read(cubin)?;
    let text = format!(".text.{kernel}");
    if !elf.sections_named(&text).any(|section| has_operand_in(section.bytes, BANK)) {
        return Ok(Vec::new());
    }
    let symbols = elf.symbols()?;
    let constants =
        symbols.iter().filter(|symbol| !symbol.is_function && !symbol.is_section && symbol.size > 0);
    let unset = constants.filter(|symbol| {
        let section = symbol.section.and_then(|section| elf.sections.get(section));
        section.filter(|section| section.name == b".nv.constant3").is_some_and(|section| {
            let start = usize::try_from(symbol.value).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(symbol.size).unwrap_or(usize::MAX));
            section.bytes.get(start..end).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        })
    });
    Ok(unset.map(|symbol| String::from_utf8_lossy(symbol.name).into_owned()).collect())
}
