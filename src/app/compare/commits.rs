//! `gbench-ci compare BASE..HEAD`: both commits checked out, built, and measured against each other in rounds.

use std::path::{Path, PathBuf};

use super::redefined::redefined;
use super::resume::resumed;
use crate::app::calibration::figures;
use crate::app::compare::side_suites::{SideSuites, confine};
use crate::app::measuring::listing::list_cases;
use crate::app::measuring::lock::MeasuringTurn;
use crate::app::measuring::profiling::profile_regressions;
use crate::app::measuring::session::{RoundsMeasuring, base_and_head, new_comparison, new_seed};
use crate::app::paths::project_root;
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::{json_of, write_reports};
use crate::app::request::environment;
use crate::app::request::job_flags::job_flags;
use crate::app::request::profile::profiles_of;
use crate::app::request::{Audience, CommitsRequest, shell_flags};
use crate::app::rounds::budgeted_time;
use crate::app::rounds::budgeted_time::TimeLimits;
use crate::app::rounds::scheduler::{Rest, SequentialStopping, rounded};
use crate::app::rounds::trial_process::seconds_of_processes;
use crate::app::store::stores::folder_of;
use crate::compare::{Calibration, VariantPairs, VerdictDocument, verdict_of};
use crate::model::text::count;
use crate::model::{
    BaseChoice, BenchmarkId, CaseId, Comparison, Exit, Fault, Isolation, Job, NoReference, Origin, Profile,
    Result, RunRecord, RunTimes, SCHEMA_JOB, SequentialRule, Shard, Side, shell_word,
};
use crate::run::{Finished, changed_during};
use crate::store::{ComparisonFolder, note_begun, write_atomically};
use crate::suite::plan::{RoundsPlan, RunOrder, ShardCut, choose_controls, common_cases};
use crate::suite::{Action, Benchmark, Gate, Suite};
use crate::trees::{self, Range, Revision, Sides, Tree};

pub(crate) struct MeasuredCommits {
    /// Base, head and, where there are controls, control.
    pub finished: Vec<Finished>,
    pub folder: ComparisonFolder,
    pub plan: RoundsPlan,
    /// Absent of a whole suite.
    pub cut: Option<ShardCut>,
    /// The head's measurements, and where its files lie.
    pub head: (Suite, PathBuf),
    /// Present where the budget was spent before all was decided.
    pub rest: Option<Rest>,
    /// Base and head, held while profilers are still to look into them; else given back already.
    _trees: Vec<Tree>,
}

