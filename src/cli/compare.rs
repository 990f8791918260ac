//! `gbench-ci compare`: two commits in rounds, two records, or a stored baseline against a fresh run become one verdict;
//! with an anchor, two.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::rounds::RoundsArgs;
use super::args::selection::{SelectionArgs, SettingsArgs};
use super::measure::exit_of;
use super::narrow::{Narrow, flags, of_records};
use super::report::format_parser;
use super::run::{OutputArgs, measure};
use super::suites::SuiteFileArgs;
use super::terminal::style;
use super::terminal::write::{check_place, wrote};
use super::{anchor, commits};
use crate::app::paths::shown;
use crate::app::stores::{Found, Stores, histories};
use crate::compare::{History, Policy, Records, SideInput, VerdictDocument, compare_with};
use crate::model::{Exit, Fault, NoReference, Result, RunRecord, near, shell_word};
use crate::report::{self, Format, Options, Style};
use crate::store::{read_two_records, write_atomically};
use crate::suite::plan::check_claims;
use crate::suite::words::{advise, ratio_text};
use crate::suite::{Benchmark, Gate, Overrides, Selection, Suite};
use crate::trees::{Unknown, names_revision, why_unknown};

/// Compare two commits, a baseline with a fresh run, or two records
///
/// Commits are checked out beside your own files, built, and measured against each other in rounds until the verdict is
/// clear: `compare main` takes the working tree against the point where it left main, `compare` alone does so with the
/// default branch, A..B takes two commits, A...B the merge base of A and B against B, A.. the commit A against the working
/// tree.
///
/// The name of a stored baseline, a record or a run's folder is compared with a fresh run, or with a second record.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CompareArgs {
    /// Commits: A..B, A...B, A.. or A; or a baseline's name, a record, a run's folder
    pub base: Option<String>,
    /// What to judge: a record or a run's folder [default: a fresh run of the suite]
    pub head: Option<String>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH or github:OWNER/REPO@BRANCH
    #[arg(long, value_name = "ADDRESS")]
    pub store: Option<String>,
    /// What was missing, where a commit is compared with itself for want of another; a job says so, and no command line.
    #[arg(skip)]
    pub no_reference: Option<NoReference>,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    pub format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    pub all: bool,
    /// Also write the verdict as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Put both records, every sample and both manifests, into the JSON verdict
    #[arg(long)]
    pub embed: bool,
    /// Also write the report as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Make inconclusive cases fail: exit code 3
    #[arg(long)]
    pub fail_inconclusive: bool,
    /// Stored runs that must show how much sessions differ before a row may be green; 0: judge by processes alone
    /// [default: `sessions` in [gate], else 4]
    #[arg(long, value_name = "N")]
    pub sessions: Option<u32>,
    /// Judge the head against a pinned release, too: a baseline's name, a record or a run's folder. The graver exit code
    /// counts
    #[arg(long, value_name = "NAME|RECORD")]
    pub anchor: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub settings: SettingsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub rounds: RoundsArgs,
    /// Go on with a comparison that was interrupted or left cases open: its id or folder [default: the latest]
    #[arg(
        long,
        value_name = "COMPARISON",
        num_args = 0..=1,
        default_missing_value = "",
        help_heading = "Between commits"
    )]
    pub resume: Option<String>,
    #[command(flatten)]
    pub suite_file: SuiteFileArgs,
}

