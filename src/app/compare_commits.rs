//! `gbench-ci compare BASE..HEAD`: both commits checked out, built, and measured against each other in rounds.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::measure::RoundsMeasuring;
use super::paths::project_root;
use super::progress::Reporter;
use super::request::{Audience, CommitsRequest, shell_flags};
use super::resume::{Resumed, resumed};
use super::scheduler::{SequentialStopping, rounded};
use super::side_suites::SideSuites;
use super::stores::folder_of;
use super::{calibration, environment, random};
use crate::compare::{Calibration, VerdictDocument, verdict_of};
use crate::model::text::count;
use crate::model::{
    Comparison, ComparisonPolicy, Fault, Origin, Result, RunId, RunRecord, SequentialRule, Shard, Side,
    shell_word,
};
use crate::run::Finished;
use crate::store::ComparisonFolder;
use crate::suite::plan::{RoundsPlan, RunOrder, choose_controls, common_cases};
use crate::suite::{Benchmark, Gate, Suite};
use crate::trees::{self, Range, Revision, Sides, Tree};

/// What is measured, and against what.
struct Route {
    sides: Sides,
    /// What is gone on with, and its folder.
    resumed: Option<Resumed>,
}

/// What a comparison of two commits has measured.
pub struct MeasuredCommits {
    /// Base, head and, where there are controls, control.
    pub finished: Vec<Finished>,
    pub folder: ComparisonFolder,
    /// What was measured of the head, and where its files lie.
    pub head: (Suite, PathBuf),
    /// A case could not be measured further because the budget was spent.
    pub out_of_time: bool,
}

/// Both sides checked out, built and measured in rounds, until all is decided or the time is up.
pub fn measure(
    request: &CommitsRequest,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<MeasuredCommits> {
    let CommitsRequest { audience, range, .. } = request;
    request.settings.refuse_between_commits()?;
    refuse_bare(&request.selection.suite_path()?)?;
    let (mut suites, mut here) = SideSuites::new(request, builtins)?;
    request.output.apply(&mut here)?;
    let home = project_root(&here)?;
    let artifacts = home.join(&here.run.artifacts.value);
    let route = match &request.resume {
        Some(_) if range.is_some() => {
            let next = "take the range out: a comparison goes on with the commits that it began with";
            return Err(Fault::at_flag("--resume", "a range is given as well", next));
        }
        Some(text) => {
            let resumed = resumed(text, &artifacts, &home)?;
            suites.go_on(&resumed)?;
            Route { sides: resumed.sides.clone(), resumed: Some(resumed) }
        }
        None => Route { sides: trees::resolve(&home, &Range::parse(range.as_deref()))?, resumed: None },
    };
    let head_words = format!("head  {}", route.sides.head.words);
    reporter.note(&match audience {
        Audience::Person => format!("base  {}\n{head_words}", route.sides.base.words),
        Audience::Job | Audience::PullRequest => head_words,
    });
    crate::app::environment::unused_between_commits()?.into_iter().for_each(|note| reporter.note(note));
    let store = folder_of(&here, request.store.as_deref())?;
    let trees = store.trees();
    let prepare = |revision: &Revision, side| Tree::prepare(&home, revision, &trees, side);
    let head_tree = prepare(&route.sides.head, Side::Head)?;
    let base_tree = prepare(&route.sides.base, Side::Base)?;
    suites.settle([&base_tree, &head_tree], &route.sides, *audience)?;
    let mut head = suites.of(&head_tree, *audience, None)?;
    let mut base = suites.of(&base_tree, *audience, Some(&head))?;
    // The gate is the base's word, or the command line's: a change cannot loosen its own.
    let mut gate = suites.gate(&base_tree, &mut base)?;
    request.rounds.apply(&mut gate);
    (base.gate, head.gate) = (gate.clone(), gate.clone());
    base.run = head.run.clone();
    let shard = request.selection.keep_shard(&mut [&mut base, &mut head])?;

    if let Some(resumed) = &route.resumed {
        resumed.allows(request)?;
    }
    let seed = match (&route.resumed, request.rounds.order_seed) {
        (Some(resumed), _) => resumed.comparison.seed,
        (None, Some(seed)) => seed,
        (None, None) => random::seed(),
    };
    let cases = common_cases(&base, &head);
    let controls = choose_controls(&cases, most_controls(cases.len(), &gate), seed);
    let order = match &route.resumed {
        Some(resumed) => RunOrder::of(&resumed.comparison),
        None => RunOrder::from(seed),
    };
    let plan = RoundsPlan::new(&base, &head, &controls, order);
    let rule = match shard {
        Some((shard, common)) => of_shard(rule_of(&gate, common / shard.of as usize), shard),
        None => rule_of(&gate, cases.len()),
    };
    let suite_file = suites.of_comparison(&base_tree)?;
    if let Some(common) = &suite_file {
        reporter.note(&common.sentence());
    }
    let mut comparison = comparison(&route, &gate, rule, seed, request);
    comparison.suite_file = suite_file;
    let folder = match &route.resumed {
        Some(resumed) => resumed.folder.clone(),
        None => ComparisonFolder::create(&artifacts, &comparison.id)?,
    };
    suites.keep(&folder)?;
    let kept = calibration::kept(store.root(), &home, &comparison.policy.match_key);
    announce(&plan, &comparison, kept, reporter);

    let mut stopping = SequentialStopping::new(&comparison, reporter.clone());
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, base_tree.root()), (&head, head_tree.root())],
        comparison: &comparison,
        folder: &folder,
        resume: route.resumed.map(|resumed| resumed.records).unwrap_or_default(),
    };
    let finished = measuring.carry_out(&mut stopping, reporter);
    reporter.finish();
    let finished = finished?;
    let head = (head, head_tree.root().to_owned());
    Ok(MeasuredCommits { finished, folder, head, out_of_time: stopping.out_of_time })
}

