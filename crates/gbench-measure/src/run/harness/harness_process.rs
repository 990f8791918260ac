//! Processes of a benchmark harness: started with the adapter's words, read by the adapter, and split by case.
//!
//! If a case is lost with its process (a crash, a timeout, unreadable output), the other cases are measured again in fresh
//! processes, and a case that fails by itself has failed.

use std::path::Path;

use super::invocation::{
    SLACK, amount, bring_file, command, invoke, native, put_aside, read, start_directly, with_folder,
};
use crate::run::container::command::ContainerLaunch;
use crate::run::process::executor::{Execution, ExecutionEnd};
use crate::run::python::driver_process;
use crate::run::record::case_record::{CaseParts, ProcessContext};
use crate::run::session::launcher::Launcher;
use crate::run::session::turn::Turn;
use gbench_formats::adapters::{self, CaseName, CaseRequest, End, Harness, Reading};
use gbench_model::{ProcessEnd, Result, Stage};
use gbench_suite::plan::PlannedCase;

/// The most processes of one side and round without any result, before the remaining cases have failed.
const MAX_BARREN: u32 = 12;

/// Measures cases of one benchmark with a harness: in one process, and in further ones if that fails. After an early end of the
/// run, the cases that were reported before it keep their parts.
///
/// `processes`: by case, the index of the process within it. `shared`: the cases may share their process by design. `log`
/// receives each process and the suffix of its log's name.
pub(crate) fn measure(
    launcher: &mut Launcher<'_>,
    cases: &[&PlannedCase],
    processes: &[u32],
    shared: bool,
    log: &mut dyn FnMut(&Execution, &str) -> Result<()>,
) -> Result<CaseParts> {
    if cases.first().is_some_and(|case| case.benchmark.python().is_some()) {
        return driver_process::measure(launcher, cases, processes, shared, log);
    }
    let mut all = CaseParts { parts: cases.iter().map(|_| None).collect(), ended: None };
    let mut waiting: Vec<Vec<usize>> = vec![(0..cases.len()).collect()];
    let (mut turn, mut barren, mut fruitful) = (Turn::begin(launcher, cases), 0, false);
    // By case: seconds in processes whose results it does not keep.
    let mut spent = vec![0.0; cases.len()];
    let entry = cases.first().and_then(|case| case.benchmark.harness.as_ref());
    let is_whole = entry.is_some_and(|entry| entry.whole().is_some());
    while let Some(members) = waiting.pop() {
        let natives: Vec<&str> = members.iter().filter_map(|at| native(cases[*at])).collect();
        let first = members[0];
        let (execution, context) = launcher.harness_process(cases[first], processes[first], &natives);
        log(&execution, &turn.next_mark())?;
        all.ended = execution.cut_short();
        // Another process of a whole program would do the same.
        let last = members.len() == 1 || is_whole || (!fruitful && barren >= MAX_BARREN);
        let (mut lost, mut taken) = (Vec::new(), 0);
        for (at, part) in
            members.iter().zip(split(&execution, &natives, last || all.ended.is_some(), is_whole))
        {
            let Some(mut part) = part else {
                lost.push(*at);
                continue;
            };
            part.seconds += spent[*at];
            taken += 1;
            let shared = shared.then_some(members.len() as u32);
            let context = ProcessContext { process: processes[*at], shared, ..context.clone() };
            all.parts[*at] = Some((part, context));
        }
        if all.ended.is_some() {
            break;
        }
        if taken == 0 {
            members.iter().for_each(|at| spent[*at] += execution.seconds / members.len() as f64);
        }
        fruitful |= taken > 0 && members.len() > 1;
        barren += u32::from(taken == 0);
        match lost.as_slice() {
            [] => {}
            // Harnesses mostly measure in the order of their list, so the first missing case is the likely culprit.
            [culprit, rest @ ..] if taken > 0 => {
                if !rest.is_empty() {
                    waiting.push(rest.to_vec());
                }
                waiting.push(vec![*culprit]);
            }
            all => {
                let (front, back) = all.split_at(all.len() / 2);
                waiting.push(back.to_vec());
                waiting.push(front.to_vec());
            }
        }
        turn.expect(launcher, waiting.len());
    }
    turn.end(launcher);
    Ok(all)
}

