//! Where compilers of kernels keep what they made, by the variables that move it.

/// Folders of compiled kernels: what makes a second run faster than the first. A cold process gets an empty one for
/// each, and each side of a comparison its own.
pub const KERNEL_CACHES: [&str; 5] = [
    "CUDA_CACHE_PATH",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "NUMBA_CACHE_DIR",
];

/// The folder of all other caches. Downloaded models lie there too, which no user wants twice: only a cold process,
/// for which that is the point, gets an empty one.
pub const CACHE_HOME: &str = "XDG_CACHE_HOME";