/// A bare repository has no suite file of its own that could say what to measure and where to keep it.
fn refuse_bare(config: &Path) -> Result<()> {
    let folder = config.parent().unwrap_or(config);
    if config.exists() || !trees::is_bare(folder) {
        return Ok(());
    }
    let what = "this is a bare repository, without files: the suite file lies in its commits alone";
    let next = "make a work tree of it, and compare there: `git worktree add ../CHECKOUT`";
    Err(Fault::at_path(folder, what, next))
}

fn comparison(
    route: &Route,
    gate: &Gate,
    mut rule: SequentialRule,
    seed: u64,
    request: &CommitsRequest,
) -> Comparison {
    let started = SystemTime::now();
    let before = route.resumed.as_ref().map(|resumed| &resumed.comparison);
    if let Some(before) = before {
        // The rule that decided so far stays; the request may allow more rounds of it.
        let asked = if request.rounds.rounds.is_some() { rule.most_rounds } else { 0 };
        rule = SequentialRule { most_rounds: asked.max(before.rule.most_rounds), ..before.rule };
    }
    Comparison {
        id: before.map_or_else(|| RunId::new(started, random::salt()), |before| before.id.clone()),
        base: before.map_or_else(|| route.sides.base.words.clone(), |before| before.base.clone()),
        head: before.map_or_else(|| route.sides.head.words.clone(), |before| before.head.clone()),
        head_changes: match before {
            Some(before) => before.head_changes.clone(),
            None => route.sides.head.fingerprint.clone(),
        },
        seed,
        interleaving: before.map_or(gate.interleaving.value, |before| before.interleaving),
        budget: gate.budget.value,
        rule,
        // What the verdicts mean stays as it was begun, but for what makes the gate stricter.
        policy: before
            .map(|before| ComparisonPolicy {
                inconclusive_fails: before.policy.inconclusive_fails || request.fail_inconclusive,
                ..before.policy.clone()
            })
            .unwrap_or_else(|| ComparisonPolicy {
                inconclusive_fails: gate.inconclusive_fails.value || request.fail_inconclusive,
                failed_fails: gate.failed_fails.value,
                threshold: request.settings.overrides.threshold,
                match_key: gate
                    .match_key
                    .iter()
                    .map(|(field, strict)| (field.clone(), strict.value))
                    .collect(),
            }),
        no_reference: before.map_or(request.no_reference, |before| before.no_reference),
        suite_file: None,
    }
}

/// The rule for a suite of so many cases, as its gate has it.
pub fn rule_of(gate: &Gate, cases: usize) -> SequentialRule {
    let usual = SequentialRule::for_cases(cases);
    let alpha = if gate.alpha.origin == Origin::Default { usual.alpha } else { gate.alpha.value };
    let (alpha_improved, most_rounds) = (gate.alpha_improved.value, gate.rounds.value);
    SequentialRule { alpha, alpha_improved, most_rounds, ..usual }
}

/// The part of a rule that one of several shards may spend: what all of them together promise is then what the whole
/// suite promises (the union bound). The rounds of the screen are the same in all, as the smallest needs them.
fn of_shard(rule: SequentialRule, shard: Shard) -> SequentialRule {
    let part = f64::from(shard.of);
    SequentialRule { alpha: rule.alpha / part, alpha_improved: rule.alpha_improved / part, ..rule }
}

/// An eighth of the cases at most, unless a user sets the number: in a small suite each control is dear.
fn most_controls(cases: usize, gate: &Gate) -> usize {
    let most = gate.controls.value as usize;
    if gate.controls.origin == Origin::Default { most.min(cases.div_ceil(8)) } else { most }
}

