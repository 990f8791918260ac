//! Finds the cases of benchmarks that somebody's harness measures: builds, asks the harness, and gives the benchmark its
//! points. It comes before the plan, which needs them.

use std::path::Path;

use super::build;
use super::event::Observer;
use super::executor::{Execution, ExecutionEnd, Executor, Launch};
use super::harness_launch::{STDOUT_BYTES, command, invoke, read, set, start_directly, with_folder};
use super::outcome::{first_line, signal_name};
use super::recognition::recognised;
use super::requires;
use crate::adapters::{
    self, About, Adapter, Amount, CaseName, CaseRequest, Harness, Invocation, Lists, Refusal,
};
use crate::model::{CutShort, Isolation, Manifest, ProcessEnd, Side, Stage, shell_word};
use crate::suite::{Benchmark, DirectProgram, Listing, Suite};

/// Lists the cases of harnesses.
pub struct CaseLister<'a> {
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// Of the machine: what a benchmark requires and is not there is neither built nor listed.
    pub manifest: &'a Manifest,
}

/// Why a benchmark could not be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    pub cause: String,
    pub advice: String,
}

impl CaseLister<'_> {
    /// Gives every benchmark of the suite that has a harness its cases. One that cannot run here, or cannot be built, stays
    /// unlisted: the run meets the same obstacle and records it. One whose harness cannot be listed is marked so. Gives what
    /// cut the listing short.
    pub fn list(&mut self, suite: &mut Suite, side: Option<Side>) -> Result<(), CutShort> {
        let mut built: Vec<(crate::suite::Build, bool)> = Vec::new();
        for benchmark in suite.benchmarks.iter_mut().filter(|benchmark| benchmark.is_unlisted()) {
            if !requires::missing(benchmark, self.manifest).is_empty() {
                continue;
            }
            if let Some(build) = benchmark.build.clone() {
                let known = built.iter().find(|(other, _)| *other == build).map(|(_, well)| *well);
                let well = match known {
                    Some(well) => well,
                    None => {
                        let (execution, _) =
                            build::execute(self.executor, self.observer, (benchmark, &build), side, None);
                        if let Some(ended) = execution.cut_short() {
                            return Err(ended);
                        }
                        ended_well(&execution)
                    }
                };
                built.push((build, well));
                if !well {
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
                            },
                        );
                    }
                }
                Err(why) => fail(benchmark, why),
            }
        }
        Ok(())
    }

    /// Finds the program that a build tool's command starts. Where it cannot be found for certain, the command is used.
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
            }));
        };
        let adapter = harness.0;
        let mut found = Err(Unlisted { cause: String::new(), advice: String::new() });
        let execution = with_folder(|out| {
            let (execution, listed) = self.ask(benchmark, adapter, out);
            found = listed;
            execution
        });
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
                Err(Unlisted { cause, advice: "let a program print it, and use `extract`".into() }),
            );
        };
        let none = adapter.list_none(&ask);
        let words: Vec<String> = invocation.argv.iter().map(|word| shell_word(word)).collect();
        let shown = words.join(" ");
        let execution = self.start(benchmark, invocation);
        let mut own = Vec::new();
        if let Some(invocation) = none.filter(|_| ended_well(&execution)) {
            let silent = self.start(benchmark, invocation);
            if silent.cut_short().is_some() {
                return (silent, Err(Unlisted { cause: String::new(), advice: String::new() }));
            }
            // However it ends: some programs do so badly where no case is theirs.
            own = silent.stdout.bytes();
        }
        let listed = read(&execution, out, |output| adapters::list_beside(adapter, output, &own));
        // A harness that lists by running may end badly because one of its benchmarks fails.
        let by_itself = matches!(execution.end, ExecutionEnd::Process(ProcessEnd::Exit(_)));
        let lenient = adapter.about().lists == Lists::ByRunning && by_itself && execution.stopped.is_none();
        let advice = format!("run it by hand: `{shown}`");
        let listed = match listed {
            Ok(cases) if lenient || ended_well(&execution) => Ok(cases),
            Err(error) if ended_well(&execution) => {
                Err(Unlisted { cause: format!("{title} could not be listed: {error}"), advice })
            }
            _ => Err(match read(&execution, out, |output| Ok(adapter.refusal(output))).ok().flatten() {
                Some(Refusal { cause, advice }) => {
                    Unlisted { cause: format!("{title} could not be listed: {cause}"), advice: advice.into() }
                }
                None => {
                    Unlisted { cause: format!("{title} could not be listed: {}", why(&execution)), advice }
                }
            }),
        };
        (execution, listed)
    }

    fn start(&mut self, benchmark: &Benchmark, invocation: Invocation) -> Execution {
        let mut launch = Launch::of_step(benchmark, Vec::new(), benchmark.dir.clone(), Stage::Measure, None);
        start_directly(&mut launch, benchmark);
        invoke(&mut launch, invocation);
        self.executor.execute(&launch)
    }
}

fn fail(benchmark: &mut Benchmark, Unlisted { cause, advice }: Unlisted) {
    if let Some(entry) = &mut benchmark.harness {
        entry.listing = Listing::Failed { cause, advice };
    }
}

/// What cannot be asked for single cases measures all of them in every process.
fn settle_isolation(benchmark: &mut Benchmark, about: About) {
    let isolation = &mut benchmark.settings.isolation;
    if !about.filters && isolation.value == Isolation::SharedScreen {
        isolation.value = Isolation::Shared;
    }
}

fn ended_well(execution: &Execution) -> bool {
    execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && execution.stopped.is_none()
}

/// How it ended, in a line.
fn why(execution: &Execution) -> String {
    let end = match &execution.end {
        _ if execution.stopped.is_some() => "it took longer than `deadlines.measure`".into(),
        ExecutionEnd::NotStarted { cause, .. } => format!("it could not be started: {cause}"),
        ExecutionEnd::Process(ProcessEnd::Exit(code)) => format!("exit code {code}"),
        ExecutionEnd::Process(ProcessEnd::Signal(signal)) => format!("ended by {}", signal_name(*signal)),
        ExecutionEnd::SupervisorDied => "its supervisor was killed".into(),
    };
    let last = |output: &super::io::capture::Capture| {
        let text = output.end(4096);
        text.lines().rev().find(|line| !line.trim().is_empty()).map(first_line)
    };
    match last(&execution.stderr).or_else(|| last(&execution.stdout)) {
        Some(line) => format!("{end}; it ends: {line}"),
        None => end,
    }
}
