//! Finds the cases of harness benchmarks: builds, asks the harness, and sets the benchmark's points. It runs before the plan,
//! which needs them.

use std::path::Path;

use super::invocation::{
    STDOUT_BYTES, bring_file, command, invoke, put_aside, read, set, start_directly, with_folder,
};
use super::recognition::recognised;
use crate::run::container::command::ContainerLaunch;
use crate::run::container::contained_process;
use crate::run::outcome::classify::lacking;
use crate::run::outcome::classify::signal_name;
use crate::run::outcome::telling_line::telling_of;
use crate::run::process::executor::{Execution, ExecutionEnd, Executor, Launch};
use crate::run::record::arm::unmet;
use crate::run::session::build;
use crate::run::session::event::{Observer, Progress};
use gbench_formats::adapters::{
    self, About, Adapter, Amount, CaseName, CaseRequest, Harness, Invocation, Lists, Refusal,
};
use gbench_model::{CutShort, Isolation, Manifest, ProcessEnd, Side, Stage, shell_word};
use gbench_suite::{Benchmark, Build, DirectProgram, FailedBuild, Listing, Suite};

pub struct CaseLister<'a> {
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// The machine's facts: a benchmark with a missing requirement is neither built nor listed.
    pub manifest: &'a Manifest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    pub cause: String,
    pub advice: String,
    /// The machine lacks something, and the program is not at fault.
    pub lack: bool,
}

impl Unlisted {
    /// The run ended meanwhile.
    fn unknown() -> Self {
        Self { cause: String::new(), advice: String::new(), lack: false }
    }
}

