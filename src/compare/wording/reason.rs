//! Why a row has its verdict, in one sentence.

use super::parts;
use crate::compare::reason::Remark;
use crate::compare::{Reason, SettingEffect};
use crate::model::text::{count, percent, signed_percent};
use crate::model::{Thermal, format_duration};

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(&reason(self))
    }
}

/// The text of a reason, without a period.
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::WorseOverRounds { rounds, at_least, confidence } => {
            let least = at_least.map_or(String::new(), |share| format!("at least {} ", percent(share)));
            format!("{least}worse over {}, {}", rounds_of(*rounds), confident(*confidence))
        }
        Reason::BetterOverRounds { rounds, confidence } => {
            format!("better over {}, {}", rounds_of(*rounds), confident(*confidence))
        }
        Reason::ScreenUnfinished { rounds, screen_rounds, budget } => {
            format!(
                "{}{} of the {screen_rounds} that the screen takes",
                ended(*budget, false),
                rounds_of(*rounds)
            )
        }
        Reason::RangeUndecided { low, high, target, min_effect, noise, .. } => range_undecided(
            reason,
            [*low, *high].map(signed_percent),
            [*target, *min_effect, *noise].map(percent),
        ),
        Reason::ChangeUnknown { rounds, noise, budget, ended_early } => format!(
            "{}after {} nothing is known of the change{}",
            ended(*budget, *ended_early),
            rounds_of(*rounds),
            // One round shows no deviation.
            if *rounds < 2 {
                String::new()
            } else {
                format!(": one round's differs from the next by {}", percent(*noise))
            },
        ),
        Reason::MarginUndecided { rounds, budget, ended_early } => format!(
            "{}{} whether the difference exceeds its margin",
            ended(*budget, *ended_early),
            do_not_tell(*rounds),
        ),
        Reason::ZeroBaseInRounds { rounds, budget, ended_early } => format!(
            "{}the base is zero, and {} the difference from chance",
            ended(*budget, *ended_early),
            do_not_tell(*rounds),
        ),
        Reason::CoarseFigures { step, unit, share, unresolved, target } => format!(
            "the figures come in steps of {} {unit}, {} of the smaller side, so that {} either way stays unknown whatever \
             the rounds: more than a target of {} allows",
            short(*step),
            percent(*share),
            percent(*unresolved),
            percent(*target),
        ),
        Reason::NoRatio {} => {
            "a later round holds a value that is not above zero, so that ratios end there".into()
        }
        Reason::OneSideDisturbed { disturbed, rounds, shown } => format!(
            "one side met a busy machine, or a throttled GPU, in {disturbed} of {}, and the others alone do not show it \
             to be {}",
            rounds_of(*rounds),
            shown.into_str()
        ),
        Reason::HardwareSlowdownInRounds { slowed, rounds, shown } => format!(
            "hardware held a GPU's clocks down on both sides in {slowed} of {}, and the others alone do not show it to be \
             {}",
            rounds_of(*rounds),
            shown.into_str()
        ),
        Reason::HardwareSlowdown { processes, shown } => format!(
            "hardware held a GPU's clocks down in {} of it, which therefore do not show it to be {}",
            count(*processes as usize, "process"),
            shown.into_str()
        ),
        Reason::SerialCorrelation { correlation, error } => parts::serial_correlation(*correlation, *error),
        Reason::ControlChanged { count, named } => format!(
            "the base compared with itself came out changed ({}), so a red proves nothing here",
            parts::named(*count, named)
        ),
        Reason::RepeatedSamples { side, first, second } => format!(
            "processes {first} and {second} of {} gave the very same numbers: they come from a cache, not from a \
             measurement",
            side.into_str()
        ),
        Reason::ConstantSide { side, processes } => {
            constant(&format!("{} of {}", count(*processes as usize, "process"), side.into_str()))
        }
        Reason::ConstantSides { base_processes, head_processes } => constant(&format!(
            "{} of base and {head_processes} of head",
            count(*base_processes as usize, "process")
        )),
        Reason::ExactValues { base, head } => {
            format!("every process of a side gave the same value: {base} on base, {head} on head")
        }
        Reason::RepeatedFigure { value } => format!(
            "every process of both sides gave the same figure, {value}: it is kept in a cache, or not left to chance"
        ),
        Reason::TooFewRoundedFigures { base, head } => format!(
            "every process of a side gave the same figure, {base} on base and {head} on head: rounded like that, so few \
             do not show how much processes differ by chance"
        ),
        Reason::TooFewProcesses { base_processes, head_processes } => {
            let [base, head] =
                [*base_processes, *head_processes].map(|processes| count(processes as usize, "process"));
            format!("{base} on base and {head} on head do not show how much processes differ by chance")
        }
        Reason::OneProcess {} => {
            "one process on a side does not show how much processes differ by chance".into()
        }
        Reason::ZeroBase { base_processes, head_processes } => format!(
            "the base is zero on average, and {base_processes} processes on base and {head_processes} on head vary too \
             much to tell a difference from it"
        ),
        Reason::IntervalAcrossThreshold { confidence, low, high, threshold, detectable, .. } => {
            let found = match detectable {
                Some(share) => format!("would have found a slowdown of {} or more", percent(*share)),
                None => "would not have found any slowdown".to_owned(),
            };
            format!(
                "the {} interval from {} to {} reaches across the threshold of {}: {} {found}",
                percent(*confidence),
                percent(*low),
                percent(*high),
                percent(*threshold),
                behind_the_interval(reason),
            )
        }
        Reason::BeyondMargin { base, head, margin } => {
            format!("it went from {base:.3e} to {head:.3e}, and a difference of {margin:.3e} matters")
        }
        Reason::DifferenceAcrossMargin { low, high, margin } => format!(
            "its processes vary, so that the difference lies somewhere from {low:.3e} to {high:.3e}, and {margin:.3e} \
             matters"
        ),
        Reason::BeyondSessions { stored, needed, assumed } => format!(
            "{}, but the change exceeds what sessions that differ by {} explain",
            history(*stored, *needed),
            percent(*assumed)
        ),
        Reason::TooFewSessions { stored, needed, assumed, low: Some(low), high: Some(high) } => format!(
            "{}; were that {}, the change would lie between {} and {}",
            history(*stored, *needed),
            percent(*assumed),
            percent(*low),
            percent(*high)
        ),
        Reason::TooFewSessions { stored, needed, .. } => history(*stored, *needed),
        Reason::SummaryOnly { ratio } => {
            let known = match ratio {
                Some(ratio) => format!("head / base is {ratio:.4}, and nothing more is known"),
                None => "no ratio can be given".to_owned(),
            };
            format!("one process a side stated its figure without a deviation and a count: {known}")
        }
        Reason::SummaryOfIterations { low, high, base_iterations, head_iterations } => {
            let interval = low.zip(*high).map_or("its interval".to_owned(), |(low, high)| {
                format!("the interval from {} to {}", percent(low), percent(high))
            });
            format!(
                "one process a side stated mean and deviation: {interval} is that of {base_iterations} and \
                 {head_iterations} iterations within them, and says nothing of how processes differ"
            )
        }
        Reason::ImpossiblyBetter { times } => {
            format!("{} times better, which no program is that still does its work", parts::times(*times))
        }
        Reason::FailedOnHead { outcome, cause } => format!("{outcome} on head: {cause}"),
        Reason::FailedOnBothSides { base_outcome, base_cause, head_outcome, head_cause } => {
            if (base_outcome, base_cause) == (head_outcome, head_cause) {
                format!("{head_outcome} on both sides: {head_cause}")
            } else {
                format!("{head_outcome} on head: {head_cause}; {base_outcome} on base: {base_cause}")
            }
        }
        Reason::NotMeasuredOnHead { outcome, cause } => {
            format!("{outcome} on head, measured on base: {cause}")
        }
        Reason::FailedOnBase { outcome, cause } => {
            format!("{outcome} on base, so that there is nothing to hold head to: {cause}")
        }
        Reason::NotMeasuredOnBase { outcome, cause } => {
            format!("base has no valid measurement: {outcome} there: {cause}")
        }
        Reason::NewCase {} => "base has no such case".into(),
        Reason::NewCaseRanOtherwise { device, other_device, other_thermal, other_timing } => format!(
            "base has no such case; there it ran {}",
            otherwise(device.as_deref().zip(other_device.as_deref()), *other_thermal, *other_timing)
        ),
        Reason::MissingCase {} => "measured on base, not selected or no longer there on head".into(),
        Reason::MissingCaseRanOtherwise { device, other_device, other_thermal, other_timing } => format!(
            "measured on base; on head it ran {}, which is another case",
            otherwise(device.as_deref().zip(other_device.as_deref()), *other_thermal, *other_timing)
        ),
        Reason::NoMetric {} => "measured on both sides without a single metric".into(),
        Reason::NotFinite {} => "head holds numbers that are none".into(),
        Reason::NoCompleteSamples {} => "head has no complete samples of it".into(),
        Reason::MissingMetric {} => "measured on base, not sent on head".into(),
        Reason::NewMetric {} => "base has no valid measurement of it".into(),
        Reason::DirectionOnHeadOnly {} => {
            "only head says which way is better, and that is the base's word".into()
        }
        Reason::NoDirection {} => "neither its unit nor a declaration says which way is better".into(),
        Reason::UnitsDiffer { base, head } => format!("its unit is `{base}` on base and `{head}` on head"),
        Reason::DirectionsDiffer { base, head } => {
            format!("{} is better on base and {} on head", base.into_str(), head.into_str())
        }
        Reason::SettingsDiffer { setting, base, head, effect } => {
            let effect = match effect {
                SettingEffect::WholeProcess => "and the whole process is timed",
                SettingEffect::Program => "which reaches the program, so that they measure different things",
                SettingEffect::Card => "so that they ran on different cards",
            };
            format!("`{setting}` is {base} on base and {head} on head, {effect}")
        }
        Reason::TakesNoTime { side, value, unit } => {
            format!("{} took {value} {unit}, and nothing takes no time", side.into_str())
        }
    }
}

