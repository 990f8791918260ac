//! Kernels as sources and as machine code, and the folder of machine code that processes of a run share.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::CudaError;
use gbench_device_code as device_code;
use gbench_model::{DeviceCode, KernelCode, sha256_hex};

#[derive(Clone, Debug)]
pub(super) struct KernelSource {
    /// The file's name without its folder, for messages.
    pub name: String,
    pub text: String,
    /// In addition to the architecture.
    pub options: Vec<String>,
    /// Folders of headers, before the compiler's own.
    pub include: Vec<PathBuf>,
    /// Kernels by their names in the source, and variables as [`variable`] writes them.
    pub entries: Vec<String>,
}

/// A variable of the source, as the compiler takes its name.
pub(super) fn variable(name: &str) -> String {
    format!("&{name}")
}

impl KernelSource {
    pub(super) fn lacks(&self, entry: &str) -> CudaError {
        let file = self.name.clone();
        match entry.strip_prefix('&') {
            Some(name) => CudaError::NoVariable { file, name: name.into() },
            None => CudaError::NoEntry { file, entry: entry.into() },
        }
    }
}

/// Machine code that was parsed completely, and the compiler's notes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compiled {
    /// PTX, if the image is that.
    pub cubin: Vec<u8>,
    pub about: CompilerNotes,
    /// Its kernels, with the spills, which only the compiler's log contains.
    pub code: DeviceCode,
}

impl Compiled {
    /// Errors: the code cannot be parsed completely. Such code is not passed to the driver, which trusts the sizes in it.
    pub(super) fn new(
        cubin: Vec<u8>,
        about: CompilerNotes,
    ) -> std::result::Result<Self, device_code::CodeError> {
        let code = device_code::read(&cubin)?.pop().ok_or(device_code::CodeError::NoDeviceCode)?;
        let mut code = recorded(code);
        code.compiler = Some(about.compiler.clone());
        for (name, spills) in device_code::spills(&about.log) {
            if let Some(kernel) = code.kernels.get_mut(&name) {
                kernel.spill_store_bytes = Some(spills.store);
                kernel.spill_load_bytes = Some(spills.load);
            }
        }
        Ok(Self { cubin, about, code })
    }
}

/// The code of a file in the form of a record.
pub(super) fn recorded(code: device_code::ArchCode) -> DeviceCode {
    let kernel = |kernel: device_code::ArchKernel| KernelCode {
        sha256: kernel.sha256,
        registers: kernel.registers,
        shared_bytes: kernel.shared_bytes,
        frame_bytes: kernel.frame_bytes,
        ..KernelCode::default()
    };
    DeviceCode {
        arch: code.arch,
        compiler: code.compiler,
        kernels: code.kernels.into_iter().map(|(name, code)| (name, kernel(code))).collect(),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CompilerNotes {
    /// `NVRTC 13.5`.
    pub compiler: String,
    /// Contains the registers, frames and spills of each kernel.
    pub log: String,
    /// Names in the machine code, by those in the source, or in the suite file of an image.
    pub names: BTreeMap<String, String>,
}

impl CompilerNotes {
    /// Variables that the suite file names, as in the machine code.
    pub(super) fn variables(&self) -> impl Iterator<Item = &String> {
        self.names.iter().filter(|(name, _)| name.starts_with('&')).map(|(_, lowered)| lowered)
    }
}

/// The place of one compilation in the folder of a run. The key is the source text without its headers, which do not change
/// within a run.
pub(super) struct Kept {
    pub code: PathBuf,
    about: PathBuf,
}

impl Kept {
    pub(super) fn new(folder: &Path, source: &KernelSource, arch: &str) -> Self {
        let include: Vec<_> = source.include.iter().map(|it| it.to_string_lossy()).collect();
        let parts =
            [arch, &source.options.join("\n"), &include.join("\n"), &source.entries.join("\n"), &source.text];
        let key = sha256_hex(parts.join("\0").as_bytes());
        Self { code: folder.join(format!("{key}.cubin")), about: folder.join(format!("{key}.json")) }
    }

    /// Also `None` if it cannot be read; it is then compiled again.
    pub(super) fn read(&self) -> Option<Compiled> {
        let about = serde_json::from_slice(&fs::read(&self.about).ok()?).ok()?;
        Compiled::new(fs::read(&self.code).ok()?, about).ok()
    }

    /// Atomic, since two processes may write at once.
    pub(super) fn write(&self, compiled: &Compiled) -> io::Result<()> {
        let about = serde_json::to_vec(&compiled.about)?;
        for (path, bytes) in [(&self.code, &compiled.cubin), (&self.about, &about)] {
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.persist(path)?;
        }
        Ok(())
    }
}