impl CaseLister<'_> {
    /// Sets the cases of every harness benchmark of the suite. A benchmark that cannot run here or be built stays unlisted,
    /// with the reason: the run meets the same obstacle and records it. A benchmark whose harness cannot be listed is marked.
    /// Errors: the reason for an early end.
    pub fn list(&mut self, suite: &mut Suite, side: Option<Side>) -> Result<(), CutShort> {
        let mut built: Vec<(Build, Option<FailedBuild>)> = Vec::new();
        for benchmark in suite.benchmarks.iter_mut().filter(|benchmark| benchmark.is_unlisted()) {
            if let Some((outcome, gpu)) = unmet(benchmark, self.manifest) {
                set_listing(benchmark, Listing::Unmet { outcome, gpu });
                continue;
            }
            if let Some(build) = benchmark.build.clone() {
                let known = built.iter().find(|(other, _)| *other == build).map(|(_, failed)| failed.clone());
                let failed = match known {
                    Some(failed) => failed,
                    None => {
                        let (execution, _) = build::execute(
                            self.executor,
                            self.observer,
                            (benchmark, &build, None),
                            side,
                            None,
                        );
                        if let Some(ended) = execution.cut_short() {
                            return Err(ended);
                        }
                        build::failed(benchmark, &execution)
                    }
                };
                built.push((build, failed.clone()));
                if let Some(failed) = failed {
                    set_listing(benchmark, Listing::NotBuilt(failed));
                    continue;
                }
            }
            self.find_program(benchmark)?;
            let found = self.cases_of(benchmark)?;
            let Some(entry) = &mut benchmark.harness else { continue };
            entry.built = benchmark.build.is_some();
            match found {
                Ok((harness, cases)) => {
                    entry.harness = Some(harness);
                    settle_isolation(benchmark, harness.0.about());
                    benchmark.take_cases(cases);
                    let chosen = benchmark.harness.as_ref().is_some_and(|entry| entry.only.is_empty());
                    if benchmark.points.is_empty() && chosen {
                        benchmark.points.push(Default::default());
                        fail(
                            benchmark,
                            Unlisted {
                                cause: "none of the harness's cases is one of `cases`".into(),
                                advice: "loosen the patterns in `cases`".into(),
                                lack: false,
                            },
                        );
                    } else if let Some(text) = unmatched(benchmark, side) {
                        self.observer.on(&Progress::Note { text: &text });
                    }
                }
                Err(why) => fail(benchmark, why),
            }
        }
        Ok(())
    }

    /// Finds the program that a build tool's command starts. If it cannot be determined with certainty, the command is used.
    fn find_program(&mut self, benchmark: &mut Benchmark) -> Result<(), CutShort> {
        let Some(bench) = adapters::cargo_bench(&command(benchmark)) else { return Ok(()) };
        let mut launch =
            Launch::of_step(benchmark, bench.messages, benchmark.dir.clone(), Stage::Build, None);
        launch.stdout_limit = STDOUT_BYTES;
        set(&mut launch, &bench.env);
        let execution = self.executor.execute(&launch);
        if let Some(ended) = execution.cut_short() {
            return Err(ended);
        }
        let found =
            ended_well(&execution).then(|| adapters::executable(&execution.stdout.bytes(), &bench.target));
        if let (Some(Some(found)), Some(entry)) = (found, &mut benchmark.harness) {
            let argv = [found.path].into_iter().chain(bench.own).collect();
            entry.program = Some(DirectProgram { argv, dir: found.dir.into(), env: bench.env });
        }
        Ok(())
    }

    fn cases_of(
        &mut self,
        benchmark: &Benchmark,
    ) -> Result<Result<(Harness, Vec<CaseName>), Unlisted>, CutShort> {
        let known = benchmark.harness.as_ref().and_then(|entry| entry.harness);
        let Some(harness) = known.or_else(|| recognised(benchmark, &command(benchmark))) else {
            let names: Vec<&str> = adapters::ALL.iter().map(|adapter| adapter.name()).collect();
            return Ok(Err(Unlisted {
                cause: "`harness = \"auto\"`: its program is not known to be of one harness".into(),
                advice: format!("name it: `harness` is one of {}", names.join(", ")),
                lack: false,
            }));
        };
        let adapter = harness.0;
        let mut found = Err(Unlisted::unknown());
        let execution = with_folder(|out| {
            let (execution, listed) = self.ask(benchmark, adapter, out);
            found = listed;
            execution
        });
        if let Some(misdeed) = execution.misdeed() {
            let advice = "let it write into its folder only".into();
            found =
                Err(Unlisted { cause: format!("while it listed its cases {misdeed}"), advice, lack: false });
        }
        match execution.cut_short() {
            Some(ended) => Err(ended),
            None => Ok(found.map(|cases| (harness, cases))),
        }
    }

    fn ask(
        &mut self,
        benchmark: &Benchmark,
        adapter: &'static dyn Adapter,
        out: &Path,
    ) -> (Execution, Result<Vec<CaseName>, Unlisted>) {
        let (title, command) = (adapter.about().title, command(benchmark));
        let ask =
            CaseRequest { command: &command, cases: &[], out: &out.to_string_lossy(), amount: Amount::LEAST };
        let invocation = match adapter.about().lists {
            Lists::ByRunning => adapter.list(&ask).or_else(|| adapter.run(&ask)),
            Lists::Named | Lists::No => adapter.list(&ask),
        };
        let Some(invocation) = invocation else {
            let cause = format!("{title} is a format here, without a program to list its cases");
            let execution = Execution::not_started(cause.clone());
            return (
                execution,
                Err(Unlisted {
                    cause,
                    advice: "let a program print it, and use `extract`".into(),
                    lack: false,
                }),
            );
        };
        let none = adapter.list_none(&ask);
        let variables = invocation.env.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
        let words: Vec<String> =
            variables.chain(invocation.argv.iter().map(|word| shell_word(word))).collect();
        let shown = words.join(" ");
        let _aside = match put_aside(benchmark) {
            Ok(aside) => aside,
            Err(cause) => {
                let advice = "make its folder writable, or let the program write elsewhere".into();
                return (Execution::not_started(cause.clone()), Err(Unlisted { cause, advice, lack: false }));
            }
        };
        let execution = self.start(benchmark, invocation, out);
        let brought = bring_file(benchmark, out);
        let mut own = Vec::new();
        if let Some(invocation) = none.filter(|_| ended_well(&execution)) {
            let silent = self.start(benchmark, invocation, out);
            if silent.cut_short().is_some() {
                return (silent, Err(Unlisted::unknown()));
            }
            // However it ends: some programs fail if none of the cases is theirs.
            own = silent.stdout.bytes();
        }
        let mut steady = true;
        if let Some(invocation) = adapter.list(&ask).filter(|_| !own.is_empty()) {
            let again = self.start(benchmark, invocation, out);
            if again.cut_short().is_some() {
                return (again, Err(Unlisted::unknown()));
            }
            steady = again.stdout.bytes() == execution.stdout.bytes();
        }
        let listed = brought.and_then(|()| {
            read(&execution, out, |output| adapters::list_beside(adapter, output, &own, steady))
        });
        // A harness that lists by running may fail because one of its benchmarks does.
        let by_itself = matches!(execution.end, ExecutionEnd::Process(ProcessEnd::Exit(_)));
        let lenient = adapter.about().lists == Lists::ByRunning && by_itself && execution.stopped.is_none();
        let refusal = || read(&execution, out, |output| Ok(adapter.refusal(output))).ok().flatten();
        let listed = match listed {
            Ok(cases) if lenient || ended_well(&execution) => Ok(cases),
            other => {
                // Without the tracer, whose words are a script.
                let plain = command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
                let by_hand = if benchmark.is_traced() { &plain } else { &shown };
                let advice = format!("run it by hand: `{by_hand}`");
                let (cause, advice, lack) = match (refusal(), other) {
                    (Some(Refusal { cause, advice, lack }), _) => (cause.to_owned(), advice.to_owned(), lack),
                    (None, Err(error)) if ended_well(&execution) => (error.to_string(), advice, false),
                    (None, _) => (why(&execution), advice, false),
                };
                Err(Unlisted { cause: format!("{title} could not be listed: {cause}"), advice, lack })
            }
        };
        (execution, listed)
    }

    fn start(&mut self, benchmark: &Benchmark, invocation: Invocation, out: &Path) -> Execution {
        let mut launch = Launch::of_step(benchmark, Vec::new(), benchmark.dir.clone(), Stage::Measure, None);
        start_directly(&mut launch, benchmark);
        invoke(&mut launch, invocation, out);
        launch.container = ContainerLaunch::of(benchmark, &launch.env, Some(out));
        contained_process::execute(self.executor, &launch, &mut |_| {})
    }
}