/// A reason with a circumstance that it does not rest on.
pub fn with_remark(reason: &str, remark: &Remark) -> String {
    let joint = if reason.is_empty() { "" } else { "; meanwhile " };
    format!(
        "{reason}{joint}a GPU's clocks were held down ({}) in {} of {} on base and {} of {} on head",
        remark.reasons.join(", "),
        remark.base.0,
        count(remark.base.1, "process"),
        remark.head.0,
        count(remark.head.1, "process"),
    )
}

fn rounds_of(rounds: u32) -> String {
    count(rounds as usize, "round")
}

fn do_not_tell(rounds: u32) -> String {
    let verb = if rounds == 1 { "does" } else { "do" };
    format!("{} {verb} not tell", rounds_of(rounds))
}

fn confident(confidence: f64) -> String {
    format!("with {} confidence for the whole suite", percent(confidence))
}

/// Why the rounds ended, as the beginning of a sentence; empty where all were made.
fn ended(budget: Option<f64>, early: bool) -> String {
    match budget {
        Some(seconds) => format!("the budget of {} was spent: ", format_duration(seconds)),
        None if early => "the rounds ended early: ".into(),
        None => String::new(),
    }
}

fn range_undecided(
    reason: &Reason,
    [low, high]: [String; 2],
    [target, min_effect, noise]: [String; 3],
) -> String {
    let Reason::RangeUndecided { rounds, most_rounds, detectable, budget, ended_early, .. } = reason else {
        return String::new();
    };
    let lies = if low == high { format!("is {low}") } else { format!("lies somewhere from {low} to {high}") };
    let noise = if *rounds < 2 {
        String::new()
    } else {
        format!("; one round's change differs from the next by {noise}")
    };
    let found = detectable.map_or(String::new(), |share| {
        format!("; with this noise {most_rounds} rounds find {} or more", percent(share))
    });
    format!(
        "{}after {} the change {lies}: not \"unchanged\", since not all of that lies within {target}; not red or \
         improved, since more than {min_effect} is not proven{noise}{found}",
        ended(*budget, *ended_early),
        rounds_of(*rounds),
    )
}

