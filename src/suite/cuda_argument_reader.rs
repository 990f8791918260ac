//! Reads `[[benchmark.cuda.arguments]]`: what the kernel is called with, in the order of its parameters.

use toml::de::DeValue;

use super::cuda::{CudaArgument, CudaFill, MAX_LENGTH, check_range, fits};
use super::kernel_number::{KernelNumber, whole};
use super::kernel_number_reader::{SweptParams, for_point, number};
use super::reader::{Item, Table};
use crate::model::{Access, DType};

const EXAMPLE: &str =
    "a list such as [{ input = \"f32\", length = \"n\" }, { value = \"n\", type = \"i32\" }]";

pub(super) fn read_arguments(item: &Item, sweep: &SweptParams) -> Vec<CudaArgument> {
    let members = item.list(EXAMPLE).unwrap_or_default();
    members.iter().filter_map(|member| argument(member, sweep)).collect()
}

fn argument(item: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    let mut table = item.table()?;
    table.name = "[[benchmark.cuda.arguments]]".into();
    let nothing = (
        "this argument does not say what it is",
        "write `input`, `output` or `inout` with the type of an element, or `value` for a number",
    );
    let first =
        table.one_of(["input", "output", "inout", "value"], "an argument", nothing, "keep one of them");
    let (length, fill, range) = (table.take("length"), table.take("fill"), table.take("range"));
    let of_value = table.take("type");
    let argument = first.and_then(|first| match first.key {
        "value" => {
            for other in [&length, &fill, &range].into_iter().flatten() {
                other.fault(
                    format!("`{}` is for a buffer", other.key),
                    "take it out, or write `input` in place of `value`",
                );
            }
            scalar(&table, of_value, &first, sweep)
        }
        _ => {
            if let Some(other) = &of_value {
                other.fault(
                    format!("`type` is for a `value`: `{}` has the type of its elements", first.key),
                    "take it out",
                );
            }
            buffer(&table, &first, [length, fill, range], sweep)
        }
    });
    table.close();
    argument
}

fn scalar(table: &Table, of_value: Option<Item>, value: &Item, sweep: &SweptParams) -> Option<CudaArgument> {
    let Some(of_value) = of_value else {
        let what = "this argument does not say which type its `value` has";
        table.page.fault(table.span.clone(), what, "add `type = \"i32\"`");
        return None;
    };
    let dtype: DType = of_value.variant()?;
    let value = number(value, sweep, &|it| fits(dtype, it))?;
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
    let dtype: DType = first.variant()?;
    let Some(length) = length else {
        let what = format!("this `{}` has no `length`", first.key);
        table.page.fault(table.span.clone(), what, "add `length = \"n\"`, its number of elements");
        return None;
    };
    let length = number(&length, sweep, &|it| whole(it, &(1..=MAX_LENGTH)).map(drop));
    let fill = read_fill(fill, range, (access, dtype), sweep);
    Some(CudaArgument::Buffer { access, dtype, length: length?, fill: fill? })
}

/// What fills a buffer that is read: random numbers; one that is only written: nothing but zeros.
fn read_fill(
    fill: Option<Item>,
    range: Option<Item>,
    (access, dtype): (Access, DType),
    sweep: &SweptParams,
) -> Option<CudaFill> {
    const WORDS: [(&str, SaidFill); 3] =
        [("random", SaidFill::Random), ("zero", SaidFill::Zero), ("index", SaidFill::Index)];
    let said = match &fill {
        None if access == Access::Output && range.is_none() => SaidFill::Zero,
        None => SaidFill::Random,
        Some(item) => match item.value {
            DeValue::String(_) => item.word(&WORDS)?,
            _ => {
                let value = item.number()?;
                if let Err(why) = fits(dtype, value) {
                    let why = why.trim_start_matches("it gives ");
                    return item
                        .refuse(format!("`fill` cannot be {why}"), "write a number that the type holds");
                }
                SaidFill::Number(value)
            }
        },
    };
    if let Some(item) = range.as_ref().filter(|_| said != SaidFill::Random) {
        return item.refuse("`range` is for random numbers", "take it out, or write `fill = \"random\"`");
    }
    Some(match said {
        SaidFill::Zero => CudaFill::Value { value: 0.0 },
        SaidFill::Number(value) => CudaFill::Value { value },
        SaidFill::Index => CudaFill::Index,
        SaidFill::Random => {
            let (low, high) = match range {
                Some(item) => read_range(&item, dtype, sweep)?,
                None => usual_range(dtype),
            };
            CudaFill::Uniform { low, high }
        }
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SaidFill {
    Random,
    Zero,
    Index,
    Number(f64),
}

/// From -1 to 1; of whole numbers 0 to 99, which are an index into most buffers.
fn usual_range(dtype: DType) -> (KernelNumber, KernelNumber) {
    let (low, high) = match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => (-1.0, 1.0),
        _ => (0.0, 100.0),
    };
    (KernelNumber::Number(low), KernelNumber::Number(high))
}

fn read_range(item: &Item, dtype: DType, sweep: &SweptParams) -> Option<(KernelNumber, KernelNumber)> {
    let members = item.list("two numbers, such as [0, 1]")?;
    let [low, high] = members.as_slice() else {
        return item.refuse(format!("`range` has {} numbers", members.len()), "write two: `range = [0, 1]`");
    };
    let any = |_: f64| Ok(());
    let (low, high) = (number(low, sweep, &any), number(high, sweep, &any));
    let (low, high) = (low?, high?);
    let wrong = sweep.points.iter().find_map(|point| {
        let checked = check_range(dtype, low.of(point).ok()?, high.of(point).ok()?);
        Some((point, checked.err()?))
    });
    if let Some((point, why)) = wrong {
        let why = why.trim_start_matches("it gives ");
        return item.refuse(
            format!("{}`range`: {why}", for_point(point)),
            "write a low and a high end: `range = [0, 1]`",
        );
    }
    Some((low, high))
}
