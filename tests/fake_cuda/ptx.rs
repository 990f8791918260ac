//! The kernels of PTX with their parameters, as the driver's compiler would find them. Instructions are ignored.

use std::collections::BTreeMap;

use crate::elf::{Cubin, Kernel, Parameter};

const INVALID_PTX: u32 = 218;
const UNSUPPORTED_VERSION: u32 = 222;

/// `version`: the driver's; `card`: 90 for 9.0. Errors: why the driver does not compile it.
pub fn compiled(text: &str, version: u32, card: u32) -> Result<Cubin, u32> {
    let lines: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()).collect();
    let of = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let (own, target) = (of(".version").ok_or(INVALID_PTX)?, of(".target").ok_or(INVALID_PTX)?);
    let (major, minor) = own.split_once('.').ok_or(INVALID_PTX)?;
    let own = (major.parse().map_err(|_| INVALID_PTX)?, minor.parse().map_err(|_| INVALID_PTX)?);
    if own > newest(version) {
        return Err(UNSUPPORTED_VERSION);
    }
    let target = target.split(',').next().and_then(|it| it.trim().strip_prefix("sm_")).ok_or(INVALID_PTX)?;
    let number: u32 = target.trim_end_matches(['a', 'f']).parse().map_err(|_| INVALID_PTX)?;
    let is_of_one = target.ends_with(['a', 'f']);
    if number > card || is_of_one && number != card {
        return Err(INVALID_PTX);
    }
    let text = lines.join("\n");
    let kernels: BTreeMap<String, Kernel> =
        text.split(".entry").skip(1).map(|rest| kernel(rest).ok_or(INVALID_PTX)).collect::<Result<_, _>>()?;
    let variables: BTreeMap<String, usize> = text.lines().filter_map(variable).collect();
    let symbols = kernels.keys().chain(variables.keys()).cloned().collect();
    Ok(Cubin { sm: card, gfx: None, kernels, symbols, variables, constants: 0, toolkit: 0 })
}

/// `.const .align 4 .b8 name[16];`
fn variable(line: &str) -> Option<(String, usize)> {
    let line = line.strip_prefix(".const").or(line.strip_prefix(".global"))?;
    let (name, count) = line.strip_suffix(']').or(line.strip_suffix("];"))?.split_once('[')?;
    let name = name.split_whitespace().next_back()?;
    Some((name.to_owned(), count.parse().ok()?))
}

/// 9.x is that of CUDA 13.x, 7.x of 11.x; 12.x has two more steps of its own.
fn newest(version: u32) -> (u32, u32) {
    const OF_12: [u32; 10] = [0, 1, 2, 3, 4, 5, 5, 6, 7, 8];
    let (major, minor) = (version / 1000, version % 1000 / 10);
    match major {
        12 => (8, OF_12.get(minor as usize).copied().unwrap_or(8)),
        11 | 13.. => (major - 4, minor),
        _ => (6, 5),
    }
}

fn kernel(text: &str) -> Option<(String, Kernel)> {
    let (name, rest) = text.split_once('(')?;
    let mut kernel = Kernel { name: name.trim().into(), registers: 24, ..Kernel::default() };
    let mut end = 0;
    for parameter in rest.split_once(')')?.0.split(',').filter(|it| !it.trim().is_empty()) {
        let words: Vec<&str> = parameter.split_whitespace().collect();
        let bits = words
            .iter()
            .find_map(|word| word.get(2..)?.parse::<usize>().ok().filter(|_| word.starts_with('.')))?;
        let count =
            parameter.split_once('[').map_or(Some(1), |(_, it)| it.trim_end_matches(']').parse().ok())?;
        let align = words.iter().position(|word| *word == ".align" && !words.contains(&".ptr"));
        let align = align.map_or(Some(bits / 8), |at| words.get(at + 1)?.parse().ok())?;
        let (offset, size) = (usize::next_multiple_of(end, align), bits / 8 * count);
        end = offset + size;
        kernel.parameters.push(Parameter { offset, size });
    }
    Some((kernel.name.clone(), kernel))
}
