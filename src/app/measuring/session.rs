//! The measuring half of the route, shared by `run`, `compare` and `demo`: plan in, finished records out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rand::RngExt;

use super::clocks::HeldClocks;
use super::executor::SessionMeans;
use super::listing::list_cases;
use super::lock::MeasuringTurn;
use super::watch::Watch;
use crate::app::discover::V1Discovery;
use crate::app::measuring::side_by_side::{SideBySide, check_jobs};
use crate::app::paths::project_root;
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::json_of;
use crate::app::request::effective_settings::suite_wide;
use crate::compare::machine_key;
use crate::machine;
use crate::model::{
    Comparison, ComparisonPolicy, Exit, Fault, GitFacts, Origin, Probe, RecordState, Result, RunId,
    RunRecord, RunSource, SCHEMA_RECORD, SequentialRule, Shown, Side, Strictness, ToolInfo, without_secrets,
};
use crate::report;
use crate::run::{Finished, PlanSession, RoundsSession, RunSession, StoppingPolicy};
use crate::store::ComparisonFolder;
use crate::suite::plan::{Plan, RoundsPlan};
use crate::suite::{Gate, ProfileOptions, Source, Suite};

/// Runs one suite in the folder that it belongs to and writes its Markdown summary next to the record.
pub(crate) fn measure(suite: &Suite, reporter: &Reporter) -> Result<Finished> {
    measure_and_profile(suite, &ProfileOptions::default(), reporter)
}

/// [`measure`], and then the cases under the profilers that are asked for.
pub(crate) fn measure_and_profile(
    suite: &Suite,
    profile: &ProfileOptions,
    reporter: &Reporter,
) -> Result<Finished> {
    check_jobs(&suite.run)?;
    let listed = ListedRun::begin(suite, reporter)?;
    let ListedRun { turn, suite, folder, .. } = &listed;
    let plan = Plan::single(suite);
    let clocks = HeldClocks::take(suite, &[suite], reporter)?;
    let mut header = listed.header();
    clocks.tell(&mut header);
    turn.mark(&mut header);
    let mut means = SessionMeans::new(reporter)?;
    let mut watch = Watch::of(suite, reporter)?;
    watch.require_calm(&suite.run, &mut means.executor)?;
    let mut beside = SideBySide::of(suite, &plan, &mut header, (&mut watch, reporter))?;
    let (at_once, queues) = (beside.at_once(), beside.sessions(&suite.run, folder));
    let session = means.session(&suite.run, folder, watch.probe());
    let artifacts = folder.join(&suite.run.artifacts.value);
    let session = PlanSession { queues, at_once, ..PlanSession::one_by_one(&plan, session, &artifacts) };
    let finished = session.run_and_profile(header, profile)?;
    finished.folder.report("summary.md", report::summary_page(&finished.record).as_bytes())?;
    if let Some(chart) = report::ranking_chart(&finished.record) {
        finished.folder.report("ranking.svg", chart.as_bytes())?;
    }
    keep_discovery(suite, folder, &finished)?;
    Ok(finished)
}

/// Runs the cases of a suite under its profilers, and measures nothing.
pub(crate) fn profile(suite: &Suite, reporter: &Reporter) -> Result<Finished> {
    let listed = ListedRun::begin(suite, reporter)?;
    let ListedRun { turn, suite, folder, .. } = &listed;
    let clocks = HeldClocks::take(suite, &[suite], reporter)?;
    let mut header = listed.header();
    clocks.tell(&mut header);
    turn.mark(&mut header);
    let mut means = SessionMeans::new(reporter)?;
    let session = RunSession { calm_wait: 0.0, ..means.session(&suite.run, folder, None) };
    let artifacts = folder.join(&suite.run.artifacts.value);
    PlanSession::one_by_one(&Plan::single(suite), session, &artifacts).profile_only(header, &suite.profile)
}

/// A run of one suite that has its turn and knows its cases.
struct ListedRun {
    turn: MeasuringTurn,
    suite: Suite,
    folder: PathBuf,
    /// State of the folder's repository before listing built anything in it.
    git: Probe<GitFacts>,
}

impl ListedRun {
    /// Listing may build, which others would measure: it waits for its turn.
    fn begin(suite: &Suite, reporter: &Reporter) -> Result<Self> {
        let (folder, mut suite) = (project_root(suite)?, suite.clone());
        let turn = MeasuringTurn::take(&[&suite], reporter)?;
        let git = machine::git_facts(&folder);
        list_cases(vec![(&mut suite, None, &folder)], reporter)?;
        Ok(Self { turn, suite, folder, git })
    }

    fn header(&self) -> RunRecord {
        let started = SystemTime::now();
        let mut header = header(RunId::new(started, salt()), started, &self.suite, None, &self.folder);
        header.manifest.git = self.git.clone();
        header
    }
}

/// Keeps with a run what its layouts of Python modules found in the folder, and what they left out.
fn keep_discovery(suite: &Suite, folder: &Path, finished: &Finished) -> Result<()> {
    let found = suite.layouts(folder);
    if !found.benchmarks.is_empty() {
        finished.folder.report("discovery.json", &json_of(&V1Discovery::new(found, true))?)?;
    }
    Ok(())
}

/// A comparison of two sides that begins now, as a gate has it.
pub(crate) fn new_comparison(
    [base, head]: [&str; 2],
    seed: u64,
    gate: &Gate,
    rule: SequentialRule,
) -> Comparison {
    Comparison {
        id: new_id(),
        base: base.into(),
        head: head.into(),
        head_changes: None,
        seed,
        interleaving: gate.interleaving.value,
        budget: gate.budget.value,
        rule,
        policy: ComparisonPolicy {
            inconclusive_fails: gate.inconclusive_fails.value,
            failed_fails: gate.failed_fails.value,
            broken_fails: gate.broken_fails.value,
            threshold: None,
            match_key: match_key(gate),
        },
        no_reference: None,
        suite_file: None,
        sandbox: None,
        pairs: false,
        renamed: Default::default(),
        redefined: Vec::new(),
    }
}

