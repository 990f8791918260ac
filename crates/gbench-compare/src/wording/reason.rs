//! Why a row has its verdict: as a value, and as one sentence without a period. `Row::reason` has the text.

use derive_more::Display;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::parts::{correlated, factor};
use crate::verdict::outcome::Verdict;
use gbench_model::text::{count, listed, percent, signed_percent};
use gbench_model::{Better, HealthSign, Side, Thermal, format_duration};

/// One reason, with the figures that its text names. Shares are relative: 0.05 is 5 %. `docs/reasons.md` lists all.
#[skip_serializing_none]
#[derive(Clone, Debug, Display, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Reason {
    /// Regressed: the evidence for "worse" is strong enough for the whole suite.
    #[display("{}worse over {}, {}", at_least_by(*at_least), rounds_of(*rounds), confident(*confidence))]
    WorseOverRounds {
        rounds: u32,
        /// The slowdown is at least this, for the whole suite at once.
        at_least: Option<f64>,
        confidence: f64,
    },
    /// Regressed, of a program as a whole: what its cases show in the processes that they share is strong enough for the
    /// suite.
    #[display(
        "worse over {}, {} of them in processes that {cases} cases share, {}; most likely {likeliest}, {}, but one case can slow another",
        rounds_of(*rounds), shared_rounds, confident(*confidence), signed_percent(*slowdown)
    )]
    ProgramWorse {
        /// The case that changed most clearly.
        likeliest: String,
        /// Cases that share its processes.
        cases: u32,
        rounds: u32,
        /// Of them in shared processes.
        shared_rounds: u32,
        /// The slowdown of that case.
        slowdown: f64,
        confidence: f64,
    },
    /// Improved: the evidence for "better" is strong enough for the whole suite.
    #[display("better over {}, {}", rounds_of(*rounds), confident(*confidence))]
    BetterOverRounds { rounds: u32, confidence: f64 },
    /// Fewer rounds than the screening stage takes.
    #[display("{}{} of the {screen_rounds} that the screen takes", ended(*budget, false), rounds_of(*rounds))]
    ScreenUnfinished {
        rounds: u32,
        screen_rounds: u32,
        /// Seconds, where their end ended the rounds.
        budget: Option<f64>,
    },
    /// The interval of the change fits neither "unchanged" nor "regressed" nor "improved".
    #[display(
        "{}after {}{} the change {}: not \"unchanged\", since not all of that lies within {}; not red or \
         improved, since more than {} is not proven{}{}",
        ended(*budget, *ended_early),
        rounds_of(*rounds),
        of_its_own(*own_rounds),
        lies(*low, *high),
        percent(*target),
        percent(*min_effect),
        scatter("; one round's change", *rounds, *noise),
        most_rounds_find(*most_rounds, *detectable)
    )]
    RangeUndecided {
        rounds: u32,
        /// Those of them in its own processes, where the others screened in shared ones: the range is of these.
        own_rounds: Option<u32>,
        low: f64,
        high: f64,
        /// Unchanged lies within it.
        target: f64,
        /// A red or an improvement lies beyond it.
        min_effect: f64,
        /// Standard deviation of one round's change.
        noise: f64,
        most_rounds: u32,
        /// The slowdown that `most_rounds` find with this noise.
        detectable: Option<f64>,
        budget: Option<f64>,
        /// The rounds ended before they decided the row, and no budget says why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The interval is too wide to be of use.
    #[display(
        "{}after {}{} nothing is known of the change{}",
        ended(*budget, *ended_early), rounds_of(*rounds), of_its_own(*own_rounds), scatter(": one round's", *rounds, *noise)
    )]
    ChangeUnknown {
        rounds: u32,
        /// As of [`Reason::RangeUndecided`].
        own_rounds: Option<u32>,
        noise: f64,
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// Head's processes vary far more than those of base, so that whether it became slower stays open.
    #[display(
        "head varies far more than base from process to process: by {} around its median and not by {}, over {}, {}; whether it \
         became slower that does not tell",
        percent(*head), percent(*base), rounds_of(*rounds), confident(*confidence)
    )]
    HeadVariesMore {
        /// Mean distance of a process from the median of its side.
        base: f64,
        head: f64,
        /// Undisturbed rounds in its own processes.
        rounds: u32,
        /// For the whole suite at once.
        confidence: f64,
    },
    /// The absolute difference is not told from its margin.
    #[display(
        "{}{} whether the difference exceeds its margin",
        ended(*budget, *ended_early), do_not_tell(*rounds)
    )]
    MarginUndecided {
        rounds: u32,
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The base is zero, so that there is no relative change, and the difference is not told from chance.
    #[display(
        "{}the base is zero, and {} the difference from chance",
        ended(*budget, *ended_early), do_not_tell(*rounds)
    )]
    ZeroBaseInRounds {
        rounds: u32,
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The steps of the figures, a timer's tick or a last digit, are too coarse for the target.
    #[display(
        "the figures come in steps of {} {unit}, {} of the smaller side, so that {} either way stays \
         unknown whatever the rounds: more than a target of {} allows",
        short(*step), percent(*share), percent(*unresolved), percent(*target)
    )]
    CoarseFigures {
        /// In `unit`.
        step: f64,
        unit: String,
        /// The step as a share of the smaller side.
        share: f64,
        /// The change may be off by this, either way.
        unresolved: f64,
        target: f64,
    },
    /// Processes that several cases share show a change, and those of the case's own do not.
    #[display(
        "in {} of processes shared with other cases it changed by {}, in {} in its own processes by {}: what another case \
         leaves behind makes the difference",
        rounds_of(*shared_rounds), change_of(*shared), rounds_of(*own_rounds), change_of(*own)
    )]
    SharedProcessesDiffer {
        /// The slowdown in shared processes; absent where there is no share.
        shared: Option<f64>,
        shared_rounds: u32,
        /// Likewise in its own processes.
        own: Option<f64>,
        own_rounds: u32,
    },
    /// A later round has a value that is not above zero, where a ratio has no meaning.
    #[display("a later round has a value that is not above zero, so that ratios end there")]
    NoRatio {},
    /// The verdict rests on rounds in which one side alone met other work or a throttled GPU.
    #[display(
        "one side met a busy machine, or a throttled GPU, in {disturbed} of {}, and the others alone do not \
         show it to be {shown}",
        rounds_of(*rounds)
    )]
    OneSideDisturbed {
        disturbed: u32,
        rounds: u32,
        /// The verdict without the doubt.
        shown: Verdict,
    },
    /// The verdict rests on rounds in which hardware held a GPU's clocks down on both sides.
    #[display(
        "hardware held a GPU's clocks down on both sides in {slowed} of {}, and the others alone do not \
         show it to be {shown}",
        rounds_of(*rounds)
    )]
    HardwareSlowdownInRounds { slowed: u32, rounds: u32, shown: Verdict },
    /// Hardware held a GPU's clocks down in processes of two records.
    #[display(
        "hardware held a GPU's clocks down in {} of it, which therefore do not show it to be {shown}",
        processes_of(*processes)
    )]
    HardwareSlowdown { processes: u32, shown: Verdict },
    /// The verdict rests on rounds in which a GPU had a fault.
    #[display(
        "a GPU had a fault ({}) in {sick} of {}, and the others alone do not show it to be {shown}",
        faults_of(faults), rounds_of(*rounds)
    )]
    SickCardInRounds { sick: u32, rounds: u32, faults: Vec<HealthSign>, shown: Verdict },
    /// A GPU had a fault in processes of two records.
    #[display(
        "a GPU had a fault ({}) in {} of it, which therefore do not show it to be {shown}",
        faults_of(faults), processes_of(*processes)
    )]
    SickCard { processes: u32, faults: Vec<HealthSign>, shown: Verdict },
    /// The verdict rests on rounds in which the PCIe link of the GPU was not the same on both sides.
    #[display(
        "the GPU's PCIe link was not the same on both sides in {apart} of {}, and the others alone do not \
         show it to be {shown}",
        rounds_of(*rounds)
    )]
    LinksDifferInRounds { apart: u32, rounds: u32, shown: Verdict },
    /// Differences of successive rounds are correlated, so that they are not independent evidence.
    #[display("{}", correlated(*correlation, *error))]
    SerialCorrelation { correlation: f64, error: f64 },
    /// The base compared with itself came out changed.
    #[display(
        "the base compared with itself came out changed ({}), so a red proves nothing here",
        listed(named, *count as usize, ", ")
    )]
    ControlChanged {
        /// How many of its rows.
        count: u32,
        /// The first of them.
        named: Vec<String>,
    },
    /// Two processes of one side gave the same list of samples.
    #[display(
        "processes {first} and {second} of {} gave the very same numbers: they come from a cache, not from \
         a measurement",
        side.into_str()
    )]
    RepeatedSamples { side: Side, first: u32, second: u32 },
    /// All processes of one side gave one value.
    #[display("all {} of {} {CONSTANT}", processes_of(*processes), side.into_str())]
    ConstantSide { side: Side, processes: u32 },
    /// All processes of both sides gave one value.
    #[display("all {} of base and {head_processes} of head {CONSTANT}", processes_of(*base_processes))]
    ConstantSides { base_processes: u32, head_processes: u32 },
    /// Each side's processes gave one exact value.
    #[display("every process of a side gave the same value: {base} on base, {head} on head")]
    ExactValues { base: f64, head: f64 },
    /// Counts of executed instructions that hardly differ from process to process, and do between the sides.
    #[display(
        "{} on base and {} on head, alike within {} in {} a side",
        instructions(*base), instructions(*head), percent_or_less(*spread), processes_of(*processes)
    )]
    CountsAgree {
        /// For one execution, the mean over processes.
        base: f64,
        head: f64,
        /// On the side that differs more: largest less smallest, as a share of the mean.
        spread: f64,
        /// On the side that has fewer.
        processes: u32,
    },
    /// Counts that differ between the sides, of too few processes for a verdict.
    #[display("its counts differ, in {} a side of the {needed} that a verdict takes", processes_of(*processes))]
    FewCounts { processes: u32, needed: u32 },
    /// Sizes or counts differ between the sides, which have too few processes for a verdict.
    #[display(
        "the sides differ in {processes} of the {needed} processes a side that a verdict takes: so far a program with one of \
         two states in each process may explain it"
    )]
    FewThatDiffer { processes: u32, needed: u32 },
    /// Figures that leave nothing to chance differ between the sides in processes that several cases share, and the case
    /// has too few separate ones for a verdict.
    #[display(
        "the sides differ in processes that it shared with other cases, and it has {processes} of the {needed} separate ones \
         that a verdict takes"
    )]
    FewOwnProcesses { processes: u32, needed: u32 },
    /// All processes of both sides gave one figure, of more digits than rounding explains.
    #[display(
        "every process of both sides gave the same figure, {value}: it is kept in a cache, or not left to \
         chance"
    )]
    RepeatedFigure { value: f64 },
    /// Each side's processes gave one rounded figure, and they are too few to show chance.
    #[display(
        "every process of a side gave the same figure, {base} on base and {head} on head: rounded like \
         that, so few do not show how much processes differ by chance"
    )]
    TooFewRoundedFigures { base: f64, head: f64 },
    /// Too few processes to show how much processes differ.
    #[display(
        "{} on base and {} on head do not show how much processes differ by chance",
        processes_of(*base_processes), processes_of(*head_processes)
    )]
    TooFewProcesses { base_processes: u32, head_processes: u32 },
    /// As `too-few-processes`, of a metric that is judged by its absolute difference.
    #[display("one process on a side does not show how much processes differ by chance")]
    OneProcess {},
    /// The base is zero on average, and the processes vary too much.
    #[display(
        "the base is zero on average, and {base_processes} processes on base and {head_processes} on head \
         vary too much to tell a difference from it"
    )]
    ZeroBase { base_processes: u32, head_processes: u32 },
    /// The interval reaches across the threshold.
    #[display(
        "the {} interval from {} to {} reaches across the threshold of {}: {} {}",
        percent(*confidence),
        percent(*low),
        percent(*high),
        percent(*threshold),
        made_of([*base_processes, *head_processes], base_spread.zip(*head_spread), session_deviation.zip(*sessions), step.zip(*step_share)),
        would_find(*detectable)
    )]
    IntervalAcrossThreshold {
        confidence: f64,
        low: f64,
        high: f64,
        threshold: f64,
        base_processes: u32,
        head_processes: u32,
        base_spread: Option<f64>,
        head_spread: Option<f64>,
        /// Smallest slowdown that would have been found.
        detectable: Option<f64>,
        /// Deviation between sessions, and the stored sessions that show it.
        session_deviation: Option<f64>,
        sessions: Option<u32>,
        /// The step of rounded figures, where it leaves more open than the processes do, and its share.
        step: Option<f64>,
        step_share: Option<f64>,
    },
    /// The absolute difference went beyond the margin.
    #[display("it went from {base:.3e} to {head:.3e}, and a difference of {margin:.3e} matters")]
    BeyondMargin { base: f64, head: f64, margin: f64 },
    /// The interval of the absolute difference reaches across the margin.
    #[display(
        "its processes vary, so that the difference lies somewhere from {low:.3e} to {high:.3e}, and \
         {margin:.3e} matters"
    )]
    DifferenceAcrossMargin { low: f64, high: f64, margin: f64 },
    /// Decided without a history, because no difference of sessions explains the change.
    #[display(
        "{}, but the change exceeds what sessions that differ by {} explain",
        history(*stored, *needed), percent(*assumed)
    )]
    BeyondSessions { stored: u32, needed: u32, assumed: f64 },
    /// A change that outliers would hide.
    #[display(
        "it rests on the middle {base} of {base_processes} processes of base and {head} of {head_processes} of head: outliers \
         hide the change from the mean of all"
    )]
    OutliersLeftOut { base: u32, base_processes: u32, head: u32, head_processes: u32 },
    /// Too few stored sessions to show how much sessions differ.
    #[display("{}{}", history(*stored, *needed), were_that(*assumed, low.zip(*high)))]
    TooFewSessions {
        stored: u32,
        needed: u32,
        /// The deviation that is assumed instead, and the interval that it gives.
        assumed: f64,
        low: Option<f64>,
        high: Option<f64>,
    },
    /// The sides ran on two hosts of a pool, and too few stored sessions show how far its hosts are apart.
    #[display(
        "base and head ran on two hosts of a pool, and only {stored} of the {needed} stored runs that are needed changed the host"
    )]
    TwoHosts { stored: u32, needed: u32 },
    /// One process a side gave a figure and nothing of its spread.
    #[display(
        "one process a side stated its figure without a deviation and a count: {}",
        ratio_known(*ratio)
    )]
    SummaryOnly {
        /// head / base.
        ratio: Option<f64>,
    },
    /// One process a side gave mean and deviation of its iterations.
    #[display(
        "one process a side stated mean and deviation: {} is that of {base_iterations} and \
         {head_iterations} iterations within them, and says nothing of how processes differ",
        the_interval(low.zip(*high))
    )]
    SummaryOfIterations { low: Option<f64>, high: Option<f64>, base_iterations: u32, head_iterations: u32 },
    /// So many times better that no program does its work.
    #[display("{} times better, which no program is that still does its work", factor(*times))]
    ImpossiblyBetter { times: f64 },
    /// Head failed, timed out or is invalid.
    #[display("{outcome} on head: {cause}")]
    FailedOnHead { outcome: String, cause: String },
    /// Both sides failed, timed out or are invalid.
    #[display("{}", failed_on_both([base_outcome, head_outcome], [base_cause, head_cause]))]
    FailedOnBothSides { base_outcome: String, base_cause: String, head_outcome: String, head_cause: String },
    /// Base was measured, and head was skipped or never started.
    #[display("{outcome} on head, measured on base: {cause}")]
    NotMeasuredOnHead { outcome: String, cause: String },
    /// Base failed in every process, and head was measured: the change mends it.
    #[display("{outcome} on base, measured on head: {cause}")]
    MendedOnHead { outcome: String, cause: String },
    /// Base failed in the rounds of the comparison.
    #[display("{outcome} on base, so that there is nothing to hold head to: {cause}")]
    FailedOnBase { outcome: String, cause: String },
    /// Base has no valid measurement of the case.
    #[display("base has no valid measurement: {outcome} there: {cause}")]
    NotMeasuredOnBase { outcome: String, cause: String },
    /// A part of the whole, such as a kernel of a program, that head does no more.
    #[display("done on base only: removed, renamed or joined with another; the rows of the whole decide")]
    PartOnBaseOnly {},
    /// As `part-on-base-only`, but no row of the whole is decided.
    #[display("done on base only, and no row of the whole program is decided")]
    PartWithoutWhole {},
    /// A part of the whole that base does not do.
    #[display("done on head only; the rows of the whole decide")]
    PartOnHeadOnly {},
    /// Only head has the case.
    #[display("base has no such case")]
    NewCase {},
    /// Only head has the case; base has one that differs in how it ran.
    #[display(
        "base has no such case; there it ran {}",
        otherwise(device, other_device, *other_thermal, *other_timing)
    )]
    NewCaseRanOtherwise {
        device: Option<String>,
        /// Absent where it is the same.
        other_device: Option<String>,
        other_thermal: Option<Thermal>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other_timing: bool,
    },
    /// Only base has the case.
    #[display("measured on base, not selected or no longer there on head")]
    MissingCase {},
    /// Only base has the case; head has one that differs in how it ran.
    #[display(
        "measured on base; on head it ran {}, which is another case",
        otherwise(device, other_device, *other_thermal, *other_timing)
    )]
    MissingCaseRanOtherwise {
        device: Option<String>,
        other_device: Option<String>,
        other_thermal: Option<Thermal>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other_timing: bool,
    },
    /// Measured on both sides without a single metric.
    #[display("measured on both sides without a single metric")]
    NoMetric {},
    /// Head sent numbers that are not finite.
    #[display("head has values that are not numbers")]
    NotFinite {},
    /// Head has no complete samples of the metric.
    #[display("head has no complete samples of it")]
    NoCompleteSamples {},
    /// Base has the metric and head did not send it.
    #[display("measured on base, not sent on head")]
    MissingMetric {},
    /// Base has no valid measurement of the metric.
    #[display("base has no valid measurement of it")]
    NewMetric {},
    /// Only head says which way is better.
    #[display("only head says which way is better, and that is the base's word")]
    DirectionOnHeadOnly {},
    /// Neither side says which way is better.
    #[display("neither its unit nor a declaration says which way is better")]
    NoDirection {},
    /// The sides name different units.
    #[display("its unit is `{base}` on base and `{head}` on head")]
    UnitsDiffer { base: String, head: String },
    /// The sides name different directions.
    #[display("{} is better on base and {} on head", base.into_str(), head.into_str())]
    DirectionsDiffer { base: Better, head: Better },
    /// The sides were measured with different settings.
    #[display("`{setting}` is {base} on base and {head} on head, {effect}")]
    SettingsDiffer { setting: String, base: String, head: String, effect: SettingEffect },
    /// From the same inputs, head computes something else than base.
    #[display("head computes something else than base from the same inputs: `{output}` differs by {}", share_of_largest(*difference))]
    AnswerDiffers {
        output: String,
        /// The largest difference of a value, as a share of the largest absolute value; absent: a number on one side only.
        difference: Option<f64>,
    },
    /// Head's processes compute different values from the same inputs, and base's do not.
    #[display(
        "head's processes compute different values from the same inputs (`{output}`), and base's do not"
    )]
    AnswerVaries { output: String },
    /// Base reports an output, and head does not.
    #[display("base reports what it computes (`{output}`), and head does not")]
    AnswerMissing { output: String },
    /// A time that is zero or less.
    #[display("{} took {value} {unit}, and nothing takes no time", side.into_str())]
    TakesNoTime { side: Side, value: f64, unit: String },
}

