//! The type of an argument's elements: as it stands, or the one that a parameter names.

use serde::{Serialize, Serializer};
use strum::IntoEnumIterator;

use super::action::check_text;
use super::kernel_number_reader::{SweptParams, for_point};
use super::reader::Item;
use super::template::{Piece, pieces};
use super::words::advise;
use crate::model::{DType, Params};

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

/// `"f32"`, or `"{name}"` of a parameter that names a type in every case.
pub(super) fn read_type(item: &Item, sweep: &SweptParams) -> Option<ElementType> {
    let text = item.text()?;
    if !text.contains(['{', '}']) {
        return item.variant().map(ElementType::Fixed);
    }
    let found = pieces(text).unwrap_or_default();
    let [Piece::Literal(""), Piece::Param(name), Piece::Literal("")] = found[..] else {
        let what = format!("`{}` cannot be `{text}`", item.key);
        return item
            .refuse(what, "write a type, or a parameter that names one and nothing beside it: \"{t}\"");
    };
    let name = name.to_owned();
    if !sweep.names.contains(&name) {
        check_text(item, sweep.names);
        return None;
    }
    let it = ElementType::OfParameter(name);
    if let Some((point, why)) = sweep.points.iter().find_map(|point| Some((point, it.of(point).err()?))) {
        let known: Vec<&str> = DType::iter().map(Into::into).collect();
        let value = why.split('`').nth(1).unwrap_or_default();
        return item.refuse(format!("{}{why}", for_point(point)), advise(value, &known));
    }
    Some(it)
}
