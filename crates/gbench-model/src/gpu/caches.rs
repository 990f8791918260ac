//! The caches of kernel compilers, by the environment variables that move them.

/// Folders of compiled kernels, which make a second run faster than the first. A cold process gets an empty folder for each,
/// and each side of a comparison has its own.
pub const KERNEL_CACHES: [&str; 5] = [
    "CUDA_CACHE_PATH",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "NUMBA_CACHE_DIR",
];

/// The folder of all other caches. It also contains downloaded models, which users do not want to download twice, so only cold
/// processes get an empty one.
pub const CACHE_HOME: &str = "XDG_CACHE_HOME";