/// Both sides checked out, built and measured in rounds, until all is decided or the time is up.
pub(crate) fn measure(
    request: &CommitsRequest,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<MeasuredCommits> {
    let CommitsRequest { audience, range, .. } = request;
    let (mut suites, here, home, artifacts) = opened(request, builtins)?;
    let resumed = match &request.resume {
        Some(_) if range.is_some() => {
            let next = "take the range out: a comparison continues with the commits that it began with";
            return Err(Fault::at_flag("--resume", "a range is given as well", next));
        }
        Some(text) => Some(resumed(text, &artifacts, &home)?),
        None => None,
    };
    let sides = match &resumed {
        Some(resumed) => {
            suites.go_on(resumed)?;
            resumed.sides.clone()
        }
        None => {
            let sides = trees::resolve(&home, &Range::parse(range.as_deref()))?;
            note_begun(&artifacts, range.as_deref().unwrap_or_default())?;
            sides
        }
    };
    if let Some(resumed) = &resumed {
        let begun = resumed.records.first().map_or("", |record| record.started.as_str());
        reporter.note(&format!("resume  {}, begun {begun}", resumed.comparison.id));
    }
    if *audience == Audience::Person {
        reporter.note(&format!("base  {}", sides.base.words));
    }
    reporter.note(&format!("head  {}", sides.head.words));
    environment::unused_between_commits()?.into_iter().for_each(|note| reporter.note(note));
    let store = folder_of(&here, request.store.as_deref())?;
    // Shards of one comparison may run at the same time, in a folder that their machines share.
    let trees = match request.run.selection.shard {
        Some(Shard { index, of }) => store.trees().join(format!("shard-{index}-of-{of}")),
        None => store.trees(),
    };
    let prepare = |revision: &Revision, side| Tree::prepare(&home, revision, &trees, side);
    let head_tree = prepare(&sides.head, Side::Head)?;
    let base_tree = prepare(&sides.base, Side::Base)?;
    suites.settle([&base_tree, &head_tree], &sides, *audience)?;
    let mut head = suites.of(&head_tree, *audience, None)?;
    request.profile.apply(&mut head);
    request.profile.check(&head.profile, reporter)?;
    let mut base = suites.of(&base_tree, *audience, Some(&head))?;
    let redefined = redefined(&base, &head);
    for benchmark in &base.benchmarks {
        if let Some(before) = &benchmark.renamed_from {
            reporter.note(&format!(
                "base  its {before} is compared as {}, which was renamed from it",
                benchmark.id
            ));
        }
    }
    // The gate is the base's word, or the command line's: a change cannot loosen its own.
    let mut gate = suites.gate(&base_tree, &mut base)?;
    request.rounds.apply(&mut gate);
    (base.gate, head.gate) = (gate.clone(), gate.clone());
    base.run = head.run.clone();
    for missing in gate.writable.value.iter().filter(|path| !path.exists()) {
        let path = missing.display();
        reporter
            .note(&format!("warning: `writable` of [gate] names {path}, which is not there: make it first"));
    }
    let times = RunTimes::default();
    let sandbox = confine(&gate, &mut [(&mut base, &base_tree), (&mut head, &head_tree)], &times)?;
    // From here on it builds and measures.
    let turn = MeasuringTurn::take(&[&base, &head], reporter)?;
    // A suite is cut before what was begun is taken from it: else its part would be cut once more.
    let resumed_whole = resumed.as_ref().filter(|_| request.run.selection.shard.is_none());
    if let Some(resumed) = resumed_whole {
        resumed.keep_benchmarks([&mut base, &mut head]);
    }
    let sides_to_list = vec![
        (&mut base, Some(Side::Base), base_tree.root()),
        (&mut head, Some(Side::Head), head_tree.root()),
    ];
    list_cases(sides_to_list, reporter)?;
    if let Some(resumed) = resumed_whole {
        resumed.keep_cases([&mut base, &mut head]);
    }
    let no_reference = request.no_reference.or_else(|| {
        // Who selects some knows of the others.
        let all = request.run.selection.given.is_empty();
        only_built_in([&base, &head]).filter(|_| all)
    });
    let cut = request.run.selection.keep_shard(&mut [&mut base, &mut head])?;
    if let Some(resumed) = resumed.as_ref().filter(|_| cut.is_some()) {
        resumed.keep_benchmarks([&mut base, &mut head]);
        resumed.keep_cases([&mut base, &mut head]);
    }
    if let Some(words) = request.run.selection.shard.zip(cut.as_ref()).and_then(expected_words) {
        reporter.note(&words);
    }
    if let Some(resumed) = &resumed {
        resumed.allows(request)?;
    }
    let begun = resumed.as_ref().map(|resumed| resumed.records.first());
    let limits = TimeLimits {
        budget: &gate.budget,
        has_controls: gate.controls.value > 0,
        are_controls_free: gate.controls.origin == Origin::Default,
        begun: begun.flatten(),
    };
    let mut why =
        ["one process of each harness, to see how long a round takes", "one more, at the shortest times"]
            .iter();
    let fitted = budgeted_time::fit([&mut base, &mut head], limits, |suite, ids, most| {
        why.next().into_iter().for_each(|why| reporter.note(why));
        seconds_of_processes((suite, base_tree.root()), ids, most, &turn)
    })?;
    fitted.notes.iter().for_each(|note| reporter.note(note));
    let begun_without = resumed.as_ref().is_some_and(|resumed| resumed.records.len() == 2);
    if begun_without || fitted.without_controls {
        gate.controls.value = 0;
    }
    settle_lone_cases(&mut base, &mut head, begun.flatten());
    let begun = resumed.as_ref().map(|resumed| &resumed.comparison);
    let seed = begun.map(|begun| begun.seed).or(request.rounds.order_seed).unwrap_or_else(new_seed);
    let cases = common_cases(&base, &head);
    let kept = resumed.as_ref().filter(|_| request.rounds.controls.is_none());
    let kept = kept.and_then(|resumed| resumed.controls(&cases));
    let controls = kept.unwrap_or_else(|| choose_controls(&cases, max_controls(cases.len(), &gate), seed));
    let order = begun.map_or_else(|| RunOrder::from(seed), RunOrder::of);
    let plan = RoundsPlan::new(&base, &head, &controls, order);
    let rule = match &cut {
        Some(cut) => of_shard(rule_of(&gate, cut.least), cut),
        None => rule_of(&gate, cases.len()),
    };
    let rule = if plan.screens_in_shared_processes() { rule.with_programs() } else { rule };
    let suite_file = suites.of_comparison(&base_tree)?;
    if let Some(common) = &suite_file {
        reporter.note(&common.sentence());
    }
    if let (Some(begun), Some(rounds)) = (begun, request.rounds.rounds)
        && rounds < begun.rule.most_rounds
    {
        let most = count(begun.rule.most_rounds as usize, "round");
        reporter.note(&format!("it was begun with up to {most} a case: `--rounds` allows more, not fewer"));
    }
    let comparison = match begun {
        Some(begun) => Comparison { suite_file, ..gone_on_with(begun, &gate, rule, request) },
        None => Comparison {
            suite_file,
            pairs: has_pairs(&cases),
            renamed: base.benchmarks.iter().filter_map(renamed).collect(),
            redefined,
            sandbox: Some(sandbox),
            no_reference,
            ..begun_now(&sides, seed, &gate, rule, request)
        },
    };
    let folder = match &resumed {
        Some(resumed) => resumed.folder.clone(),
        None => ComparisonFolder::create(&artifacts, &comparison.id)?,
    };
    suites.keep(&folder)?;
    let stored = figures::stored(store.root(), &home, &comparison.policy.match_key);
    announce(&plan, &comparison, stored, reporter);

    let mut stopping = SequentialStopping::new(&comparison, reporter.clone());
    stopping.spend(fitted.spent);
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, base_tree.root()), (&head, head_tree.root())],
        git: Some([base_tree.git(), head_tree.git()]),
        comparison: &comparison,
        folder: &folder,
        turn: &turn,
        resume: resumed.map(|resumed| resumed.records).unwrap_or_default(),
    };
    let finished = measuring.carry_out(&mut stopping, reporter);
    reporter.finish();
    // A change so early that it does not show by its time may still have taken rights.
    if let Some(path) = changed_during(&base_tree.own(), &times).or_else(|| base_tree.lost_rights()) {
        // The next comparison must not measure it either.
        base_tree.discard();
        let what = "processes of head changed this file of base: neither side's figures can be trusted";
        let next =
            "find what reaches it in head's build and benchmarks, and compare again: base is then rebuilt";
        return Err(Fault::at_path(path, what, next).exits(Exit::Failed));
    }
    let finished = finished?;
    let is_profiled = !head.profile.profilers.value.is_empty();
    let head = (head, head_tree.root().to_owned());
    Ok(MeasuredCommits {
        finished,
        folder,
        plan,
        cut,
        head,
        rest: stopping.rest,
        _trees: if is_profiled { vec![base_tree, head_tree] } else { Vec::new() },
    })
}