fn share_of_largest(difference: Option<f64>) -> String {
    match difference {
        Some(share) => format!("{} of its largest value", percent(share)),
        None => "being a number on one side only".to_owned(),
    }
}

/// How a setting that differs makes two measurements incomparable.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SettingEffect {
    /// The whole process is timed.
    #[display("and the whole process is timed")]
    WholeProcess,
    /// It reaches the program.
    #[display("which reaches the program, so that they measure different things")]
    Program,
    /// It chooses the card.
    #[display("so that they ran on different cards")]
    Card,
    /// The number of processes of the run on the machine at once.
    #[display("so that they had other neighbours on the machine")]
    Neighbours,
}

const CONSTANT: &str = "gave the same value: it is rounded, kept in a cache, or not left to chance";

fn rounds_of(rounds: u32) -> String {
    count(rounds as usize, "round")
}

fn of_its_own(rounds: Option<u32>) -> String {
    rounds.map_or(String::new(), |rounds| format!(", {rounds} of them in processes of its own,"))
}

fn processes_of(processes: u32) -> String {
    count(processes as usize, "process")
}

fn faults_of(faults: &[HealthSign]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn do_not_tell(rounds: u32) -> String {
    let verb = if rounds == 1 { "does" } else { "do" };
    format!("{} {verb} not tell", rounds_of(rounds))
}

fn at_least_by(slowdown: Option<f64>) -> String {
    slowdown.map_or(String::new(), |slowdown| format!("at least {} ", percent(slowdown)))
}

fn confident(confidence: f64) -> String {
    format!("with {} confidence for the whole suite", percent(confidence))
}

/// Why the rounds ended, as the beginning of a sentence; empty where all were made.
/// `+12.3 %`; without a share, a change all the same.
fn change_of(slowdown: Option<f64>) -> String {
    slowdown.map_or("something".into(), signed_percent)
}

fn ended(budget: Option<f64>, early: bool) -> String {
    match budget {
        Some(seconds) => format!("the budget of {} was spent: ", format_duration(seconds)),
        None if early => "the rounds ended early: ".into(),
        None => String::new(),
    }
}

fn scatter(one: &str, rounds: u32, noise: f64) -> String {
    if rounds < 2 { String::new() } else { format!("{one} differs from the next by {}", percent(noise)) }
}

fn lies(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(signed_percent);
    if low == high { format!("is {low}") } else { format!("lies somewhere from {low} to {high}") }
}

fn most_rounds_find(rounds: u32, detectable: Option<f64>) -> String {
    detectable.map_or(String::new(), |slowdown| {
        format!("; with this noise {rounds} rounds find {} or more", percent(slowdown))
    })
}

/// The sources of an interval. `sessions`: the deviation between them, and their number; `steps`: of figures, and as a
/// share.
fn made_of(
    [base, head]: [u32; 2],
    spreads: Option<(f64, f64)>,
    sessions: Option<(f64, u32)>,
    steps: Option<(f64, f64)>,
) -> String {
    if let Some((step, share)) = steps {
        return format!("figures rounded to {} ({} of the smaller side)", short(step), percent(share));
    }
    let spreads = spreads.map_or(String::new(), |(base, head)| {
        format!(" with a spread of {} and {}", percent(base), percent(head))
    });
    let processes = format!("{base} and {head} processes{spreads}");
    match sessions {
        Some((deviation, sessions)) => format!(
            "sessions that differ by {} ({sessions} stored ones show it), and {processes},",
            percent(deviation)
        ),
        None => processes,
    }
}

fn would_find(detectable: Option<f64>) -> String {
    match detectable {
        Some(slowdown) => format!("would have found a slowdown of {} or more", percent(slowdown)),
        None => "would not have found any slowdown".into(),
    }
}

fn were_that(assumed: f64, interval: Option<(f64, f64)>) -> String {
    interval.map_or(String::new(), |(low, high)| {
        let [assumed, low, high] = [assumed, low, high].map(percent);
        format!("; were that {assumed}, the change would lie between {low} and {high}")
    })
}

fn ratio_known(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => format!("head / base is {ratio:.4}, and nothing more is known"),
        None => "no ratio can be given".into(),
    }
}

