//! The measuring half of the route, shared by `run`, `compare` and `demo`: plan in, finished records out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::effective_settings::suite_wide;
use super::paths::project_root;
use super::progress::Reporter;
use super::random;
use super::request::{OutputRequest, SelectionRequest, SettingsRequest};
use super::verdict_files::bytes_of;
use crate::compare::machine_key;
use crate::machine;
use crate::model::{
    Comparison, Conditions, Exit, Fault, Manifest, RecordState, Result, RunId, RunRecord, RunSource,
    SCHEMA_RECORD, Shown, Side, Strictness, ToolInfo, without_secrets,
};
use crate::report::{self, Format, Options, Style};
use crate::run::{
    ConditionsProbe, Finished, Interrupt, PlanSession, RoundsSession, RunSession, StoppingPolicy, Supervised,
};
use crate::store::{ComparisonFolder, without_temporary};
use crate::suite::plan::{Plan, RoundsPlan};
use crate::suite::{Benchmark, Source, Suite};

/// One run of a suite.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub selection: SelectionRequest,
    pub settings: SettingsRequest,
    pub output: OutputRequest,
}

impl RunRequest {
    /// The suite as it is to be measured.
    pub fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        self.configured(self.selection.suite(builtins)?)
    }

    /// A suite under the settings of the request.
    pub fn configured(&self, mut suite: Suite) -> Result<Suite> {
        self.settings.apply(&mut suite)?;
        self.output.apply(&mut suite)?;
        Ok(suite)
    }
}

/// Runs one suite in the folder that it belongs to and writes its Markdown summary beside the record.
pub fn measure(suite: &Suite, reporter: &Reporter) -> Result<Finished> {
    let folder = project_root(suite)?;
    let artifacts = folder.join(&suite.run.artifacts.value);
    let plan = Plan::single(suite);
    let finished = Measuring { artifacts: &artifacts, reporter }.carry_out(&plan, suite, &folder)?;
    let options = Options { format: Format::Markdown, style: Style::PLAIN, all: true };
    let summary = bytes_of(|bytes| report::record(&finished.record, &options, bytes))?;
    finished.folder.report("summary.md", &summary)?;
    Ok(finished)
}

/// Where and how a plan is carried out.
struct Measuring<'a> {
    artifacts: &'a Path,
    reporter: &'a Reporter,
}

impl Measuring<'_> {
    /// Carries out the plan of a suite that belongs to the repository of a folder.
    fn carry_out(&self, plan: &Plan, suite: &Suite, folder: &Path) -> Result<Finished> {
        let started = SystemTime::now();
        let header = header(
            RunId::new(started, random::salt()),
            started,
            suite,
            None,
            machine::manifest(folder),
            None,
        );
        let binary = own_binary()?;
        let mut executor = executor(&binary)?;
        let mut observer = self.reporter.clone();
        let mut watch = machine::HostConditions::here();
        let session = RunSession {
            executor: &mut executor,
            observer: &mut observer,
            probe: suite.gate.watch.value.then_some(&mut watch as &mut dyn ConditionsProbe),
            binary,
            deadline: suite.run.deadline.value,
            after_timeout: (suite.run.after_timeout.value.clone(), folder.to_path_buf()),
        };
        PlanSession { plan, session, artifacts: self.artifacts }.run(header)
    }
}

/// A comparison in rounds to be carried out.
pub struct RoundsMeasuring<'a> {
    pub plan: &'a RoundsPlan,
    /// Base and head, each with the folder of its tree; the control is the base.
    pub sides: [(&'a Suite, &'a Path); 2],
    pub comparison: &'a Comparison,
    pub folder: &'a ComparisonFolder,
    /// Records to go on from; empty: from the beginning.
    pub resume: Vec<RunRecord>,
}

