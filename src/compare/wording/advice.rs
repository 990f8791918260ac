//! What to do about a row, in the imperative.

use super::parts;
use crate::compare::Advice;
use crate::model::text::count;

/// The setting by which a suite says that its card always holds its clocks down.
const USUAL: &str = "usual_slowdown";

impl std::fmt::Display for Advice {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(&advice(self))
    }
}

/// The text of an advice, without a period.
pub fn advice(advice: &Advice) -> String {
    let text = match advice {
        Advice::Resume { more_rounds, rounds } => {
            let more = count(*more_rounds as usize, "more round");
            return format!(
                "resume the comparison: about {more} would probably decide it (`--rounds {rounds}`)"
            );
        }
        Advice::GiveMoreTime { rounds, most_rounds } => {
            return format!(
                "give it more time with `--budget`: there was some for {rounds} of {}; if they go on to differ as much, \
                 reduce the noise of the machine, measure longer in each process, or raise the `target`",
                count(*most_rounds as usize, "round"),
            );
        }
        Advice::ReduceNoise {} => {
            "more rounds alone would hardly decide it: reduce the noise of the machine (lock the clocks, stop other work), \
             measure longer in each process, or raise the `target`"
        }
        Advice::ReduceNoiseOrRaiseThreshold {} => {
            "reduce the noise of the machine (lock the clocks, stop other work) or raise the threshold: more processes \
             alone would hardly decide it"
        }
        Advice::FinerFigures { launches } => {
            return format!(
                "let the program print more digits, or let each sample span about {launches} launches where its clock is \
                 that coarse: a step is then a tenth of the target"
            );
        }
        Advice::KeepOneSign {} => {
            "let the benchmark send values above zero, or zero and below from the first round on"
        }
        Advice::KeepMachineFree {} => "keep other work off the machine, and compare again",
        Advice::CoolTheCard {} => {
            return format!(
                "cool the card, and look at its power supply (`gbench-ci doctor`), then compare again; where this is its \
                 usual state, say `{USUAL} = true` in the base's suite file"
            );
        }
        Advice::LookForSharedState {} => {
            "look for what one process leaves to the next of its side: caches, servers, files"
        }
        Advice::LookForOrderEffects {} => {
            "look for what the order of processes leaves behind, and compare again"
        }
        Advice::MeasureAnew {} => {
            "let every process measure anew: clear what the benchmark keeps between its processes"
        }
        Advice::MeasureAnewOrDeclareExact {} => {
            "let every process measure anew, or declare `exact = true` for the metric if it cannot vary"
        }
        Advice::DeclareExact {} => {
            "print more digits, or declare `exact = true` for the metric if it cannot vary"
        }
        Advice::DeclareCounted {} => {
            "let the program print more digits, or declare `exact = true` for a metric that is counted"
        }
        Advice::MoreProcessesOrDigits { processes } => {
            return format!(
                "measure both sides with {processes} processes or more, let the program print more digits, or declare \
                 `exact = true` for a metric that is counted"
            );
        }
        Advice::MeasureProcesses { least, better } => {
            return format!(
                "measure both sides with at least {least} processes, better {better}: `--processes {better}`"
            );
        }
        Advice::MoreProcesses { processes } => {
            return format!("measure both sides with about {processes} processes: `--processes {processes}`");
        }
        Advice::MoreProcessesOrMargin {} => {
            "measure both sides with more processes, or set a larger `margin` for it"
        }
        Advice::AccuracyOrMargin {} => {
            "look for what made the answer less accurate, or set a larger `margin` for it in the base's suite file"
        }
        Advice::MeasureInOneRun {} => {
            "build and measure both commits in one run: `gbench-ci compare main..`; or raise the threshold: more \
             processes do not make sessions agree"
        }
        Advice::SaveRuns { more } => {
            return format!(
                "save {}: `gbench-ci baseline save NAME`; or compare commits on one machine: `gbench-ci compare main..`; \
                 or judge by processes alone: `--sessions 0`",
                count(*more as usize, "more run"),
            );
        }
        Advice::SeveralProcessesOrHistory {} => {
            "measure several processes a side, or save runs: `gbench-ci baseline save NAME`; their history shows how \
             much such figures differ"
        }
        Advice::CheckTheWork {} => {
            "look whether head still computes its result, checks it and uses the same unit; a `validation` event shows \
             that its answer is right"
        }
        Advice::CheckUnitAndDevice { times } => {
            return format!(
                "it is {} times worse: look first whether both sides use the same unit and the same device",
                parts::times(*times)
            );
        }
        Advice::ReadLog { base, head } => {
            return format!("look for the cause in `git log -p {base}..{head}`");
        }
        Advice::ReadDiff { commit } => return format!("look for the cause in `git diff {commit}`"),
        Advice::LookForChange { differences: 0 } => {
            "look for what changed between the two runs; their machines agree in all that was recorded"
        }
        Advice::LookForChange { .. } => {
            "look for what changed between the two runs; below stands what differs in their machines"
        }
        Advice::OfOutcome { text } => text,
        Advice::MeasureBaseAgain {} => "measure the base again, or save a new baseline",
        Advice::SaveBaseline {} => "save a new baseline, so that it is compared from now on",
        Advice::MeasureAlike {} => "measure both sides in the same way",
        Advice::SelectOnBothSides {} => "select it on both sides, or save a new baseline without it",
        Advice::SendSamples {} => {
            "let the benchmark send samples, or declare what to extract from its output"
        }
        Advice::CorrectFigures {} => "correct what the benchmark sends",
        Advice::ReadLogs {} => "read the logs of its processes, and measure again",
        Advice::SendMetric {} => "let the benchmark send it again, or save a new baseline without it",
        Advice::DeclareDirectionOnBase {} => {
            "it is compared once the base says so, too; until then judge it by its figures"
        }
        Advice::DeclareDirection {} => {
            "declare `better = \"lower\"` or `\"higher\"` for it, or `gate = false`"
        }
        Advice::SendOneUnit {} => "send it in one unit, or save a new baseline",
        Advice::DeclareOneDirection {} => {
            "declare one direction on both sides; where base had the wrong one, save a new baseline or merge that first"
        }
        Advice::SameSettings {} => "measure both sides with the same settings, or save a new baseline",
        Advice::FinerClock {} => "correct what the benchmark sends, or choose a finer clock",
    };
    text.to_owned()
}
