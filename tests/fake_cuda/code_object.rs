//! The kernels of a code object of AMD's compilers: an ELF file with e_machine 224, whose note is MessagePack.

use std::collections::BTreeMap;

use crate::elf::{Kernel, Parameter};
#[path = "../../crates/gbench-device-code/src/msgpack.rs"]
mod msgpack;
use msgpack::Value;

/// The kernels, and the architecture: `gfx90a`. `note`: the section `.note`.
pub fn read(note: &[u8]) -> Option<(BTreeMap<String, Kernel>, String)> {
    const OWNER: &[u8] = b"AMDGPU\0";
    // Three words, and the owner's name, filled up to four bytes.
    let content = note.get(12..)?.strip_prefix(OWNER)?.get(1..)?;
    let about = Value::read(content)?;
    let target = about.text("amdhsa.target")?;
    let kernels = about.list("amdhsa.kernels").iter().map(kernel).collect::<Option<_>>()?;
    Some((kernels, target.rsplit("--").next()?.to_owned()))
}

fn kernel(it: &Value) -> Option<(String, Kernel)> {
    let number = |key| it.number(key).map(|number| number as u32);
    let name = it.text(".symbol")?.strip_suffix(".kd")?.to_owned();
    let given =
        it.list(".args").iter().filter(|it| !it.text(".value_kind").unwrap_or("").starts_with("hidden_"));
    let parameter = |it: &Value| {
        Some(Parameter { offset: it.number(".offset")? as usize, size: it.number(".size")? as usize })
    };
    let kernel = Kernel {
        name: name.clone(),
        registers: number(".vgpr_count")?,
        frame: number(".private_segment_fixed_size")?,
        shared: number(".group_segment_fixed_size")?,
        most_threads: number(".max_flat_workgroup_size")?,
        parameters: given.map(parameter).collect::<Option<_>>()?,
    };
    Some((name, kernel))
}
