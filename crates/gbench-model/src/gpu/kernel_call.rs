//! The request to measure a CUDA kernel by itself, without host code.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::tensor_map::TensorMap;

/// Name of the environment variable that contains a [`KernelCall`] as JSON.
pub const KERNEL_CALL: &str = "GBENCH_KERNEL";

/// Name of the environment variable with the folder of compiled kernels that the processes of one run share.
pub const CUBIN_FOLDER: &str = "GBENCH_CUBINS";

/// Name of the environment variable with the path of the compiler to use.
pub const NVRTC_LIBRARY: &str = "GBENCH_NVRTC";

/// Name of the environment variable that replaces the driver's management library: a path, or a name for the loader.
pub const NVML_LIBRARY: &str = "GBENCH_NVML_LIBRARY";

/// Name of the built-in workload that reads it.
pub const KERNEL_WORKLOAD: &str = "cuda_kernel";

/// One kernel of a `.cu` file with everything that a launch needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelCall {
    /// The `.cu` file, or the image, absolute.
    pub file: PathBuf,
    /// It is a cubin, a fatbin or PTX, which the driver loads as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub image: bool,
    /// As in the source: `saxpy`, `blur<float, 4>`. For an image it may be the symbol.
    pub entry: String,
    /// Compiler options: `-DTILE=32`, `--use_fast_math`.
    pub options: Vec<String>,
    /// Folders of headers, absolute. The file's own folder is always searched first, and is not listed.
    pub include: Vec<PathBuf>,
    pub launch: KernelLaunch,
    /// The grid by the number of the card's multiprocessors, if it depends on that; the launch has that of a usual card.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grids: BTreeMap<u32, [u32; 3]>,
    /// In the order of the kernel's parameters.
    pub arguments: Vec<KernelArgument>,
    /// Values of `__constant__` and `__device__` variables of the source, by name; each a buffer that is read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, KernelArgument>,
    /// The reference for the outputs.
    pub reference: Option<KernelReference>,
    /// Write twice the L2 cache's size before each sample.
    pub flush_l2: bool,
    /// Seconds of calls in a row, untimed, before the samples, which then follow without a rest; never with `flush_l2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<f64>,
    /// Bytes moved and floating-point operations of one launch, if declared.
    pub bytes: Option<f64>,
    pub flops: Option<f64>,
    /// The type of the multiplied elements, if declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplies: Option<DType>,
}

/// Blocks of the grid and threads of a block, x y z, and dynamic shared memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelLaunch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    /// Blocks of a cluster, which the kernel does not fix itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// All blocks run at the same time, so that they can wait for each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cooperative: bool,
}

impl KernelLaunch {
    /// A plain launch.
    pub const fn new(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Self {
        Self { grid, block, shared_bytes, cluster: None, cooperative: false }
    }
}

/// Another kernel of the same file with the same parameters, which computes the right answer in a simple way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelReference {
    pub entry: String,
    pub launch: KernelLaunch,
    /// As of the kernel itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grids: BTreeMap<u32, [u32; 3]>,
    /// One for each written buffer, in the arguments' order.
    pub tolerances: Vec<Tolerance>,
}

/// An element is right within `absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    pub absolute: f64,
    pub relative: f64,
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelArgument {
    /// A pointer to `length` elements in device memory.
    Buffer { dtype: DType, length: u64, access: Access, fill: Fill },
    /// A number passed by value.
    Scalar { dtype: DType, value: f64 },
    /// A struct passed by value, whose fields are laid out as C does.
    Struct { fields: Vec<KernelArgument> },
    /// The tensor map of a buffer, passed by value.
    TensorMap { buffer: Box<KernelArgument>, map: TensorMap },
}

/// A buffer of a kernel, as in [`KernelArgument::Buffer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelBuffer {
    pub dtype: DType,
    pub length: u64,
    pub access: Access,
    pub fill: Fill,
}

/// The buffers of arguments in their order, also those of fields and tensor maps.
pub fn buffers(arguments: &[KernelArgument]) -> Vec<KernelBuffer> {
    let of = |argument: &KernelArgument| match argument {
        KernelArgument::Buffer { dtype, length, access, fill } => {
            vec![KernelBuffer { dtype: *dtype, length: *length, access: *access, fill: *fill }]
        }
        KernelArgument::Scalar { .. } => Vec::new(),
        KernelArgument::Struct { fields } => buffers(fields),
        KernelArgument::TensorMap { buffer, .. } => buffers(std::slice::from_ref(&**buffer)),
    };
    arguments.iter().flat_map(of).collect()
}

/// The type of an element.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum DType {
    F64,
    F32,
    F16,
    Bf16,
    /// FP8 without infinities: `float8_e4m3fn`.
    F8e4m3,
    F8e5m2,
    /// FP4, two elements a byte, the first one in the low bits.
    F4e2m1,
    /// A complex number of two `f32`.
    C64,
    C128,
    I64,
    I32,
    I16,
    I8,
    /// Two elements a byte, as [`DType::F4e2m1`].
    I4,
    U64,
    U32,
    U16,
    U8,
    Bool,
}

impl DType {
    pub const fn bits(self) -> usize {
        match self {
            DType::C128 => 128,
            DType::F64 | DType::I64 | DType::U64 | DType::C64 => 64,
            DType::F32 | DType::I32 | DType::U32 => 32,
            DType::F16 | DType::Bf16 | DType::I16 | DType::U16 => 16,
            DType::F8e4m3 | DType::F8e5m2 | DType::I8 | DType::U8 | DType::Bool => 8,
            DType::F4e2m1 | DType::I4 => 4,
        }
    }

    /// Bytes of one element by itself.
    pub const fn size(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The type of the two parts of a complex number; other types are their own.
    pub const fn part(self) -> Self {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    pub const fn is_floating(self) -> bool {
        matches!(
            self.part(),
            DType::F64
                | DType::F32
                | DType::F16
                | DType::Bf16
                | DType::F8e4m3
                | DType::F8e5m2
                | DType::F4e2m1
        )
    }
}

/// How the kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read only.
    Input,
    /// Written; it is poisoned before the answer is checked.
    Output,
    /// Read and written; it is filled again before the answer is checked.
    InputOutput,
}

/// The initial contents of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fill {
    /// Random numbers from `low` to `high`, using all bits of the mantissa; integers below `high`.
    Uniform { low: f64, high: f64 },
    /// The same number everywhere.
    Value { value: f64 },
    /// Each element's own index.
    Index,
}
