//! What the comparisons come to: tables, and the goals.

use gbench_ci::compare::Verdict;

use crate::comparison::{Came, Kept};
use crate::repository::{Part, benchmark};
use crate::table::{markdown, percent};
use crate::workloads::Workload;

/// Of 30 comparisons those in which both planted cases must be found, or their effect said to be out of reach.
const FOUND: f64 = 27.0 / 30.0;
/// Red cases that all comparisons of equal work may have together.
const REDS: usize = 1;

/// What became of a planted case.
fn is_accounted_for(row: &Kept) -> bool {
    match row.verdict {
        Verdict::Regressed => true,
        Verdict::Inconclusive => row.detectable.is_some(),
        _ => false,
    }
}

/// Prints all; true where no goal was missed.
pub fn report(lines: &[Came]) -> bool {
    comparisons(lines);
    if lines.iter().any(|line| line.part == Part::Slower) {
        planted(lines);
    }
    workloads(lines);
    goals(lines)
}

fn of(lines: &[Came], part: Part) -> Vec<&Came> {
    lines.iter().filter(|line| line.part == part).collect()
}

fn comparisons(lines: &[Came]) {
    let rows = [Part::Same, Part::Slower].into_iter().map(|part| (part, of(lines, part)));
    let rows = rows.filter(|(_, lines)| !lines.is_empty()).map(|(part, lines)| {
        let untouched = || {
            let planted: Vec<String> = planted_names(part);
            let rows = lines.iter().flat_map(|line| &line.rows);
            rows.filter(move |row| !planted.contains(&row.benchmark))
        };
        let verdicts = |verdict| untouched().filter(|row| row.verdict == verdict).count().to_string();
        let sum = |what: fn(&Came) -> f64| lines.iter().map(|line| what(line)).sum::<f64>();
        let all = lines.iter().flat_map(|line| &line.rows);
        let rounds: Vec<f64> = all.map(|row| f64::from(row.rounds)).collect();
        vec![
            part.word().to_owned(),
            lines.len().to_string(),
            lines.iter().filter(|line| line.reds() > 0).count().to_string(),
            verdicts(Verdict::Regressed),
            verdicts(Verdict::Improved),
            verdicts(Verdict::Inconclusive),
            verdicts(Verdict::Unchanged),
            format!("{:.1}", rounds.iter().sum::<f64>() / rounds.len().max(1) as f64),
            format!("{:.1}", median(lines.iter().map(|line| line.wall))),
            format!("{:.0}", sum(|line| line.wall)),
            format!("{:.0}", sum(|line| line.processes)),
            format!("{:.0} %", 100.0 * sum(|line| line.loaded) / sum(|line| line.wall)),
        ]
    });
    println!(
        "\nVerdicts are those of cases with equal work. Seconds: of wall time, and of measured processes.\n"
    );
    let header = [
        "part",
        "comparisons",
        "red",
        "regressed",
        "improved",
        "inconclusive",
        "unchanged",
        "rounds per case",
        "s each (median)",
        "s in all",
        "process s in all",
        "time under load",
    ];
    println!("{}", markdown(&header, &rows.collect::<Vec<_>>()));
}

fn planted_names(part: Part) -> Vec<String> {
    match part {
        Part::Same => Vec::new(),
        Part::Slower => Workload::all().filter(|it| it.is_planted()).map(benchmark).collect(),
    }
}

