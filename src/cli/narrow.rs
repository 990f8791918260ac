//! A selection narrows both sides of a comparison: what the user left out is neither measured nor missed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::args::selection::{SelectionArgs, SettingsArgs};
use crate::model::{BenchmarkId, CaseRecord, Params, Result, RunRecord, is_unseen, shell_word};
use crate::suite::{Action, Benchmark, FILE_NAME, Registry, Selection, Source, Suite};

/// Which cases the selection flags leave out of a comparison.
pub struct Narrow {
    left_out: HashSet<(BenchmarkId, Params)>,
}

impl Narrow {
    /// Without flags nothing is left out. Errors: flags that select nothing.
    ///
    /// A case that the suite no longer has is no matter of selection: it stays, and is missed.
    pub fn new(registry: &Registry, selection: &Selection) -> Result<Self> {
        if *selection == Selection::default() {
            return Ok(Self { left_out: HashSet::new() });
        }
        let chosen = registry.select(selection)?;
        let chosen: HashSet<_> = points(chosen.benchmarks.iter()).collect();
        Ok(Self { left_out: points(registry.all()).filter(|point| !chosen.contains(point)).collect() })
    }

    /// Takes the cases that are left out from a record, which then says so.
    pub fn apply(&self, record: &mut RunRecord) {
        let before = record.cases.len();
        let stays =
            |case: &CaseRecord| !self.left_out.contains(&(case.id.benchmark.clone(), case.id.params.clone()));
        record.cases.retain(stays);
        let count = before - record.cases.len();
        if count > 0 {
            let what = format!("{count} of its {before} cases are outside the selection, and not compared");
            record.warnings.push(what);
        }
    }
}

/// The cases of records as a suite to select from: records can be compared where their suite file is not.
pub fn of_records<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Registry {
    let mut found: BTreeMap<&BenchmarkId, (&CaseRecord, BTreeSet<&Params>)> = BTreeMap::new();
    for case in records.flat_map(|record| &record.cases) {
        found.entry(&case.id.benchmark).or_insert((case, BTreeSet::new())).1.insert(&case.id.params);
    }
    let benchmarks = found.into_iter().map(|(id, (case, points))| {
        let mut benchmark = Benchmark::new(id.clone(), Action::Command(Vec::new()), PathBuf::new());
        benchmark.components = case.components.clone();
        benchmark.tags = case.tags.clone();
        benchmark.points = points.into_iter().cloned().collect();
        benchmark
    });
    Registry::new(Some(Suite::new("records", Source::Builtin, benchmarks.collect())), &[])
}

fn points<'a>(
    benchmarks: impl Iterator<Item = &'a Benchmark>,
) -> impl Iterator<Item = (BenchmarkId, Params)> {
    benchmarks
        .flat_map(|benchmark| benchmark.points.iter().map(|point| (benchmark.id.clone(), point.clone())))
}

/// The selection as flags for a shell, with a blank before each.
pub fn flags(args: &SelectionArgs) -> String {
    let config = args.config.iter().map(|path| path.display().to_string()).collect();
    let given = [("--config", &config)].into_iter().chain(args.lists());
    let each = |(flag, values): (&str, &Vec<String>)| {
        values.iter().map(|value| format!(" {flag} {}", shell_word(value))).collect::<String>()
    };
    let shard = args.shard.map_or(String::new(), |shard| format!(" --shard {shard}"));
    given.map(each).collect::<String>() + &shard
}

/// Flags that choose what is measured and how, and may stand in a `job.json`; those without a value.
const OF_A_JOB: [&str; 14] = [
    "--config",
    "--benchmark",
    "--suite",
    "--component",
    "--tag",
    "--exclude",
    "--param",
    "--iterations",
    "--warmup",
    "--duration",
    "--burnin-seconds",
    "--timeout-multiplier",
    "--threshold",
    "--seed",
];
const WITHOUT_VALUE: &str = "--cold-start";