pub fn run(args: &CompareArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let json_wanted = args.json.is_some() || args.format == Format::Json;
    if args.embed && args.head.is_some() && !json_wanted {
        let what = "no JSON verdict is asked for that could hold the records";
        return Err(Fault::at_flag("--embed", what, "add `--json FILE` or `--format json`"));
    }
    let overrides = args.settings.overrides()?;
    let stores = Stores::new(args.store.as_deref());
    let wanted = wanted(args, &stores)?;
    check_place("--json", args.json.as_deref())?;
    check_place("--markdown", args.markdown.as_deref())?;
    if args.json.is_some() && args.json == args.markdown {
        let what = "the JSON and the Markdown would overwrite each other";
        return Err(Fault::at_flag("--json, --markdown", what, "name two files"));
    }
    if args.anchor.is_some() {
        anchor::check(args.format)?;
    }
    let base_name = match wanted {
        Wanted::Commits(range) => return commits::run(args, range, builtins, out),
        Wanted::Records(base) => base,
    };
    if let Some(shard) = args.selection.shard {
        let what = "records are compared whole";
        let next = "take it out, or name commits: `gbench-ci compare BASE..HEAD`";
        return Err(Fault::at_flag(format!("--shard {shard}"), what, next));
    }
    // Two files need no suite; where there is one, its gate still decides how they are judged.
    let registry = args.selection.registry(builtins)?;
    let selection = args.selection.selection()?;
    let (mut base, mut head, mut pinned, suite, reports) = match &args.head {
        Some(head) => {
            only_threshold(&overrides)?;
            if args.output.artifacts.is_some() || args.output.deadline.is_some() {
                let what = "it says how to measure, and two records are measured already";
                let flag = if args.output.artifacts.is_some() { "--artifacts" } else { "--deadline" };
                return Err(Fault::at_flag(
                    flag,
                    what,
                    "take it out, or name the base alone to measure anew",
                ));
            }
            let suite = registry.file.as_ref();
            let [base_found, head_found] =
                [base_name, head.as_str()].map(|text| Chosen::found(text, suite, &stores));
            let (base_found, head_found) = (base_found?, head_found?);
            let (base, head_record) = match (&base_found, &head_found) {
                (Found::Path(base), Found::Path(head)) => read_two_records(base, head),
                (base, head) => (base.read(), head.read()),
            };
            let base = Chosen { record: base?, name: base_name.to_owned(), path: base_found.place() };
            let head = Chosen { record: head_record?, name: head.clone(), path: head_found.place() };
            // Those of one comparison in rounds are judged by its rule, which rests on them.
            check_claims(&base.record, &head.record, None)?;
            let pinned = Chosen::anchor(suite, args, &stores)?;
            (base, head, pinned, registry.file.clone(), None)
        }
        None => {
            let mut suite = registry.select(&selection)?;
            args.settings.apply(&mut suite)?;
            args.output.apply(&mut suite)?;
            // Before anything is measured: a baseline that is not there must not cost a run.
            let base = Chosen::find(base_name, Some(&suite), &stores)?;
            let pinned = Chosen::anchor(Some(&suite), args, &stores)?;
            let finished = measure(&suite, &args.output)?;
            if finished.interrupted.is_some() {
                wrote(writeln!(
                    out,
                    "interrupted: nothing is compared; the record is {}",
                    shown(&finished.folder.record_path())
                ))?;
                return Ok(exit_of(&finished));
            }
            let path = finished.folder.root().to_owned();
            let reports = path.join("reports");
            let head = Chosen { record: finished.record, name: "this run".into(), path };
            (base, head, pinned, Some(suite), Some(reports))
        }
    };
    // Two records are narrowed by what stands in them; a fresh run by its suite.
    let known = match args.head.is_some() && selection != Selection::default() {
        true => of_records([&base, &head].into_iter().chain(&pinned).map(|chosen| &chosen.record)),
        false => registry,
    };
    let narrow = Narrow::new(&known, &selection)?;
    narrow.apply(&mut base.record);
    narrow.apply(&mut head.record);
    if let Some(pinned) = &mut pinned {
        narrow.apply(&mut pinned.record);
    }
    let mut policy = policy(suite.as_ref().map(|suite| &suite.gate), overrides.threshold);
    policy.sessions = args.sessions.unwrap_or(policy.sessions);
    policy.inconclusive_fails |= args.fail_inconclusive;
    let bases: Vec<&Chosen> = std::iter::once(&base).chain(&pinned).collect();
    let pairs: Vec<_> = bases.iter().map(|chosen| (&chosen.record, &head.record)).collect();
    let (histories, unread) = histories(suite.as_ref(), &stores, &pairs, &policy)?;
    let judge = |base: &Chosen, history| -> Result<VerdictDocument> {
        let reproduce = reproduce(args, &base.path, &head.path, &policy);
        let policy = Policy { reproduce, ..policy.clone() };
        let mut document = compare_with(history, &base.side(), &head.side(), &policy)?;
        document.warnings.extend(unread.iter().cloned());
        Ok(document)
    };
    let mut document = judge(&base, &histories[0])?;
    let mut anchored = pinned.as_ref().map(|pinned| judge(pinned, &histories[1])).transpose()?;
    if args.embed {
        let asked = |history: &History| (history.runs > 0).then(|| history.clone());
        let whole = |base: &Chosen, history| Records {
            base: base.record.clone(),
            head: head.record.clone(),
            history: asked(history),
        };
        document.records = Some(Box::new(whole(&base, &histories[0])));
        if let (Some(anchored), Some(pinned)) = (&mut anchored, &pinned) {
            anchored.records = Some(Box::new(whole(pinned, &histories[1])));
        }
    }
    deliver(&document, reports.as_deref(), args, out)?;
    let mut exit = exit_from(&document);
    if let (Some(anchored), Some(name)) = (&anchored, &args.anchor) {
        let places = anchor::Places {
            reports: reports.as_deref(),
            json: args.json.as_deref(),
            markdown: args.markdown.as_deref(),
        };
        exit = anchor::deliver((&document, anchored), name, &places, (args.format, args.all), out)?;
    }
    // The process ends soon, and with it goes its memory; taking large records apart first would be felt.
    std::mem::forget((base, head, pinned, histories, document, anchored));
    Ok(exit)
}

