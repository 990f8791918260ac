//! The method of a comparison in rounds: its measurement, the basis of its verdicts, its checks.

use crate::layout::number::signed_percent;
use gbench_compare::{Conclusion, RoundsMethod, Row, Sequence, SerialCorrelation, Verdict, VerdictDocument};
use gbench_model::text::{count, percent};
use gbench_model::{Interleaving, SandboxState};

/// How both sides were measured, for readers who do not know the term round.
pub(crate) fn measured(document: &VerdictDocument, rounds: &RoundsMethod) -> String {
    let sequences = document.rows.iter().filter_map(|row| row.sequence.as_ref());
    let used = match Extent::new(sequences.map(|sequence| f64::from(sequence.rounds))) {
        None => "no round".to_owned(),
        Some(extent) if extent.is_one() => count(extent.high as usize, "round"),
        Some(extent) => format!("{} rounds", extent.text(|rounds| rounds.to_string())),
    };
    let way = match rounds.way {
        Interleaving::Alternating => "one after the other",
        Interleaving::Lockstep => "both alive and taking turns (lock-step) where the benchmark can",
    };
    let shared = if rounds.shared_screen {
        "; cases of a harness share these processes until they are candidates"
    } else {
        ""
    };
    format!(
        "{used} a case, {} at most; a round is a fresh process of base and one of head, {way}, in a randomised order \
         (seed {}){shared}",
        rounds.most_rounds, rounds.seed
    )
}

/// Rows that the screen left open. Rules before `seq-e-3` assume at least one, because the error rate is divided by their
/// number.
fn candidates(document: &VerdictDocument, rounds: &RoundsMethod) -> usize {
    let went_on = |row: &&Row| {
        let later = |sequence: &Sequence| {
            sequence.rounds != rounds.screen_rounds || row.verdict != Verdict::Unchanged
        };
        row.sequence.as_ref().is_some_and(later)
    };
    let went_on = document.rows.iter().filter(went_on).count();
    if document.method.counts_all_rounds() || rounds.candidates == 1 && went_on == 0 {
        went_on
    } else {
        rounds.candidates as usize
    }
}

pub(crate) fn risk(document: &VerdictDocument, rounds: &RoundsMethod) -> String {
    let share = match candidates(document, rounds) {
        _ if document.method.counts_all_rounds() => {
            format!("{} share it", count(rounds.candidates as usize, "row"))
        }
        0 => "no row continued after the screen".to_owned(),
        1 => "for 1 candidate".to_owned(),
        several => format!("{} share it", count(several, "candidate")),
    };
    format!(
        "the chance of any false red in the whole suite is {} at most ({share}), of any false \"improved\" {}",
        percent(document.method.alpha),
        percent(rounds.alpha_improved),
    )
}

/// Advice for a comparison that passed; otherwise the rows have the advice.
pub(crate) fn next(document: &VerdictDocument) -> Option<String> {
    let unchanged =
        document.rows.iter().filter(|row| row.verdict == Verdict::Unchanged && row.margin.is_none());
    let targets = Extent::new(unchanged.filter(|row| row.sequence.is_some()).map(|row| row.threshold))?;
    if document.conclusion != Conclusion::Pass {
        return None;
    }
    Some(format!(
        "nothing to do. A change within {} is not excluded; set a smaller `target` for rows where it matters",
        percent(targets.high)
    ))
}

/// The effect of rounds with shared processes if programs are judged.
const SHARED_PROGRAMS: &str = " Rounds of processes that cases of a harness share can make their program red, but no case. A \
                               red or improved case rests on its own processes.";

/// The effect of rounds with shared processes otherwise.
const SHARED_SCREEN: &str = " Rounds of processes that cases of a harness share only screen: a red or \
                             improved case rests on its own processes.";

