//! HPL, the High-Performance Linpack: `xhpl` and its `HPL.dat`. Its work is fixed by the file, and it prints its result.
//!
//! <https://www.netlib.org/benchmark/hpl/>. A row of its table is `W` and eight letters and digits of the variant, then `N NB P
//! Q Time Gflops`.

use std::path::Path;

use crate::benchmark::extraction::{Extract, ExtractFrom};
use crate::discover::files::is_executable;
use crate::discover::findings::{Discovered, Findings, literal};
use gbench_formats::adapters::SourceTree;

const INPUT: &str = "HPL.dat";
const PROGRAM: &str = "xhpl";

/// A result row of every version, with all formats of the last column.
const ROW: &str = r"^W[RC][0-9A-Z]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +([0-9.]+e[+-][0-9]+)";

pub(crate) fn add(folder: &Path, tree: &dyn SourceTree, findings: &mut Findings) {
    let mut alone: Vec<String> = Vec::new();
    for path in tree.files().iter().filter(|path| path.rsplit('/').next() == Some(INPUT)) {
        let dir = path.strip_suffix(INPUT).unwrap_or_default().trim_end_matches('/');
        let program = folder.join(dir).join(PROGRAM);
        match (is_executable(&program), tree.text(path).as_deref().and_then(processes)) {
            (true, Some(processes)) => findings.found.benchmarks.push(entry(path, dir, processes)),
            (true, None) => findings.found.unclear.push(format!(
                "{path} asks for several results, or for another output than stdout. Reduce it to one problem \
                    size, block size, grid and variant and run `gbench-ci init --force`, or write a `regex` for \
                    the relevant row"
            )),
            (false, _) => alone.push(path.clone()),
        }
        findings.claimed.insert(path.clone());
    }
    if let [first, more @ ..] = alone.as_slice() {
        let others = match more.len() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        findings.found.unclear.push(format!(
            "{first}{others} is the input of HPL, but there is no program {PROGRAM} next to it. Write `build` and \
                `command` by hand, with `extract = [{{ metric = \"gflops\", unit = \"GFLOP/s\", regex = \
                '{ROW}' }}]`"
        ));
    }
}

fn entry(path: &str, dir: &str, processes: u32) -> Discovered {
    let program = format!("./{PROGRAM}");
    let (command, binaries) = match processes {
        1 => (vec![program], Vec::new()),
        _ => (vec!["mpirun".into(), "-np".into(), processes.to_string(), program], vec!["mpirun".into()]),
    };
    Discovered {
        name: "hpl".into(),
        command: command.iter().map(|word| literal(word)).collect(),
        dir: dir.to_owned(),
        binaries,
        extract: Some(Extract {
            metric: "gflops".into(),
            unit: "GFLOP/s".into(),
            better: None,
            from: ExtractFrom::Regex(ROW.into()),
            rows: Default::default(),
        }),
        why: format!("{path} is the input of HPL; write a `build` for {PROGRAM}"),
        ..Discovered::default()
    }
}

/// The processes of the grid, if the file asks for one result on standard output. Its lines have fixed positions; the first
/// word of each is the value.
fn processes(text: &str) -> Option<u32> {
    const OUTPUT: usize = 3;
    const COUNTS: [usize; 9] = [4, 6, 9, 13, 15, 17, 19, 21, 23];
    const GRID: [usize; 2] = [10, 11];
    let lines: Vec<&str> = text.lines().collect();
    let number = |place: usize| lines.get(place)?.split_whitespace().next()?.parse::<u32>().ok();
    let one = COUNTS.iter().all(|place| number(*place) == Some(1)) && number(OUTPUT) == Some(6);
    let [rows, columns] = GRID.map(number);
    rows?.checked_mul(columns?).filter(|processes| one && *processes > 0)
}

#[cfg(test)]
mod tests {
    use regex::RegexBuilder;

    use super::*;

    #[test]
    fn the_row_is_that_of_all_versions() {
        let row = RegexBuilder::new(ROW).multi_line(true).build().unwrap();
        let table = "T/V                N    NB     P     Q               Time                 Gflops\n\
                     WR11C2R4       29184   192     1     1             185.11              8.9532e+01\n\
                     WC00L2L2          29     1     2     2               0.00             1.052e-02\n\
                     HPL_pdgesv() start time Thu Nov 19 11:02:29 2026\n||Ax-b||_oo/(eps*) =   2.9e-03 ...... PASSED\n";
        let values: Vec<&str> = row.captures_iter(table).map(|row| row.get(1).unwrap().as_str()).collect();
        assert_eq!(values, ["8.9532e+01", "1.052e-02"]);
    }
}