fn opened<'a>(
    request: &'a CommitsRequest,
    builtins: &'a [Benchmark],
) -> Result<(SideSuites<'a>, Suite, PathBuf, PathBuf)> {
    request.run.settings.refuse_between_commits()?;
    refuse_bare(&request.run.selection.suite_path()?)?;
    let (suites, mut here) = SideSuites::new(request, builtins)?;
    request.run.output.apply(&mut here)?;
    let home = project_root(&here)?;
    let artifacts = home.join(&here.run.artifacts.value);
    Ok((suites, here, home, artifacts))
}

/// The project's folder, and that of its artifacts.
pub(crate) fn place(request: &CommitsRequest, builtins: &[Benchmark]) -> Result<(PathBuf, PathBuf)> {
    let (.., home, artifacts) = opened(request, builtins)?;
    Ok((home, artifacts))
}

fn has_pairs(cases: &[CaseId]) -> bool {
    !VariantPairs::of(cases).pairs.is_empty()
}

/// A case that on both sides is the only one of its benchmark shares its processes with no other: they are its own from the
/// first round on, and none of them only screens. `begun`: the base's record of the comparison that is gone on with, which
/// stays as it was.
fn settle_lone_cases(base: &mut Suite, head: &mut Suite, begun: Option<&RunRecord>) {
    let was_shared = |id: &BenchmarkId| {
        let cases =
            begun.into_iter().flat_map(|record| &record.cases).filter(|case| case.id.benchmark == *id);
        let isolation = cases.filter_map(|case| case.config.get("isolation")?.value.as_str());
        isolation.into_iter().any(|isolation| isolation != Isolation::Process.into_str())
    };
    for of_base in base.benchmarks.iter_mut().filter(|it| it.points.len() == 1) {
        let Some(of_head) = head.benchmarks.iter_mut().find(|it| it.id == of_base.id) else { continue };
        let settings = [&mut of_base.settings, &mut of_head.settings];
        let screens = settings.iter().all(|it| it.isolation.value == Isolation::SharedScreen);
        if of_head.points == of_base.points && screens && !was_shared(&of_base.id) {
            settings.into_iter().for_each(|it| it.isolation.value = Isolation::Process);
        }
    }
}

