//! Failures that a program reports itself: its message is kept as given, and the names of well-known exceptions are recognised
//! in any language.

use gbench_model::ReportedError;

const MAX_TRACE: usize = 65_536;
const MAX_MESSAGE: usize = 2_000;
const MAX_KIND: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    OutOfMemory,
    Import,
    Other,
}

/// Names of exceptions and error codes in lower case, without the part up to their last `.` or `::`.
const NAMES: [(&str, Meaning); 13] = [
    ("out_of_memory", Meaning::OutOfMemory),
    ("oom", Meaning::OutOfMemory),
    ("memoryerror", Meaning::OutOfMemory),
    ("_arraymemoryerror", Meaning::OutOfMemory),
    ("outofmemoryerror", Meaning::OutOfMemory),
    ("bad_alloc", Meaning::OutOfMemory),
    ("cudaerrormemoryallocation", Meaning::OutOfMemory),
    ("cuda_error_out_of_memory", Meaning::OutOfMemory),
    ("hiperroroutofmemory", Meaning::OutOfMemory),
    ("cl_mem_object_allocation_failure", Meaning::OutOfMemory),
    ("import", Meaning::Import),
    ("importerror", Meaning::Import),
    ("modulenotfounderror", Meaning::Import),
];

pub(crate) fn bounded(message: &str, kind: Option<&str>, trace: Option<&str>) -> ReportedError {
    ReportedError {
        kind: kind.map(|kind| within(kind, MAX_KIND)),
        message: within(message, MAX_MESSAGE),
        trace: trace.map(|trace| within(trace, MAX_TRACE)),
    }
}

/// From the program's kind; else from the exception's name at the beginning of its message, or of the last line of its trace,
/// as in Python.
pub(crate) fn meaning(error: &ReportedError) -> Meaning {
    let last =
        error.trace.as_deref().and_then(|trace| trace.lines().rev().find(|line| !line.trim().is_empty()));
    let names = [error.kind.as_deref(), leading_name(&error.message), last.and_then(leading_name)];
    let meanings = names.into_iter().flatten().map(of_name);
    meanings.into_iter().find(|meaning| *meaning != Meaning::Other).unwrap_or(Meaning::Other)
}

fn leading_name(line: &str) -> Option<&str> {
    let name = line.split(": ").next()?.trim().trim_end_matches(':');
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

fn of_name(name: &str) -> Meaning {
    let leaf = name.rsplit(['.', ':']).next().unwrap_or(name).trim().to_lowercase();
    NAMES.iter().find(|(known, _)| *known == leaf).map_or(Meaning::Other, |(_, meaning)| *meaning)
}

fn within(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 2).collect();
    let tail: String = text.chars().skip(count - most / 2).collect();
    format!("{head}\n[gbench-ci: {} characters not kept]\n{tail}", count - 2 * (most / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n20_a_long_trace_keeps_its_beginning_and_its_end() {
        let trace = format!("first\n{}last: MemoryError", "x\n".repeat(40_000));
        let error = bounded("m", None, Some(&trace));
        let trace = error.trace.unwrap();
        assert!(trace.starts_with("first") && trace.ends_with("last: MemoryError"));
        assert!(trace.chars().count() < MAX_TRACE + 100);
    }
}