/// The fields of the machine that have to agree, as a gate has them.
pub(crate) fn match_key(gate: &Gate) -> BTreeMap<String, Strictness> {
    gate.match_key.iter().map(|(field, strict)| (field.clone(), strict.value)).collect()
}

/// Base and head of what [`RoundsMeasuring`] gave. Errors: they are not there, which is a defect.
pub(crate) fn base_and_head(finished: &[Finished]) -> Result<[&Finished; 2]> {
    match finished {
        [base, head, ..] => Ok([base, head]),
        _ => Err(Fault::defect("the rounds", "gave no two records")),
    }
}

pub(crate) struct RoundsMeasuring<'a> {
    pub plan: &'a RoundsPlan,
    /// Base and head, each with the folder of its tree; the control is the base.
    pub sides: [(&'a Suite, &'a Path); 2],
    /// The facts of their repositories, where something was built in their trees meanwhile.
    pub git: Option<[&'a Probe<GitFacts>; 2]>,
    pub comparison: &'a Comparison,
    pub folder: &'a ComparisonFolder,
    pub turn: &'a MeasuringTurn,
    /// Records to continue from; empty: from the beginning.
    pub resume: Vec<RunRecord>,
}

impl RoundsMeasuring<'_> {
    /// One finished record an arm: base, head and, where there are controls, control.
    pub(crate) fn carry_out(
        self,
        stopping: &mut dyn StoppingPolicy,
        reporter: &Reporter,
    ) -> Result<Vec<Finished>> {
        let [(base, _), (head, tree)] = self.sides;
        let clocks = HeldClocks::take(base, &[base, head], reporter)?;
        let started = SystemTime::now();
        let salt = salt();
        let mut headers = Vec::new();
        for (index, arm) in self.plan.arms.iter().enumerate() {
            let side = usize::from(arm.side == Some(Side::Head));
            let (suite, folder) = self.sides[side];
            let run_id = RunId::new(started, salt.wrapping_add(index as u32));
            let mut header = header(run_id, started, suite, arm.side, folder);
            let seed = Shown { value: self.plan.order.seed.into(), origin: Origin::Default };
            header.config.insert("coin_seed".into(), seed);
            header.comparison = Some(Box::new(self.comparison.clone()));
            if let Some(git) = self.git {
                header.manifest.git = git[side].clone();
            }
            clocks.tell(&mut header);
            self.turn.mark(&mut header);
            headers.push(header);
        }
        for (header, before) in headers.iter().zip(&self.resume) {
            same_machine(header, before, &self.comparison.policy.match_key)?;
        }
        let Self { plan, folder, resume, .. } = self;
        let mut means = SessionMeans::new(reporter)?;
        let mut watch = Watch::of(head, reporter)?;
        watch.require_calm(&head.run, &mut means.executor)?;
        let session = means.session(&head.run, tree, watch.probe());
        let finished = RoundsSession { plan, session, folder, resume }.run(headers, stopping)?;
        // The control is the base's tree.
        let sides = plan.arms.iter().zip(&finished).filter(|(arm, _)| arm.side != Some(Side::Control));
        for (arm, finished) in sides {
            let (suite, folder) = self.sides[usize::from(arm.side == Some(Side::Head))];
            keep_discovery(suite, folder, finished)?;
        }
        Ok(finished)
    }
}

fn same_machine(now: &RunRecord, before: &RunRecord, match_key: &BTreeMap<String, Strictness>) -> Result<()> {
    let [there, here] = [before, now].map(|record| machine_key(&record.manifest, match_key));
    match there.iter().find(|(field, value)| here.get(*field).is_some_and(|here| here != *value)) {
        None => Ok(()),
        Some((field, value)) => {
            let (was, is) = (&value.text, &here[field].text);
            let what = format!("it was begun on another machine: `{field}` was {was} and is {is}");
            let next = "resume it where it was begun, or begin a new comparison";
            Err(Fault::at("--resume", what, next).exits(Exit::Machine))
        }
    }
}

pub(crate) fn new_id() -> RunId {
    RunId::new(SystemTime::now(), salt())
}

fn salt() -> u32 {
    rand::rng().random()
}

/// A seed of the run order that is short enough to be typed again.
pub(crate) fn new_seed() -> u64 {
    rand::rng().random_range(0..1_000_000_000)
}

/// A record of a suite, complete but for its cases. `folder`: of its tree.
pub(crate) fn header(
    run_id: RunId,
    started: SystemTime,
    suite: &Suite,
    side: Option<Side>,
    folder: &Path,
) -> RunRecord {
    let (path, sha256) = match &suite.source {
        Source::File { path, sha256 } => (Some(path.display().to_string()), Some(sha256.clone())),
        Source::Builtin => (None, None),
    };
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id,
        tool: ToolInfo { name: "gbench-ci".into(), version: env!("CARGO_PKG_VERSION").into() },
        state: RecordState::Interrupted,
        cut_short: None,
        exclusive: None,
        started: humantime::format_rfc3339_millis(started).to_string(),
        finished: None,
        side,
        comparison: None,
        ingested: None,
        source: RunSource { suite: suite.name.clone(), path, sha256 },
        command: without_secrets(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        config: suite_wide(&suite.run, &suite.gate, &suite.profile),
        manifest: machine::manifest(folder),
        clocks: None,
        cases: Vec::new(),
        warnings: Vec::new(),
    }
}
