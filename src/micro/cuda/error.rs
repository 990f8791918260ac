//! What can be wrong with a GPU and its libraries, apart from what a benchmark does.

/// Codes of `cuda.h` that mean more than that a call failed.
const OUT_OF_MEMORY: u32 = 2;
/// No driver in the kernel, no device, an old driver, a GPU that this driver does not know.
const MACHINE: [u32; 8] = [34, 46, 100, 101, 103, 802, 803, 804];

#[derive(Clone, Debug, thiserror::Error)]
pub enum CudaError {
    #[error("no CUDA driver: libcuda.so.1 is not here")]
    NoDriver,
    #[error("the CUDA driver is too old: it lacks {}", missing.join(", "))]
    OldDriver { missing: Vec<&'static str> },
    #[error("no GPU is here that CUDA can use")]
    NoDevice,
    #[error("{function}: {name} ({code}): {text}")]
    Call { function: &'static str, code: u32, name: String, text: String },
    #[error("no compiler for kernels: NVRTC (libnvrtc.so) is not here; looked in {looked}")]
    NoCompiler { looked: String },
    #[error("cuBLAS (libcublas.so) is not here")]
    NoCublas,
    #[error("{function}: cuBLAS error {code}")]
    Cublas { function: &'static str, code: i32 },
    #[error("NVRTC {version} does not compile for {arch}")]
    OldCompiler { version: String, arch: String },
    /// The source is wrong, or a header is missing; the compiler's own words.
    #[error("{file} cannot be compiled for {arch}: {log}")]
    Compile { file: String, arch: String, log: String },
    #[error("a library's work has no kernel `{entry}` beside it")]
    NoKernel { entry: String },
    #[error("the machine code of `{kernel}` cannot be read: {what}")]
    Code { kernel: String, what: String },
    #[error("the kernel takes {} ({}), and {} are given ({})", crate::model::text::count(takes.len(), "parameter"), bytes(takes), given.len(), bytes(given))]
    Parameters { takes: Vec<usize>, given: Vec<usize> },
}

fn bytes(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    format!("of {} bytes", if sizes.is_empty() { "no".to_owned() } else { sizes.join(", ") })
}

impl CudaError {
    /// The kind under which a process reports it.
    pub(in crate::micro) fn kind(&self) -> &'static str {
        match self {
            CudaError::Call { code: OUT_OF_MEMORY, .. } => "out_of_memory",
            CudaError::Compile { .. } => "compile",
            CudaError::Parameters { .. } => "arguments",
            _ => "cuda",
        }
    }

    /// Whether the machine lacks something, and no benchmark can do anything about it.
    pub(in crate::micro) fn is_of_machine(&self) -> bool {
        match self {
            CudaError::Call { code, .. } => MACHINE.contains(code),
            CudaError::Compile { .. }
            | CudaError::Code { .. }
            | CudaError::NoKernel { .. }
            | CudaError::Parameters { .. }
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
