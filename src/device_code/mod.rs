//! The machine code of a GPU, told apart: which kernels a file holds, and one hash for each that stays the same as long
//! as the kernel runs the same instructions on the same constants.
//!
//! [`read`] takes a cubin, a fatbin, or an object, library or program of the host with fatbins inside, packed or not. It
//! is a reader of bytes and asks no tool. [`spills`] reads what only the assembler's log says. [`difference`] compares two
//! sides.
//!
//! Read so far: cubins of CUDA 11.8, 12.9, 13.4 and 13.5, for sm_50 to sm_121.
//!
//! # What the hash of a kernel says
//!
//! | takes part | does not |
//! |---|---|
//! | its instructions, and those of the functions that they call | names of kernels, functions and variables |
//! | their relocations: place, type, addend, and the content of what they point to | numbers of symbols and sections |
//! | the name of what the file only refers to, such as `vprintf` | file names, line numbers, debug information |
//! | its constants in its own banks (`.nv.constantN.KERNEL`) | other kernels of the file, their number and order |
//! | the module's banks (`.nv.constant3`, `.nv.constant4`) that an instruction may read, whole; through them the data they point to, with its initial values | banks and data that no instruction can reach |
//! | registers, stack, static shared memory, parameters, launch bounds, clusters | toolkit's version, the tool (NVRTC, ptxas, nvcc), its options |
//!
//! So a comment, another file name, `-lineinfo`, or a kernel added before it leave a kernel's hash as it is;
//! `--maxrregcount`, fast math or a change of the source change it where, and only where, the code changes. One
//! exception: a kernel that reads the module's constants or global variables by name sees a whole bank. When another
//! kernel of the file adds one, the bank changes and the hash with it: the same code may be called changed, so that changed
//! code is not called the same.
//!
//! Two attributes are left out although they say something of the kernel: the cap on registers that was asked for (the
//! registers that it got take part) and, on Blackwell, the second form of the code (`.nv.capmerc`) that relatives of the
//! card load. [`CodeDifference::same_toolkit`] says whether a toolkit may have changed the code: CUDA 12.9 and 13.5 make the
//! same of some kernels and not of others.
//!
//! The hash is over the code for one architecture. What the driver makes of PTX when it loads it is not in any file;
//! neither is what the host writes into constants at run time.

mod attributes;
mod code_difference;
mod cubin;
mod display_name;
mod elf;
mod fatbin;
mod identity;
mod log;
mod parameters;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{DeviceCode, KernelCode, sha256_hex};

pub use code_difference::{CodeDifference, difference};
pub use display_name::display_name;
pub use log::{Spills, spills};
pub use parameters::parameter_sizes;

use elf::{Elf, MACHINE_CUDA};
use fatbin::Found;

/// Where programs of the host keep code that can be loaded as it is.
const FATBINS: &str = ".nv_fatbin";
/// Where they keep code that still has to be linked.
const FATBINS_TO_LINK: &str = "__nv_relfatbin";

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    #[error("neither a cubin nor a fatbin nor an ELF file of a program or library")]
    NotDeviceCode,
    #[error("it holds no code for a GPU")]
    NoDeviceCode,
    #[error("its code for a GPU has no kernel")]
    NoKernel,
    #[error(
        "it holds PTX only: the driver compiles that when it loads it, so nothing is known of the code that runs; \
         compile for the card's architecture, such as -arch=sm_90"
    )]
    OnlyPtx,
    #[error(
        "it holds no cubin but code for the compiler's own use, such as -dlto leaves; link it, then give the program"
    )]
    OnlyIntermediate,
    #[error(
        "its device code still has to be linked (-rdc=true or -dc): give the program or library that is linked"
    )]
    Relocatable,
    #[error(
        "its code for sm_{arch} is packed in a way that is not known, or damaged; compile with -Xfatbin=-no-compress, \
         or nvcc --no-compress"
    )]
    Packed { arch: u32 },
    #[error("it has version {0} of the cubin format; versions 7 and 8 (CUDA 11 to 13) are known")]
    Abi(u8),
    #[error("it is damaged: {0}")]
    Malformed(&'static str),
    #[error("reading it would take too much: it unpacks to too much or refers to the same bytes too often")]
    TooLarge,
}

