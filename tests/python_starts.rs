//! C4 in full: how often interpreters are started for 100 cases behind a heavy import, in shared processes and in one each. Too long for
//! a test: `just python-starts`.

use std::time::Instant;

use crate::python::{heavy, starts};

/// Seconds of an import such as torch's.
const IMPORT: f64 = 5.0;

#[test]
#[ignore = "prints a table in about five minutes: just python-starts"]
fn c4_starts_of_interpreters_by_isolation() {
    println!("| isolation | head | import | interpreter starts | seconds of imports | seconds in all |");
    println!("|---|---|---|---|---|---|");
    for (isolation, pause) in [("shared-screen", IMPORT), ("process", 0.0)] {
        for (slow, head, exit) in [("-1", "nothing changed", 0), ("37", "one case 5 % slower", 1)] {
            let (repository, log) = heavy(slow, isolation, pause);
            let began = Instant::now();
            repository.compare("HEAD~1..HEAD").exits(exit);
            let (count, seconds) = (starts(&log), began.elapsed().as_secs_f64());
            let imports = count as f64 * IMPORT;
            let note = if pause > 0.0 { "5 s" } else { "0 s, counted as 5" };
            println!("| {isolation} | {head} | {note} | {count} | {imports:.0} | {seconds:.0} |");
        }
    }
}