/// Splits one process: for each case an execution as if it had its own process, or `None` if the process gives no information
/// about it. `last`: there will be no other process for it, so the fate of this one is its own.
///
/// A reported case is trusted if the process ended well, if the harness reports another case as failed, or if a missing case
/// or the end of the run can be blamed for the end of the process.
///
/// `is_whole`: it measures all that a program does, which need not be the same each time.
fn split(execution: &Execution, natives: &[&str], last: bool, is_whole: bool) -> Vec<Option<Execution>> {
    let readings: &[Reading] = match &execution.readings {
        Some(Ok(readings)) => readings,
        Some(Err(_)) | None => &[],
    };
    let of = |native: &&str| readings.iter().find(|reading| reading.case.native == **native);
    let stopped = execution.stopped.is_some();
    let cut_short = execution.cut_short().is_some();
    let ended_well = execution.end == ExecutionEnd::Process(ProcessEnd::Exit(0)) && !stopped;
    let by_itself = matches!(execution.end, ExecutionEnd::Process(ProcessEnd::Exit(_))) && !stopped;
    let explained = readings.iter().any(|reading| matches!(reading.end, End::Failed { .. }));
    let blamed = natives.iter().any(|native| of(native).is_none());
    let trusted = ended_well || (by_itself && explained) || (natives.len() > 1 && blamed) || cut_short;
    // If several cases share the process, it is not known which one ran when the run ended.
    let is_told = |native: &&str| of(native).is_some() || (last && (natives.len() == 1 || !cut_short));
    let told = natives.iter().filter(|native| is_told(native)).count();
    // The common part, without the output: copying all of it for each case would be quadratic.
    let common = Execution { readings: None, stdout: execution.stdout.forgotten(), ..execution.clone() };
    let part = |native: &&str| {
        let reading = of(native);
        if !is_told(native) || !(last || trusted) {
            return None;
        }
        let mut it = common.clone();
        it.seconds /= told.max(1) as f64;
        if natives.len() > 1 {
            (it.peak_rss_bytes, it.cpu_seconds) = (None, None);
        }
        it.readings = match (reading, &execution.readings) {
            (Some(reading), _) => Some(Ok(vec![reading.clone()])),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            (None, Some(Ok(_))) if is_whole && ended_well => {
                let reason = "the program did not launch it in this process".into();
                let skipped = Reading::new(CaseName::plain(*native)).with_end(End::Skipped { reason });
                Some(Ok(vec![skipped]))
            }
            (None, _) => Some(Ok(Vec::new())),
        };
        if reading.is_some() && trusted {
            it.end = ExecutionEnd::Process(ProcessEnd::Exit(0));
            it.stopped = None;
        }
        Some(it)
    };
    natives.iter().map(part).collect()
}

impl Launcher<'_> {
    fn harness_process(
        &mut self,
        case: &PlannedCase,
        process: u32,
        natives: &[&str],
    ) -> (Execution, ProcessContext) {
        self.observed(case, process, |launcher| launcher.execute_harness(case, process, natives))
    }

    pub(crate) fn execute_harness(
        &mut self,
        case: &PlannedCase,
        process: u32,
        natives: &[&str],
    ) -> Execution {
        let benchmark = &case.benchmark;
        let Some(Harness(adapter)) = benchmark.harness.as_ref().and_then(|entry| entry.harness) else {
            return Execution::not_started("nothing is known of its harness".into());
        };
        if natives.is_empty() {
            return Execution::not_started("its harness has not listed this case".into());
        }
        let run = |out: &Path| {
            let command = command(benchmark);
            let ask = CaseRequest {
                command: &command,
                cases: natives,
                out: &out.to_string_lossy(),
                amount: amount(&benchmark.settings),
            };
            adapter.run(&ask)
        };
        with_folder(|out| {
            let Some(invocation) = run(out) else {
                return Execution::not_started("this harness is a format without a program".into());
            };
            let mut launch = self.launch(case, process, None, &[], false);
            start_directly(&mut launch, benchmark);
            invoke(&mut launch, invocation, out);
            let each = launch.stages.deadlines.get(&Stage::Measure).map_or(0.0, |setting| setting.value);
            let nominal = amount(&benchmark.settings);
            let more = natives.len() as f64 * SLACK * (nominal.seconds + nominal.warmup);
            if let Some(deadline) = launch.stages.deadlines.get_mut(&Stage::Measure) {
                deadline.value = each + more;
            }
            launch.container = ContainerLaunch::of(benchmark, &launch.env, Some(out));
            let _aside = match put_aside(benchmark) {
                Ok(aside) => aside,
                Err(cause) => return Execution::not_started(cause),
            };
            let mut execution = self.start(launch, &[]);
            let brought = bring_file(benchmark, out);
            let readings =
                brought.and_then(|()| read(&execution, out, |output| adapters::read(adapter, output)));
            execution.readings = Some(readings);
            execution
        })
    }
}