/// Reports the cost as far as it is known before the first round. `kept`: the store's calibration, or why it is of no use.
fn announce(
    plan: &RoundsPlan,
    comparison: &Comparison,
    kept: Option<std::result::Result<Calibration, String>>,
    reporter: &Reporter,
) {
    let rule = comparison.rule;
    let controls = plan.arms.get(2).map_or(0, |_| plan.of_arm(2).count());
    let least = plan.comparable() * 2 * rule.screen_rounds as usize + controls * rule.screen_rounds as usize;
    let budget = match comparison.budget.seconds() {
        Some(seconds) => format!(", within {}", rounded(seconds)),
        None => String::new(),
    };
    let controlled = match controls {
        0 => String::new(),
        controls => format!(" and {}", count(controls, "control")),
    };
    let (calibration, useless) = match kept {
        Some(Ok(it)) => (Some(it), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let cost = calibration.as_ref().and_then(|it| calibration::estimate(it, plan, &rule));
    let cost = cost.unwrap_or_else(|| "the time is known after the first".into());
    reporter.note(&format!(
        "{} on both sides{controlled}: {} screen them ({}), up to {} decide what is left{budget}; {cost}",
        count(plan.comparable(), "case"),
        count(rule.screen_rounds as usize, "round"),
        count(least, "process"),
        rule.most_rounds,
    ));
    let hopeless = calibration.map(|it| calibration::hopeless(&it, plan)).unwrap_or_default();
    useless.iter().chain(&hopeless).for_each(|text| reporter.note(text));
}

impl MeasuredCommits {
    /// The signal that cut the measurement short.
    pub fn interrupted(&self) -> Option<i32> {
        self.finished.iter().find_map(|finished| finished.interrupted)
    }

    /// The records of base and head. Errors: they are not there, which is a defect.
    pub fn sides(&self) -> Result<[&RunRecord; 2]> {
        match self.finished.as_slice() {
            [base, head, ..] => Ok([&base.record, &head.record]),
            _ => Err(Fault::defect("compare", "gave no two records")),
        }
    }

    pub fn verdict(&self) -> Result<VerdictDocument> {
        let [base, head] = self.sides()?;
        verdict_of(base, head, self.finished.get(2).map(|control| &control.record))
    }

    pub fn reports(&self) -> PathBuf {
        self.folder.root().join("reports")
    }

    pub fn id(&self) -> String {
        self.folder.root().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command that resumes this comparison, with every flag of this request that says what is measured, so that it can
    /// be pasted; `rounds` where it takes more than were allowed.
    pub fn resume_command(&self, rounds: Option<u32>, request: &CommitsRequest) -> String {
        let shown = |path: &PathBuf| path.display().to_string();
        let more = rounds.map_or(String::new(), |rounds| format!(" --rounds {rounds}"));
        let given = [
            ("--controls", request.rounds.controls.map(|controls| controls.to_string())),
            ("--artifacts", request.output.artifacts.as_ref().map(shown)),
            ("--store", request.store.clone()),
            ("--suite-file", request.suite_file.as_ref().map(shown)),
        ];
        let given = given.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
        let given = shell_flags(request.settings.given.iter().cloned().chain(given));
        let cold = if request.settings.overrides.cold { " --cold-start" } else { "" };
        format!(
            "{}gbench-ci compare --resume {}{more}{}{given}{cold}",
            environment::as_prefix(),
            shell_word(&self.id()),
            request.selection.flags(),
        )
    }

    /// How many whole rounds were measured.
    pub fn rounds(&self) -> Result<usize> {
        let [base, _] = self.sides()?;
        Ok(base.cases.iter().map(|case| case.processes.len()).max().unwrap_or(0))
    }

    /// The command that goes on with the rows that rounds have left open, if there are any.
    pub fn resume_open(&self, document: &VerdictDocument, request: &CommitsRequest) -> Option<String> {
        let most = document.method.rounds.as_ref().map_or(0, |rounds| rounds.most_rounds);
        let sequences = document.rows.iter().filter_map(|row| row.sequence.as_ref());
        let total = sequences.filter_map(|sequence| Some(sequence.rounds + sequence.more_rounds?)).max()?;
        Some(self.resume_command(Some(total).filter(|total| *total > most), request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Exit;
    use crate::suite::Source;

    #[test]
    fn what_takes_more_rounds_than_were_allowed_is_resumed_with_them() {
        let artifacts = tempfile::tempdir().unwrap();
        let id = RunId::new(SystemTime::UNIX_EPOCH, 7);
        let folder = ComparisonFolder::create(artifacts.path(), &id).unwrap();
        let head = (Suite::new("s", Source::Builtin, Vec::new()), PathBuf::new());
        let measured = MeasuredCommits { finished: Vec::new(), folder, head, out_of_time: false };
        assert_eq!(
            measured.resume_command(None, &CommitsRequest::default()),
            format!("gbench-ci compare --resume {id}")
        );
        assert_eq!(
            measured.resume_command(Some(66), &CommitsRequest::default()),
            format!("gbench-ci compare --resume {id} --rounds 66")
        );
        assert_eq!(measured.verdict().unwrap_err().exit, Exit::Internal);
    }
}
