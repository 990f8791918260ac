//! HPL, the High-Performance Linpack: `xhpl` beside its `HPL.dat`. It does the work that the file says, and prints its figure.
//!
//! <https://www.netlib.org/benchmark/hpl/>. A row of its table is `W` and eight letters and digits of the variant, then `N NB P Q Time Gflops`.

use std::path::Path;

use super::files::is_executable;
use super::findings::{Discovered, Findings, literal};
use crate::{Extract, ExtractFrom};
use gbench_formats::adapters::SourceTree;

const INPUT: &str = "HPL.dat";
const PROGRAM: &str = "xhpl";

/// The row of a result: all versions, and their format of the last column.
const ROW: &str = r"^W[RC][0-9A-Z]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +([0-9.]+e[+-][0-9]+)";

pub(super) fn add(folder: &Path, tree: &dyn SourceTree, findings: &mut Findings) {
    for path in tree.files().iter().filter(|path| path.rsplit('/').next() == Some(INPUT)) {
        let dir = path.strip_suffix(INPUT).unwrap_or_default().trim_end_matches('/');
        let program = folder.join(dir).join(PROGRAM);
        match (is_executable(&program), tree.text(path).as_deref().and_then(processes)) {
            (true, Some(processes)) => findings.found.benchmarks.push(entry(path, dir, processes)),
            (true, None) => findings.found.unclear.push(format!(
                "{path} asks for several results or another output than stdout: let it say one problem size, one block size, one grid and \
                 one variant, and run `gbench-ci init --force`, or write a `regex` for the row that counts"
            )),
            (false, _) => findings.found.unclear.push(format!(
                "{path} is the input of HPL, and no program {PROGRAM} lies beside it: write `build` and `command` by hand, with \
                 `extract = [{{ metric = \"gflops\", unit = \"GFLOP/s\", regex = '{ROW}' }}]`"
            )),
        }
        findings.claimed.insert(path.clone());
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
        why: format!("{path} is the input of HPL; say in `build` how {PROGRAM} is built"),
        ..Discovered::default()
    }
}

/// The processes of the grid, where the file asks for one result on standard output. Its lines have fixed places; the first word of each
/// counts.
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

    use super::super::tests::folder;
    use super::super::{Discovery, discover};
    use super::*;

    fn input(sizes: &str, grid: [u32; 2]) -> String {
        let [p, q] = grid;
        format!(
            "HPLinpack benchmark input file\nInnovative Computing Laboratory\nHPL.out output file name (if any)\n6 device out\n{sizes}\n\
             1 # of NBs\n192 NBs\n0 PMAP\n1 # of process grids (P x Q)\n{p} Ps\n{q} Qs\n16.0 threshold\n1 # of panel fact\n2 PFACTs\n\
             1 # of recursive stopping criterium\n4 NBMINs\n1 # of panels in recursion\n2 NDIVs\n1 # of recursive panel fact.\n1 RFACTs\n\
             1 # of broadcast\n1 BCASTs\n1 # of lookahead depth\n1 DEPTHs\n2 SWAP\n"
        )
        // Line 8 and 9 of the real file are PMAP and the count of grids.
    }

    fn found(input: &str, mode: u32) -> Discovery {
        let folder = folder(&[("bin/HPL.dat", input, 0o644), ("bin/xhpl", "", mode)]);
        discover(folder.path(), &|_| false)
    }

    #[test]
    fn one_result_is_extracted_and_the_grid_says_the_processes() {
        let one = found(&input("1 # of problems sizes (N)\n1000 Ns", [1, 1]), 0o755);
        assert_eq!((one.benchmarks.len(), one.unclear.len()), (1, 0), "{one:?}");
        assert_eq!(
            (one.benchmarks[0].command.join(" "), one.benchmarks[0].dir.as_str()),
            ("./xhpl".into(), "bin")
        );
        let grid = found(&input("1 # of problems sizes (N)\n1000 Ns", [2, 3]), 0o755);
        assert_eq!(grid.benchmarks[0].command.join(" "), "mpirun -np 6 ./xhpl");
    }

    #[test]
    fn several_results_and_a_program_that_is_not_there_are_told() {
        for found in [
            found(&input("2 # of problems sizes (N)\n1000 2000 Ns", [1, 1]), 0o755),
            found(&input("1 # of problems sizes (N)\n1000 Ns", [1, 1]), 0o644),
            found("", 0o755),
        ] {
            assert_eq!((found.benchmarks.len(), found.unclear.len()), (0, 1), "{found:?}");
            assert!(found.unclear[0].starts_with("bin/HPL.dat "), "{found:?}");
        }
    }

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
