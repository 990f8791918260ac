//! The commits as trees: checked out, built, and measured a process at a time with the session of an ordinary run.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::app::compare::side_suites::{SideSuites, confine};
use crate::app::measuring::clocks::HeldClocks;
use crate::app::measuring::executor::SessionMeans;
use crate::app::measuring::listing::list_cases;
use crate::app::measuring::lock::MeasuringTurn;
use crate::app::measuring::session::{header, new_id};
use crate::app::measuring::watch::Watch;
use crate::app::progress::Reporter;
use crate::app::reports::explain::cases;
use crate::app::request::Audience;
use crate::model::text::short_commit;
use crate::model::{CaseId, CaseRecord, CutShort, Exit, Fault, Outcome, Result, RunRecord, RunTimes};
use crate::run::{Finished, Observer, PlanSession, Progress, RunSession};
use crate::suite::Suite;
use crate::suite::plan::Plan;
use crate::trees::{CommitRange, Tree};

/// Trees that are kept at a time, each with its build: the ends, and those that were asked last.
const MOST_TREES: usize = 8;

pub(super) struct BisectTrees<'a> {
    pub range: &'a CommitRange,
    suites: SideSuites<'a>,
    home: PathBuf,
    folder: PathBuf,
    runs: PathBuf,
    /// The suite of the bad end, by which the case is found.
    bad: Option<Suite>,
    case: Option<CaseId>,
    slots: Vec<TreeSlot>,
    clock: u64,
    /// Locked once the case is known.
    clocks: Option<HeldClocks>,
    means: SessionMeans,
    /// It watches from the first measured tree on.
    watch: Option<Watch>,
    reporter: Reporter,
    /// From when the suite is known on.
    turn: Option<MeasuringTurn>,
    /// When everything must have ended.
    pub until: Option<Instant>,
}

struct TreeSlot {
    slot: usize,
    commit: usize,
    suite: Suite,
    /// The record of its next process, but for id and start.
    header: RunRecord,
    tree: Tree,
    used: u64,
}

pub(super) struct BrokenCommit {
    pub cause: String,
    /// The outcome's advice; empty without one.
    pub advice: String,
    /// The machine lacks something: no other commit could be measured either.
    pub machine: bool,
}

impl BrokenCommit {
    pub(super) fn because(cause: String) -> Self {
        Self { cause, advice: String::new(), machine: false }
    }

    pub(super) fn of(outcome: &Outcome, machine: bool) -> Self {
        Self { cause: outcome.cause(), advice: outcome.advice().to_owned(), machine }
    }
}

pub(super) enum NotMeasured {
    /// The commit cannot be built or run.
    Broken(BrokenCommit),
    CutShort(CutShort),
}

pub(super) type Visit<T> = std::result::Result<T, NotMeasured>;

impl<'a> BisectTrees<'a> {
    pub(super) fn new(
        range: &'a CommitRange,
        suites: SideSuites<'a>,
        [home, folder, runs]: [PathBuf; 3],
        reporter: &Reporter,
    ) -> Result<Self> {
        Ok(Self {
            range,
            suites,
            home,
            folder,
            runs,
            bad: None,
            case: None,
            slots: Vec::new(),
            clock: 0,
            clocks: None,
            means: SessionMeans::new(reporter)?,
            watch: None,
            reporter: reporter.clone(),
            turn: None,
            until: None,
        })
    }

    /// Reads the bad end's suite and finds the case in it. `kept`: name and text of the suite file of a bisection that
    /// continues. Gives the case, name and text of the suite file, and the suite of the case alone.
    pub(super) fn settle(
        &mut self,
        case: &str,
        kept: Option<(String, String)>,
    ) -> Result<(CaseId, (String, String), Suite)> {
        let last = self.range.commits.len() - 1;
        let tree = Tree::prepare_slot(&self.home, &self.range.revision(last), &self.folder, 1)?;
        let file = self.suites.settle_on(&tree, kept)?;
        let mut suite = self.suites.of(&tree, Audience::Person, None)?;
        keep_benchmarks_called(case, &mut suite);
        self.suites.rounds().apply(&mut suite.gate);
        let gate = suite.gate.clone();
        confine(&gate, &mut [(&mut suite, &tree)], &RunTimes::default())?;
        self.turn = Some(MeasuringTurn::take(&[&suite], &self.reporter)?);
        list_cases(vec![(&mut suite, None, tree.root())], &self.reporter)?;
        let plan = Plan::single(&suite);
        let found = cases(case, plan.cases.iter().map(|planned| &planned.id))?;
        let [id] = found.as_slice() else {
            let names: Vec<String> = found.iter().map(CaseId::to_string).collect();
            let what = format!("these are {} cases, and one is bisected at a time", names.len());
            let next = format!("name one: {}", crate::model::text::list(&names, 8));
            return Err(Fault::at_flag(case, what, next));
        };
        keep_case(&mut suite, id);
        self.clocks = Some(HeldClocks::take(&suite, &[&suite], &self.reporter)?);
        self.case = Some(id.clone());
        self.bad = Some(suite.clone());
        Ok((id.clone(), file, suite))
    }

