//! Errors of a GPU and its libraries, apart from those of benchmarks.

/// Codes of `cuda.h` with a meaning beyond a failed call.
const OUT_OF_MEMORY: u32 = 2;
/// No driver in the kernel, no device, an old driver. A GPU in exclusive use by another process (46) is not a lack of the
/// machine.
const MACHINE: [u32; 6] = [34, 100, 101, 802, 803, 804];
/// The kernel accessed memory that is not its own.
const ILLEGAL_ADDRESS: [u32; 4] = [700, 716, 717, 719];

#[derive(Clone, Debug, thiserror::Error)]
pub enum CudaError {
    #[error("no CUDA driver: libcuda.so.1 is not here")]
    NoDriver,
    #[error("the CUDA driver is too old: it lacks {}", missing.join(", "))]
    OldDriver { missing: Vec<&'static str> },
    #[error("no GPU is here that CUDA can use")]
    NoDevice,
    #[error("{function}: {name} ({code}): {text}{}", hint(*code))]
    Call { function: &'static str, code: u32, name: String, text: String },
    #[error(
        "no compiler for kernels: NVRTC (libnvrtc.so) is not here; looked in {looked}. Install a CUDA toolkit or the Python package nvidia-cuda-nvrtc, or name it by GBENCH_NVRTC"
    )]
    NoCompiler { looked: String },
    #[error("cuBLAS (libcublas.so) is not here")]
    NoCublas,
    #[error("{function}: cuBLAS error {code}")]
    Cublas { function: &'static str, code: i32 },
    #[error("NVRTC {version} does not compile for {arch}")]
    OldCompiler { version: String, arch: String },
    /// The source is wrong, or a header is missing; the compiler's output.
    #[error("{file} cannot be compiled for {arch}: {log}")]
    Compile { file: String, arch: String, log: String },
    #[error(
        "{file} has no kernel `{entry}`: name it as the source does, with its namespace, and a template with its arguments"
    )]
    NoEntry { file: String, entry: String },
    #[error(
        "{file} has no variable `{name}`, which `data` names: write it as in the source, with its namespace"
    )]
    NoVariable { file: String, name: String },
    #[error("`data.{name}` has {given} bytes, and the variable has {takes}: correct its type and `length`")]
    VariableSize { name: String, given: usize, takes: usize },
    #[error(
        "`{kernel}` reads {}, which nothing sets, so that all of it is zero: give it values by `data = {{ NAME = {{ input = \"f32\", length = N }} }}`, with `fill = \"zero\"` if zeros are meant",
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
    #[error(
        "`{kernel}` takes {} ({}), and {} are given ({})",
        gbench_model::text::count(takes.len(), "parameter"),
        bytes(takes),
        given.len(),
        bytes(given)
    )]
    Parameters { kernel: String, takes: Vec<usize>, given: Vec<usize> },
}

fn hint(code: u32) -> &'static str {
    if ILLEGAL_ADDRESS.contains(&code) {
        "; a kernel reached beyond its buffers: check each `length` and the grid, or run it under compute-sanitizer"
    } else {
        ""
    }
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
            CudaError::Compile { .. } | CudaError::NoEntry { .. } => "compile",
            CudaError::Parameters { .. }
            | CudaError::NoVariable { .. }
            | CudaError::VariableSize { .. }
            | CudaError::UnsetConstants { .. } => "arguments",
            _ => "cuda",
        }
    }

    /// True if the machine lacks something, which no benchmark can change.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            CudaError::Call { code, .. } => MACHINE.contains(code),
            CudaError::Compile { .. }
            | CudaError::Code { .. }
            | CudaError::NoEntry { .. }
            | CudaError::NoKernel { .. }
            | CudaError::NoRoom { .. }
            | CudaError::SharedMemory { .. }
            | CudaError::Parameters { .. }
            | CudaError::NoVariable { .. }
            | CudaError::VariableSize { .. }
            | CudaError::UnsetConstants { .. }
            | CudaError::Cublas { .. } => false,
            CudaError::NoDriver
            | CudaError::OldDriver { .. }
            | CudaError::NoDevice
            | CudaError::NoCompiler { .. }
            | CudaError::NoCublas
            | CudaError::OldCompiler { .. } => true,
        }
    }
}
