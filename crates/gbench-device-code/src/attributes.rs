//! The sections `.nv.info` and `.nv.info.KERNEL`: lists of attributes, each a format, a number and a value.
//!
//! ```text
//! u8 format, u8 attribute, then   format 1: nothing (u16 0)   2: u8 (and a pad)   3: u16   4: u16 size and so many bytes
//! ```

use super::elf::{u16_at, u32_at};

pub(super) const PARAMETER_BANK: u8 = 0x0a;
pub(super) const FRAME_SIZE: u8 = 0x11;
pub(super) const PARAMETER: u8 = 0x17;
/// The stack of the kernel and its callees along the deepest path; all ones for recursion.
pub(super) const STACK_SIZE: u8 = 0x12;
pub(super) const REGISTERS: u8 = 0x2f;
pub(super) const TOOLKIT: u8 = 0x37;

/// Attributes of a launch: its limits, parameters and scheduling.
///
/// The other attributes are places of instructions (they follow from the code), work-arounds, compiler statistics, the
/// toolkit's version, or the requested cap on registers (0x1b: `--maxrregcount` changes it in all kernels, even if no
/// instruction changes).
pub(super) const OF_A_LAUNCH: &[u8] = &[
    0x05, // most threads of a block
    PARAMETER_BANK,
    0x10, // threads of a block, required
    PARAMETER,
    0x19, // size of all parameters
    0x1e, // stack of calls and branches
    0x21, // requested caching
    0x26, // loads cached
    0x3d, // blocks of a cluster
    0x3e, // cluster given at compile time
    0x3f, // most blocks of a cluster
    0x45, // a parameter's offset and size, if they need more bits
    0x5b, // the grid counts clusters
];

pub(super) struct Attribute<'a> {
    pub number: u8,
    pub value: &'a [u8],
}

/// Stops at the first truncated attribute.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let [format, number, ..] = *head;
        let value = if format == 4 {
            let (value, rest) = rest.split_at_checked(usize::from(u16_at(head, 2)?))?;
            bytes = rest;
            value
        } else {
            let value = &bytes[2..4];
            bytes = rest;
            value
        };
        Some(Attribute { number, value })
    })
}

/// `(symbol, value)` of the attributes in `.nv.info` that describe a function.
pub(super) fn of_symbol(attribute: &Attribute<'_>) -> Option<(usize, u32)> {
    Some((u32_at(attribute.value, 0)? as usize, u32_at(attribute.value, 4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_cut_off_ends_the_list() {
        let bytes = [3, 0x1b, 0xff, 0, 4, REGISTERS, 8, 0, 5, 0, 0, 0, 10, 0, 0, 0, 4, REGISTERS, 8, 0, 1];
        let all: Vec<_> = attributes(&bytes).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].value, [0xff, 0]);
        assert_eq!(of_symbol(&all[1]), Some((5, 10)));
    }
}
