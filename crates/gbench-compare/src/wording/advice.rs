//! The next step for the reader of a row: as a value, and as text in the imperative, without a period. `Row::next` has
//! the text.

use derive_more::Display;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::parts::factor;
use gbench_model::text::count;

/// One next step, with the figures that its text names. `docs/reasons.md` lists all.
#[derive(Clone, Debug, Display, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Advice {
    /// Further rounds would probably decide the row. Only the owner of the records can resume their comparison.
    #[display(
        "resume the comparison: about {} would probably decide it (`--rounds {rounds}`)",
        count(*more_rounds as usize, "more round")
    )]
    Resume {
        /// Further rounds of this row.
        more_rounds: u32,
        /// The value of `--rounds` that allows them.
        rounds: u32,
    },
    /// A program is red: look at its likeliest case, or give it rounds in its own processes.
    #[display(
        "look at that case first; rounds in its own processes would confirm it: give them time with `--budget`, or compare it alone"
    )]
    ConfirmTheCase {},
    /// The budget ended the rounds: allow more time.
    #[display(
        "give it more time with `--budget`: there was some for {rounds} of {}; if they go on to differ as \
         much, reduce the noise of the machine, measure longer in each process, or raise the `target`",
        count(*most_rounds as usize, "round")
    )]
    GiveMoreTime { rounds: u32, most_rounds: u32 },
    /// More rounds alone would hardly decide the row: reduce the noise of the machine.
    #[display(
        "more rounds alone would hardly decide it: reduce the noise of the machine (lock the clocks, stop \
         other work), measure longer in each process, or raise the `target`"
    )]
    ReduceNoise {},
    /// Look for what differs from one of head's processes to the next.
    #[display(
        "look for what differs between head's processes (choices of an autotuner, random inputs, a cache that may be missing, \
         allocated memory): base does not vary so"
    )]
    SteadyHead {},
    /// Likewise of more processes.
    #[display(
        "reduce the noise of the machine (lock the clocks, stop other work) or raise the threshold: more \
         processes alone would hardly decide it"
    )]
    ReduceNoiseOrRaiseThreshold {},
    /// Let the program print more digits, or measure more launches at once.
    #[display(
        "let the program print more digits, or let each sample span about {launches} launches where its \
         clock is that coarse: a step is then a tenth of the target"
    )]
    FinerFigures {
        /// Launches in a sample after which a step is a tenth of the target.
        launches: u64,
    },
    /// Let the program send values above zero, or others from the first round on.
    #[display("let the benchmark send values above zero, or zero and below from the first round on")]
    KeepOneSign {},
    /// Look for what one case of a harness leaves to the next, or judge by shared processes.
    #[display(
        "look for what another case of its harness leaves to it (memory, caches, threads); to judge by shared \
         processes, set `isolation = \"shared\"`"
    )]
    LookForInteraction {},
    /// A faster baseline made a pair's speedup smaller.
    #[display(
        "accept it if the baseline was meant to become faster: the next comparison begins from there; to judge no speedups, \
         set `gate = false` under `[metrics.speedup]` in the base's suite file"
    )]
    AcceptFasterBaseline {},
    /// A slower baseline made a pair's speedup larger.
    #[display("look at the baseline's own row: it became slower, and the optimized variant gained nothing")]
    LookAtSlowerBaseline {},
    /// Keep other work off the machine.
    #[display("keep other work off the machine, and compare again")]
    KeepMachineFree {},
    /// Cool the card, or declare its slowdown usual.
    #[display(
        "cool the card, and look at its power supply (`gbench-ci doctor`), then compare again; where this \
         is its usual state, say `usual_slowdown = true` in the base's suite file"
    )]
    CoolTheCard {},
    /// Look at the card, which had a fault.
    #[display(
        "look at the card (`gbench-ci doctor`, `nvidia-smi -q`): reset it, or measure on another one, then compare again; \
         if a stored run had the fault, record that run again"
    )]
    LookAtTheCard {},
    /// Look at the card's PCIe link.
    #[display(
        "look at the card's PCIe link (`gbench-ci doctor`, `nvidia-smi -q -d PCIE`), then compare again"
    )]
    LookAtTheLink {},
    /// Look for what a process leaves to the next one of its side.
    #[display("look for what one process leaves to the next of its side: caches, servers, files")]
    LookForSharedState {},
    /// Look for what the order of the processes leaves behind.
    #[display("look for what the order of processes leaves behind, and compare again")]
    LookForOrderEffects {},
    /// Clear what the benchmark keeps between its processes.
    #[display("let every process measure again: clear what the benchmark keeps between its processes")]
    MeasureAnew {},
    /// Let every process measure again, or declare the metric exact.
    #[display("let every process measure again, or declare `exact = true` for the metric if it cannot vary")]
    MeasureAnewOrDeclareExact {},
    /// Print more digits, or declare the metric exact if it cannot vary.
    #[display("print more digits, or declare `exact = true` for the metric if it cannot vary")]
    DeclareExact {},
    /// Print more digits, or declare a counted metric exact.
    #[display("let the program print more digits, or declare `exact = true` for a metric that is counted")]
    DeclareCounted {},
    /// Likewise, or measure so many processes.
    #[display(
        "measure both sides with {processes} processes or more, let the program print more digits, or \
         declare `exact = true` for a metric that is counted"
    )]
    MoreProcessesOrDigits { processes: u32 },
    /// Measure so many processes a side.
    #[display("measure both sides with at least {least} processes, better {better}: `--processes {better}`")]
    MeasureProcesses { least: u32, better: u32 },
    /// Measure about so many processes a side.
    #[display("measure both sides with about {processes} processes: `--processes {processes}`")]
    MoreProcesses { processes: u32 },
    /// Measure more processes, or set a larger margin.
    #[display("measure both sides with more processes, or set a larger `margin` for it")]
    MoreProcessesOrMargin {},
    /// Look for the lost accuracy, or set a larger margin.
    #[display(
        "look for what made the answer less accurate, or set a larger `margin` for it in the base's suite \
         file"
    )]
    AccuracyOrMargin {},
    /// Build and measure both commits in one run.
    #[display(
        "build and measure both commits in one run: `gbench-ci compare main..`; or raise the threshold: \
         more processes do not make sessions agree"
    )]
    MeasureInOneRun {},
    /// Save runs, whose history shows how much sessions differ.
    #[display(
        "save {}: `gbench-ci baseline save NAME`; or compare commits on one machine: `gbench-ci compare \
         main..`; or judge by processes alone: `--sessions 0`",
        count(*more as usize, "more run")
    )]
    SaveRuns { more: u32 },
    /// Measure several processes a side, or save runs.
    #[display(
        "measure several processes a side, or save runs: `gbench-ci baseline save NAME`; their history \
         shows how much such figures differ"
    )]
    SeveralProcessesOrHistory {},
    /// Look whether head still does its work.
    #[display(
        "look whether head still computes its result, checks it and uses the same unit; a `validation` \
         event shows that its answer is right"
    )]
    CheckTheWork {},
    /// So many times worse: look at unit and device first.
    #[display(
        "it is {} times worse: look first whether both sides use the same unit and the same device",
        factor(*times)
    )]
    CheckUnitAndDevice { times: f64 },
    /// Read the commits between base and head.
    #[display("look for the cause in `git log -p {base}..{head}`")]
    ReadLog { base: String, head: String },
    /// Read the changes of the working tree against its commit.
    #[display("look for the cause in `git diff {commit}`")]
    ReadDiff { commit: String },
    /// Look for what changed between two runs.
    #[display("look for what changed between the two runs; {}", in_machines(*differences))]
    LookForChange {
        /// Fields in which the machines differ.
        differences: u32,
    },
    /// The advice of the outcome that the reason names.
    #[display("{text}")]
    OfOutcome { text: String },
    /// Measure the base again, or save a new baseline.
    #[display("measure the base again, or save a new baseline")]
    MeasureBaseAgain {},
    /// Save a new baseline, so that it is compared from now on.
    #[display("save a new baseline, so that it is compared from now on")]
    SaveBaseline {},
    /// The row is compared once the base has what is new here: between commits there is no baseline to save.
    #[display("nothing to do: it is compared once it is on the base")]
    ComparedOnceOnBase {},
    /// Bring back what head lacks, or let it go.
    #[display(
        "bring it back, or set `failed = \"pass\"` in `[gate]` of the base's suite file, which lets failed and missing cases \
         pass until this is on the base"
    )]
    BringBackOrLetGo {},
    /// Measure both sides in the same way.
    #[display("measure both sides in the same way")]
    MeasureAlike {},
    /// Let the rows of the whole program be decided.
    #[display("allow more time or reduce the noise, so that the rows of the whole program are decided")]
    DecideTheWhole {},
    /// Correct head, or let a check decide.
    #[display(
        "correct head; if its answer is right, too, add a check to base first, which then decides: `reference` in the suite file, or the event `validation`"
    )]
    CorrectAnswer {},
    /// Select the case on both sides, or save a baseline without it.
    #[display("select it on both sides, or save a new baseline without it")]
    SelectOnBothSides {},
    /// Let the benchmark send samples, or declare what to extract.
    #[display("let the benchmark send samples, or declare what to extract from its output")]
    SendSamples {},
    /// Correct the figures that the benchmark sends.
    #[display("correct what the benchmark sends")]
    CorrectFigures {},
    /// Read the logs of the processes, and measure again.
    #[display("read the logs of its processes, and measure again")]
    ReadLogs {},
    /// Let the benchmark send the metric again, or save a baseline without it.
    #[display("let the benchmark send it again, or save a new baseline without it")]
    SendMetric {},
    /// The row is compared once the base declares a direction.
    #[display("it is compared once the base declares it, too; until then judge it by its figures")]
    DeclareDirectionOnBase {},
    /// Declare which way is better, or do not judge the metric.
    #[display("declare `better = \"lower\"` or `\"higher\"` for it, or `gate = false`")]
    DeclareDirection {},
    /// Send one unit, or save a new baseline.
    #[display("send it in one unit, or save a new baseline")]
    SendOneUnit {},
    /// Declare one direction on both sides.
    #[display(
        "declare one direction on both sides; where base had the wrong one, save a new baseline or merge \
         that first"
    )]
    DeclareOneDirection {},
    /// Measure both sides with the same settings, or save a new baseline.
    #[display("measure both sides with the same settings, or save a new baseline")]
    SameSettings {},
    /// Correct the figures, or choose a finer clock.
    #[display("correct what the benchmark sends, or choose a finer clock")]
    FinerClock {},
    /// Give so many files of another program for each side.
    #[display(
        "give {files} files or more for each side: the files of a folder are its processes, `gbench-ci compare BASE/ HEAD/`"
    )]
    MoreFiles { files: u32 },
    /// Let the program write its figures with more digits.
    #[display("let the program write its figures with more digits, and compare its new files")]
    WriteMoreDigits {},
    /// Run the program again for both sides, in the same way.
    #[display("run the program again for both sides with the same options, and compare its new files")]
    RunProgramAgain {},
}

