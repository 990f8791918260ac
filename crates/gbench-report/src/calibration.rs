//! The findings of a calibration, for a terminal: the smallest changes that this machine detects, case by case, and its
//! false alarms.

use std::io;

use super::layout::case_names::CaseNames;
use super::layout::emphasis::Emphasis;
use super::layout::number::signed_percent;
use super::layout::terminal::{GridRow, Style, TerminalLayout};
use gbench_compare::{CalibratedRow, Calibration, FalseAlarms, PLANTED, Parts, Prospect, Readiness, Share};
use gbench_model::text::{capitalized, count, percent};

/// Writes the findings. `all`: includes the components of every row's noise. Errors: only those of `out`.
pub fn terminal(it: &Calibration, style: Style, all: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = TerminalLayout::new(style);
    let (word, emphasis) = conclusion(it);
    page.headline(word, &sentence(it), emphasis);
    let names = CaseNames::new(it.rows.iter().map(|row| &row.case));
    prospects(&mut page, it, &names);
    parts(&mut page, it, &names, all);
    let unmeasured = it.unmeasured.iter().map(|it| format!("{}: {}", it.case, it.reason));
    page.list("Not measured", Emphasis::Bad, unmeasured);
    page.list("Does it cry wolf", Emphasis::Plain, false_alarms(it));
    page.list("Does it find what is there", Emphasis::Plain, found(it));
    page.list("Warnings", Emphasis::Doubt, it.warnings.iter().map(|text| capitalized(text)));
    page.heading("How to read it", Emphasis::Plain);
    page.line(&legend(it));
    out.write_all(page.into_text().as_bytes())
}

fn conclusion(it: &Calibration) -> (&'static str, Emphasis) {
    match () {
        () if !it.has_figures() => ("NOTHING MEASURED", Emphasis::Bad),
        () if it.false_alarms.too_many(it.alpha) => ("CRIES WOLF", Emphasis::Bad),
        () if it.control.as_ref().is_some_and(|control| control.is_missed()) => ("BLIND", Emphasis::Bad),
        () if !it.is_whole() => ("CALIBRATED IN PART", Emphasis::Doubt),
        () => ("CALIBRATED", Emphasis::Good),
    }
}

fn sentence(it: &Calibration) -> String {
    let kinds = [Readiness::Ready, Readiness::Slow, Readiness::Hopeless, Readiness::Unknown];
    let rows_of = |kind: &Readiness| match it.rows.iter().filter(|row| row.readiness == *kind).count() {
        0 => None,
        count => Some(format!("{count} {}", kind.into_str())),
    };
    let kinds: Vec<String> = kinds.iter().filter_map(rows_of).collect();
    if !it.has_figures() {
        return format!("none of {} gave figures", count(it.unmeasured.len() + it.rows.len(), "case"));
    }
    let without = match it.unmeasured.len() {
        0 => String::new(),
        some => format!("; {} without figures", count(some, "case")),
    };
    format!(
        "{}: {}{without}; the suite against itself, {}, {} of measuring",
        count(it.rows.len(), "row"),
        kinds.join(", "),
        count(it.rounds as usize, "round"),
        seconds(it.seconds)
    )
}

fn prospects(page: &mut TerminalLayout, it: &Calibration, names: &CaseNames) {
    let or_never = |rounds: Option<u32>, cost: Option<f64>| match rounds.zip(cost) {
        Some((rounds, cost)) => format!("{rounds}: {}", seconds(cost)),
        None => "never".into(),
    };
    let row = |row: &CalibratedRow| {
        let prospect = row.prospect.as_ref();
        let cell = |text: &dyn Fn(&Prospect) -> String| prospect.map_or("-".into(), text);
        let found = |it: &Prospect| match it.planted {
            0 => "-".into(),
            planted => percent(f64::from(it.found) / f64::from(planted)),
        };
        let why = row.why.iter().map(|why| ("why", why.clone()));
        GridRow {
            cells: vec![
                names.title(&row.case, &row.metric),
                row.readiness.into_str().to_owned(),
                row.noise.as_ref().map_or("-".into(), |noise| percent(noise.floor)),
                cell(&|it| it.detectable.map_or("none".into(), percent)),
                cell(&|it| or_never(it.rounds_to_certify, it.seconds_to_certify)),
                cell(&|it| or_never(it.rounds_to_prove, it.seconds_to_prove)),
                cell(&found),
            ],
            notes: why.chain(row.help.iter().map(|help| ("try", help.clone()))).collect(),
        }
    };
    let header = ["case", "", "noise", "detects", "unchanged", "3 % worse", "found"];
    page.section(("What it can tell apart", Emphasis::Plain), &header, it.rows.iter().map(row));
}