/// What the words of the command line mean.
enum Wanted<'a> {
    /// A range; none means the default one, or that of a comparison that is resumed.
    Commits(Option<&'a str>),
    Records(&'a str),
}

/// Tells commits from records. Dots make a range; a path or the name of a stored baseline is a record; any other name is
/// looked for among the commits.
fn wanted<'a>(args: &'a CompareArgs, stores: &Stores<'_>) -> Result<Wanted<'a>> {
    let Some(base) = args.base.as_deref() else { return Ok(Wanted::Commits(None)) };
    let path = Path::new(base);
    let is_path =
        path.components().any(|part| matches!(part, std::path::Component::ParentDir)) || path.exists();
    let range = base.contains("..") && !is_path;
    let is_record = |text: &str| text.contains('/') || text.ends_with(".json") || text.ends_with(".jsonl");
    let is_commit = |text: &str| -> Result<bool> {
        let may_be = !Path::new(text).exists() && names_revision(Path::new("."), text);
        Ok(may_be && !is_baseline(text, args, stores)?)
    };
    let commits = args.head.is_none() && (range || is_commit(base)?);
    if let Some(head) = &args.head
        && is_commit(base)?
        && is_commit(head)?
    {
        let what = "both name commits, and two words mean two records";
        return Err(Fault::at("compare", what, format!("write them as a range: `{base}..{head}`")));
    }
    let names_nothing = || -> Result<bool> {
        let may_be = is_record(base) || path.exists() || is_baseline(base, args, stores)?;
        Ok(!may_be)
    };
    if !commits && args.head.is_none() && names_nothing()? {
        return Err(no_such(base, args, stores)?);
    }
    let resume = args.resume.is_some().then_some("--resume").or(args.suite_file.flag());
    match (commits, args.rounds.first().or(resume)) {
        (true, _) => Ok(Wanted::Commits(Some(base))),
        (false, None) => {
            if !range && !is_record(base) && args.head.is_none() && names_revision(Path::new("."), base) {
                let note = format!(
                    "note: `{base}` is a stored baseline and a commit; for the commit write `{base}..`"
                );
                let _ = writeln!(std::io::stderr(), "{note}");
            }
            Ok(Wanted::Records(base))
        }
        (false, Some(flag)) => {
            let what = "it speaks of rounds between two commits, and records are compared here";
            Err(Fault::at_flag(flag, what, "take it out, or name commits: `gbench-ci compare BASE..HEAD`"))
        }
    }
}

/// A word that is no commit, no baseline and no file.
fn no_such(text: &str, args: &CompareArgs, stores: &Stores<'_>) -> Result<Fault> {
    let suite = args.selection.registry(&[]).ok().and_then(|registry| registry.file);
    let store = stores.of(suite.as_ref())?;
    let commits = match why_unknown(Path::new("."), text) {
        Unknown::NoRepository => return Ok(store.missing(text)),
        Unknown::Because(fault) => return Ok(fault),
        Unknown::Names(names) => names,
    };
    let baselines = store.names();
    let known: Vec<&str> = commits.iter().chain(&baselines).map(String::as_str).collect();
    let next = match near(text, &known).as_slice() {
        [] => format!(
            "name a commit, fetched before (`git fetch`), or save a baseline: `gbench-ci run`, then `gbench-ci baseline \
             save {}`",
            shell_word(text)
        ),
        _ => advise(text, &known),
    };
    Ok(Fault::at(format!("`{text}`"), "no commit, baseline or file is called so", next))
}

fn is_baseline(text: &str, args: &CompareArgs, stores: &Stores<'_>) -> Result<bool> {
    let suite = args.selection.registry(&[]).ok().and_then(|registry| registry.file);
    Ok(stores.of(suite.as_ref())?.find(text)?.is_some())
}

/// Refuses settings that say how to measure where nothing will be measured.
fn only_threshold(overrides: &Overrides) -> Result<()> {
    let unused = Overrides { threshold: None, ..overrides.clone() };
    match unused == Overrides::default() {
        true => Ok(()),
        false => Err(Fault::at(
            "compare",
            "settings of a measurement are given, and two records are measured already",
            "take the flags out, or name the base alone to measure anew",
        )),
    }
}

/// A record that was chosen by the words of the command line.
struct Chosen {
    record: RunRecord,
    /// The words, or `this run`.
    name: String,
    /// Where it lies, so that the comparison can be repeated when a name means something newer.
    path: PathBuf,
}

impl Chosen {
    fn find(text: &str, suite: Option<&Suite>, stores: &Stores<'_>) -> Result<Self> {
        let found = Self::found(text, suite, stores)?;
        Ok(Self { record: found.read()?, name: text.to_owned(), path: found.place() })
    }

    /// A record's path, or the newest one of a baseline's name. Where both fit, the name wins: a program or folder
    /// called `main` must not hide the baseline.
    fn found(text: &str, suite: Option<&Suite>, stores: &Stores<'_>) -> Result<Found> {
        let path = Path::new(text);
        let looks_like_a_path = text.contains('/') || text.ends_with(".json") || text.ends_with(".jsonl");
        if looks_like_a_path {
            return Ok(Found::Path(path.to_owned()));
        }
        let store = stores.of(suite)?;
        match store.find(text)? {
            Some(found) => Ok(found),
            None if path.exists() => Ok(Found::Path(path.to_owned())),
            None => Err(store.missing(text)),
        }
    }

    /// What `--anchor` names, if it is given.
    fn anchor(suite: Option<&Suite>, args: &CompareArgs, stores: &Stores<'_>) -> Result<Option<Self>> {
        args.anchor.as_deref().map(|text| Self::find(text, suite, stores)).transpose()
    }

    fn side(&self) -> SideInput<'_> {
        SideInput { record: &self.record, name: self.name.clone() }
    }
}

