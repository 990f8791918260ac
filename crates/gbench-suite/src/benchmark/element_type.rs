//! The type of an argument's elements: fixed, or named by a parameter.

use serde::{Serialize, Serializer};

use gbench_model::{DType, Params};

#[derive(Clone, Debug, PartialEq)]
pub enum ElementType {
    Fixed(DType),
    OfParameter(String),
}

impl ElementType {
    /// Errors: the parameter's value is not the name of a type.
    pub fn of(&self, params: &Params) -> Result<DType, String> {
        match self {
            ElementType::Fixed(dtype) => Ok(*dtype),
            ElementType::OfParameter(name) => {
                let value = params.get(name).map(ToString::to_string).unwrap_or_default();
                value.parse().map_err(|_| format!("`{value}` is not an element type"))
            }
        }
    }
}

impl std::fmt::Display for ElementType {
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
