//! The type of an argument's elements: as it stands, or the one that a parameter names.

use serde::{Serialize, Serializer};

use gbench_model::{DType, Params};

#[derive(Clone, Debug, PartialEq)]
pub enum ElementType {
    Fixed(DType),
    /// `"{t}"`: the type that the parameter's value names.
    OfParameter(String),
}

impl ElementType {
    /// Errors: the parameter's value names no type, in words.
    pub fn of(&self, params: &Params) -> Result<DType, String> {
        match self {
            ElementType::Fixed(dtype) => Ok(*dtype),
            ElementType::OfParameter(name) => {
                let value = params.get(name).map(ToString::to_string).unwrap_or_default();
                value.parse().map_err(|_| format!("`{value}` is no type of an element"))
            }
        }
    }
}

impl std::fmt::Display for ElementType {
    /// As the file has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementType::Fixed(dtype) => f.write_str(dtype.into()),
            ElementType::OfParameter(name) => write!(f, "{{{name}}}"),
        }
    }
}

impl Serialize for ElementType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
