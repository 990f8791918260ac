//! Reads `[[benchmark.cuda.arguments]]`: the kernel's arguments, in the order of its parameters.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;
use toml::de::DeValue;

use super::action_reader::check_text;
use super::kernel_number_reader::{NumberRule, SweptParams, for_point, number};
use super::tensor_map_reader::read_tensor_map;
use crate::benchmark::cuda::{CudaArgument, CudaFill, MAX_LENGTH, check_range, fits, usual_range};
use crate::benchmark::element_type::ElementType;
use crate::benchmark::kernel_number::{KernelNumber, whole};
use crate::benchmark::template::{Piece, pieces};
use crate::reader::item::{Item, refuse_each};
use crate::reader::table::Table;
use crate::words::{advise, listed};
use gbench_model::text::count;
use gbench_model::{Access, DType, Params};

const EXAMPLE: &str =
    "a list such as [{ input = \"f32\", length = \"n\" }, { value = \"n\", type = \"i32\" }]";

/// `None` if one of them is wrong.
pub(super) fn read_arguments(item: &Item, sweep: &SweptParams) -> Option<Vec<CudaArgument>> {
    let members = item.list(EXAMPLE)?;
    // Collects first, so that every faulty argument is reported.
    let read: Vec<_> = members.iter().map(|member| argument(member, sweep)).collect();
    read.into_iter().collect()
}

/// Values of variables of the source, by name; `None` if one of them is wrong.
pub(super) fn read_data(item: &Item, sweep: &SweptParams) -> Option<BTreeMap<String, CudaArgument>> {
    let members = item.table()?.items();
    // Collects first, so that every faulty one is reported.
    let read: Vec<_> =
        members.iter().map(|member| Some((member.key.to_owned(), datum(member, sweep)?))).collect();
    read.into_iter().collect()
}

fn datum(item: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    match argument(item, sweep)? {
        read @ CudaArgument::Buffer { access: Access::Input, .. } => Some(read),
        _ => item.refuse(
            format!("`data.{}` is not an `input`", item.key),
            "write `{ input = \"f32\", length = 16 }`: the type and number of the variable's elements",
        ),
    }
}

fn argument(item: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    let mut table = item.table()?;
    table.name = "[[benchmark.cuda.arguments]]".into();
    let nothing = (
        "this argument has no kind",
        "write `input`, `output` or `inout` with the type of an element, `value` for a number, or `struct` for its fields",
    );
    let first = table.one_of(
        ["input", "output", "inout", "value", "struct"],
        "an argument",
        nothing,
        "keep one of them",
    );
    let (length, fill, range) = (table.take("length"), table.take("fill"), table.take("range"));
    let of_value = table.take("type");
    let tensor_map = table.take("tensor_map");
    let argument = first.and_then(|first| match first.key {
        "value" => {
            let next = "remove it, or write `input` instead of `value`";
            refuse_each([length, fill, range, tensor_map].into_iter().flatten(), "is for a buffer", next);
            scalar(&table, of_value, &first, sweep)
        }
        "struct" => {
            let others = [length, fill, range, tensor_map, of_value].into_iter().flatten();
            refuse_each(others, "is for a field of the struct", "remove it, or write it into the field");
            structure(&first, sweep)
        }
        _ => {
            if let Some(other) = &of_value {
                other.fault(
                    format!("`type` is for a `value`; `{}` already has the type of its elements", first.key),
                    "remove it",
                );
            }
            let buffer = buffer(&table, &first, [length, fill, range], sweep);
            match &tensor_map {
                Some(item) => read_tensor_map(item, buffer?, sweep),
                None => buffer,
            }
        }
    });
    table.close();
    argument
}

fn structure(item: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    let fields = item.list("a list of fields, each as an argument")?;
    if fields.is_empty() {
        return item.refuse("`struct` has no field", "write its fields in the order of their declaration");
    }
    // Collects first, so that every faulty field is reported.
    let read: Vec<_> = fields.iter().map(|field| argument(field, sweep)).collect();
    Some(CudaArgument::Struct { fields: read.into_iter().collect::<Option<_>>()? })
}

fn scalar(table: &Table, of_value: Option<Item>, value: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    let Some(of_value) = of_value else {
        let what = "the `value` of this argument has no `type`";
        table.page.fault(table.span.clone(), what, "add `type = \"i32\"`");
        return None;
    };
    let dtype = read_type(&of_value, sweep)?;
    let check = |it: f64, point: &Params| {
        let dtype = dtype.of(point)?;
        let bits = dtype.bits();
        fits(dtype, it)?;
        if bits < 8 { Err(format!("a value of {bits} bits cannot be passed")) } else { Ok(()) }
    };
    let next = format!("write a number that fits `{dtype}`, or another `type`");
    let value = number(value, sweep, &NumberRule { check: &check, next: &next })?;
    Some(CudaArgument::Scalar { dtype, value })
}

