//! Errors of a GPU and its libraries, apart from those of benchmarks.

use super::toolkits;
use gbench_model::text::list;

/// Codes of `cuda.h` with a meaning beyond a failed call.
const OUT_OF_MEMORY: u32 = 2;
/// Another process has the GPU, which is in exclusive mode.
pub(super) const UNAVAILABLE: u32 = 46;
/// No driver in the kernel, no device, no compiler for PTX, an old driver.
const MACHINE: [u32; 8] = [34, UNAVAILABLE, 100, 101, 221, 802, 803, 804];
/// Code for another card, of a newer toolkit, or PTX of a newer one.
pub(super) const REFUSED_CODE: [u32; 3] = [200, 209, 222];

#[derive(Clone, Debug, thiserror::Error)]
pub enum CudaError {
    #[error("no CUDA driver: libcuda.so.1 is not here")]
    NoDriver,
    #[error("the CUDA driver is too old: it lacks {}", missing.join(", "))]
    OldDriver { missing: Vec<&'static str> },
    #[error("no GPU is here that CUDA can use")]
    NoDevice,
    #[error("no HIP runtime: libamdhip64.so is not here")]
    NoHip,
    #[error("the HIP runtime is too old: it lacks {}", missing.join(", "))]
    OldHip { missing: Vec<&'static str> },
    #[error("no GPU is here that HIP can use")]
    NoHipDevice,
    #[error("no compiler for HIP kernels: hiprtc is not here; looked in {}", list(looked, 8))]
    NoHiprtc { looked: Vec<String> },
    /// A key of the suite file.
    #[error("{what} is for NVIDIA's cards, and this source is for AMD's")]
    NotOnHip { what: &'static str },
    #[error("{function}: {name} ({code}): {text}{}", hint(*code))]
    Call { function: &'static str, code: u32, name: String, text: String },
    #[error("no compiler for kernels: NVRTC (libnvrtc.so) is not here; looked in {}", list(looked, 8))]
    NoCompiler { looked: Vec<String>, driver: Option<u32> },
    /// It makes code that the driver does not load. `arch`: the card for which it was to do so.
    #[error("{library} is too new for this driver, which is for {}", toolkits::shown(*cuda_version))]
    NewLibrary { library: String, cuda_version: u32, arch: Option<String> },
    #[error("its machine code is of {compiler}, and this driver is for {}: {refused}", toolkits::shown(*cuda_version))]
    NewCode { compiler: String, cuda_version: u32, refused: Box<CudaError> },
    #[error("cuBLAS (libcublas.so) is not here")]
    NoCublas { driver: u32 },
    #[error("{function}: cuBLAS error {code}")]
    Cublas { function: &'static str, code: i32 },
    /// `driver`: the major version of CUDA that it is for, if there is one.
    #[error("{compiler} does not compile for {arch}")]
    OldCompiler { compiler: String, arch: String, driver: Option<u32> },
    /// The source is wrong, or a header is missing; the output of the compiler of this major version.
    #[error("{file} cannot be compiled for {arch}: {log}")]
    Compile { file: String, arch: String, log: String, toolkit: u32 },
    #[error(
        "{file} has no kernel `{entry}`: name it as the source does, with its namespace, and a template with its arguments"
    )]
    NoEntry { file: String, entry: String },
    #[error("{file} is not an image that a driver loads: {why}")]
    NoImage { file: String, why: String },
    #[error("{file} has no {kind} `{name}`; it has {}", if there.is_empty() { "none".into() } else { list(there, 8) })]
    NotInImage { file: String, kind: &'static str, name: String, there: Vec<String> },
    #[error("{file} has several {kind}s `{name}`: {}", list(found, 8))]
    SeveralInImage { file: String, kind: &'static str, name: String, found: Vec<String> },
    #[error("{file} has no code for this card, {card}, only for {}", list(has, 8))]
    ForeignImage { file: String, has: Vec<String>, card: String },
    #[error("{file} is of {tool}, and this driver is for {}", toolkits::shown(*cuda_version))]
    NewImage { file: String, tool: String, is_ptx: bool, cuda_version: u32, card: String },
    #[error("the driver does not load {file}: {refused}")]
    RefusedImage { file: String, is_ptx: bool, card: String, refused: Box<CudaError> },
    #[error("{file} has no variable `{name}`, which `data` names")]
    NoVariable { file: String, name: String },
    #[error("`data.{name}` has {given} bytes, and the variable has {takes}")]
    VariableSize { name: String, given: usize, takes: usize },
    #[error(
        "`{kernel}` reads {}, which nothing sets, so that all of it is zero",
        names.join(", ")
    )]
    UnsetConstants { kernel: String, names: Vec<String> },
    #[error("a library call cannot be combined with the kernel `{entry}`")]
    NoKernel { entry: String },
    #[error("the machine code of `{kernel}` cannot be read: {what}")]
    Code { kernel: String, what: String },
    #[error("the buffers need {} of device memory, and {} are free", megabytes(*needed), megabytes(*free as f64))]
    NoRoom { needed: f64, free: usize },
    #[error(
        "`shared` requests {asked} bytes in addition to the {own} that the kernel declares, but a block has at most {most}"
    )]
    SharedMemory { asked: u32, own: u64, most: u32 },
    #[error("`grid` gives no number of blocks for a card with {multiprocessors} multiprocessors")]
    NoGrid { multiprocessors: u32 },
    #[error("{what} need compute capability 9.0; this card has {}.{}", capability.0, capability.1)]
    OldCard { what: &'static str, capability: (u32, u32) },
    #[error(
        "`cooperative` starts {blocks} blocks, and at most {most} of this kernel run on the card at the same time"
    )]
    TooManyBlocks { blocks: u64, most: u64 },
    #[error(
        "`{kernel}` takes {} ({}), and {} are given ({})",
        gbench_model::text::count(takes.len(), "parameter"),
        bytes(takes),
        given.len(),
        bytes(given)
    )]
    Parameters { kernel: String, takes: Vec<usize>, given: Vec<usize> },
}

