//! The parameters of a kernel launch.

use std::collections::BTreeMap;

use super::amdgpu::{self, MACHINE_AMDGPU};
use super::attributes::{Attribute, PARAMETER, attributes};
use super::elf::{Elf, u16_at, u32_at};
use super::error::CodeError;
use super::ptx;

/// The sizes in bytes of the parameters of a kernel of a cubin, of PTX or of a code object, in order.
///
/// Errors: it is not one of these, or has no such kernel.
pub fn parameter_sizes(code: &[u8], kernel: &str) -> Result<Vec<usize>, CodeError> {
    if ptx::is(code) {
        return ptx::parameters(code).remove(kernel).ok_or(CodeError::NoKernel);
    }
    let elf = Elf::read(code)?;
    if elf.machine == MACHINE_AMDGPU {
        return amdgpu::parameter_sizes(&elf, kernel);
    }
    if elf.sections_named(&format!(".text.{kernel}")).next().is_none() {
        return Err(CodeError::NoKernel);
    }
    let name = format!(".nv.info.{kernel}");
    let said = elf.sections_named(&name).flat_map(|section| attributes(section.bytes));
    let by_place: BTreeMap<u16, usize> = said.filter_map(|attribute| size(&attribute)).collect();
    Ok(by_place.into_values().collect())
}

/// Offset and size: an index of the symbol (4 bytes), the place and the offset (2 each), and a word with the size in its upper
/// 14 bits.
fn size(attribute: &Attribute<'_>) -> Option<(u16, usize)> {
    let is_parameter = attribute.number == PARAMETER;
    let word = u32_at(attribute.value, 8).filter(|_| is_parameter)?;
    Some((u16_at(attribute.value, 4)?, (word >> 18) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_its_place_and_its_size() {
        let of = |number, word: u32| {
            let mut value = vec![0, 0, 0, 0, 2, 0, 16, 0];
            value.extend(word.to_le_bytes());
            size(&Attribute { number, value: &value })
        };
        assert_eq!(of(PARAMETER, 8 << 18 | 0x1f000), Some((2, 8)));
        assert_eq!(of(0x19, 8 << 18), None);
    }

    #[test]
    fn what_is_no_cubin_has_no_parameters() {
        assert!(parameter_sizes(b"no", "k").is_err());
    }
}
