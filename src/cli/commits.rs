//! `gbench-ci compare BASE..HEAD`: both commits checked out, built, and measured against each other in rounds.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::calibration;
use super::compare::{CompareArgs, deliver, exit_from};
use super::gatekeeper::{Gatekeeper, rounded};
use super::measure::RoundsMeasuring;
use super::narrow::flags;
use super::resume::{Resumed, resumed};
use super::suites::{Suites, suite_path};
use super::terminal::progress::Shared;
use super::terminal::write::wrote;
use crate::app::paths::project_root;
use crate::app::stores::folder_of;
use crate::compare::{Calibration, VerdictDocument, verdict_of};
use crate::model::text::count;
use crate::model::{
    Comparison, ComparisonPolicy, Exit, Fault, Origin, Result, RunId, RunRecord, SequentialRule, Shard, Side,
    shell_word,
};
use crate::report::Format;
use crate::run::Finished;
use crate::store::ComparisonFolder;
use crate::suite::plan::{RoundsPlan, RunOrder, choose_controls, common_cases};
use crate::suite::{Benchmark, Gate, Suite};
use crate::trees::{self, Range, Revision, Sides, Tree};

/// Who asks for a comparison, as far as what is said depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    Person,
    /// It has said its base and why.
    Job,
    /// The same about a pull request, whose base is not for anybody to choose.
    PullRequest,
}

/// What is measured, and against what.
struct Route {
    sides: Sides,
    /// What is gone on with, and its folder.
    resumed: Option<Resumed>,
}

/// What a comparison of two commits has measured.
pub struct Measured {
    /// Base, head and, where there are controls, control.
    pub finished: Vec<Finished>,
    pub folder: ComparisonFolder,
    /// What was measured of the head, and where its files lie.
    pub head: (Suite, PathBuf),
    /// A case could not be measured further because the budget was spent.
    out_of_time: bool,
}

