//! The artifact of a measuring job, read as untrusted input: a fork's pull request decides what is in its artifact.
//!
//! ```text
//! caps         how much an artifact may hold
//! zip          the archive's structure, strictly: one truth about what is in it
//! folder       the same of a folder
//! json_limits  how large a text may be, before it becomes a document
//! documents    what a document says of itself, held against its rows
//! ```
//!
//! Nothing is written to disk, nothing is executed, no link is followed; only `job.json`, `verdict.json`, `merged.json` and
//! `trends.json` are looked at. About which pull request all this belongs to, nothing in here is believed.

mod caps;
mod documents;
mod folder;
mod json_limits;
mod zip;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::compare::{Absence, Conclusion, Merged, MissingPart, VerdictPart, merge_with, merged_job};
use crate::model::{Exit, Fault, Job, Result};
use crate::trend::TrendsDocument;

pub use caps::{ALL, DEPTH, DOCUMENTS, FILE, FILES, PATH, RATIO};
use caps::{Files, refused};
pub(crate) use documents::{job, verdict, verdict_or_merged};

/// The content of one or several artifacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    pub parts: Vec<VerdictPart>,
    /// Comparisons and jobs without a verdict.
    pub gaps: Vec<MissingPart>,
    /// Documents that `merge` wrote, with the job that stands for all.
    pub merged: Vec<(String, Merged, Option<Job>)>,
    /// Jobs that measured nothing because the change touches nothing that they measure, with their parts' names.
    pub untouched: Vec<(String, Job)>,
    /// The trends of the rows of parts, by the parts' names.
    pub trends: Vec<(String, TrendsDocument)>,
    /// Run folders that are no side of a comparison: names below what was read. Only `merge` looks at them.
    pub runs: Vec<String>,
    /// The meaning of a part that did not come.
    pub absence: Absence,
}

/// Reads an untrusted zip archive. `name`: the artifact's, for messages, and where there is not a job for the label.
///
/// Errors, exit code 2: anything that gbench-ci would not have packed; see the caps above.
pub fn read_artifact(name: &str, archive: &[u8]) -> Result<Contents> {
    contents(name, &zip::Archive::open(name, archive)?)
}

/// Reads a folder likewise: the folder of a comparison, or one that holds several.
pub fn read_folder(path: &Path) -> Result<Contents> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let own = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    let shown = path.to_string_lossy();
    // `.` would say nothing as a label.
    let name =
        if path.file_name().is_some() { shown.into_owned() } else { own.unwrap_or_else(|| shown.into()) };
    contents(&name, &folder::Folder::open(path)?)
}

/// The gap where other parts came than are expected: of too many, the number that is expected is not that of all jobs.
pub(crate) fn too_few(expect: Option<u32>, found: usize, absence: Absence) -> Option<MissingPart> {
    let expect = expect.filter(|expect| found != *expect as usize)?;
    if found > expect as usize {
        return Some(gap(format!("{found} parts came, and {expect} were expected: others may be missing")));
    }
    let rest = match absence {
        Absence::Missing => "",
        Absence::Pending => " so far",
    };
    Some(MissingPart { absence, ..gap(format!("{found} of {expect} parts came with a verdict{rest}")) })
}

fn gap(what: String) -> MissingPart {
    MissingPart { what, ..MissingPart::default() }
}

impl Contents {
    pub fn extend(&mut self, other: Contents) {
        self.parts.extend(other.parts);
        self.gaps.extend(other.gaps);
        self.merged.extend(other.merged);
        self.untouched.extend(other.untouched);
        self.trends.extend(other.trends);
        self.runs.extend(other.runs);
    }