/// The suite file's gate as the comparison takes it.
pub fn policy(gate: Option<&Gate>, threshold: Option<f64>) -> Policy {
    let usual = Gate::default();
    let gate = gate.unwrap_or(&usual);
    Policy {
        alpha: gate.alpha.value,
        inconclusive_fails: gate.inconclusive_fails.value,
        failed_fails: gate.failed_fails.value,
        doubt_fails: true,
        sessions: gate.sessions.value,
        threshold,
        match_key: gate.match_key.iter().map(|(field, strict)| (field.clone(), strict.value)).collect(),
        reproduce: String::new(),
        no_reference: None,
    }
}

/// The command that gives the same verdict from what is kept.
fn reproduce(args: &CompareArgs, base: &Path, head: &Path, policy: &Policy) -> String {
    let [base, head] = [base, head].map(|path| shell_word(&shown(path)));
    let mut command = format!("gbench-ci compare {base} {head}");
    command += &flags(&args.selection);
    if args.fail_inconclusive {
        command += " --fail-inconclusive";
    }
    if let Some(sessions) = args.sessions {
        command += &format!(" --sessions {sessions}");
    }
    if let Some(store) = &args.store {
        command += &format!(" --store {}", shell_word(store));
    }
    if let Some(threshold) = policy.threshold {
        command += &format!(" --threshold {}", ratio_text(threshold));
    }
    command
}

