//! Divan's tree as text: names to the left, six columns to the right.
//!
//! ```text
//! all               fastest       │ slowest       │ median        │ mean          │ samples │ iters
//! ├─ deep                         │               │               │               │         │
//! │  ╰─ inner       6.031 ns      │ 15.67 ns      │ 6.033 ns      │ 6.455 ns      │ 231     │ 118272
//! │                 16.5 GB/s     │ 6.38 GB/s     │ 16.5 GB/s     │ 15.4 GB/s     │         │
//! ╰─ later          (ignored)     │               │               │               │         │
//! ```

use crate::adapters::interface::output::ReadError;

const COLUMNS: [&str; 6] = ["fastest", "slowest", "median", "mean", "samples", "iters"];

/// A case and what stands beside it.
pub(crate) struct Leaf {
    /// Names from the root, joined by `::`.
    pub path: String,
    /// From 1.
    pub line: usize,
    pub ignored: bool,
    /// One text a column; `None`: nothing was measured.
    pub values: Option<[String; 6]>,
    pub rows: Vec<TreeRow>,
}

/// A line below a case.
pub(crate) struct TreeRow {
    /// `throughput`, or a kind of allocation and what of it: `alloc.size`.
    pub name: String,
    pub median: String,
    pub line: usize,
}

/// How far the tree goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    /// The text ends in this case, or after it.
    In(String),
}

enum Line<'a> {
    /// A name in the tree, and what stands behind it.
    Node { depth: usize, rest: &'a str },
    /// What stands beside no name.
    More(&'a str),
}

/// The leaves of every tree that are whole: what follows shows that nothing of them is missing. `columns`: whether there are any, which is
/// not so when nothing is measured. Errors: a line that is none of a tree; other columns than those known.
pub(crate) fn parse(text: &str, columns: bool) -> Result<(Vec<Leaf>, Ended), ReadError> {
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut open: Option<Leaf> = None;
    // Kind of the allocations whose rows follow, and how many have come.
    let mut section: Option<(String, usize)> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        let whole = line.ends_with('\n');
        let line = line.trim_end_matches(['\n', '\r']);
        if line.is_empty() && whole {
            leaves.extend(open.take());
            path.clear();
            continue;
        }
        if path.is_empty() {
            // What benchmarks print before the first tree is not ours, and not after a tree either.
            let name = if columns { header(line) } else { Some(line.trim_end()) };
            path.extend(name.filter(|_| whole).map(str::to_owned));
            continue;
        }
        match split(line) {
            Line::Node { depth, rest } => {
                // A deeper name says that the one above is no case.
                leaves.extend(open.take().filter(|_| depth < path.len()));
                path.truncate(depth);
                if path.len() < depth {
                    return Err(ReadError::line(number, "a branch of nothing"));
                }
                let (name, ignored, values) = node(rest, columns && whole);
                path.push(name);
                section = None;
                open = Some(Leaf { path: path.join("::"), line: number, ignored, values, rows: Vec::new() });
            }
            Line::More(rest) if whole => {
                let Some((leaf, texts)) = open.as_mut().zip(columns.then(|| fields(rest)).flatten()) else {
                    return Err(ReadError::line(
                        number,
                        "it is no line of the tree: does a benchmark print to stdout?",
                    ));
                };
                let label = texts[0].strip_suffix(':').filter(|_| texts[1..].iter().all(String::is_empty));
                if let Some(label) = label {
                    section = Some((label.replace(' ', "_"), 0));
                    continue;
                }
                let name = match &mut section {
                    Some((kind, rows)) if *rows < 2 => {
                        *rows += 1;
                        format!("{kind}.{}", if *rows == 1 { "count" } else { "size" })
                    }
                    Some(_) => return Err(ReadError::line(number, "a row too many")),
                    None => "throughput".to_owned(),
                };
                leaf.rows.push(TreeRow { name, median: texts[2].clone(), line: number });
            }
            Line::More(_) => {}
        }
    }
    let ended = if path.is_empty() { Ended::Whole } else { Ended::In(path.join("::")) };
    Ok((leaves, ended))
}

/// The root's name, where the columns are those that are known.
fn header(line: &str) -> Option<&str> {
    let columns: Vec<&str> = line.rsplitn(6, '│').map(str::trim).collect();
    let (first, others) = columns.split_last()?;
    let known = others.iter().rev().eq(COLUMNS[1..].iter());
    first.strip_suffix(COLUMNS[0]).filter(|_| known).map(str::trim_end)
}

fn split(line: &str) -> Line<'_> {
    let mut rest = line;
    let mut depth = 1;
    loop {
        if let Some(rest) = rest.strip_prefix("├─ ").or_else(|| rest.strip_prefix("╰─ ")) {
            return Line::Node { depth, rest };
        }
        let Some(inner) = rest.strip_prefix("│  ").or_else(|| rest.strip_prefix("   ")) else {
            return Line::More(rest);
        };
        rest = inner;
        depth += 1;
    }
}

/// Six texts, of which the first may have a name before it.
fn fields(rest: &str) -> Option<[String; 6]> {
    let mut fields: Vec<String> = rest.rsplitn(6, '│').map(|field| field.trim().to_owned()).collect();
    fields.reverse();
    // Beside no name, a branch that goes on stands before the first column.
    if let Some(first) = fields.first_mut() {
        *first = first.trim_start_matches('│').trim().to_owned();
    }
    fields.try_into().ok()
}

/// Name, whether it is ignored, and its values.
fn node(rest: &str, columns: bool) -> (String, bool, Option<[String; 6]>) {
    let mut parts: Vec<&str> = rest.rsplitn(6, '│').collect();
    parts.reverse();
    let tabled = columns && parts.len() == 6;
    let first = if tabled { parts[0] } else { rest }.trim_end();
    // Two spaces or more stand between a name and the first column.
    let (name, value) = first.rsplit_once("  ").unwrap_or((first, ""));
    let name = name.trim_end();
    let others: Vec<String> = parts[1..].iter().map(|part| part.trim().to_owned()).collect();
    let empty = !tabled || others.iter().all(String::is_empty);
    if value == "(ignored)" && empty {
        return (name.to_owned(), true, None);
    }
    if empty {
        return (first.to_owned(), false, None);
    }
    let values: Vec<String> = [value.to_owned()].into_iter().chain(others).collect();
    (name.to_owned(), false, values.try_into().ok())
}

/// A value with its unit in the smallest that is the same for every case, since Divan takes the one that reads best: nanoseconds, bytes, and
/// so on. `None`: no number, or another unit.
pub(crate) fn scaled(text: &str, kind: &str) -> Option<(f64, &'static str)> {
    const TIMES: [(&str, f64); 8] = [
        ("ps", 1e-3),
        ("ns", 1.0),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
        ("d", 86_400e9),
    ];
    const PREFIXES: [(&str, f64); 6] =
        [("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15), ("", 1.0)];
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let value: f64 = number.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)?;
    let by_prefix = |base: &'static str| {
        let prefix = unit.strip_suffix(base)?;
        let (_, scale) = PREFIXES.iter().find(|(name, _)| *name == prefix)?;
        Some((value * scale, base))
    };
    match kind {
        "time" => TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| (value * scale, "ns")),
        "throughput" => ["char/s", "item/s", "B/s", "Hz"].into_iter().find_map(by_prefix),
        _ if kind.ends_with(".size") => by_prefix("B"),
        _ => unit.is_empty().then_some((value, "allocations")),
    }
}
