//! `gbench-ci bisect CASE [GOOD..BAD]`: which commit of a range changed a case.
//!
//! ```text
//! range    GOOD..BAD, or what a history knows
//! trees    commits checked out, built and measured
//! figures  the metric of a process
//! run      asks, builds and measures until there is an answer
//! state    what was measured so far, kept line by line
//! answer   the document
//! ```
//!
//! [`crate::stats::noisy_bisection`] alone decides which commit is next and when to end. All commits are measured with one
//! suite file, the bad end's: between two versions of a benchmark there is nothing to compare.

mod answer;
mod figures;
mod range;
mod request;
mod run;
mod state;
mod trees;

pub(crate) use self::request::{BisectRequest, Bisected};

use std::time::{Duration, Instant};

use self::request::{MOST_ROUNDS, USUAL_CONFIDENCE, USUAL_LEAST};
use self::run::BisectRun;
use self::state::BisectState;
use self::trees::BisectTrees;
use crate::app::compare::side_suites::SideSuites;
use crate::app::measuring::session::new_id;
use crate::app::paths::project_root;
use crate::app::progress::Reporter;
use crate::app::request::environment;
use crate::app::request::{CommitsRequest, RoundsRequest};
use crate::app::rounds::scheduler::rounded;
use crate::app::store::stores::folder_of;
use crate::model::text::count;
use crate::model::{
    BisectBeginning, Budget, Fault, Origin, Result, SCHEMA_BISECT_STATE, Settings, sha256_hex,
};
use crate::stats::noisy_bisection::BisectionRule;
use crate::store::{BisectFolder, bisect_folder};
use crate::suite::Benchmark;
use crate::trees::{Ancestry, CommitRange, commits_between};

