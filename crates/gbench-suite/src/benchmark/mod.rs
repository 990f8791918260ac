//! A benchmark: its program, its parameters, its numbers.

pub(crate) mod container;
pub(crate) mod cuda;
pub(crate) mod definition;
pub(crate) mod each_gpu;
pub(crate) mod element_type;
pub(crate) mod extraction;
pub(crate) mod harness;
pub(crate) mod kernel_number;
pub(crate) mod launch;
pub(crate) mod python;
pub(crate) mod source_pairs;
pub(crate) mod template;
pub(crate) mod tensor_map;
pub(crate) mod work;
