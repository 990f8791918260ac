//! Reads one `[[benchmark]]`.

pub(crate) mod action_reader;
pub(crate) mod benchmark_reader;
pub(crate) mod container_reader;
pub(crate) mod cuda_argument_reader;
pub(crate) mod cuda_reader;
pub(crate) mod harness_reader;
pub(crate) mod kernel_number_reader;
pub(crate) mod metrics_reader;
pub(crate) mod python_reader;
pub(crate) mod requires_reader;
pub(crate) mod source_pairs_reader;
pub(crate) mod sweep_reader;
mod tensor_map_reader;
pub(crate) mod work_reader;