/// Compares two states of the repository. `range`: as typed; `None` for the default, or for a comparison that is resumed.
pub fn run(
    args: &CompareArgs,
    range: Option<&str>,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<Exit> {
    refuse_unused(args)?;
    let teller = Shared::new(args.output.quiet);
    conclude(&measure(args, range, Asker::Person, builtins, &teller)?, args, out)
}

/// Refuses flags that mean nothing between commits, rather than passing over them.
pub fn refuse_unused(args: &CompareArgs) -> Result<()> {
    let unused = [
        (
            args.settings.processes.is_some(),
            "--processes",
            "each round starts a process a side: see `--rounds`",
        ),
        (args.sessions.is_some(), "--sessions", "it is about stored runs: take it out"),
        (args.anchor.is_some(), "--anchor", "compare a stored run with it, or name its commit: `TAG..HEAD`"),
        (args.embed, "--embed", "take it out: the records are kept in the comparison's folder"),
    ];
    match unused.into_iter().find(|(given, ..)| *given) {
        Some((_, flag, next)) => Err(Fault::at_flag(flag, "it has no meaning between commits", next)),
        None => Ok(()),
    }
}

/// Both sides checked out, built and measured in rounds, until all is decided or the time is up.
pub fn measure(
    args: &CompareArgs,
    range: Option<&str>,
    asker: Asker,
    builtins: &[Benchmark],
    teller: &Shared,
) -> Result<Measured> {
    refuse_bare(&suite_path(args)?)?;
    let (mut suites, mut here) = Suites::new(args, builtins)?;
    args.output.apply(&mut here)?;
    let home = project_root(&here)?;
    let artifacts = home.join(&here.run.artifacts.value);
    let route = match &args.resume {
        Some(_) if range.is_some() => {
            let next = "take the range out: a comparison goes on with the commits that it began with";
            return Err(Fault::at_flag("--resume", "a range is given as well", next));
        }
        Some(text) => {
            let resumed = resumed(text, &artifacts, &home)?;
            suites.go_on(&resumed)?;
            Route { sides: resumed.sides.clone(), resumed: Some(resumed) }
        }
        None => Route { sides: trees::resolve(&home, &Range::parse(range))?, resumed: None },
    };
    let head_words = format!("head  {}", route.sides.head.words);
    teller.note(&match asker {
        Asker::Person => format!("base  {}\n{head_words}", route.sides.base.words),
        Asker::Job | Asker::PullRequest => head_words,
    });
    crate::app::environment::unused_between_commits()?.into_iter().for_each(|note| teller.note(note));
    let store = folder_of(&here, args.store.as_deref())?;
    let trees = store.trees();
    let prepare = |revision: &Revision, side| Tree::prepare(&home, revision, &trees, side);
    let head_tree = prepare(&route.sides.head, Side::Head)?;
    let base_tree = prepare(&route.sides.base, Side::Base)?;
    suites.settle([&base_tree, &head_tree], &route.sides, asker)?;
    let mut head = suites.of(&head_tree, asker, None)?;
    let mut base = suites.of(&base_tree, asker, Some(&head))?;
    // The gate is the base's word, or the command line's: a change cannot loosen its own.
    let mut gate = suites.gate(&base_tree, &mut base)?;
    args.rounds.apply(&mut gate)?;
    (base.gate, head.gate) = (gate.clone(), gate.clone());
    base.run = head.run.clone();
    let shard = args.selection.keep_shard(&mut [&mut base, &mut head])?;

    if let Some(resumed) = &route.resumed {
        resumed.allows(args)?;
    }
    let seed = match (&route.resumed, args.rounds.order_seed) {
        (Some(resumed), _) => resumed.comparison.seed,
        (None, Some(seed)) => seed,
        // The standard library seeds its hash maps from the system's randomness. Short enough to be typed again.
        (None, None) => RandomState::new().hash_one(SystemTime::now()) % 1_000_000_000,
    };
    let cases = common_cases(&base, &head);
    let controls = choose_controls(&cases, most_controls(cases.len(), &gate), seed);
    let order = match &route.resumed {
        Some(resumed) => RunOrder::of(&resumed.comparison),
        None => RunOrder::from(seed),
    };
    let plan = RoundsPlan::new(&base, &head, &controls, order);
    let overrides = args.settings.overrides()?;
    let rule = match shard {
        Some((shard, common)) => of_shard(rule_of(&gate, common / shard.of as usize), shard),
        None => rule_of(&gate, cases.len()),
    };
    let suite_file = suites.of_comparison(&base_tree)?;
    if let Some(common) = &suite_file {
        teller.note(&common.sentence());
    }
    let mut comparison = comparison(&route, &gate, rule, seed, overrides.threshold, args);
    comparison.suite_file = suite_file;
    let folder = match &route.resumed {
        Some(resumed) => resumed.folder.clone(),
        None => ComparisonFolder::create(&artifacts, &comparison.id)?,
    };
    suites.keep(&folder)?;
    let kept = calibration::kept(store.root(), &home, &comparison.policy.match_key);
    announce(&plan, &comparison, kept, teller);

    let mut gatekeeper = Gatekeeper::new(&comparison, teller.clone());
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, base_tree.root()), (&head, head_tree.root())],
        comparison: &comparison,
        folder: &folder,
        resume: route.resumed.map(|resumed| resumed.records).unwrap_or_default(),
    };
    let finished = measuring.carry_out(&mut gatekeeper, teller);
    teller.clear();
    let finished = finished?;
    let head = (head, head_tree.root().to_owned());
    Ok(Measured { finished, folder, head, out_of_time: gatekeeper.out_of_time })
}

/// A bare repository has no suite file of its own that could say what to measure and where to keep it.
fn refuse_bare(config: &Path) -> Result<()> {
    let folder = config.parent().unwrap_or(config);
    match !config.exists() && trees::is_bare(folder) {
        true => {
            let what = "this is a bare repository, without files: the suite file lies in its commits alone";
            let next = "make a work tree of it, and compare there: `git worktree add ../CHECKOUT`";
            Err(Fault::at_path(folder, what, next))
        }
        false => Ok(()),
    }
}

