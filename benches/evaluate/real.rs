//! The section on real traces.

use gbench_ci::stats::seq_e::Status;

use super::draw::Seed;
use super::ours::Way;
use super::report::Report;
use super::table::{markdown, percent};
use super::traces::{Corpus, nvbench_compare, threshold};
use super::trials::{SIZE, Said, found, inconclusive, mean_of, red_suites};

const CORPUS: &str = "GBENCH_CORPUS";

/// Errors: the folder is named and cannot be read, or holds no traces.
pub fn section(report: &Report) -> Result<(), String> {
    println!("## Real traces\n");
    let Some(folder) = std::env::var_os(CORPUS) else {
        println!("Skipped: `{CORPUS}` names no folder with traces, and none belong to the project.\n");
        return Ok(());
    };
    let corpus = Corpus::read(folder.as_ref())?;
    let count = report.counts.unchanged_peers;
    println!(
        "Every pair of processes is a real trace, its two interleaved halves (as in lock-step) or its two halves in time \
         (harsher than two processes one after the other: a GPU that throttles does so within one trace); the effect of a process is modelled. {count} suites of {SIZE}.\n\n{}",
        corpus.describe()
    );
    let power = report.counts.planted;
    let seed = report.seed;
    let ours = |way| move |corpus: &Corpus, count, change, seed| corpus.ours(way, count, change, seed);
    let mut rows = vec![
        row("**SEQ-E 3**", &corpus, (count, power), seed, ours(Way::LockStep)),
        row("**SEQ-E 3, alternating**", &corpus, (count, power), seed, ours(Way::Alternating)),
    ];
    for (way, words) in [(Way::LockStep, "interleaved halves"), (Way::Alternating, "halves in time")] {
        type IsRed = Box<dyn Fn(&[f64], &[f64]) -> bool + Sync>;
        let rules: [(&str, IsRed); 3] = [
            ("threshold 5 %", Box::new(threshold(5.0))),
            ("threshold 10 %", Box::new(threshold(10.0))),
            ("nvbench_compare", Box::new(nvbench_compare)),
        ];
        for (name, is_red) in rules {
            let name = format!("{name}, {words}");
            rows.push(row(&name, &corpus, (count, power), seed, |corpus, count, change, seed| {
                corpus.peer(way, count, change, seed, &is_red)
            }));
        }
    }
    let header = ["rule", "red", "+2 %", "+3 %", "+5 %", "rounds", "inconclusive"];
    println!("{}", markdown(&header, &rows));
    for history in corpus.histories()? {
        println!(
            "Stored values of {}: {} runs of about {} benchmarks, real and with real changes that nobody labelled. An alert \
             is taken back where the next run lies nearer to the run before it than to the alert.\n",
            history.name, history.runs, history.benchmarks
        );
        let rows: Vec<Vec<String>> = history
            .rules
            .iter()
            .map(|(name, red, alerts, reverted)| {
                let share =
                    |part: &usize, of: usize| format!("{} %", percent(*part as f64 / of.max(1) as f64));
                vec![name.clone(), share(red, history.runs - 1), alerts.to_string(), share(reverted, *alerts)]
            })
            .collect();
        let header = ["rule", "runs with an alert", "alerts", "taken back by the next run"];
        println!("{}", markdown(&header, &rows));
    }
    Ok(())
}

fn row(
    name: &str,
    corpus: &Corpus,
    (count, power): (usize, usize),
    seed: Seed,
    judge: impl Fn(&Corpus, usize, f64, Seed) -> Vec<Said>,
) -> Vec<String> {
    let said = judge(corpus, count, 0.0, seed.named("unchanged"));
    let red = red_suites(&said);
    let mut row = vec![name.to_owned(), format!("{} of {}", red.hits, red.of)];
    for change in [2.0, 3.0, 5.0] {
        let said = judge(corpus, power, change, seed.named("planted"));
        row.push(percent(found(&said, Status::Regressed).value()));
    }
    row.push(format!("{:.1}", mean_of(&said, |one| one.rounds).value));
    row.push(format!("{} %", percent(inconclusive(&said).value)));
    row
}