fn refuse_bare(config: &Path) -> Result<()> {
    let folder = config.parent().unwrap_or(config);
    if config.exists() || !trees::is_bare(folder) {
        return Ok(());
    }
    let what = "this is a bare repository, without files: the suite file lies in its commits alone";
    let next = "make a work tree of it, and compare there: `git worktree add ../CHECKOUT`";
    Err(Fault::at_path(folder, what, next))
}

fn renamed(benchmark: &Benchmark) -> Option<(BenchmarkId, BenchmarkId)> {
    Some((benchmark.id.clone(), benchmark.renamed_from.clone()?))
}

/// A gate that guards nothing must not look like one that does.
fn only_built_in(suites: [&Suite; 2]) -> Option<NoReference> {
    let mut benchmarks = suites.into_iter().flat_map(|suite| &suite.benchmarks);
    benchmarks
        .all(|benchmark| matches!(benchmark.action, Action::Builtin(_)))
        .then_some(NoReference::OnlyBuiltIn)
}

fn begun_now(
    sides: &Sides,
    seed: u64,
    gate: &Gate,
    rule: SequentialRule,
    request: &CommitsRequest,
) -> Comparison {
    let mut comparison = new_comparison([&sides.base.words, &sides.head.words], seed, gate, rule);
    comparison.policy.inconclusive_fails |= request.fail_inconclusive;
    comparison.policy.threshold = request.run.settings.overrides.settings.threshold.given().copied();
    Comparison { head_changes: sides.head.fingerprint.clone(), ..comparison }
}

/// The comparison as it was begun, with the policy of its first run. The request may make the policy stricter and allow the rule
/// more rounds, nothing else.
fn gone_on_with(
    begun: &Comparison,
    gate: &Gate,
    rule: SequentialRule,
    request: &CommitsRequest,
) -> Comparison {
    let mut comparison = Comparison { budget: gate.budget.value, ..begun.clone() };
    if request.rounds.rounds.is_some() {
        comparison.rule.most_rounds = rule.most_rounds.max(begun.rule.most_rounds);
    }
    comparison.policy.inconclusive_fails |= request.fail_inconclusive;
    comparison
}

/// The rule for a suite of so many cases, as its gate has it.
pub(crate) fn rule_of(gate: &Gate, cases: usize) -> SequentialRule {
    let usual = SequentialRule::for_cases(cases);
    let alpha = if gate.alpha.origin == Origin::Default { usual.alpha } else { gate.alpha.value };
    let (alpha_improved, most_rounds) = (gate.alpha_improved.value, gate.rounds.value);
    SequentialRule { alpha, alpha_improved, most_rounds, ..usual }
}

/// The part of a rule that one of several shards may spend: what all of them together promise is then what the whole
/// suite promises (the union bound). A shard's part is by its cases, so that a case has the same chances however the suite is
/// cut. The rounds of the screen are the same in all, as the smallest needs them.
fn of_shard(rule: SequentialRule, cut: &ShardCut) -> SequentialRule {
    let [alpha, alpha_improved, alpha_programs] =
        [rule.alpha, rule.alpha_improved, rule.alpha_programs].map(|rate| rate * cut.share);
    SequentialRule { alpha, alpha_improved, alpha_programs, ..rule }
}