fn parts(page: &mut TerminalLayout, it: &Calibration, names: &CaseNames, all: bool) {
    let row = |row: &CalibratedRow| {
        let noise = row.noise.as_ref()?;
        let parts = noise.parts.as_ref();
        let cell = |text: &dyn Fn(&Parts) -> String| parts.map_or("-".into(), text);
        let iterations = |it: &Parts| match it.best_iterations {
            Some(best) => format!("{:.0}, best {best}", it.iterations),
            None => format!("{:.0}", it.iterations),
        };
        let mut notes = Vec::new();
        if all {
            let measured = row.prospect.as_ref().and_then(|it| it.detectable_in_measured);
            notes.push((
                "",
                format!(
                    "{} of {} a round, target {}; the second process {}; rounds correlate {}; the measured rounds find {}",
                    count(row.rounds as usize, "round"),
                    seconds(row.seconds_per_round),
                    percent(row.target),
                    noise.second_place.map_or("unknown".into(), signed_percent),
                    noise.from_round_to_round.map_or("unknown".into(), |it| format!("{it:.2}")),
                    measured.map_or("nothing".into(), percent),
                ),
            ));
        }
        Some(GridRow {
            cells: vec![
                names.title(&row.case, &row.metric),
                cell(&|it| percent(it.within)),
                cell(&|it| percent(it.between)),
                cell(&|it| percent(it.order)),
                cell(&|it| format!("{:.2}", it.autocorrelation)),
                cell(&iterations),
            ],
            notes,
        })
    };
    let header = ["case", "within", "between", "order", "autocorr.", "iterations"];
    page.section(("Where the noise comes from", Emphasis::Plain), &header, it.rows.iter().filter_map(row));
}

fn false_alarms(it: &Calibration) -> Vec<String> {
    let FalseAlarms { red, improved, flipped, drawn, serial_correlation } = &it.false_alarms;
    let measured = match (red.as_slice(), improved.as_slice()) {
        ([], []) => "as measured: no row red, none improved".to_owned(),
        (red, improved) => {
            let named = |rows: &[String]| if rows.is_empty() { "none".into() } else { rows.join(", ") };
            format!("as measured: red {}; improved {}", named(red), named(improved))
        }
    };
    let serial_correlation = match serial_correlation {
        Some(correlation) => {
            format!("from one round's difference to the next one's: correlation {correlation:.2}")
        }
        None => "too few rounds for the serial correlation".into(),
    };
    let rounds = count(it.usual_rounds as usize, "round");
    vec![
        measured,
        format!("the same rounds in other run orders: {}", share(*flipped, it.alpha)),
        format!("{rounds} drawn from them, in other run orders: {}", share(*drawn, it.alpha)),
        serial_correlation,
    ]
}

fn share(share: Share, alpha: f64) -> String {
    if share.suites == 0 {
        return "not tried, for no row has the rounds".into();
    }
    format!(
        "{} of {} suites have a red, {} ± {} (promised: {} at most)",
        share.with_red,
        share.suites,
        percent(share.value()),
        percent(share.error()),
        percent(alpha)
    )
}

fn found(it: &Calibration) -> Vec<String> {
    let tried = it.rows.iter().filter_map(|row| row.prospect.as_ref());
    let (planted, found) = tried.fold((0, 0), |(a, b), it| (a + it.planted, b + it.found));
    let mut said = Vec::new();
    if planted > 0 {
        said.push(format!(
            "by arithmetic: {} added to the measured rounds of one row in twenty at a time is called red in {found} of \
             {planted} tries over {}",
            percent(PLANTED),
            count(it.usual_rounds as usize, "round")
        ));
    }
    said.push(match &it.control {
        None => "for real: not measured".into(),
        Some(control) => {
            let work = format!("a built-in workload with {} more work on one side", percent(control.planted));
            let looked = control.slowdown.map_or(String::new(), |it| format!(", which looked like {}", percent(it)));
            let rounds = count(control.rounds as usize, "round");
            if control.found {
                format!("for real: {work} was called red after {rounds}{looked}")
            } else {
                let detectable = control.detectable.map_or("nothing".into(), percent);
                format!(
                    "for real: {work} was not called red in {rounds}{looked}; rounds differ by {}, at which {detectable} \
                     or more is found",
                    percent(control.noise)
                )
            }
        }
    });
    said
}

fn legend(it: &Calibration) -> String {
    let parts = [
        "noise: deviation of one round's difference.",
        &format!("detects: the smallest slowdown that {} find.", count(it.usual_rounds as usize, "round")),
        "unchanged, 3 % worse: rounds and time until that is shown.",
        &format!(
            "These hold four times out of five, with {} sharing the error rate.",
            count(it.candidates as usize, "candidate")
        ),
        "found: 3 % added by arithmetic.",
        "within, between, order: shares of a process's variance from its iterations, between processes, from going second.",
        "autocorr.: of iterations. best: for the least time.",
    ];
    parts.join(" ")
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{:.0} ms", s * 1000.0),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_short_as_one_says_them() {
        let shown = [0.04, 9.9, 42.3, 600.0, 12_000.0].map(seconds);
        assert_eq!(shown, ["40 ms", "9.9 s", "42 s", "10 min", "3.3 h"]);
    }
}
