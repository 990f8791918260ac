//! What must agree between two measurements of one case beside its identity: everything that the suite hands to the
//! program. Ten iterations and thirty are two questions, and so is one card and another; a change between them is nobody's
//! regression.

use std::collections::BTreeMap;

use crate::model::{CaseRecord, Origin, Thermal, Timing};

use super::pairing::CasePair;
use crate::model::text::{count, list};

/// Settings that say how much work a process does. The number of processes is none of them.
const WORK: [&str; 4] = ["iterations", "warmup", "duration", "burnin"];

/// Settings that reach the program besides.
const OTHERS: [&str; 2] = ["seed", "device"];

/// Cases that one warning names.
const MOST_NAMED: usize = 3;

/// The first setting in which two measurements of a case were asked for different things, as a reason.
///
/// What the program itself chose and told, such as a number of iterations that it found by trying, is an answer of it and
/// no question; except where its whole time counts.
pub fn other_question(base: &CaseRecord, head: &CaseRecord) -> Option<String> {
    let timed_whole = head.id.timing == Timing::Process;
    let by_time = WORK.into_iter().filter(|name| reaches(name, head)).find_map(|name| {
        let (base, head) = (base.config.get(name)?, head.config.get(name)?);
        let told = [base, head].into_iter().any(|shown| shown.origin == Origin::Benchmark);
        (base.value != head.value && (timed_whole || !told))
            .then(|| (name, base.value.to_string(), head.value.to_string()))
    });
    if let Some((name, base, head)) = by_time {
        let why = match timed_whole {
            true => "and the whole process is timed",
            false => "which reaches the program, so that they measure different things",
        };
        return Some(format!("`{name}` is {base} on base and {head} on head, {why}"));
    }
    OTHERS.into_iter().find_map(|name| {
        let (base, head) = (&base.config.get(name)?.value, &head.config.get(name)?.value);
        let why = match name {
            "device" => "so that they ran on different cards",
            _ => "which reaches the program, so that they measure different things",
        };
        (base != head).then(|| format!("`{name}` is {base} on base and {head} on head, {why}"))
    })
}

/// A cold process is asked for no warm-up, whatever the settings say.
fn reaches(name: &str, case: &CaseRecord) -> bool {
    case.id.thermal == Thermal::Warm || !matches!(name, "warmup" | "burnin")
}

/// What differs: settings, whether they refuse the case or not; and command and environment, which are for the reader to
/// judge: they may be the very change that is looked at, or another size of the problem.
pub fn warnings(pairs: &[CasePair]) -> Vec<String> {
    let mut told: BTreeMap<(&str, String, String), usize> = BTreeMap::new();
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
    let text = |((name, base, head), cases)| {
        let verb = if cases == 1 { "was" } else { "were" };
        let cases = count(cases, "case");
        format!("{cases} {verb} measured with other settings: `{name}` is {base} on base and {head} on head")
    };
    let mut said: Vec<String> = told.into_iter().map(text).collect();
    if !started.is_empty() {
        let verb = if started.len() == 1 { "was" } else { "were" };
        let cases = count(started.len(), "case");
        said.push(format!("{cases} {verb} started otherwise on head: {}", list(&started, MOST_NAMED)));
    }
    said
}

/// A variable that the suite sets otherwise. Folders of caches are each tree's own.
fn other_variable<'a>(base: &'a CaseRecord, head: &'a CaseRecord) -> Option<&'a str> {
    let own = |name: &str| crate::model::KERNEL_CACHES.contains(&name);
    let names = base.env.keys().chain(head.env.keys());
    let mut differing = names.filter(|name| !own(name) && base.env.get(*name) != head.env.get(*name));
    differing.next().map(String::as_str)
}
