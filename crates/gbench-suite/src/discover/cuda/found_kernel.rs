//! The entry of a CUDA kernel.

use gbench_model::{Access, DType};

/// A kernel that can be measured by itself, with values guessed from its signature.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundKernel {
    pub file: String,
    pub entry: String,
    pub size: u64,
    pub grid: Vec<String>,
    pub block: Vec<u32>,
    /// Bytes.
    pub shared: Option<u32>,
    /// Its blocks wait for each other, so that all of them have to run at the same time.
    pub cooperative: bool,
    pub arguments: Vec<FoundArgument>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundArgument {
    pub name: String,
    pub dtype: DType,
    pub value: FoundValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FoundValue {
    Buffer { access: Access, length: String },
    Size,
    Number(f64),
}

impl FoundKernel {
    /// Bytes that it moves if it reads and writes each element once, as an expression; `None`: it has no buffers.
    pub fn bytes(&self) -> Option<String> {
        let moved = |argument: &FoundArgument| match &argument.value {
            FoundValue::Buffer { access, length } => {
                let times = if *access == Access::InputOutput { 2 } else { 1 };
                Some(match argument.dtype.bits() * times {
                    bits if bits % 8 == 0 => format!("{} * {length}", bits / 8),
                    bits => format!("{bits} * {length} // 8"),
                })
            }
            FoundValue::Size | FoundValue::Number(_) => None,
        };
        let parts: Vec<String> = self.arguments.iter().filter_map(moved).collect();
        (!parts.is_empty()).then(|| parts.join(" + "))
    }
}
