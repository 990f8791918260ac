//! Runs cases under profilers, after all measurements: an additional process of each case, like its others but for the
//! profiler's words before its command. It is never timed, and contributes to no metric.
//!
//! ```text
//! nsys profile -o FOLDER/profiles/NAME.nsys-rep ... COMMAND     the case's process, under its own limit
//! nsys stats --report cuda_gpu_kern_sum --format csv NAME.nsys-rep
//! ```
//!
//! The result becomes an outcome in the record; the measurements stay as they are.

mod counted_case;
mod ends;
mod nsys;
mod profile_files;
mod profiler_command;
mod profiler_programs;
mod reading;
mod sanitizer;
mod step;

use crate::run::harness::invocation::native;
use crate::run::process::executor::Execution;
use crate::run::process::wrapping::Wrapping;
use crate::run::record::arm::{Finished, slug};
use crate::run::session::event::Progress;
use crate::run::session::launcher::{Launcher, RunSession};
use crate::store::journal::RunFolder;
use gbench_model::{ClocksState, CutShort, Profile, ProfileOutcome, Profiler, Result, RunRecord, Side};
use gbench_suite::ProfileOptions;
use gbench_suite::plan::{PlannedCase, RoundsPlan};

use counted_case::CountedCase;
use profile_files::ProfileFiles;
use profiler_command::{limit_of, wrapping};
use profiler_programs::{ProfilerProgram, Programs};
use reading::Left;

pub use profiler_programs::missing_profilers;

pub struct ProfileSession<'a> {
    pub session: RunSession<'a>,
    pub options: &'a ProfileOptions,
    /// The gate has locked the clocks meanwhile.
    pub clocks_locked: bool,
}

impl ProfileSession<'_> {
    /// Profiles base and head of each pair, one after the other, and rewrites their records. `pairs`: by index of the case in
    /// each record. Earlier profiles are removed. Returns the interrupt that ended it early, if any.
    ///
    /// Errors: a record cannot be written.
    pub fn run(
        self,
        plan: &RoundsPlan,
        finished: &mut [Finished],
        pairs: &[[usize; 2]],
    ) -> Result<Option<CutShort>> {
        let mut launcher = Launcher::new(self.session);
        let mut programs = Programs::find(&self.options.profilers.value);
        for side in finished.iter_mut() {
            side.record.cases.iter_mut().for_each(|case| case.profiles.clear());
        }
        let mut ended = None;
        for pair in pairs {
            for (arm, index) in pair.iter().enumerate() {
                let (Some(case), Some(side)) = (plan.of_arm(arm).nth(*index), finished.get_mut(arm)) else {
                    continue;
                };
                if ended.is_none() {
                    let mut cases = CaseProfiling {
                        launcher: &mut launcher,
                        programs: &mut programs,
                        options: self.options,
                        clocks_locked: self.clocks_locked,
                    };
                    ended = cases.profile_into(case, *index, side)?;
                }
            }
        }
        finished.iter().take(2).try_for_each(|side| side.folder.rewrite(&side.record))?;
        Ok(ended)
    }
}

/// Profiles the cases of a finished run whose outcome satisfies `wants`, and rewrites its record.
pub(super) fn profile_run<'c>(
    launcher: &mut Launcher<'_>,
    options: &ProfileOptions,
    cases: impl Iterator<Item = &'c PlannedCase>,
    wanted: &[bool],
    finished: &mut Finished,
) -> Result<Option<CutShort>> {
    let mut programs = Programs::find(&options.profilers.value);
    let clocks_locked = is_locked(&finished.record);
    let mut ended = None;
    for (index, case) in cases.enumerate() {
        if wanted.get(index) == Some(&true) && ended.is_none() {
            let mut cases = CaseProfiling { launcher, programs: &mut programs, options, clocks_locked };
            ended = cases.profile_into(case, index, finished)?;
        }
    }
    for missing in programs.missing() {
        finished.record.warnings.push(missing);
    }
    finished.folder.rewrite(&finished.record)?;
    Ok(ended)
}

/// True if the gate has locked a clock.
fn is_locked(record: &RunRecord) -> bool {
    record.clocks.as_ref().is_some_and(|clocks| clocks.state != ClocksState::Unlocked)
}

struct CaseProfiling<'l, 'h, 'o> {
    launcher: &'l mut Launcher<'h>,
    programs: &'l mut Programs,
    options: &'o ProfileOptions,
    clocks_locked: bool,
}