/// Prints the report, and writes it where it was asked for and beside a fresh run's record.
pub fn deliver(
    document: &VerdictDocument,
    reports: Option<&Path>,
    args: &CompareArgs,
    out: &mut impl Write,
) -> Result<()> {
    if let Some(folder) = reports {
        write_reports(document, folder)?;
    }
    let bytes = |format| rendered(document, format, Style::PLAIN, true);
    if let Some(path) = &args.json {
        write_atomically(path, &bytes(Format::Json)?)?;
    }
    if let Some(path) = &args.markdown {
        write_atomically(path, &bytes(Format::Markdown)?)?;
    }
    let text = rendered(document, args.format, style::of_stdout(), args.all)?;
    wrote(out.write_all(&text))?;
    match (args.format, reports) {
        (Format::Terminal, Some(folder)) => wrote(writeln!(
            out,
            "\nverdict {}\nreport  {}",
            shown(&folder.join("verdict.json")),
            shown(&folder.join("verdict.md"))
        )),
        _ => Ok(()),
    }
}

/// Writes every format of a verdict into a run's report folder.
pub fn write_reports(document: &VerdictDocument, folder: &Path) -> Result<()> {
    write_reports_as("", document, folder)
}

/// [`write_reports`] under names that begin with `prefix`.
pub fn write_reports_as(prefix: &str, document: &VerdictDocument, folder: &Path) -> Result<()> {
    for (format, name) in [
        (Format::Json, "verdict.json"),
        (Format::Markdown, "verdict.md"),
        (Format::Csv, "verdict.csv"),
        (Format::Junit, "verdict.junit.xml"),
    ] {
        let path = folder.join(format!("{prefix}{name}"));
        write_atomically(&path, &rendered(document, format, Style::PLAIN, true)?)?;
    }
    Ok(())
}

pub fn rendered(document: &VerdictDocument, format: Format, style: Style, all: bool) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    wrote(report::verdict(document, &Options { format, style, all }, &mut bytes))?;
    Ok(bytes)
}

/// The document's own exit code. Errors: a code that no version of the document has.
pub fn exit_from(document: &VerdictDocument) -> Exit {
    let known = Exit::ALL.into_iter().find(|(exit, _)| exit.code() == document.exit_code);
    known.map_or(Exit::Internal, |(exit, _)| exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_of_the_file_reaches_the_policy() {
        let mut gate = Gate::default();
        gate.alpha.value = 0.01;
        gate.inconclusive_fails.value = true;
        let policy = policy(Some(&gate), Some(0.02));
        assert_eq!((policy.alpha, policy.inconclusive_fails, policy.threshold), (0.01, true, Some(0.02)));
    }
}
