//! A kernel parameter that the gate can provide: a buffer of numbers, or a number.

use std::collections::BTreeMap;

use super::code_text::CodeToken;
use gbench_model::DType;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelParameter {
    pub name: String,
    pub dtype: DType,
    /// Numbers in an element: 4 for `float4`.
    pub lanes: u32,
    pub way: ParameterWay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterWay {
    Reads,
    Writes,
    Value,
}

const BESIDE: [&str; 11] = [
    "const",
    "volatile",
    "register",
    "restrict",
    "__restrict__",
    "__restrict",
    "__grid_constant__",
    "struct",
    "typename",
    "__const__",
    "std",
];

type Aliases<'a, 't> = &'a BTreeMap<&'t str, Vec<CodeToken<'t>>>;

/// Errors: why the gate cannot provide it, as the end of a sentence.
pub(super) fn parameter(words: &[CodeToken], aliases: Aliases<'_, '_>) -> Result<KernelParameter, String> {
    let end = words.iter().position(|word| *word == "=").unwrap_or(words.len());
    let words = &words[..end];
    let shown = words.join(" ");
    if words.contains(&"&") {
        return Err(format!("takes a reference (`{shown}`), which a launch cannot pass"));
    }
    if words.contains(&"(") || words.contains(&"...") || words.contains(&".") {
        return Err(format!("has an unknown kind of parameter (`{shown}`)"));
    }
    if let Some(kind) = words
        .iter()
        .find(|word| ["cudaTextureObject_t", "cudaSurfaceObject_t", "texture", "surface"].contains(*word))
    {
        return Err(format!("takes a texture or a surface (`{kind}`), which the gate does not create"));
    }
    let pointers = words.iter().filter(|word| **word == "*" || **word == "[").count();
    let first_mark = words.iter().position(|word| *word == "*" || *word == "[").unwrap_or(words.len());
    let (mut kind, mut name) = (words[..first_mark].to_vec(), "");
    if words.get(first_mark) == Some(&"*") {
        let behind = words[first_mark..].iter().filter(|word| is_word(word) && !BESIDE.contains(word));
        name = behind.copied().next().unwrap_or("");
    } else if is_behind_type(&kind) {
        name = kind.pop().unwrap_or("");
    }
    let constant = kind.contains(&"const") || is_constant_alias(&kind, aliases);
    if pointers > 1 {
        return Err(format!("takes a pointer to pointers (`{shown}`), which the gate does not create"));
    }
    let Some((dtype, lanes)) = element(&kind, aliases) else {
        let kind: String =
            kind.iter().filter(|word| !BESIDE.contains(word)).copied().collect::<Vec<_>>().join(" ");
        return Err(match pointers {
            0 => {
                format!("takes a `{kind}` by value, but the gate only passes numbers and buffers of numbers")
            }
            _ => format!("takes a pointer to `{kind}`, but the gate only creates buffers of numbers"),
        });
    };
    let way = match (pointers, constant) {
        (0, _) if lanes > 1 => {
            return Err(format!("takes a vector by value (`{shown}`), but the gate only passes numbers"));
        }
        (0, _) => ParameterWay::Value,
        (_, true) => ParameterWay::Reads,
        (_, false) => ParameterWay::Writes,
    };
    Ok(KernelParameter { name: name.to_owned(), dtype, lanes, way })
}

/// True if the last word is the parameter's name: it follows a type and is not part of one.
fn is_behind_type(words: &[CodeToken]) -> bool {
    let [of @ .., last] = words else { return false };
    let has_type = of.iter().any(|word| is_word(word) && !BESIDE.contains(word));
    is_word(last) && !is_keyword(last) && has_type && of.last() != Some(&"::")
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn is_keyword(word: &str) -> bool {
    ["int", "long", "short", "char", "signed", "unsigned", "float", "double", "bool"].contains(&word)
        || BESIDE.contains(&word)
}

fn is_constant_alias(kind: &[CodeToken], aliases: Aliases<'_, '_>) -> bool {
    kind.iter().any(|word| aliases.get(word).is_some_and(|of| of.contains(&"const")))
}

/// The type of an element, and its count of numbers.
pub(crate) fn element(words: &[CodeToken], aliases: Aliases<'_, '_>) -> Option<(DType, u32)> {
    // Follows an alias of an alias, but not further: an alias may name itself.
    const MAX_STEPS: usize = 4;
    let mut words = words.to_vec();
    for _ in 0..MAX_STEPS {
        words.retain(|word| !BESIDE.contains(word) && *word != "::");
        if let [name] = words[..]
            && let Some(of) = aliases.get(name)
        {
            words = of.clone();
        }
    }
    words.retain(|word| !BESIDE.contains(word) && *word != "::");
    if let [name] = words[..] {
        return named(name);
    }
    if words.is_empty() || !words.iter().all(|word| is_keyword(word)) {
        return None;
    }
    let has = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
    let unsigned = has("unsigned") > 0;
    let pick = |signed, plain| Some((if unsigned { plain } else { signed }, 1));
    match (has("char"), has("short"), has("long"), has("double") + has("float") + has("bool")) {
        (1, 0, 0, 0) => pick(DType::I8, DType::U8),
        (0, 1, 0, 0) => pick(DType::I16, DType::U16),
        (0, 0, 0, 0) => pick(DType::I32, DType::U32),
        (0, 0, 1 | 2, 0) => pick(DType::I64, DType::U64),
        _ => None,
    }
}

fn named(name: &str) -> Option<(DType, u32)> {
    use DType::*;
    let scalar = match name {
        "float" | "float_t" => F32,
        "double" | "double_t" => F64,
        "half" | "__half" | "nv_half" => F16,
        "__nv_bfloat16" | "nv_bfloat16" => Bf16,
        "int" | "signed" | "int32_t" => I32,
        "unsigned" | "uint" | "uint32_t" => U32,
        "long" | "int64_t" | "ptrdiff_t" | "ssize_t" | "intptr_t" => I64,
        "ulong" | "size_t" | "uint64_t" | "uintptr_t" => U64,
        "int16_t" => I16,
        "ushort" | "uint16_t" => U16,
        "char" | "int8_t" => I8,
        "uchar" | "uint8_t" => U8,
        "bool" => Bool,
        "__nv_fp8_e4m3" => F8e4m3,
        "__nv_fp8_e5m2" => F8e5m2,
        "cuComplex" | "cuFloatComplex" => C64,
        "cuDoubleComplex" => C128,
        _ => return vector(name),
    };
    Some((scalar, 1))
}

fn vector(name: &str) -> Option<(DType, u32)> {
    use DType::*;
    match name {
        "__nv_fp8x2_e4m3" => return Some((F8e4m3, 2)),
        "__nv_fp8x4_e4m3" => return Some((F8e4m3, 4)),
        "__nv_fp8x2_e5m2" => return Some((F8e5m2, 2)),
        "__nv_fp8x4_e5m2" => return Some((F8e5m2, 4)),
        "__nv_fp4x2_e2m1" => return Some((F4e2m1, 2)),
        "__nv_fp4x4_e2m1" => return Some((F4e2m1, 4)),
        "__half2" | "half2" | "nv_half2" => return Some((F16, 2)),
        "__nv_bfloat162" | "nv_bfloat162" => return Some((Bf16, 2)),
        _ => {}
    }
    let lanes = name.chars().next_back()?.to_digit(10).filter(|lanes| (1..=4).contains(lanes))?;
    let dtype = match &name[..name.len() - 1] {
        "float" => F32,
        "double" => F64,
        "int" => I32,
        "uint" => U32,
        "longlong" => I64,
        "ulonglong" => U64,
        "short" => I16,
        "ushort" => U16,
        "char" => I8,
        "uchar" => U8,
        _ => return None,
    };
    Some((dtype, lanes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::discover::cuda::code_text::tokens;
    use case_files::Given;

    /// Input: a parameter, with type aliases.
    pub(crate) fn answer(given: &Given) -> String {
        let aliases = BTreeMap::from([
            ("real", vec!["float"]),
            ("view", vec!["const", "double"]),
            ("round", vec!["round"]),
        ]);
        parameter(&tokens(&given.text()), &aliases).map_or_else(|why| why, |it| parameter_text(&it))
    }

    pub(crate) fn parameter_text(KernelParameter { name, dtype, lanes, way }: &KernelParameter) -> String {
        format!("{way:?} {dtype:?} x {lanes} {name:?}")
    }
}
