//! Settings that must agree between two measurements of one case in addition to its identity: everything that the suite
//! hands to the program. Ten iterations and thirty are two measurements, and so are two cards; a change between them is
//! not a regression.

use std::collections::BTreeMap;

use serde_json::Value;

use gbench_model::{CaseRecord, JOBS, L2_STATE, Origin, Thermal, Timing};

use super::cases::PairedCase;
use crate::wording::parts::counted;
use crate::wording::reason::{Reason, SettingEffect};
use crate::wording::warning::Warning;

/// Settings of how much work a process does. The number of processes is not among them.
const WORK: [&str; 4] = ["iterations", "warmup", "duration", "burnin"];

const OTHERS: [(&str, SettingEffect); 2] =
    [("seed", SettingEffect::Program), ("device", SettingEffect::Card)];

/// The note of the Python driver that names the clock of a case's samples.
const CLOCK: &str = "clock";
/// A note of the driver alone: other programs may note their own `clock`.
const INTERPRETER: &str = "interpreter";

const MAX_NAMED: usize = 3;

/// The first setting in which two measurements of a case were asked for different things, as a reason.
///
/// A value that the program itself chose and reported, such as a number of iterations that it found by trying, is an
/// answer and not a setting; except where its whole time is the figure.
pub(crate) fn other_settings(base: &CaseRecord, head: &CaseRecord) -> Option<Reason> {
    let timed_whole = head.id.timing == Timing::Process;
    let of_work = if timed_whole { SettingEffect::WholeProcess } else { SettingEffect::Program };
    let differ = |setting: &str, [base, head]: [&Value; 2], effect| {
        let [base, head] = [base, head].map(Value::to_string);
        Reason::SettingsDiffer { setting: setting.to_owned(), base, head, effect }
    };
    // Events of a device and the wall clock measure different things, and so do two ways to empty a cache.
    let clock =
        |case: &'_ CaseRecord| case.metadata.get(INTERPRETER).and_then(|_| case.metadata.get(CLOCK).cloned());
    let cache = |case: &CaseRecord| case.metadata.get(L2_STATE).cloned();
    for (note, sides) in [(CLOCK, [base, head].map(clock)), (L2_STATE, [base, head].map(cache))] {
        if let [Some(base), Some(head)] = &sides
            && base != head
        {
            return Some(differ(note, [base, head], SettingEffect::Program));
        }
    }
    let jobs =
        |case: &CaseRecord| case.config.get(JOBS).map_or_else(|| 1.into(), |shown| shown.value.clone());
    let [of_base, of_head] = [base, head].map(jobs);
    if of_base != of_head {
        return Some(differ(JOBS, [&of_base, &of_head], SettingEffect::Neighbours));
    }
    let work = WORK.into_iter().filter(|name| reaches(name, head)).map(|name| (name, of_work));
    work.chain(OTHERS).find_map(|(setting, effect)| {
        let (base, head) = (base.config.get(setting)?, head.config.get(setting)?);
        let told = [base, head].into_iter().any(|shown| shown.origin == Origin::Benchmark);
        let is_answer = told && !timed_whole && WORK.contains(&setting);
        (base.value != head.value && !is_answer).then(|| differ(setting, [&base.value, &head.value], effect))
    })
}

/// The suite's settings of a case by name, as far as figures with other settings may not be compared: `iterations=30`.
/// See `other_settings`.
pub(crate) fn asked_settings(case: &CaseRecord) -> Vec<String> {
    let timed_whole = case.id.timing == Timing::Process;
    let of_work = WORK.into_iter().filter(|name| reaches(name, case));
    let asked = of_work.chain(OTHERS.map(|(name, _)| name)).filter_map(|name| {
        let shown = case.config.get(name)?;
        let is_answer = shown.origin == Origin::Benchmark && !timed_whole && WORK.contains(&name);
        (!is_answer).then(|| format!("{name}={}", shown.value))
    });
    let clock = case.metadata.get(INTERPRETER).and_then(|_| case.metadata.get(CLOCK));
    let jobs = case.config.get(JOBS).map(|shown| format!("{JOBS}={}", shown.value));
    let asked = asked.chain(jobs);
    asked.chain(clock.map(|clock| format!("{CLOCK}={clock}"))).collect()
}

/// A cold process is asked for no warm-up, whatever the settings say.
fn reaches(name: &str, case: &CaseRecord) -> bool {
    case.id.thermal == Thermal::Warm || !matches!(name, "warmup" | "burnin")
}

/// Differences in settings, whether they refuse the case or not; and in command and environment, which the reader has to
/// judge: they may be the very change under test, or another size of the problem.
pub(crate) fn warnings(pairs: &[PairedCase]) -> Vec<Warning> {
    let mut told: BTreeMap<(&str, String, String), u32> = BTreeMap::new();
    let mut started = Vec::new();
    for (base, head) in pairs.iter().filter_map(|pair| Some((pair.base?, pair.head?))) {
        if base.command != head.command {
            let words = [base, head].map(|case| case.command.join(" "));
            started.push(format!("{} (`{}` on base, `{}` on head)", head.id, words[0], words[1]));
        } else if let Some(name) = other_variable(base, head) {
            started.push(format!("{} (its variable `{name}`)", head.id));
        }
        for name in WORK {
            let (b, h) = (base.config.get(name), head.config.get(name));
            if let (Some(b), Some(h)) = (b, h)
                && b.value != h.value
            {
                *told.entry((name, b.value.to_string(), h.value.to_string())).or_default() += 1;
            }
        }
    }
    let of_setting = |((setting, base, head), cases): ((&str, _, _), u32)| Warning::OtherSetting {
        cases,
        setting: setting.to_owned(),
        base,
        head,
    };
    let mut warnings: Vec<Warning> = told.into_iter().map(of_setting).collect();
    if !started.is_empty() {
        let (count, named) = counted(&started, MAX_NAMED);
        warnings.push(Warning::StartedOtherwise { count, named });
    }
    warnings
}

/// A variable that the suite sets otherwise. Folders of caches are each tree's own.
fn other_variable<'a>(base: &'a CaseRecord, head: &'a CaseRecord) -> Option<&'a str> {
    let own = |name: &str| gbench_model::KERNEL_CACHES.contains(&name);
    let names = base.env.keys().chain(head.env.keys());
    let mut differing = names.filter(|name| !own(name) && base.env.get(*name) != head.env.get(*name));
    differing.next().map(String::as_str)
}