/// The time that a shard is expected to take. `None`: it was cut by the number of cases.
fn expected_words((shard, cut): (Shard, &ShardCut)) -> Option<String> {
    let (seconds, unknown) = cut.expected?;
    let without = match unknown {
        0 => String::new(),
        some => format!(
            "; {} of the suite without history, each counted as the median of its benchmark, else of the suite",
            count(some, "case")
        ),
    };
    let cases = count(cut.cases, "case");
    Some(format!("shard {shard}: {cases}, expected to take about {}{without}", rounded(seconds)))
}

/// An eighth of the cases at most, unless a user sets the number: in a small suite each control is dear.
fn max_controls(cases: usize, gate: &Gate) -> usize {
    let most = gate.controls.value as usize;
    if gate.controls.origin == Origin::Default { most.min(cases.div_ceil(8)) } else { most }
}

/// Reports the cost as far as it is known before the first round. `stored`: the store's calibration, or why it is of no use.
fn announce(
    plan: &RoundsPlan,
    comparison: &Comparison,
    stored: Option<std::result::Result<Calibration, String>>,
    reporter: &Reporter,
) {
    let rule = comparison.rule;
    let controls = plan.arms.get(2).map_or(0, |_| plan.of_arm(2).count());
    let rounds = rule.screen_rounds as usize;
    let counting = match plan.counting_processes() * rounds {
        0 => String::new(),
        processes => format!(" and up to {processes} that count"),
    };
    let budget = comparison.budget.seconds();
    let budget = budget.map_or(String::new(), |seconds| format!(", within {}", rounded(seconds)));
    let controlled = match controls {
        0 => String::new(),
        controls => format!(" and {}", count(controls, "control")),
    };
    let (cost, notes) = match &stored {
        Some(Ok(it)) => (figures::estimate(it, plan, &rule), figures::hopeless(it, plan)),
        Some(Err(why)) => (None, vec![why.clone()]),
        None => (None, Vec::new()),
    };
    let cost = cost.unwrap_or_else(|| "the time is known after the first".into());
    reporter.note(&format!(
        "{} on both sides{controlled}: {} screen them ({}{counting}), up to {} decide what is left{budget}; {cost}",
        count(plan.comparable(), "case"),
        count(rounds, "round"),
        count(plan.screening_processes() * rounds, "process"),
        rule.most_rounds,
    ));
    notes.iter().for_each(|note| reporter.note(note));
}

impl MeasuredCommits {
    pub(crate) fn interrupted(&self) -> Option<i32> {
        self.finished.iter().find_map(|finished| finished.interrupted)
    }

    /// The records of base and head. Errors: they are not there, which is a defect.
    pub(crate) fn sides(&self) -> Result<[&RunRecord; 2]> {
        Ok(base_and_head(&self.finished)?.map(|finished| &finished.record))
    }

    /// The verdict, written into the folder of reports in every format.
    pub(crate) fn verdict(&self) -> Result<VerdictDocument> {
        let [base, head] = self.sides()?;
        let document = verdict_of(base, head, self.finished.get(2).map(|control| &control.record))?;
        write_reports("", &document, &self.reports())?;
        Ok(document)
    }

    /// [`MeasuredCommits::verdict`], and for what regressed the profiles that are asked for, which decide nothing: the
    /// document and its reports are written before them, and once more with them.
    pub(crate) fn profiled_verdict(&mut self, reporter: &Reporter) -> Result<VerdictDocument> {
        let document = self.verdict()?;
        let MeasuredCommits { plan, finished, head: (head, tree), .. } = self;
        let profiled = profile_regressions((plan, finished), (head, tree), &document, reporter)?;
        if profiled { self.verdict() } else { Ok(document) }
    }

    /// Digest of how the suite was cut; `None` of a whole suite.
    pub(crate) fn cut(&self) -> Option<String> {
        self.cut.as_ref().map(|cut| cut.digest.clone())
    }

