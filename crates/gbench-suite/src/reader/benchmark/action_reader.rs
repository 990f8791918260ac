//! Reads the command of a benchmark or build step: an argument list, a shell line or a built-in's name.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::python_reader::read_python;
use super::sweep_reader::unknown_parameter;
use crate::benchmark::cuda::CudaEntry;
use crate::benchmark::launch::{Action, Build};
use crate::benchmark::template::{Piece, pieces};
use crate::reader::item::Item;
use crate::reader::table::Table;

/// The given key of `command`, `shell`, `builtin`, `python` and `cuda`, with its item.
pub(super) fn read_action<'t>(table: &mut Table<'t>) -> Option<(Action, Item<'t>)> {
    let keys = ["command", "shell", "builtin", "python", "cuda"];
    let next = "add `command = [\"./program\"]`, `shell = \"a line\"`, \
        `builtin = \"name\"`, `[benchmark.python]` or `[benchmark.cuda]`";
    let nothing = ("a benchmark needs a command", next);
    let item = table.one_of(keys, "a benchmark", nothing, "keep one of them")?;
    let action = match item.key {
        "command" => Action::Command(argv(&item)?),
        "shell" => Action::Shell(item.filled()?.to_owned()),
        "python" => Action::Python(Box::new(read_python(&item)?)),
        // Its expressions need the parameters, which are read later.
        "cuda" => Action::Cuda(Box::<CudaEntry>::default()),
        _ => Action::Builtin(item.filled()?.to_owned()),
    };
    Some((action, item))
}

pub(super) fn read_build(item: &Item, folder: &Path) -> Option<Build> {
    match item.value {
        DeValue::Array(_) => Some(Build { action: Action::Command(argv(item)?), dir: folder.into() }),
        DeValue::Table(_) => {
            let mut table = item.table()?;
            let next = "add `command = [\"make\"]` or `shell = \"a line\"`";
            let nothing = ("a build step needs a command", next);
            let way = table.one_of(["command", "shell"], "a build", nothing, "keep one of them");
            let dir = table.take("dir").and_then(|dir| read_dir(&dir, folder));
            table.close();
            let way = way?;
            let action = match way.key {
                "command" => Action::Command(argv(&way)?),
                _ => Action::Shell(way.filled()?.to_owned()),
            };
            Some(Build { action, dir: dir.unwrap_or_else(|| folder.into()) })
        }
        _ => item.wrong("a list such as [\"make\"], or {shell = \"a line\", dir = \"native\"}"),
    }
}

pub(crate) fn read_dir(item: &Item, folder: &Path) -> Option<PathBuf> {
    Some(folder.join(item.filled()?))
}

pub(crate) fn argv(item: &Item) -> Option<Vec<String>> {
    if let DeValue::String(line) = item.value {
        let words: Vec<_> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
        let next =
            format!("write the list [{}], or use `shell` for a line with shell syntax", words.join(", "));
        return item.refuse(format!("`{}` is text, not a list of arguments", item.key), next);
    }
    let members = item.list("a list of arguments, such as [\"./gemm\", \"--n=8\"]")?;
    let arguments: Vec<_> = members.iter().map(|member| member.text().map(str::to_owned)).collect();
    let arguments: Vec<String> = arguments.into_iter().collect::<Option<_>>()?;
    if arguments.first().is_none_or(|program| program.trim().is_empty()) {
        let next = format!("begin the list with a program: {} = [\"./gemm\"]", item.key);
        return item.refuse(format!("`{}` names no program", item.key), next);
    }
    Some(arguments)
}

pub(super) fn check_placeholders(command: &Item, names: &[String]) {
    members(command).iter().for_each(|member| check_text(member, names));
}

pub(super) fn check_text(member: &Item, names: &[String]) {
    let Some(text) = member.value.as_str() else { return };
    let found = match pieces(text) {
        Ok(found) => found,
        Err(lone) => {
            let what = format!("the brace `{lone}` has no partner");
            return member.fault(what, format!("write `{lone}{lone}` for the brace itself"));
        }
    };
    for piece in found {
        match piece {
            Piece::Param(name) if !is_word(name) => {
                let what = format!("`{{{name}}}` is not the name of a parameter");
                member.fault(what, "write `{{` and `}}` for the braces themselves");
            }
            Piece::Param(name) if !names.iter().any(|known| known == name) => {
                unknown_parameter(member.page, placeholder(member, name), name, names);
            }
            _ => {}
        }
    }
}

pub(super) fn refuse_placeholders(build: &Item, names: &[String]) {
    for member in members(build) {
        let Some(Ok(found)) = member.value.as_str().map(pieces) else { continue };
        for piece in found {
            if let Piece::Param(name) = piece
                && names.iter().any(|known| known == name)
            {
                let what =
                    format!("`{{{name}}}` is not allowed in a build step, which runs once for all values");
                let next = "build all variants in one step, or give each its own `[[benchmark]]`";
                member.page.fault(placeholder(&member, name), what, next);
            }
        }
    }
}

/// Reports placeholders in shell lines, which are not replaced.
pub(super) fn refuse_in_shell(item: &Item, build: Option<&Build>, names: &[String]) {
    let Some(Build { action: Action::Shell(line), .. }) = build else { return };
    if let Some(name) = names.iter().find(|name| line.contains(&format!("{{{name}}}"))) {
        item.fault(
            format!("`{{{name}}}` is not replaced in a shell line"),
            "write the build step as a list of words",
        );
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn members<'t>(item: &Item<'t>) -> Vec<Item<'t>> {
    match item.value {
        DeValue::Array(_) => item.list("a list").unwrap_or_default(),
        DeValue::Table(_) => {
            let command = item.table().and_then(|mut table| table.take("command"));
            command.filter(|command| command.value.is_array()).map(|c| members(&c)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn placeholder(member: &Item, name: &str) -> std::ops::Range<usize> {
    let raw = member.page.slice(member.span.clone());
    match raw.find(&format!("{{{name}}}")) {
        Some(at) => member.span.start + at..member.span.start + at + name.len() + 2,
        None => member.span.clone(),
    }
}