    /// Adds what the publishing side knows to be missing: fewer parts than there were jobs, and jobs that did not succeed
    /// (`measured`, GitHub's word for how they ended) where nothing that they left says why. A machine whose job died leaves
    /// nothing, and the rest must not pass for the whole.
    ///
    /// Errors: those of [`Contents::whole`].
    pub fn held_to(mut self, expect: Option<u32>, measured: Option<&str>) -> Result<Self> {
        self.gaps.extend(too_few(expect, self.parts.len(), self.absence));
        let ended = measured.filter(|word| !word.is_empty() && *word != "success");
        if let (Some(word), false) = (ended, self.parts.is_empty()) {
            let (merged, _) = Self { merged: Vec::new(), ..self.clone() }.whole()?;
            if merged.conclusion == Conclusion::Pass {
                let word: String = word.chars().filter(char::is_ascii_lowercase).take(20).collect();
                let why = "and nothing that they left says why";
                self.gaps.push(gap(format!("the measuring jobs ended with `{word}`, {why}")));
            }
        }
        Ok(self)
    }

    /// The job that stands for all where none of them measured anything because nothing was touched. `None`: something was
    /// measured, something is missing, or they do not agree what the change is; arguments as of [`Contents::held_to`].
    pub fn all_untouched(&self, expect: Option<u32>, measured: Option<&str>) -> Option<Job> {
        let (_, first) = self.untouched.first()?;
        let alone = self.parts.is_empty() && self.gaps.is_empty() && self.merged.is_empty();
        let enough = expect.is_none_or(|expect| self.untouched.len() >= expect as usize);
        let ended = measured.is_none_or(|word| word.is_empty() || word == "success");
        let commits = |job: &Job| (job.head.clone(), job.base.commit.clone());
        let agree = self.untouched.iter().all(|(_, job)| commits(job) == commits(first));
        let whole = self.untouched.iter().all(|(_, job)| {
            let of = job.shard.map_or(1, |shard| shard.of);
            let mine = self.untouched.iter().filter(|(_, other)| other.label == job.label);
            let shards: BTreeSet<u32> =
                mine.map(|(_, other)| other.shard.map_or(1, |shard| shard.index)).collect();
            shards.len() == of as usize
        });
        (alone && enough && ended && agree && whole).then(|| Job { shard: None, ..first.clone() })
    }

    /// One document, and the job that stands for all. A document that was merged before is taken as it is; parts are
    /// merged.
    ///
    /// Errors: those of [`merge_with`]; several merged documents, or parts that are more severe than the document that should
    /// contain them.
    pub fn whole(mut self) -> Result<(Merged, Option<Job>)> {
        // If other parts have measured, one that did not is missing.
        self.gaps.extend(self.untouched.iter().map(|(name, job)| {
            let what =
                format!("part `{name}` measured nothing, because nothing that it measures was touched");
            MissingPart { label: Some(job.label.clone()), shard: job.shard, what, ..MissingPart::default() }
        }));
        let Some((name, merged, job)) = self.merged.pop() else {
            let jobs: Vec<Job> = self.parts.iter().filter_map(|part| part.job.clone()).collect();
            let merged = merge_with(self.parts, self.gaps, self.absence)?;
            let job = merged_job(&jobs, &merged);
            return Ok((merged, job));
        };
        if let Some((other, ..)) = self.merged.first() {
            let what = format!("`{other}` and `{name}` both have a merged verdict");
            return Err(Fault::at("merge", what, "take one of the two out"));
        }
        if let Some(gap) = self.gaps.first().filter(|_| merged.warnings.is_empty()) {
            return Err(refused(&name, format!("{}, and the merged verdict does not show it", gap.what)));
        }
        for part in &self.parts {
            let (own, of_all) = (Exit::from_repr(part.verdict.exit_code), Exit::from_repr(merged.exit_code));
            if own.zip(of_all).is_none_or(|(own, of_all)| own.most_severe(of_all) != of_all) {
                let what = format!("the merged verdict is less severe than its part `{}`", part.name);
                return Err(refused(&name, what));
            }
        }
        Ok((merged, job))
    }
}

/// The files of one comparison, job or merge.
#[derive(Default)]
struct Found {
    job: Option<String>,
    verdict: Option<String>,
    merged: Option<String>,
    trends: Option<String>,
    records: bool,
    run: bool,
}