/// Errors: a case, a range or a metric that is not there, an end that cannot be measured (exit code 4), another machine than
/// that of the bisection that is resumed (5).
pub(crate) fn bisect(
    request: &BisectRequest,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<Bisected> {
    let since = Instant::now();
    request.run.settings.refuse_between_commits()?;
    let commits = CommitsRequest {
        run: request.run.clone(),
        suite_file: request.suite_file.clone(),
        store: request.store.clone(),
        rounds: RoundsRequest { no_sandbox: request.no_sandbox, ..RoundsRequest::default() },
        ..CommitsRequest::default()
    };
    let (suites, mut here) = SideSuites::new(&commits, builtins)?;
    request.run.output.apply(&mut here)?;
    let home = project_root(&here)?;
    let artifacts = home.join(&here.run.artifacts.value);
    environment::unused_between_commits()?.into_iter().for_each(|note| reporter.note(note));
    let resumed = match &request.resume {
        Some(text) => {
            let named = Some(text.as_str()).filter(|text| !text.is_empty());
            Some(state::resumed(&bisect_folder(named, &artifacts)?, request.suite_file.as_deref())?)
        }
        None => None,
    };
    let wish = Wish::of(request, resumed.as_ref().map(|it| &it.beginning), builtins, reporter)?;
    let range = commits_between(&home, &wish.range, wish.ancestry())?;
    let trees = folder_of(&here, request.store.as_deref())?.trees();
    let id = resumed.as_ref().map_or_else(new_id, |it| it.beginning.id.clone());
    let root = resumed.as_ref().map_or_else(|| artifacts.join(id.as_str()), |it| it.folder.root().to_owned());
    let places = [home.clone(), trees, root.join("runs")];
    let mut trees = BisectTrees::new(&range, suites, places, reporter)?;
    let kept = resumed.as_ref().map(|it| (it.beginning.suite.clone(), it.suite.clone()));
    let (case, (shown, text), suite) = trees.settle(&wish.case, kept)?;
    // Waiting for other gates is not a part of its time.
    let since = since + trees.waited();
    let machine = state::machine_facts(&suite, &home);
    let state = match resumed {
        Some(resumed) => {
            state::same_machine(&resumed.beginning.machine, &machine)?;
            BisectState::gone_on(resumed, &range)?
        }
        None => {
            let folder = BisectFolder::create(&artifacts, &id, &text)?;
            let last = range.commits.len() - 1;
            let beginning = BisectBeginning {
                schema: SCHEMA_BISECT_STATE.into(),
                id,
                case,
                metric: wish.metric.clone(),
                good: range.commits[0].id.clone(),
                bad: range.commits[last].id.clone(),
                full: wish.full,
                any: wish.any,
                finding: wish.finding,
                confidence: wish.confidence,
                suite: shown,
                suite_sha256: sha256_hex(text.as_bytes()),
                machine,
            };
            BisectState::begun(folder, beginning)?
        }
    };
    let benchmark = suite.benchmarks.first();
    let least = least_of(benchmark.map(|benchmark| &benchmark.settings), wish.finding).ln_1p();
    let deadline = Some(suite.run.deadline.value.min(1e9)).filter(|seconds| *seconds > 0.0);
    trees.until = deadline.map(|seconds| since + Duration::from_secs_f64(seconds));
    let budget = request.budget.unwrap_or(suite.gate.budget.value);
    announce(&range, &state, budget, reporter);
    let rule =
        BisectionRule { confidence: wish.confidence, sided: !wish.any, least, most_rounds: MOST_ROUNDS };
    let mut run = BisectRun { trees, state, rule, budget, since, reporter };
    let stopped = run.until_answered();
    reporter.finish();
    let stopped = stopped?;
    run.ended(stopped, request)
}

/// The least change that a bisection looks for, as a share: within it comparisons of the case call it unchanged, and half of the
/// finding that it looks into is not a reason to find nothing.
fn least_of(settings: Option<&Settings>, finding: Option<f64>) -> f64 {
    let asked = settings.into_iter().flat_map(|settings| [&settings.target, &settings.threshold]);
    let asked = asked.filter(|setting| setting.origin != Origin::Default).map(|setting| setting.value).next();
    let least = asked.unwrap_or(USUAL_LEAST);
    finding.map_or(least, |finding| least.min(finding / 2.0)).max(1e-4)
}

struct Wish {
    case: String,
    range: String,
    metric: Option<String>,
    confidence: f64,
    full: bool,
    any: bool,
    /// The size of the finding that it looks into, as a share: 0.03 is 3 %.
    finding: Option<f64>,
}

impl Wish {
    fn of(
        request: &BisectRequest,
        begun: Option<&BisectBeginning>,
        builtins: &[Benchmark],
        reporter: &Reporter,
    ) -> Result<Self> {
        if let Some(begun) = begun {
            return Ok(Self {
                case: begun.case.to_string(),
                range: format!("{}..{}", begun.good, begun.bad),
                metric: begun.metric.clone(),
                confidence: request.confidence.unwrap_or(begun.confidence),
                full: begun.full,
                any: begun.any,
                finding: begun.finding,
            });
        }
        let Some(case) = request.case.clone() else {
            let next = "name it: `gbench-ci bisect CASE GOOD..BAD`";
            return Err(Fault::at_flag("CASE", "no case is named", next));
        };
        let confidence = request.confidence.unwrap_or(USUAL_CONFIDENCE);
        let (full, any, mut metric) = (request.full, request.any, request.metric.clone());
        let mut finding = None;
        let range = match &request.range {
            Some(range) => range.clone(),
            None => {
                let proposed = range::from_history(&case, request, builtins)?;
                reporter.note(&proposed.why);
                metric.get_or_insert(proposed.metric);
                finding = Some(proposed.change.abs());
                proposed.text
            }
        };
        Ok(Self { case, range, metric, confidence, full, any, finding })
    }

    fn ancestry(&self) -> Ancestry {
        if self.full { Ancestry::Full } else { Ancestry::FirstParent }
    }
}

fn announce(range: &CommitRange, state: &BisectState, budget: Budget, reporter: &Reporter) {
    reporter.note(&format!("good  {}", range.good_words));
    reporter.note(&format!("bad   {}", range.bad_words));
    let within = budget.seconds().map_or(String::new(), |seconds| format!(", within {}", rounded(seconds)));
    let measured = match state.processes() {
        0 => String::new(),
        some => format!("; {} are there already", count(some, "process")),
    };
    reporter.note(&format!(
        "{} of {}, measured with {}{within}{measured}",
        count(range.commits.len() - 1, "commit"),
        state.beginning.case,
        state.beginning.suite
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Setting;

    #[test]
    fn it_looks_for_what_comparisons_look_for_and_for_the_finding() {
        let mut settings = Settings::default();
        assert_eq!([None, Some(&settings)].map(|settings| least_of(settings, None)), [0.02; 2]);
        assert_eq!([0.03, 0.3].map(|finding| least_of(None, Some(finding))), [0.015, 0.02]);
        settings.threshold = Setting { value: 0.1, origin: Origin::Benchmark };
        assert_eq!(least_of(Some(&settings), None), 0.1);
        settings.target = Setting { value: 0.03, origin: Origin::Benchmark };
        assert_eq!(least_of(Some(&settings), None), 0.03);
        assert_eq!(least_of(Some(&settings), Some(0.0)), 1e-4, "never nothing");
    }
}