    pub(super) fn waited(&self) -> Duration {
        self.turn.as_ref().map_or(Duration::ZERO, MeasuringTurn::waited)
    }

    /// By commit: its tree is there and built.
    pub(super) fn built(&self) -> Vec<bool> {
        let is_built = |commit| self.slots.iter().any(|slot| slot.commit == commit);
        (0..self.range.commits.len()).map(is_built).collect()
    }

    /// Checks a commit out and builds it. Gives the seconds that this took; none where it was there already.
    pub(super) fn build(&mut self, commit: usize) -> Result<Visit<Option<f64>>> {
        self.clock += 1;
        let clock = self.clock;
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.commit == commit) {
            slot.used = clock;
            return Ok(Ok(None));
        }
        let since = Instant::now();
        let slot = self.free_slot(commit);
        let tree = match Tree::prepare_slot(&self.home, &self.range.revision(commit), &self.folder, slot) {
            Ok(tree) => tree,
            // The machine's trouble is every commit's; a file that is not in this clone is this commit's alone.
            Err(fault) if fault.exit == Exit::Machine => return Err(fault),
            Err(fault) => return Ok(Err(NotMeasured::Broken(BrokenCommit::because(fault.what)))),
        };
        let suite = match self.suite_of(&tree) {
            Ok(suite) => suite,
            Err(fault) if matches!(fault.exit, Exit::Interrupted | Exit::Terminated) => {
                let signal = if fault.exit == Exit::Interrupted { 2 } else { 15 };
                return Ok(Err(NotMeasured::CutShort(CutShort::Interrupt { signal })));
            }
            Err(fault) => return Ok(Err(NotMeasured::Broken(BrokenCommit::because(fault.what)))),
        };
        let mut header = header(new_id(), SystemTime::now(), &suite, None, tree.root());
        header.manifest.git = tree.git().clone();
        self.clocks.iter().for_each(|clocks| clocks.tell(&mut header));
        self.turn.iter().for_each(|turn| turn.mark(&mut header));
        let mut slot = TreeSlot { slot, commit, suite, header, tree, used: clock };
        set_processes(&mut slot.suite, 0);
        let visit = self.session(&slot)?;
        if visit.is_ok() {
            // It is built: a further process must not build it again.
            slot.suite.benchmarks.iter_mut().for_each(|benchmark| benchmark.build = None);
            self.slots.push(slot);
        }
        Ok(visit.map(|_| Some(since.elapsed().as_secs_f64())))
    }

    /// Runs so many processes of a built commit. The record has fewer if the commit breaks meanwhile.
    pub(super) fn measure(&mut self, commit: usize, processes: u32) -> Result<Visit<Finished>> {
        let Some(at) = self.slots.iter().position(|slot| slot.commit == commit) else {
            return Err(Fault::defect("the bisection", "measures a commit that is not built"));
        };
        let mut slot = self.slots.swap_remove(at);
        set_processes(&mut slot.suite, processes);
        let visit = self.session(&slot);
        self.slots.push(slot);
        visit
    }

    fn session(&mut self, slot: &TreeSlot) -> Result<Visit<Finished>> {
        let deadline = match self.until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(left) if left.is_zero() => return Ok(Err(NotMeasured::CutShort(CutShort::Deadline))),
            left => left.map_or(0.0, |left| left.as_secs_f64()),
        };
        let started = SystemTime::now();
        let mut header = slot.header.clone();
        header.run_id = new_id();
        header.started = humantime::format_rfc3339_millis(started).to_string();
        let plan = Plan::single(&slot.suite);
        let mut builds =
            BuildsAlone { reporter: self.reporter.clone(), commit: self.name(slot.commit).to_owned() };
        if self.watch.is_none() {
            self.watch = Some(Watch::of(&slot.suite, &self.reporter)?);
        }
        let probe = self.watch.as_mut().and_then(Watch::probe);
        let session = self.means.session(&slot.suite.run, slot.tree.root(), probe);
        let session = RunSession { observer: &mut builds, deadline, ..session };
        let finished = PlanSession::one_by_one(&plan, session, &self.runs).run(header)?;
        if let Some(reason) = finished.record.cut_short {
            return Ok(Err(NotMeasured::CutShort(reason)));
        }
        let broken = finished.record.cases.iter().find(|case| !case.outcome.is_measured());
        let measured = |case: &CaseRecord| case.processes.iter().any(|it| it.outcome.is_measured());
        Ok(match broken {
            Some(case) if !measured(case) => {
                Err(NotMeasured::Broken(BrokenCommit::of(&case.outcome, finished.gpu_missing)))
            }
            _ => Ok(finished),
        })
    }

    fn suite_of(&self, tree: &Tree) -> Result<Suite> {
        let (Some(bad), Some(case)) = (&self.bad, &self.case) else {
            return Err(Fault::defect("the bisection", "has no case"));
        };
        let mut suite = self.suites.of(tree, Audience::Person, Some(bad))?;
        suite.benchmarks.retain(|benchmark| benchmark.id == case.benchmark);
        let missing = || Fault::at(case.to_string(), "the commit does not have the case", "leave it out");
        if suite.benchmarks.is_empty() {
            return Err(missing());
        }
        confine(&bad.gate, &mut [(&mut suite, tree)], &RunTimes::default())?;
        list_cases(vec![(&mut suite, None, tree.root())], &self.reporter)?;
        keep_case(&mut suite, case);
        suite.gate = bad.gate.clone();
        suite.run = bad.run.clone();
        if suite.benchmarks.is_empty() { Err(missing()) } else { Ok(suite) }
    }

    /// A place for a further tree: a free one, else that of the commit that was used longest ago, which goes. The ends stay.
    fn free_slot(&mut self, commit: usize) -> usize {
        let last = self.range.commits.len() - 1;
        if commit == 0 {
            return 0;
        }
        if commit == last {
            return 1;
        }
        let taken = |slot: &usize| self.slots.iter().any(|other| other.slot == *slot);
        if let Some(free) = (2..MOST_TREES).find(|slot| !taken(slot)) {
            return free;
        }
        let others = (0..self.slots.len()).filter(|at| self.slots[*at].slot > 1);
        let oldest = others.min_by_key(|at| self.slots[*at].used);
        oldest.map_or(2, |at| self.slots.swap_remove(at).slot)
    }

    pub(super) fn name(&self, commit: usize) -> &str {
        short_commit(&self.range.commits[commit].id)
    }
}