/// A comparison shows the cause of a side alone, without its next step.
fn hint(code: u32) -> &'static str {
    if code == UNAVAILABLE { "; it is in exclusive mode, and another process has it" } else { "" }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

fn bytes(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    format!("of {} bytes", if sizes.is_empty() { "no".to_owned() } else { sizes.join(", ") })
}

impl CudaError {
    /// The kind under which a process reports it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CudaError::Call { code: OUT_OF_MEMORY, .. } | CudaError::NoRoom { .. } => "out_of_memory",
            CudaError::Compile { .. }
            | CudaError::NoEntry { .. }
            | CudaError::NoImage { .. }
            | CudaError::NotInImage { .. }
            | CudaError::SeveralInImage { .. }
            | CudaError::ForeignImage { .. }
            | CudaError::NewImage { .. }
            | CudaError::RefusedImage { .. } => "compile",
            CudaError::Parameters { .. }
            | CudaError::NotOnHip { .. }
            | CudaError::NoVariable { .. }
            | CudaError::VariableSize { .. }
            | CudaError::UnsetConstants { .. } => "arguments",
            _ => "cuda",
        }
    }

    /// True if there is nothing of NVIDIA's that could be wrong.
    pub fn is_of_absence(&self) -> bool {
        matches!(self, CudaError::NoDriver | CudaError::NoCompiler { .. })
    }

    /// The error where the driver refuses machine code, if that is of a toolkit that is too new for it.
    pub(super) fn of_code(self, compiler: &str, cuda_version: u32) -> Self {
        let is_newer = toolkits::major_of(compiler).is_some_and(|major| major > cuda_version / 1000);
        match &self {
            CudaError::Call { code, .. } if is_newer && REFUSED_CODE.contains(code) => {
                CudaError::NewCode { compiler: compiler.into(), cuda_version, refused: Box::new(self) }
            }
            _ => self,
        }
    }

    /// True if the machine lacks something, which no benchmark can change.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            // A driver that does not even start is of no use to any benchmark.
            CudaError::Call { function: "cuInit" | "hipInit", .. } => true,
            CudaError::Call { code, .. } => MACHINE.contains(code),
            CudaError::Compile { .. }
            | CudaError::Code { .. }
            | CudaError::NoEntry { .. }
            | CudaError::NoImage { .. }
            | CudaError::NotInImage { .. }
            | CudaError::SeveralInImage { .. }
            | CudaError::ForeignImage { .. }
            | CudaError::NewImage { .. }
            | CudaError::RefusedImage { .. }
            | CudaError::NoKernel { .. }
            | CudaError::NotOnHip { .. }
            | CudaError::NoRoom { .. }
            | CudaError::SharedMemory { .. }
            | CudaError::TooManyBlocks { .. }
            | CudaError::NoGrid { .. }
            | CudaError::Parameters { .. }
            | CudaError::NoVariable { .. }
            | CudaError::VariableSize { .. }
            | CudaError::UnsetConstants { .. }
            | CudaError::Cublas { .. } => false,
            CudaError::NoDriver
            | CudaError::NoHip
            | CudaError::OldHip { .. }
            | CudaError::NoHipDevice
            | CudaError::NoHiprtc { .. }
            | CudaError::OldDriver { .. }
            | CudaError::NoDevice
            | CudaError::NoCompiler { .. }
            | CudaError::NewLibrary { .. }
            | CudaError::NewCode { .. }
            | CudaError::NoCublas { .. }
            | CudaError::OldCard { .. }
            | CudaError::OldCompiler { .. } => true,
        }
    }
}