pub(crate) fn method(document: &VerdictDocument, rounds: &RoundsMethod) -> String {
    let by_share = || document.rows.iter().filter(|row| row.margin.is_none());
    let targets = span(by_share().map(|row| row.threshold));
    let least = span(by_share().filter_map(|row| Some(row.sequence.as_ref()?.min_effect)));
    let shared = match rounds.alpha_programs {
        Some(_) => SHARED_PROGRAMS,
        None if rounds.shared_screen => SHARED_SCREEN,
        None => "",
    };
    let confidence = span(document.rows.iter().filter_map(|row| Some(row.change.as_ref()?.confidence)));
    let (over, evidence) = if document.method.counts_all_rounds() {
        ("", "evidence from its rounds")
    } else {
        (" over fresh rounds", "evidence")
    };
    let continued = match candidates(document, rounds) {
        0 => "No row continued.".to_owned(),
        candidates => format!(
            "{} continued{over}. Each stopped with {evidence} for more than {least} worse or better, beyond the error \
             rate above; with a range within {targets}; or with the last round.",
            count(candidates, "candidate")
        ),
    };
    format!(
        "Rule {}: every row was screened in {}. A row whose whole range lay within {targets} either way was called \
         unchanged. {continued}{shared} Base and head are geometric means over the processes' medians; ± below the \
         rounds is the spread of the change from round to round. Plus is worse and minus is better. The range has \
         {confidence} confidence, row by row.",
        document.method.rule,
        count(rounds.screen_rounds as usize, "round"),
    )
}

/// Validity checks of the rounds, each with its finding on one line.
pub(crate) fn checks(document: &VerdictDocument, rounds: &RoundsMethod) -> Vec<String> {
    let serial_correlation = match (rounds.serial_correlation, rounds.serial_correlation_error) {
        (Some(correlation), Some(error)) => {
            let clear = if (SerialCorrelation { correlation, error }).is_clear() {
                "clearly above 0.15: processes of one side are not independent of each other, and no red is believed"
            } else {
                "not clearly above 0.15, so no red is doubted for it"
            };
            format!("correlation {correlation:.2}, standard error {error:.2}; {clear}")
        }
        (Some(correlation), None) => {
            format!("correlation {correlation:.2}; its standard error was not recorded")
        }
        (None, _) => "too few rounds to tell, and no red rests on so few".to_owned(),
    };
    let flagged = rounds.flagged_controls.len();
    let controls = match (rounds.controls as usize, flagged) {
        (0, _) => "not measured".to_owned(),
        (controls, 0) => format!("{}, none of them changed", count(controls, "row")),
        (controls, _) => format!(
            "{flagged} of {} changed ({}), which cannot be, so no red is believed",
            count(controls, "row"),
            rounds.flagged_controls.join(", ")
        ),
    };
    let mut checks = vec![
        format!("how one round's difference goes with the next one's: {serial_correlation}"),
        format!("the base compared with itself: {controls}"),
    ];
    checks.extend(
        rounds
            .location_shift
            .map(|shift| format!("the suite as a whole: its median change is {}", signed_percent(shift))),
    );
    checks.extend(document.method.sandbox.map(SandboxState::sentence));
    checks
}

/// The precision of "unchanged" for these rows: `within 2 %`; empty if no rounds decided.
pub(crate) fn certified<'r>(rows: impl Iterator<Item = &'r Row>) -> String {
    let by_share = rows.filter(|row| row.sequence.is_some() && row.margin.is_none());
    let within = Extent::new(by_share.map(|row| row.threshold));
    within.map_or(String::new(), |extent| format!("certified within {}", extent.text(percent)))
}

fn span(values: impl Iterator<Item = f64>) -> String {
    Extent::new(values).map_or("the target".into(), |extent| extent.text(percent))
}

#[derive(Clone, Copy)]
pub(super) struct Extent {
    low: f64,
    high: f64,
}

impl Extent {
    pub(super) fn new(values: impl Iterator<Item = f64>) -> Option<Self> {
        values
            .map(|value| Self { low: value, high: value })
            .reduce(|all, one| Self { low: all.low.min(one.low), high: all.high.max(one.high) })
    }

    pub(super) fn is_one(self) -> bool {
        self.low == self.high
    }

    pub(super) fn text(self, show: impl Fn(f64) -> String) -> String {
        if self.is_one() { show(self.low) } else { format!("{} to {}", show(self.low), show(self.high)) }
    }
}

/// The row that is most worth an explanation: the first that is not unchanged, else the first.
pub(crate) fn worth_explaining(document: &VerdictDocument) -> Option<&Row> {
    let decided = || document.rows.iter().filter(|row| row.sequence.is_some());
    decided().find(|row| row.verdict != Verdict::Unchanged).or_else(|| decided().next())
}