fn the_interval(interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("the interval from {} to {}", percent(low), percent(high)),
        None => "its interval".into(),
    }
}

fn failed_on_both([of_base, of_head]: [&String; 2], [base, head]: [&String; 2]) -> String {
    if (of_base, base) == (of_head, head) {
        format!("{of_head} on both sides: {head}")
    } else {
        format!("{of_head} on head: {head}; {of_base} on base: {base}")
    }
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

/// `on cuda:0 instead of host and cold instead of warm`.
fn otherwise(
    device: &Option<String>,
    other_device: &Option<String>,
    thermal: Option<Thermal>,
    timing: bool,
) -> String {
    let mut parts = Vec::new();
    let devices = device.as_ref().zip(other_device.as_ref());
    parts.extend(devices.map(|(own, other)| format!("on {other} instead of {own}")));
    parts.extend(thermal.map(|thermal| match thermal {
        Thermal::Cold => "cold instead of warm".to_owned(),
        Thermal::Warm => "warm instead of cold".to_owned(),
    }));
    parts.extend(timing.then(|| "timed in another way".to_owned()));
    parts.join(" and ")
}

/// With four digits at most: steps of a clock are known to no more.
/// Five digits.
fn instructions(count: f64) -> String {
    let rounded = format!("{count:.4e}").parse().unwrap_or(count);
    format!("{rounded}")
}

fn percent_or_less(share: f64) -> String {
    const LEAST: f64 = 1e-4;
    if share < LEAST { format!("less than {}", percent(LEAST)) } else { percent(share) }
}

fn short(step: f64) -> String {
    let rounded = format!("{step:.3e}").parse().unwrap_or(step);
    format!("{rounded}")
}