    /// Leaves what `merge` needs to know of a part of a suite: which part it is. A whole suite needs no such file.
    pub(crate) fn leave_job(&self, request: &CommitsRequest, exit_code: u8) -> Result<()> {
        let Some(shard) = request.run.selection.shard else { return Ok(()) };
        let commit = |record: &RunRecord| record.manifest.git.known().and_then(|git| git.commit.clone());
        let [base, head] = self.sides()?.map(commit);
        let job = Job {
            schema: SCHEMA_JOB.into(),
            event: "none".into(),
            head,
            pull_request: None,
            base: BaseChoice {
                commit: base,
                committed: None,
                why: "named on the command line".into(),
                by_hand: true,
            },
            label: String::new(),
            shard: Some(shard),
            cut: self.cut(),
            exit_code,
            fail_on: Vec::new(),
            flags: job_flags(&request.run, &request.profile),
            sources: Vec::new(),
            fork: false,
            untouched: None,
        };
        write_atomically(&self.folder.root().join("job.json"), &json_of(&job)?)
    }

    pub(crate) fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.finished.iter().flat_map(|side| profiles_of(&side.record))
    }

    pub(crate) fn reports(&self) -> PathBuf {
        self.folder.root().join("reports")
    }

    pub(crate) fn id(&self) -> String {
        self.folder.root().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command that resumes this comparison, with every flag of this request that defines what is measured, so that it can
    /// be pasted; `rounds` where it takes more than were allowed.
    pub(crate) fn resume_command(&self, rounds: Option<u32>, request: &CommitsRequest) -> String {
        let shown = |path: &PathBuf| path.display().to_string();
        let more = rounds.map_or(String::new(), |rounds| format!(" --rounds {rounds}"));
        let given = [
            ("--controls", request.rounds.controls.map(|controls| controls.to_string())),
            ("--artifacts", request.run.output.artifacts.as_ref().map(shown)),
            ("--store", request.store.clone()),
            ("--suite-file", request.suite_file.as_ref().map(shown)),
        ];
        let settings = request.run.settings.given.iter().cloned().chain(request.profile.given());
        let given = shell_flags(settings.map(|(flag, value)| (flag, Some(value))).chain(given));
        let required = request.profile.required.then_some("--require-profilers");
        let bare = request.run.settings.without_value().chain(required);
        let bare: String = bare.map(|flag| format!(" {flag}")).collect();
        let watch = request.run.output.watch_flags();
        format!(
            "{}gbench-ci compare --resume {}{more}{}{given}{bare}{watch}",
            environment::as_prefix(),
            shell_word(&self.id()),
            request.run.selection.flags(),
        )
    }

    pub(crate) fn rounds(&self) -> Result<usize> {
        let [base, _] = self.sides()?;
        Ok(base.cases.iter().map(|case| case.processes.len()).max().unwrap_or(0))
    }

    /// Advice to count executions, for benchmarks that as much time again would not decide.
    pub(crate) fn count_instead(&self) -> Vec<String> {
        let hopeless = |benchmark: &&Benchmark| {
            self.rest.as_ref().is_some_and(|rest| rest.hopeless.contains(&benchmark.id))
        };
        self.head.0.benchmarks.iter().filter(hopeless).filter_map(figures::counting_advice).collect()
    }

    /// The command that continues the rows that rounds have left open, if there are any.
    pub(crate) fn resume_open(&self, document: &VerdictDocument, request: &CommitsRequest) -> Option<String> {
        let most = document.method.rounds.as_ref().map_or(0, |rounds| rounds.most_rounds);
        let sequences = document.rows.iter().filter_map(|row| row.sequence.as_ref());
        // The soonest row: what the others need beyond that, the next verdict says from more rounds.
        let total = sequences.filter_map(|sequence| Some(sequence.rounds + sequence.more_rounds?)).min()?;
        Some(self.resume_command(Some(total).filter(|total| *total > most), request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    use crate::model::{Exit, RunId};
    use crate::suite::Source;

    #[test]
    fn what_takes_more_rounds_than_were_allowed_is_resumed_with_them() {
        let artifacts = tempfile::tempdir().unwrap();
        let id = RunId::new(SystemTime::UNIX_EPOCH, 7);
        let folder = ComparisonFolder::create(artifacts.path(), &id).unwrap();
        let head = (Suite::new("s", Source::Builtin, Vec::new()), PathBuf::new());
        let order = RunOrder::from(1);
        let plan = RoundsPlan { arms: Vec::new(), pairs: Vec::new(), order };
        let measured = MeasuredCommits {
            finished: Vec::new(),
            folder,
            plan,
            cut: None,
            head,
            rest: None,
            _trees: Vec::new(),
        };
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
