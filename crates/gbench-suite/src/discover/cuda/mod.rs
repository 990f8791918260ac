//! CUDA sources.

pub(crate) mod code_text;
pub(crate) mod found_kernel;
pub(crate) mod kernels;
pub(crate) mod pairs;
pub(crate) mod parameter;
pub(crate) mod source;