impl CaseProfiling<'_, '_, '_> {
    fn profile_into(
        &mut self,
        case: &PlannedCase,
        index: usize,
        side: &mut Finished,
    ) -> Result<Option<CutShort>> {
        let of = side.record.side;
        for profiler in &self.options.profilers.value {
            if *profiler == Profiler::Torch && case.benchmark.python().is_none() {
                continue;
            }
            if !matches!(self.programs.of(*profiler), ProfilerProgram::Missing { .. }) {
                let started = Progress::ProfileStarted { id: &case.id, side: of, profiler: *profiler };
                self.launcher.session.observer.on(&started);
            }
            match self.profile(case, index, *profiler, &side.folder, of)? {
                Ok(profile) => side.record.cases[index].profiles.push(profile),
                Err(ended) => return Ok(Some(ended)),
            }
        }
        Ok(None)
    }

    fn profile(
        &mut self,
        case: &PlannedCase,
        index: usize,
        profiler: Profiler,
        folder: &RunFolder,
        side: Option<Side>,
    ) -> Result<std::result::Result<Profile, CutShort>> {
        let blank = |outcome| Profile {
            profiler,
            version: None,
            outcome,
            seconds: None,
            reports: Vec::new(),
            kernels: Vec::new(),
        };
        let failed = |cause: &str| Ok(Ok(blank(ProfileOutcome::Failed { cause: cause.to_owned() })));
        let program = match self.programs.of(profiler) {
            ProfilerProgram::Missing { program } => {
                return Ok(Ok(blank(ProfileOutcome::Missing { program })));
            }
            ProfilerProgram::Here(path) => Some(path),
            ProfilerProgram::Inside => None,
        };
        if case.benchmark.container.is_some() {
            return failed("it runs in a container, in which the gate starts no profiler");
        }
        let side = side.map_or(String::new(), |side| format!(".{}", side.into_str()));
        let stem = format!("{index:03}-{}{side}", slug(&case.id.to_string()));
        let files = ProfileFiles::new(folder, &stem, profiler);
        if let Err(error) = files.clear() {
            return failed(&format!("an earlier report cannot be removed: {error}"));
        }
        let version =
            program.as_deref().and_then(|path| self.programs.version(profiler, path, case, self.launcher));
        let mut counted = CountedCase::of(case, self.clocks_locked, version.as_deref());
        let mut attempt = |counted: &CountedCase| {
            let limit = limit_of(profiler, &case.benchmark.settings);
            let wrapping = wrapping(profiler, program.as_deref(), &files, self.options, counted, limit);
            let brief = profiler.is_sanitizer().then(|| sanitizer::brief(case));
            let execution = self.execution(brief.as_ref().unwrap_or(case), wrapping);
            if profiler.is_sanitizer() {
                let read = sanitizer::read(profiler, &execution, &files.report());
                return (execution, read.map(|()| Vec::new()));
            }
            let read = ends::of(&execution, profiler).and_then(|()| {
                Left { files: &files, profiler, program: program.as_deref(), execution: &execution }
                    .kernels(self.launcher, case)
            });
            (execution, read)
        };
        let (mut execution, mut read) = attempt(&counted);
        // Such as launches of a library whose ranges the driver cannot mark.
        let selected_none =
            profiler == Profiler::Ncu && ends::of(&execution, profiler).is_ok() && read.is_err();
        if selected_none && !counted.selection.is_empty() {
            counted.selection.clear();
            (execution, read) = attempt(&counted);
        }
        let log = format!("{stem}.{}", profiler.into_str());
        folder.log(&format!("{log}.stdout.log"), &execution.stdout.bytes())?;
        folder.log(&format!("{log}.stderr.log"), &execution.stderr.bytes())?;
        if let Some(ended @ CutShort::Interrupt { .. }) = execution.cut_short() {
            return Ok(Err(ended));
        }
        self.launcher.after_timeout(&execution, case);
        let mut profile = blank(ProfileOutcome::Taken);
        (profile.version, profile.seconds) = (version, Some(execution.seconds));
        profile.reports = files.reports();
        match read {
            Ok(kernels) => profile.kernels = kernels,
            Err(outcome) => profile.outcome = outcome,
        }
        Ok(Ok(profile))
    }

    fn execution(&mut self, case: &PlannedCase, wrapping: Wrapping) -> Execution {
        let launcher = &mut *self.launcher;
        launcher.wrapping = Some(wrapping);
        let execution = if case.benchmark.python().is_some() {
            launcher.execute_python(&[case])
        } else if case.benchmark.harness.is_some() && !case.benchmark.is_traced() {
            let natives: Vec<&str> = native(case).into_iter().collect();
            launcher.execute_harness(case, 0, &natives)
        } else {
            launcher.execute(case, 0, &[])
        };
        launcher.wrapping = None;
        execution
    }
}