fn unmatched(benchmark: &Benchmark, side: Option<Side>) -> Option<String> {
    let patterns: Vec<String> =
        benchmark.harness.as_ref()?.unmatched.iter().map(|pattern| format!("`{pattern}`")).collect();
    let side = side.map_or(String::new(), |side| format!(" ({})", side.into_str()));
    let (id, patterns) = (&benchmark.id, (!patterns.is_empty()).then(|| patterns.join(", "))?);
    Some(format!("warning: {id}{side}: no case of its harness is meant by {patterns} in `cases`"))
}

fn set_listing(benchmark: &mut Benchmark, listing: Listing) {
    if let Some(entry) = &mut benchmark.harness {
        entry.listing = listing;
    }
}

fn fail(benchmark: &mut Benchmark, Unlisted { cause, advice, lack }: Unlisted) {
    let listing = if lack {
        Listing::Unmet { outcome: lacking(benchmark, cause, advice), gpu: true }
    } else {
        Listing::Failed { cause, advice }
    };
    set_listing(benchmark, listing);
}

/// A harness that cannot select single cases measures all of them in every process.
fn settle_isolation(benchmark: &mut Benchmark, about: About) {
    let isolation = &mut benchmark.settings.isolation;
    if !about.filters && isolation.value == Isolation::SharedScreen {
        isolation.value = Isolation::Shared;
    }
}

fn ended_well(execution: &Execution) -> bool {
    execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && execution.stopped.is_none()
}

fn why(execution: &Execution) -> String {
    let end = match &execution.end {
        _ if execution.stopped.is_some() => "it took longer than `deadlines.measure`".into(),
        ExecutionEnd::NotStarted { cause, .. } => format!("it could not be started: {cause}"),
        ExecutionEnd::Process(ProcessEnd::Exit(code)) => format!("exit code {code}"),
        ExecutionEnd::Process(ProcessEnd::Signal(signal)) => format!("ended by {}", signal_name(*signal)),
        ExecutionEnd::SupervisorDied => "its supervisor was killed".into(),
    };
    match telling_of(&execution.stderr, &execution.stdout) {
        Some(told) => format!("{end}; it {}: {}", told.verb(), told.line),
        None => end,
    }
}
