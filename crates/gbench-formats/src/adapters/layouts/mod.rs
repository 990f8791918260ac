//! Finds Python benchmarks by the places and names of their files. It runs none of them: names and texts suffice.
//!
//! [`find`] turns a [`SourceTree`] into cases, each with the [`PythonCall`] for the driver. [`targets`] resolves a word
//! such as `ch1:moe` to cases.

mod bench_yaml;
mod call;
mod folders;
mod imports;
mod kernels;
mod layout;
mod node;
mod pairs;
mod scalars;
mod targets;
#[cfg(test)]
mod tests;
mod yaml;

pub use call::{CallWay, CallWork, PythonCall, SkipCondition};
pub use folders::glob_fault;
pub use kernels::KERNEL_FUNCTIONS;
pub use layout::{
    KernelManifest, Layout, LayoutCases, LayoutRequest, PassedOver, PythonCase, SourceCase, SourceCases,
};
pub use pairs::source_pairs;
pub use targets::{TargetError, targets};

use super::interface::source_tree::SourceTree;

/// The cases of a layout in a tree. Errors: none; a fault is a warning, or a case of [`CallWay::Fault`].
pub fn find(request: &LayoutRequest, tree: &dyn SourceTree) -> LayoutCases {
    match request.layout {
        Layout::Pairs => pairs::find(request, tree),
        Layout::Kernels => kernels::find(request, tree),
    }
}