fn buffer(
    table: &Table,
    first: &Item,
    [length, fill, range]: [Option<Item>; 3],
    sweep: &SweptParams,
) -> Option<CudaArgument> {
    let access = match first.key {
        "input" => Access::Input,
        "output" => Access::Output,
        _ => Access::InputOutput,
    };
    let dtype = read_type(first, sweep)?;
    let Some(length) = length else {
        let what = format!("this `{}` has no `length`", first.key);
        table.page.fault(table.span.clone(), what, "add `length = \"n\"`, its number of elements");
        return None;
    };
    let check = |it: f64, _: &Params| whole(it, &(1..=MAX_LENGTH)).map(drop);
    let next = "write its number of elements, at least 1: `length = \"n\"`";
    let length = number(&length, sweep, &NumberRule { check: &check, next });
    let fill = read_fill(fill, range, (access, &dtype), sweep);
    Some(CudaArgument::Buffer { access, dtype, length: length?, fill: fill? })
}

/// Fills a buffer that is read with random numbers, and one that is only written with zeros.
fn read_fill(
    fill: Option<Item>,
    range: Option<Item>,
    (access, dtype): (Access, &ElementType),
    sweep: &SweptParams,
) -> Option<CudaFill> {
    const WORDS: [(&str, SaidFill); 3] =
        [("random", SaidFill::Random), ("zero", SaidFill::Zero), ("index", SaidFill::Index)];
    let said = match &fill {
        None if access == Access::Output && range.is_none() => SaidFill::Zero,
        None => SaidFill::Random,
        Some(item) => match item.value {
            DeValue::String(word) => {
                let Some((_, said)) = WORDS.iter().find(|(name, _)| name == word) else {
                    let next =
                        format!("{}, or a number: `fill = 1`", advise(word, &WORDS.map(|(name, _)| name)));
                    return item.refuse(format!("`fill` cannot be `{word}`"), next);
                };
                *said
            }
            _ => {
                let value = item.number()?;
                let wrong = |point: &Params| fits(dtype.of(point).ok()?, value).err();
                if let Some(why) = sweep.points.iter().find_map(wrong) {
                    let next = format!("write a number that fits `{dtype}`");
                    return item.refuse(format!("`fill`: {why}"), next);
                }
                SaidFill::Number(value)
            }
        },
    };
    if let Some(item) = range.as_ref().filter(|_| said != SaidFill::Random) {
        return item.refuse("`range` is for random numbers", "remove it, or write `fill = \"random\"`");
    }
    Some(match said {
        SaidFill::Zero => CudaFill::Value { value: 0.0 },
        SaidFill::Number(value) => CudaFill::Value { value },
        SaidFill::Index => CudaFill::Index,
        SaidFill::Random => match (range, dtype) {
            (Some(item), _) => {
                let (low, high) = read_range(&item, dtype, sweep)?;
                CudaFill::Uniform { low, high }
            }
            (None, ElementType::Fixed(dtype)) => {
                let (low, high) = usual_range(*dtype);
                CudaFill::Uniform { low: KernelNumber::Number(low), high: KernelNumber::Number(high) }
            }
            (None, ElementType::OfParameter(_)) => CudaFill::Usual,
        },
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SaidFill {
    Random,
    Zero,
    Index,
    Number(f64),
}

fn read_range(item: &Item, dtype: &ElementType, sweep: &SweptParams) -> Option<(KernelNumber, KernelNumber)> {
    let members = item.list("two numbers, such as [0, 1]")?;
    let [low, high] = members.as_slice() else {
        let what = format!("`range` has {}", count(members.len(), "number"));
        return item.refuse(what, "write two: `range = [0, 1]`");
    };
    let any = NumberRule { check: &|_, _| Ok(()), next: "" };
    let (low, high) = (number(low, sweep, &any), number(high, sweep, &any));
    let (low, high) = (low?, high?);
    let wrong = sweep.points.iter().find_map(|point| {
        let checked = check_range(dtype.of(point).ok()?, low.of(point).ok()?, high.of(point).ok()?);
        Some((point, checked.err()?))
    });
    if let Some((point, why)) = wrong {
        let next = format!("write two bounds that fit `{dtype}`: `range = [0, 1]`");
        return item.refuse(format!("{}`range`: {why}", for_point(point)), next);
    }
    Some((low, high))
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
        return item.refuse(what, "write a type, or only a parameter that names one: \"{t}\"");
    };
    let name = name.to_owned();
    if !sweep.names.contains(&name) {
        check_text(item, sweep.names);
        return None;
    }
    let it = ElementType::OfParameter(name);
    if let Some((point, why)) = sweep.points.iter().find_map(|point| Some((point, it.of(point).err()?))) {
        let known: Vec<&str> = DType::iter().map(Into::into).collect();
        return item.refuse(format!("{}{why}", for_point(point)), format!("use one of {}", listed(&known)));
    }
    Some(it)
}