impl Advice {
    /// For figures from files of other programs, which the gate does not start and no suite file declares: the same step if it
    /// can be taken there, else another one.
    pub(crate) fn for_files(self) -> Self {
        match self {
            Advice::MeasureProcesses { better: files, .. }
            | Advice::MoreProcesses { processes: files }
            | Advice::MoreProcessesOrDigits { processes: files } => Advice::MoreFiles { files },
            Advice::MoreProcessesOrMargin {} | Advice::SeveralProcessesOrHistory {} => {
                Advice::MoreFiles { files: USUAL_FILES }
            }
            Advice::DeclareExact {} | Advice::DeclareCounted {} => Advice::WriteMoreDigits {},
            Advice::MeasureAnewOrDeclareExact {} => Advice::MeasureAnew {},
            Advice::ReadLogs {}
            | Advice::SendSamples {}
            | Advice::SendMetric {}
            | Advice::SendOneUnit {}
            | Advice::CorrectFigures {}
            | Advice::FinerClock {}
            | Advice::MeasureAlike {}
            | Advice::SameSettings {} => Advice::RunProgramAgain {},
            other => other,
        }
    }
}

/// Files of a side that show how much its figures vary.
const USUAL_FILES: u32 = 5;

fn in_machines(differences: u32) -> &'static str {
    match differences {
        0 => "their machines agree in all that was recorded",
        _ => "the differences of their machines are listed below",
    }
}