/// The device code in a file, one for each architecture, in the order of their names. What a file holds for one
/// architecture in several places is one; of a name that occurs twice with different code, the hash is over both.
///
/// Errors: the file holds no code that could be told apart, or is not what it claims to be. A file with cubins beside PTX
/// is no error; the PTX is left out.
pub fn read(bytes: &[u8]) -> Result<Vec<DeviceCode>, CodeError> {
    let mut all = Archs::default();
    if fatbin::is(bytes) {
        let mut found = Found::default();
        all.take_fatbins(bytes, &mut found)?;
        return all.done(&found);
    }
    if bytes.starts_with(b".version ") || bytes.starts_with(b"//\n// Generated by NVIDIA NVVM Compiler") {
        return Err(CodeError::OnlyPtx);
    }
    if !Elf::is(bytes) {
        return Err(CodeError::NotDeviceCode);
    }
    let elf = Elf::read(bytes)?;
    if elf.machine == MACHINE_CUDA {
        all.take(cubin::read(bytes)?);
        return all.done(&Found::default());
    }
    let mut found = Found::default();
    for section in elf.sections_named(FATBINS) {
        all.take_fatbins(section.bytes, &mut found)?;
    }
    if all.0.is_empty() && elf.sections_named(FATBINS_TO_LINK).any(|section| !section.bytes.is_empty()) {
        return Err(CodeError::Relocatable);
    }
    all.done(&found)
}

/// What one cubin holds.
struct Cubin {
    arch: String,
    kernels: Vec<(String, KernelCode)>,
    /// Versions: `13.5.37`.
    toolkits: BTreeSet<String>,
}

/// By architecture.
#[derive(Default)]
struct Archs(BTreeMap<String, Arch>);

#[derive(Default)]
struct Arch {
    toolkits: BTreeSet<String>,
    /// By name, then by hash: a template that two files instantiate is there twice, mostly with the same code.
    kernels: BTreeMap<String, BTreeMap<String, KernelCode>>,
}

impl Archs {
    fn take_fatbins(&mut self, bytes: &[u8], found: &mut Found) -> Result<(), CodeError> {
        fatbin::each_cubin(bytes, found, &mut |bytes| {
            self.take(cubin::read(bytes)?);
            Ok(())
        })
    }

    fn take(&mut self, cubin: Cubin) {
        let arch = self.0.entry(cubin.arch).or_default();
        if !cubin.kernels.is_empty() {
            arch.toolkits.extend(cubin.toolkits);
        }
        for (name, kernel) in cubin.kernels {
            arch.kernels.entry(name).or_default().insert(kernel.sha256.clone(), kernel);
        }
    }

    fn done(self, found: &Found) -> Result<Vec<DeviceCode>, CodeError> {
        let empty = self.0.is_empty();
        let all: Vec<_> = self
            .0
            .into_iter()
            .filter(|(_, arch)| !arch.kernels.is_empty())
            .map(|(name, arch)| arch.device_code(name))
            .collect();
        match (all.is_empty(), empty) {
            (false, _) => Ok(all),
            (true, false) => Err(CodeError::NoKernel),
            (true, true) if found.ptx => Err(CodeError::OnlyPtx),
            (true, true) if found.other => Err(CodeError::OnlyIntermediate),
            (true, true) => Err(CodeError::NoDeviceCode),
        }
    }
}

impl Arch {
    fn device_code(self, arch: String) -> DeviceCode {
        let toolkits: Vec<_> = self.toolkits.into_iter().collect();
        DeviceCode {
            arch,
            compiler: (!toolkits.is_empty()).then(|| format!("CUDA {}", toolkits.join(", "))),
            kernels: self.kernels.into_iter().map(|(name, codes)| (name, one(codes))).collect(),
        }
    }
}

/// Different code under one name: a hash over all, in the order of the hashes, and the largest of each figure.
fn one(mut codes: BTreeMap<String, KernelCode>) -> KernelCode {
    if codes.len() == 1
        && let Some((_, only)) = codes.pop_first()
    {
        return only;
    }
    let hashes: Vec<&str> = codes.keys().map(String::as_str).collect();
    KernelCode {
        sha256: sha256_hex(hashes.join(" ").as_bytes()),
        registers: codes.values().filter_map(|code| code.registers).max(),
        shared_bytes: codes.values().filter_map(|code| code.shared_bytes).max(),
        frame_bytes: codes.values().filter_map(|code| code.frame_bytes).max(),
        ..KernelCode::default()
    }
}