fn contents(name: &str, files: &impl Files) -> Result<Contents> {
    let mut found: BTreeMap<&str, Found> = BTreeMap::new();
    for path in files.names() {
        place(name, path, &mut found)?;
    }
    let mut contents = Contents { gaps: empty(name, &found, files.folders()), ..Contents::default() };
    let mut bytes = 0;
    for (root, found) in found {
        let called = match root {
            "" => name.to_owned(),
            root => format!("{name}/{root}"),
        };
        let mut read = |path: &Option<String>| -> Result<Option<String>> {
            let Some(path) = path else { return Ok(None) };
            let text = files.read(path)?;
            bytes += text.len();
            if bytes > DOCUMENTS {
                let what = format!("its documents have more than {DOCUMENTS} bytes together");
                return Err(refused(name, what));
            }
            Ok(Some(text))
        };
        let job = read(&found.job)?.map(|text| documents::job(&called, &text)).transpose()?;
        if let Some(text) = read(&found.merged)? {
            let merged = documents::merged(&called, &text)?;
            contents.merged.push((called, merged, job));
        } else if let Some(text) = read(&found.verdict)? {
            let verdict = documents::verdict(&called, &text)?;
            if job.is_some() && verdict.method.suite_file.is_some() {
                let what = "its two sides were measured with a suite file that a user chose, and a job is judged by its base's";
                return Err(refused(&called, what));
            }
            if let Some(text) = read(&found.trends)? {
                contents.trends.push((called.clone(), documents::trends(&called, &text)?));
            }
            contents.parts.push(VerdictPart { name: called, job, verdict });
        } else if let Some(job) = job.clone().filter(|job| job.untouched.is_some() && !found.records) {
            contents.untouched.push((called, job));
        } else if found.records || job.is_some() {
            let why =
                if found.records { "its comparison did not come to its end" } else { "nothing was measured" };
            contents.gaps.push(MissingPart {
                label: job.as_ref().map(|job| job.label.clone()),
                shard: job.as_ref().and_then(|job| job.shard),
                what: format!("part `{called}` has no verdict: {why}"),
                ..MissingPart::default()
            });
        } else if found.run {
            contents.runs.push(root.to_owned());
        }
    }
    Ok(contents)
}

/// Folders that should hold something, and do not: of a job that ended before it measured. And the whole, if nothing is
/// there at all.
fn empty(name: &str, found: &BTreeMap<&str, Found>, folders: &[String]) -> Vec<MissingPart> {
    let empty = |part: &str| gap(format!("part `{part}` has no verdict"));
    if found.is_empty() {
        return vec![empty(name)];
    }
    let held = |folder: &String| {
        found.keys().any(|root| {
            root.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let lacking = folders.iter().filter(|folder| !found.contains_key("") && !held(folder));
    lacking.map(|folder| empty(&format!("{name}/{folder}"))).collect()
}

fn place<'a>(name: &str, path: &'a str, found: &mut BTreeMap<&'a str, Found>) -> Result<()> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    let twice = |slot: &mut Option<String>| match slot.replace(path.to_owned()) {
        Some(other) => Err(refused(name, format!("`{other}` and `{path}` speak of the same"))),
        None => Ok(()),
    };
    match (last, file) {
        ("reports", "verdict.json") => twice(&mut found.entry(above).or_default().verdict),
        ("reports", "trends.json") => twice(&mut found.entry(above).or_default().trends),
        (_, "verdict.json") => twice(&mut found.entry(folder).or_default().verdict),
        (_, "job.json") => twice(&mut found.entry(folder).or_default().job),
        (_, "merged.json") => twice(&mut found.entry(folder).or_default().merged),
        ("results", "record.json" | "journal.jsonl") => {
            let (outer, side) = above.rsplit_once('/').unwrap_or(("", above));
            match side {
                "base" | "head" | "control" => found.entry(outer).or_default().records = true,
                _ => found.entry(above).or_default().run = true,
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
