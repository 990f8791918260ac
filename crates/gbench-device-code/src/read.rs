//! Reads the device code of any kind of file.

use std::collections::{BTreeMap, BTreeSet};

use super::amdgpu::{self, MACHINE_AMDGPU};
use super::code::{ArchCode, ArchKernel};
use super::cubin::{self, Cubin};
use super::elf::{Elf, MACHINE_CUDA};
use super::error::CodeError;
use super::fatbin::{self, FatbinContents};
use super::ptx;
use sha2::{Digest, Sha256};

/// The section of host programs with loadable code.
const FATBINS: &str = ".nv_fatbin";
/// The section with code that still has to be linked.
const FATBINS_TO_LINK: &str = "__nv_relfatbin";

/// The device code in a file, one entry per architecture, sorted by name. Code for one architecture in several places is
/// joined. If a name occurs twice with different code, its hash covers both.
///
/// Errors: the file has no code that can be identified, or is malformed. Cubins with additional PTX are fine; the PTX is
/// ignored.
pub fn read(bytes: &[u8]) -> Result<Vec<ArchCode>, CodeError> {
    let mut all = Archs::default();
    if fatbin::is(bytes) {
        let mut found = FatbinContents::default();
        all.take_fatbins(bytes, &mut found)?;
        return all.done(&found);
    }
    if ptx::is(bytes) {
        return Err(CodeError::OnlyPtx);
    }
    if !Elf::is(bytes) {
        return Err(CodeError::NotDeviceCode);
    }
    let elf = Elf::read(bytes)?;
    if elf.machine == MACHINE_CUDA {
        all.take(cubin::read(bytes)?);
        return all.done(&FatbinContents::default());
    }
    if elf.machine == MACHINE_AMDGPU {
        return amdgpu::read(&elf).map(|code| vec![code]);
    }
    let mut found = FatbinContents::default();
    for section in elf.sections_named(FATBINS) {
        all.take_fatbins(section.bytes, &mut found)?;
    }
    if all.0.is_empty() && elf.sections_named(FATBINS_TO_LINK).any(|section| !section.bytes.is_empty()) {
        return Err(CodeError::Relocatable);
    }
    all.done(&found)
}

#[derive(Default)]
struct Archs(BTreeMap<String, Arch>);

#[derive(Default)]
struct Arch {
    toolkits: BTreeSet<String>,
    /// By name, then by hash: a template that two files instantiate occurs twice, mostly with the same code.
    kernels: BTreeMap<String, BTreeMap<String, ArchKernel>>,
}

impl Archs {
    fn take_fatbins(&mut self, bytes: &[u8], found: &mut FatbinContents) -> Result<(), CodeError> {
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

    fn done(self, found: &FatbinContents) -> Result<Vec<ArchCode>, CodeError> {
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
    fn device_code(self, arch: String) -> ArchCode {
        let toolkits: Vec<_> = self.toolkits.into_iter().collect();
        ArchCode {
            arch,
            compiler: (!toolkits.is_empty()).then(|| format!("CUDA {}", toolkits.join(", "))),
            kernels: self.kernels.into_iter().map(|(name, codes)| (name, one(codes))).collect(),
        }
    }
}

/// Joins different code of one name: a hash over all, in the order of the hashes, and the largest of each figure.
fn one(mut codes: BTreeMap<String, ArchKernel>) -> ArchKernel {
    if codes.len() == 1
        && let Some((_, only)) = codes.pop_first()
    {
        return only;
    }
    let hashes: Vec<&str> = codes.keys().map(String::as_str).collect();
    ArchKernel {
        sha256: format!("{:x}", Sha256::digest(hashes.join(" "))),
        registers: codes.values().filter_map(|code| code.registers).max(),
        shared_bytes: codes.values().filter_map(|code| code.shared_bytes).max(),
        frame_bytes: codes.values().filter_map(|code| code.frame_bytes).max(),
    }
}