fn comparison(
    route: &Route,
    gate: &Gate,
    mut rule: SequentialRule,
    seed: u64,
    threshold: Option<f64>,
    args: &CompareArgs,
) -> Comparison {
    let started = SystemTime::now();
    let before = route.resumed.as_ref().map(|resumed| &resumed.comparison);
    if let Some(before) = before {
        // What decided what has been measured so far stays; there may be more of it for whoever asks.
        let asked = if args.rounds.rounds.is_some() { rule.most_rounds } else { 0 };
        rule = SequentialRule { most_rounds: asked.max(before.rule.most_rounds), ..before.rule };
    }
    let salt = RandomState::new().hash_one(started) as u32;
    Comparison {
        id: before.map_or_else(|| RunId::new(started, salt), |before| before.id.clone()),
        base: before.map_or_else(|| route.sides.base.words.clone(), |before| before.base.clone()),
        head: before.map_or_else(|| route.sides.head.words.clone(), |before| before.head.clone()),
        head_changes: match before {
            Some(before) => before.head_changes.clone(),
            None => route.sides.head.fingerprint.clone(),
        },
        seed,
        interleaving: before.map_or(gate.interleaving.value, |before| before.interleaving),
        budget: Some(gate.budget.value).filter(|budget| *budget > 0.0),
        rule,
        // What the verdicts mean stays as it was begun, but for what makes the gate stricter.
        policy: before
            .map(|before| ComparisonPolicy {
                inconclusive_fails: before.policy.inconclusive_fails || args.fail_inconclusive,
                ..before.policy.clone()
            })
            .unwrap_or_else(|| ComparisonPolicy {
                inconclusive_fails: gate.inconclusive_fails.value || args.fail_inconclusive,
                failed_fails: gate.failed_fails.value,
                threshold,
                match_key: gate
                    .match_key
                    .iter()
                    .map(|(field, strict)| (field.clone(), strict.value))
                    .collect(),
            }),
        no_reference: before.map_or(args.no_reference, |before| before.no_reference),
        suite_file: None,
    }
}

/// The rule for a suite of so many cases, as its gate has it.
pub fn rule_of(gate: &Gate, cases: usize) -> SequentialRule {
    let usual = SequentialRule::for_cases(cases);
    let alpha = if gate.alpha.origin == Origin::Default { usual.alpha } else { gate.alpha.value };
    let (alpha_improved, most_rounds) = (gate.alpha_improved.value, gate.rounds.value);
    SequentialRule { alpha, alpha_improved, most_rounds, ..usual }
}

/// The part of a rule that one of several shards may spend: what all of them together promise is then what the whole
/// suite promises (the union bound). The rounds of the screen are the same in all, as the smallest needs them.
fn of_shard(rule: SequentialRule, shard: Shard) -> SequentialRule {
    let part = f64::from(shard.of);
    SequentialRule { alpha: rule.alpha / part, alpha_improved: rule.alpha_improved / part, ..rule }
}

/// An eighth of the cases at most, unless somebody asked for more: in a small suite each control is dear.
fn most_controls(cases: usize, gate: &Gate) -> usize {
    let most = gate.controls.value as usize;
    if gate.controls.origin == Origin::Default { most.min(cases.div_ceil(8)) } else { most }
}