/// Leaves the benchmarks that the words may mean: others need not be listed, which may take a build. Where no name fits,
/// all stay.
fn keep_benchmarks_called(case: &str, suite: &mut Suite) {
    let name = case.split(['[', ' ', ':']).next().unwrap_or(case);
    let fits = |id: &crate::model::BenchmarkId| id.as_str() == name || id.name() == name;
    if suite.benchmarks.iter().any(|benchmark| fits(&benchmark.id)) {
        suite.benchmarks.retain(|benchmark| fits(&benchmark.id));
    }
}

fn keep_case(suite: &mut Suite, case: &CaseId) {
    suite.benchmarks.retain_mut(|benchmark| {
        benchmark.points.retain(|point| *point == case.params);
        benchmark.id == case.benchmark && !benchmark.points.is_empty()
    });
}

fn set_processes(suite: &mut Suite, processes: u32) {
    suite.benchmarks.iter_mut().for_each(|benchmark| benchmark.settings.processes.value = processes);
}

/// Passes on what is built: a session of one process would report its plan again with every process.
struct BuildsAlone {
    reporter: Reporter,
    commit: String,
}

impl Observer for BuildsAlone {
    fn on(&mut self, progress: &Progress<'_>) {
        let named = |benchmark: &str| format!("{benchmark} of {}", self.commit);
        match *progress {
            Progress::BuildStarted { benchmark, side } => {
                let benchmark = &named(benchmark);
                self.reporter.on(&Progress::BuildStarted { benchmark, side });
            }
            Progress::BuildGoesOn { benchmark, side, seconds, line } => {
                let benchmark = &named(benchmark);
                self.reporter.on(&Progress::BuildGoesOn { benchmark, side, seconds, line });
            }
            Progress::BuildEnded { benchmark, side, seconds, failed } => {
                let benchmark = &named(benchmark);
                self.reporter.on(&Progress::BuildEnded { benchmark, side, seconds, failed });
            }
            _ => {}
        }
    }
}