/// Bytes of all flags of a job that are shown.
const MOST: usize = 1000;

/// The flags of a job in words for its `job.json`: what somebody has to type beside the two commits. The shard stands there
/// by itself, and the usual suite file needs no word.
pub fn words(selection: &SelectionArgs, settings: &SettingsArgs) -> Vec<String> {
    let usual = |path: &&PathBuf| path.as_path() != Path::new(FILE_NAME);
    let config = selection.config.as_ref().map(|path| below_here(path)).filter(|path| usual(&path));
    let config = config.map(|path| path.display().to_string());
    let many = selection.lists().into_iter();
    let many = many.flat_map(|(flag, values)| values.iter().map(move |value| (flag, value)));
    let single = [("--config", &config)].into_iter().chain(settings.values());
    let single = single.filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
    let words = single.chain(many).map(|(flag, value)| format!("{flag}={value}"));
    words.chain(settings.cold_start.then(|| WITHOUT_VALUE.to_owned())).collect()
}

/// The path from the folder of the job, which is the repository's root; another machine has none of its other folders.
fn below_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).to_owned()
}

/// Whether a word of a `job.json` that somebody else wrote is one of [`words`].
pub fn is_word(word: &str) -> bool {
    let (flag, value) = word.split_once('=').unwrap_or((word, ""));
    let known = if value.is_empty() { word == WITHOUT_VALUE } else { OF_A_JOB.contains(&flag) };
    known && !value.chars().any(|c| c.is_control() || is_unseen(c))
}

/// [`words`] for a shell, with a blank before each; nothing of more than a reader would copy.
pub fn shown_flags(words: &[String]) -> String {
    let shown = |word: &String| match word.split_once('=') {
        Some((flag, value)) => format!(" {flag} {}", shell_word(value)),
        None => format!(" {word}"),
    };
    let all: String = words.iter().filter(|word| is_word(word)).map(shown).collect();
    if all.len() <= MOST { all } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n17_words_of_a_job_can_be_pasted_and_no_others_are_known() {
        let selection = SelectionArgs {
            config: Some("bench/my suite.toml".into()),
            benchmarks: vec!["k/*".into()],
            shard: Some(crate::model::Shard { index: 2, of: 3 }),
            ..SelectionArgs::default()
        };
        let settings =
            SettingsArgs { iterations: Some("30".into()), cold_start: true, ..SettingsArgs::default() };
        let words = words(&selection, &settings);
        assert_eq!(
            words,
            ["--config=bench/my suite.toml", "--iterations=30", "--benchmark=k/*", "--cold-start"]
        );
        assert!(words.iter().all(|word| is_word(word)));
        let shown = shown_flags(&words);
        assert_eq!(shown, " --config 'bench/my suite.toml' --iterations 30 --benchmark 'k/*' --cold-start");
        let usual = SelectionArgs { config: Some("gbench.toml".into()), ..SelectionArgs::default() };
        assert!(super::words(&usual, &SettingsArgs::default()).is_empty());
        for odd in [
            "",
            "x",
            "; rm -rf /",
            "--resume=x",
            "--benchmark",
            "--cold-start=1",
            "--tag=a\nb",
            "--tag=\u{202e}",
        ] {
            assert!(!is_word(odd) && shown_flags(&[odd.into()]).is_empty(), "{odd}");
        }
    }

    #[test]
    fn flags_can_be_pasted() {
        let args = SelectionArgs {
            benchmarks: vec!["k/*".into(), "a".into()],
            params: vec!["n=1,2".into()],
            shard: Some(crate::model::Shard { index: 2, of: 3 }),
            ..SelectionArgs::default()
        };
        assert_eq!(flags(&args), " --benchmark 'k/*' --benchmark a --param n=1,2 --shard 2/3");
        assert_eq!(flags(&SelectionArgs::default()), "");
    }
}