/// Of what an interval is made that reaches across the threshold.
fn behind_the_interval(reason: &Reason) -> String {
    let Reason::IntervalAcrossThreshold {
        base_processes,
        head_processes,
        base_spread,
        head_spread,
        session_deviation,
        sessions,
        step,
        step_share,
        ..
    } = reason
    else {
        return String::new();
    };
    if let Some((step, share)) = step.zip(*step_share) {
        return format!("figures rounded to {} ({} of the smaller side)", short(step), percent(share));
    }
    let spreads = base_spread.zip(*head_spread).map_or(String::new(), |(base, head)| {
        format!(" with a spread of {} and {}", percent(base), percent(head))
    });
    let processes = format!("{base_processes} and {head_processes} processes{spreads}");
    match session_deviation.zip(*sessions) {
        Some((deviation, sessions)) => format!(
            "sessions that differ by {} ({sessions} stored ones show it), and {processes},",
            percent(deviation)
        ),
        None => processes,
    }
}

fn constant(processes: &str) -> String {
    format!("all {processes} gave the same value: it is rounded, kept in a cache, or not left to chance")
}

fn history(stored: u32, needed: u32) -> String {
    let there = match stored {
        0 => return "no history shows how much this benchmark differs between sessions".to_owned(),
        1 => "there is 1 stored session".to_owned(),
        stored => format!("there are {stored} stored sessions"),
    };
    let needed = if needed == 1 { "1 is".to_owned() } else { format!("{needed} are") };
    format!("{there} to show how much this benchmark differs between sessions, {needed} needed")
}

/// `on cuda:0 instead of host and cold instead of warm`. `devices`: the case's own and the other's.
fn otherwise(devices: Option<(&str, &str)>, thermal: Option<Thermal>, timing: bool) -> String {
    let mut parts = Vec::new();
    parts.extend(devices.map(|(own, other)| format!("on {other} instead of {own}")));
    parts.extend(thermal.map(|thermal| match thermal {
        Thermal::Cold => "cold instead of warm".to_owned(),
        Thermal::Warm => "warm instead of cold".to_owned(),
    }));
    parts.extend(timing.then(|| "timed in another way".to_owned()));
    parts.join(" and ")
}

/// With four digits at most: steps of a clock are known to no more.
fn short(step: f64) -> String {
    let rounded = format!("{step:.3e}").parse().unwrap_or(step);
    format!("{rounded}")
}