fn planted(lines: &[Came]) {
    let rows = Workload::all().filter(|workload| workload.is_planted()).map(|workload| {
        let name = benchmark(workload);
        let rows: Vec<&Kept> = of(lines, Part::Slower).iter().filter_map(|line| line.row(&name)).collect();
        let count = |is: &dyn Fn(&Kept) -> bool| rows.iter().filter(|row| is(row)).count().to_string();
        let open = |row: &Kept| row.verdict == Verdict::Inconclusive;
        let detectable: Vec<f64> = rows.iter().filter_map(|row| row.detectable).collect();
        vec![
            workload.name(),
            count(&|row| row.verdict == Verdict::Regressed),
            count(&|row| open(row) && row.detectable.is_some()),
            count(&|row| open(row) && row.detectable.is_none()),
            count(&|row| row.verdict == Verdict::Unchanged),
            count(&|row| row.verdict == Verdict::Improved),
            format!("{:+.2} %", 100.0 * median(rows.iter().map(|row| row.slowdown))),
            format!("{:.0}", median(rows.iter().map(|row| f64::from(row.rounds)))),
            match detectable.is_empty() {
                true => "-".to_owned(),
                false => format!("{:.2} %", 100.0 * median(detectable.into_iter())),
            },
        ]
    });
    println!("With 3 % more work; medians over the comparisons.\n");
    let header = [
        "workload",
        "regressed",
        "inconclusive, effect stated",
        "inconclusive without",
        "unchanged",
        "improved",
        "slowdown",
        "rounds",
        "detectable",
    ];
    println!("{}", markdown(&header, &rows.collect::<Vec<_>>()));
}

fn workloads(lines: &[Came]) {
    let rows = Workload::all().map(|workload| {
        let name = benchmark(workload);
        let rows: Vec<&Kept> = lines.iter().filter_map(|line| line.row(&name)).collect();
        let middle = |what: &dyn Fn(&Kept) -> f64| median(rows.iter().map(|row| what(row)));
        let share = |verdict| {
            let count = rows.iter().filter(|row| row.verdict == verdict).count();
            percent(count as f64 / rows.len().max(1) as f64)
        };
        vec![
            workload.name(),
            format!("{:.3}", middle(&|row| row.base) * 1e3),
            format!("{:.2}", middle(&|row| row.noise) * 100.0),
            format!("{:.0}", middle(&|row| f64::from(row.rounds))),
            share(Verdict::Unchanged),
            share(Verdict::Inconclusive),
            share(Verdict::Regressed),
            share(Verdict::Improved),
        ]
    });
    println!(
        "Both parts together: medians over the comparisons, and the share of each verdict in percent.\n"
    );
    let header = [
        "workload",
        "ms",
        "noise per round, %",
        "rounds",
        "unchanged",
        "inconclusive",
        "regressed",
        "improved",
    ];
    println!("{}", markdown(&header, &rows.collect::<Vec<_>>()));
}

fn goals(lines: &[Came]) -> bool {
    let mut rows = Vec::new();
    let mut good = true;
    let mut goal = |what: &str, reached: String, asked: String, met: bool| {
        good &= met;
        rows.push(vec![what.to_owned(), reached, asked, if met { "met" } else { "MISSED" }.to_owned()]);
    };
    let same = of(lines, Part::Same);
    if !same.is_empty() {
        let reds: usize = same.iter().map(|line| line.reds()).sum();
        let what = format!("Red cases in {} comparisons of equal work", same.len());
        goal(&what, reds.to_string(), format!("at most {REDS}"), reds <= REDS);
    }
    let slower = of(lines, Part::Slower);
    if !slower.is_empty() {
        let both = |is: &dyn Fn(&Kept) -> bool| {
            let names = planted_names(Part::Slower);
            slower.iter().filter(|line| names.iter().all(|name| line.row(name).is_some_and(is))).count()
        };
        let (found, accounted) = (both(&|row| row.verdict == Verdict::Regressed), both(&is_accounted_for));
        let least = (FOUND * slower.len() as f64).ceil() as usize;
        let what = "Both with 3 % more work regressed, or inconclusive with a detectable effect";
        let reached = format!("{accounted} of {}, {found} with both regressed", slower.len());
        goal(what, reached, format!("at least {least}"), accounted >= least);
    }
    println!("{}", markdown(&["goal", "reached", "asked", "standing"], &rows));
    good
}

/// 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}