/// What it will cost, as far as anybody can know before the first round. `kept`: the store's calibration, or why it is of
/// no use.
fn announce(
    plan: &RoundsPlan,
    comparison: &Comparison,
    kept: Option<std::result::Result<Calibration, String>>,
    teller: &Shared,
) {
    let rule = comparison.rule;
    let controls = plan.arms.get(2).map_or(0, |_| plan.of_arm(2).count());
    let least = plan.comparable() * 2 * rule.screen_rounds as usize + controls * rule.screen_rounds as usize;
    let budget = match comparison.budget {
        Some(seconds) => format!(", within {}", rounded(seconds)),
        None => String::new(),
    };
    let controlled = match controls {
        0 => String::new(),
        controls => format!(" and {}", count(controls, "control")),
    };
    let (calibration, useless) = match kept {
        Some(Ok(it)) => (Some(it), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let cost = calibration.as_ref().and_then(|it| calibration::estimate(it, plan, &rule));
    let cost = cost.unwrap_or_else(|| "the time is known after the first".into());
    teller.note(&format!(
        "{} on both sides{controlled}: {} screen them ({}), up to {} decide what is left{budget}; {cost}",
        count(plan.comparable(), "case"),
        count(rule.screen_rounds as usize, "round"),
        count(least, "process"),
        rule.most_rounds,
    ));
    let hopeless = calibration.map(|it| calibration::hopeless(&it, plan)).unwrap_or_default();
    useless.iter().chain(&hopeless).for_each(|text| teller.note(text));
}

impl Measured {
    /// The signal that cut the measurement short.
    pub fn interrupted(&self) -> Option<i32> {
        self.finished.iter().find_map(|finished| finished.interrupted)
    }

    /// The records of base and head. Errors: they are not there, which is a defect.
    pub fn sides(&self) -> Result<[&RunRecord; 2]> {
        match self.finished.as_slice() {
            [base, head, ..] => Ok([&base.record, &head.record]),
            _ => Err(Fault::defect("compare", "gave no two records")),
        }
    }

    pub fn verdict(&self) -> Result<VerdictDocument> {
        let [base, head] = self.sides()?;
        verdict_of(base, head, self.finished.get(2).map(|control| &control.record))
    }

    pub fn reports(&self) -> PathBuf {
        self.folder.root().join("reports")
    }

    fn id(&self) -> String {
        self.folder.root().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command that goes on with this comparison, with every flag of this call that says what is measured, so that it can
    /// be pasted; `rounds` where it takes more than were allowed.
    fn resume_command(&self, rounds: Option<u32>, args: &CompareArgs) -> String {
        let more = rounds.map_or(String::new(), |rounds| format!(" --rounds {rounds}"));
        let path = |flag: &str, path: Option<String>| {
            path.map_or(String::new(), |path| format!(" {flag} {}", shell_word(&path)))
        };
        let given = [
            ("--controls", &args.rounds.controls.map(|controls| controls.to_string())),
            ("--artifacts", &args.output.artifacts.as_ref().map(|path| path.display().to_string())),
            ("--store", &args.store),
            ("--suite-file", &args.suite_file.suite_file.as_ref().map(|path| path.display().to_string())),
        ];
        let settings = &args.settings;
        let given = settings.values().into_iter().chain(given.iter().map(|(flag, value)| (*flag, *value)));
        let given: String = given.map(|(flag, value)| path(flag, value.clone())).collect();
        let cold = if settings.cold_start { " --cold-start" } else { "" };
        format!(
            "{}gbench-ci compare --resume {}{more}{}{}{cold}",
            crate::app::environment::as_prefix(),
            shell_word(&self.id()),
            flags(&args.selection),
            given
        )
    }
}

fn conclude(measured: &Measured, args: &CompareArgs, out: &mut impl Write) -> Result<Exit> {
    let [base, _] = measured.sides()?;
    if let Some(signal) = measured.interrupted() {
        let whole = base.cases.iter().map(|case| case.processes.len()).max().unwrap_or(0);
        // Standard output is the report's, and there is none.
        let text = format!(
            "interrupted after {}; what they decide so far: gbench-ci replay {}\nresume  {}",
            count(whole, "round"),
            measured.id(),
            measured.resume_command(None, args)
        );
        match args.format {
            Format::Terminal => wrote(writeln!(out, "{text}"))?,
            _ => drop(writeln!(std::io::stderr(), "{text}")),
        }
        return Ok(if signal == 2 { Exit::Interrupted } else { Exit::Terminated });
    }
    let document = measured.verdict()?;
    deliver(&document, Some(&measured.reports()), args, out)?;
    let most = document.method.rounds.as_ref().map_or(0, |rounds| rounds.most_rounds);
    let sequences = document.rows.iter().filter_map(|row| row.sequence.as_ref());
    let total = sequences.filter_map(|sequence| Some(sequence.rounds + sequence.more_rounds?)).max();
    if let (Format::Terminal, Some(total)) = (args.format, total) {
        let why = if measured.out_of_time { "  # the budget was spent" } else { "" };
        let resume = measured.resume_command(Some(total).filter(|total| *total > most), args);
        wrote(writeln!(out, "resume  {resume}{why}"))?;
    }
    Ok(exit_from(&document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Source;

    #[test]
    fn what_takes_more_rounds_than_were_allowed_is_resumed_with_them() {
        let artifacts = tempfile::tempdir().unwrap();
        let id = RunId::new(SystemTime::UNIX_EPOCH, 7);
        let folder = ComparisonFolder::create(artifacts.path(), &id).unwrap();
        let head = (Suite::new("s", Source::Builtin, Vec::new()), PathBuf::new());
        let measured = Measured { finished: Vec::new(), folder, head, out_of_time: false };
        assert_eq!(
            measured.resume_command(None, &CompareArgs::default()),
            format!("gbench-ci compare --resume {id}")
        );
        assert_eq!(
            measured.resume_command(Some(66), &CompareArgs::default()),
            format!("gbench-ci compare --resume {id} --rounds 66")
        );
        assert_eq!(measured.verdict().unwrap_err().exit, Exit::Internal);
    }
}