impl RoundsMeasuring<'_> {
    /// One finished record an arm: base, head and, where there are controls, control.
    pub fn carry_out(self, stopping: &mut dyn StoppingPolicy, reporter: &Reporter) -> Result<Vec<Finished>> {
        let started = SystemTime::now();
        let salt = random::salt();
        let mut headers = Vec::new();
        for (index, arm) in self.plan.arms.iter().enumerate() {
            let (suite, folder) = self.sides[usize::from(arm.side == Some(Side::Head))];
            let run_id = RunId::new(started, salt.wrapping_add(index as u32));
            let manifest = machine::manifest(folder);
            let mut header = header(run_id, started, suite, arm.side, manifest, Some(self.plan.order.seed));
            header.comparison = Some(Box::new(self.comparison.clone()));
            headers.push(header);
        }
        for (header, before) in headers.iter().zip(&self.resume) {
            same_machine(header, before, &self.comparison.policy.match_key)?;
        }
        let binary = own_binary()?;
        let mut executor = executor(&binary)?;
        let mut observer = reporter.clone();
        let mut watch = machine::HostConditions::here();
        let (head, tree) = self.sides[1];
        let session = RunSession {
            executor: &mut executor,
            observer: &mut observer,
            probe: head.gate.watch.value.then_some(&mut watch as &mut dyn ConditionsProbe),
            binary,
            deadline: head.run.deadline.value,
            after_timeout: (head.run.after_timeout.value.clone(), tree.to_path_buf()),
        };
        let Self { plan, folder, resume, .. } = self;
        RoundsSession { plan, session, folder, resume }.run(headers, stopping)
    }
}

/// Refuses to go on with a comparison that was begun on a machine that differs in a strict field.
fn same_machine(now: &RunRecord, before: &RunRecord, match_key: &BTreeMap<String, Strictness>) -> Result<()> {
    let [there, here] = [before, now].map(|record| machine_key(&record.manifest, match_key));
    match there.iter().find(|(field, value)| here.get(*field).is_some_and(|here| here != *value)) {
        None => Ok(()),
        Some((field, value)) => {
            let what = format!(
                "it was begun on another machine: `{field}` was {} and is {}",
                value.text, here[field].text
            );
            let next = "resume it where it was begun, or begin a new comparison";
            Err(Fault::at("--resume", what, next).exits(Exit::Machine))
        }
    }
}

impl ConditionsProbe for machine::HostConditions {
    fn begin(&mut self) {
        machine::HostConditions::begin(self);
    }

    fn end(&mut self, child_cpu_seconds: Option<f64>, wall: f64) -> Option<Conditions> {
        machine::HostConditions::end(self, child_cpu_seconds, wall)
    }
}

/// What starts processes and takes the user's interrupts.
fn executor(binary: &Path) -> Result<Supervised> {
    let interrupt = Interrupt::install()
        .map_err(|error| Fault::defect("signals", format!("cannot be taken: {error}")))?;
    Supervised::new(binary.to_owned(), Some(interrupt), true).map_err(|error| {
        Fault::at_path(
            std::env::temp_dir(),
            format!("no temporary folder can be made: {}", without_temporary(&error)),
            "set TMPDIR to a writable folder, on a disk with space",
        )
        .caused_by(&error)
    })
}

/// The path of the running binary, which is also its own supervisor and micro suite.
pub fn own_binary() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        Fault::at(
            "the gbench-ci binary",
            format!("its path is not known: {error}"),
            "mount /proc, and run again",
        )
        .exits(Exit::Machine)
    })
}

fn header(
    run_id: RunId,
    started: SystemTime,
    suite: &Suite,
    side: Option<Side>,
    manifest: Manifest,
    seed: Option<u64>,
) -> RunRecord {
    let (path, sha256) = match &suite.source {
        Source::File { path, sha256 } => (Some(path.display().to_string()), Some(sha256.clone())),
        Source::Builtin => (None, None),
    };
    let mut config = suite_wide(&suite.run, &suite.gate);
    if let Some(seed) = seed {
        let origin = crate::model::Origin::Default;
        config.insert("coin_seed".into(), Shown { value: seed.into(), origin });
    }
    RunRecord {
        schema: SCHEMA_RECORD.into(),
        run_id,
        tool: ToolInfo { name: "gbench-ci".into(), version: env!("CARGO_PKG_VERSION").into() },
        state: RecordState::Interrupted,
        cut_short: None,
        started: humantime::format_rfc3339_millis(started).to_string(),
        finished: None,
        side,
        comparison: None,
        source: RunSource { suite: suite.name.clone(), path, sha256 },
        command: without_secrets(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        config,
        manifest,
        cases: Vec::new(),
        warnings: Vec::new(),
    }
}
