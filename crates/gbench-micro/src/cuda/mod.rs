//! Workloads on a GPU. The CUDA driver and the compiler are loaded at run time. If one is missing, or an old one lacks a
//! function, the case is skipped with that reason.
//!
//! | file | |
//! |---|---|
//! | `api`, `device`, `buffers`, `modules` | the driver's functions, and a GPU behind functions that cannot be misused |
//! | `hip` | AMD's runtime and compiler in place of NVIDIA's |
//! | `compiler`, `machine_code` | from a kernel's source to machine code |
//! | `image` | machine code and PTX of the user's own tools |
//! | `sampler` | one sample: events around calls, the device blocked meanwhile, and the clock |
//! | `energy` | the joules of a call |
//! | `throttle`, `measuring` | warm-up until the card settles, groups of samples, attempts on a throttled card |
//! | `kernel`, `slots` | one kernel from its source to a checked answer, and its arguments |
//! | `operators`, `kernels/*.cu`, `host_buffer` | the kernels of the suite with their right answers |
//! | `user_kernel` | a kernel of the user |
//! | `launches` | the cost of launching, and copies |
//! | `cublas`, `libraries` | NVIDIA's matrix product for comparison, and the places of such libraries and their headers |
//! | `toolkits` | which versions of CUDA, drivers, packages and cards belong together |
//! | `error`, `advice` | what went wrong, and what to do about it |
//!
//! `unsafe` is only in `api`, `device`, `buffers`, `modules`, `hip`, `compiler` and `cublas`.

mod accuracy;
mod advice;
mod api;
mod buffers;
mod compiler;
pub mod cubins;
mod cublas;
mod device;
mod energy;
mod error;
mod floor;
mod gpu_facts;
mod hip;
mod host_buffer;
mod image;
mod kernel;
mod launches;
mod libraries;
mod machine_code;
mod measuring;
mod minifloat;
mod modules;
mod operator;
mod operators;
mod sampler;
mod slots;
mod support;
mod throttle;
mod toolkits;
mod user_kernel;

use super::workload::Workload;

pub use advice::next;
pub use compiler::compiler_in_use;
pub use error::CudaError;
pub(super) use gpu_facts::gpus;
pub(super) use user_kernel::KERNEL;

pub(super) fn workloads() -> impl Iterator<Item = Workload> {
    let operators = operators::OPERATORS.into_iter().map(operator::workload);
    operators.chain([launches::LATENCY, launches::PCIE])
}
