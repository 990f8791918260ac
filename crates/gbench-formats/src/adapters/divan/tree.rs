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

pub(crate) struct Leaf {
    /// Names from the root, joined by `::`.
    pub path: String,
    pub line: usize,
    pub ignored: bool,
    /// One text per column; `None` if nothing was measured.
    pub values: Option<[String; 6]>,
    pub rows: Vec<TreeRow>,
}

pub(crate) struct TreeRow {
    /// `throughput`, or a kind of allocation and its figure: `alloc.size`.
    pub name: String,
    pub median: String,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    /// The text ends in this case, or after it.
    In(String),
}

enum Line<'a> {
    Node { depth: usize, rest: &'a str },
    More(&'a str),
}

/// The leaves of every complete tree: a tree is complete if the next line shows that nothing is missing. `columns` is
/// false if nothing was measured. Errors: a line that does not belong to a tree; unknown columns.
pub(crate) fn parse(text: &str, columns: bool) -> Result<(Vec<Leaf>, Ended), ReadError> {
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut open: Option<Leaf> = None;
    // The kind of the allocations whose rows follow, and the number of rows so far.
    let mut section: Option<(String, usize)> = None;
    // Every branch to the open leaf is the last one of its parent.
    let mut is_last = false;
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
            // Output of the benchmarks themselves may precede the first tree and follow any tree.
            let name = if columns { header(line) } else { Some(line.trim_end()) };
            path.extend(name.filter(|_| whole).map(str::to_owned));
            continue;
        }
        match split(line) {
            Line::Node { depth, rest } => {
                // A deeper name shows that the name above is a group, not a case.
                leaves.extend(open.take().filter(|_| depth < path.len()));
                path.truncate(depth);
                if path.len() < depth {
                    return Err(ReadError::line(number, "a branch of nothing"));
                }
                is_last = whole && !line[..line.len() - rest.len()].contains(['│', '├']);
                let (name, ignored, values) = node(rest, columns && whole);
                path.push(name);
                section = None;
                open = Some(Leaf { path: path.join("::"), line: number, ignored, values, rows: Vec::new() });
            }
            Line::More(rest) if whole => {
                let Some((leaf, texts)) = open.as_mut().zip(columns.then(|| fields(rest)).flatten()) else {
                    return Err(ReadError::line(
                        number,
                        "not a line of the tree: does a benchmark print to stdout?",
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
    // An editor may have removed the empty line. If cases have rows below them, such as throughputs, those of the last one may be
    // cut off.
    let is_single = leaves.iter().chain(&open).all(|leaf| leaf.rows.is_empty());
    if let Some(leaf) = open.take_if(|leaf| is_last && is_single && leaf.values.is_some()) {
        leaves.push(leaf);
        path.clear();
    }
    let ended = if path.is_empty() { Ended::Whole } else { Ended::In(path.join("::")) };
    Ok((leaves, ended))
}

/// The root's name, if the columns are the known ones.
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

fn fields(rest: &str) -> Option<[String; 6]> {
    let mut fields: Vec<String> = rest.rsplitn(6, '│').map(|field| field.trim().to_owned()).collect();
    fields.reverse();
    // On a line without a name, the branch symbol precedes the first column.
    if let Some(first) = fields.first_mut() {
        *first = first.trim_start_matches('│').trim().to_owned();
    }
    fields.try_into().ok()
}

fn node(rest: &str, columns: bool) -> (String, bool, Option<[String; 6]>) {
    let mut parts: Vec<&str> = rest.rsplitn(6, '│').collect();
    parts.reverse();
    let tabled = columns && parts.len() == 6;
    let first = if tabled { parts[0] } else { rest }.trim_end();
    // At least two spaces separate a name from the first column.
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

/// A value in the smallest unit of its kind, the same for every case, because Divan prints the most readable unit:
/// nanoseconds, bytes, and so on. `None`: not a number, or an unknown unit.
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
