//! A history and its comparisons as a folder of pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::app::history::HistoryRequest;
use crate::app::reports::explain::{ExplainRequest, ExplainedVerdict, Explanation, explain};
use crate::app::request::SelectionRequest;
use crate::app::store::comparison::ArtifactsRequest;
use crate::compare::{Verdict, VerdictDocument};
use crate::github::Slug;
use crate::model::{Fault, Result};
use crate::report::explain::svg;
use crate::report::html::{ComparisonPage, SiteFile, SiteInput, comparison_file, site};
use crate::store::{comparisons_below, write_atomically};
use crate::suite::{Benchmark, Source};

/// The list of the files that are ours, by which a folder is known for a site.
const LIST: &str = "gbench-ci-site.txt";
/// Comparisons of the artifacts folder that get a page unless others are named: the newest.
const COMPARISONS: usize = 10;
/// Rows of a comparison whose rounds are drawn: each picture takes some 15 kB.
const PICTURES: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct SiteRequest {
    pub output: PathBuf,
    pub history: HistoryRequest,
    /// Folders or ids of comparisons; empty: the newest that are kept here.
    pub comparisons: Vec<String>,
    pub artifacts: Option<PathBuf>,
    /// Heading; absent: the suite's name.
    pub title: Option<String>,
    pub note: String,
    /// The repository of the linked commits; absent: that of the job, if there is one.
    pub repository: Option<String>,
}

pub(crate) struct WrittenSite {
    pub folder: PathBuf,
    pub cases: usize,
    pub comparisons: usize,
    pub warnings: Vec<String>,
}

/// Writes the site. Files that only an earlier call wrote are removed; nothing else is touched.
///
/// Errors: no such history or comparison; a folder that holds something else, or cannot be written.
pub(crate) fn write_site(request: &SiteRequest, builtins: &[Benchmark]) -> Result<WrittenSite> {
    let before = files_before(&request.output)?;
    let repository = repository(request.repository.as_deref())?;
    let trends = request.history.document(builtins)?;
    let (comparisons, warnings) = comparisons(request, builtins)?;
    let suite = SelectionRequest::of_file(request.history.config.clone()).suite(builtins)?;
    let usual = || match suite.source {
        Source::File { .. } => suite.name.clone(),
        // Without a suite file the name is that of the built-in one, which measured nothing of this.
        Source::Builtin => "Benchmarks".to_owned(),
    };
    let title = request.title.clone().unwrap_or_else(usual);
    let input = SiteInput {
        trends: &trends,
        comparisons: &comparisons,
        title: &title,
        note: &request.note,
        repository: &repository,
    };
    let files = site(&input);
    let cases = files.len() - 1 - comparisons.len();
    write_files(&request.output, &files, &before)?;
    Ok(WrittenSite { folder: request.output.clone(), cases, comparisons: comparisons.len(), warnings })
}

/// A verdict as a single page. `comparison`: the folder of its rounds, which are drawn; `None` of two records. Errors: it
/// cannot be written, or the rounds cannot be read.
pub(crate) fn write_verdict_page(
    document: &VerdictDocument,
    comparison: Option<&Path>,
    path: &Path,
    builtins: &[Benchmark],
) -> Result<()> {
    let page = match comparison {
        Some(folder) => {
            let request = ExplainRequest {
                case: "*".into(),
                subject: Some(folder.display().to_string()),
                ..ExplainRequest::default()
            };
            match explain(&request, builtins)? {
                Explanation::Verdict(explained) => page_of(&explained, "")?,
                Explanation::Machines { .. } | Explanation::Run(_) => without_rounds(document),
            }
        }
        None => without_rounds(document),
    };
    write_atomically(path, comparison_file(&page, "gbench-ci", &repository(None)?).as_bytes())
}

fn without_rounds(document: &VerdictDocument) -> ComparisonPage {
    ComparisonPage { id: String::new(), document: document.clone(), pictures: Vec::new() }
}

fn repository(named: Option<&str>) -> Result<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = variable("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".into());
    let slug = match named {
        Some(text) => {
            let next = "write OWNER/REPO, as GitHub shows it";
            Some(
                text.parse::<Slug>()
                    .map_err(|what| Fault::at_flag(format!("--repository {text}"), what, next))?,
            )
        }
        None => variable("GITHUB_REPOSITORY").and_then(|text| text.parse().ok()),
    };
    Ok(slug.map_or_else(String::new, |slug| format!("{}/{slug}", server.trim_end_matches('/'))))
}

/// The pages of the named comparisons, or of the newest in the artifacts. Unreadable ones are skipped.
fn comparisons(request: &SiteRequest, builtins: &[Benchmark]) -> Result<(Vec<ComparisonPage>, Vec<String>)> {
    let artifacts =
        ArtifactsRequest { config: request.history.config.clone(), artifacts: request.artifacts.clone() };
    let named = !request.comparisons.is_empty();
    let subjects = if named {
        request.comparisons.clone()
    } else {
        let all = comparisons_below(&artifacts.folder(builtins)?);
        all.iter().rev().take(COMPARISONS).map(|folder| folder.display().to_string()).collect()
    };
    let (mut pages, mut warnings) = (Vec::new(), Vec::new());
    for subject in subjects {
        let request = ExplainRequest {
            case: "*".into(),
            subject: Some(subject.clone()),
            artifacts: artifacts.clone(),
            ..ExplainRequest::default()
        };
        match explain(&request, builtins).and_then(|found| pages_of(found, &subject)) {
            Ok(found) => pages.extend(found),
            Err(fault) if named => return Err(fault),
            Err(fault) => warnings.push(format!("comparison {subject} has no page: {}", fault.what)),
        }
    }
    Ok((pages, warnings))
}

fn pages_of(found: Explanation, subject: &str) -> Result<Vec<ComparisonPage>> {
    match found {
        Explanation::Verdict(explained) => Ok(vec![page_of(&explained, "")?]),
        Explanation::Machines { verdicts, .. } => {
            verdicts.iter().map(|(label, explained)| page_of(explained, label)).collect()
        }
        Explanation::Run(_) => Err(Fault::at(
            subject,
            "this is a run, and a page shows a comparison",
            "name a comparison's folder or its id",
        )),
    }
}

/// `label`: of the machine, where there are several.
fn page_of(explained: &ExplainedVerdict, label: &str) -> Result<ComparisonPage> {
    let document = explained.document.clone();
    let ids: Vec<String> = document.replayed().iter().map(ToString::to_string).collect();
    let id = if ids.is_empty() { document.head.run_id.to_string() } else { ids.join("-") };
    let (rows, _) = explained.rows()?;
    let is_drawn =
        |verdict| !matches!(verdict, Verdict::Unchanged | Verdict::Gone | Verdict::New | Verdict::Missing);
    let drawn = rows.iter().filter(|it| it.trace.is_some() && is_drawn(it.row.verdict)).take(PICTURES);
    let pictures = drawn.map(|it| (it.row.case.clone(), it.row.metric.clone(), svg(it))).collect();
    Ok(ComparisonPage { id: format!("{id}{label}"), document, pictures })
}

/// The files that an earlier call wrote. Errors: the folder holds something and no list of ours.
fn files_before(folder: &Path) -> Result<BTreeSet<String>> {
    let next = "name a folder that is new or empty, or one that `gbench-ci site` has written";
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(Fault::at_path(folder, format!("cannot be read: {error}"), next)),
    };
    match std::fs::read_to_string(folder.join(LIST)) {
        // Only what we could have written: a list that was changed must not lead out of the folder.
        Ok(list) => Ok(list.lines().filter(|path| is_ours(path)).map(str::to_owned).collect()),
        Err(_) if entries.next().is_none() => Ok(BTreeSet::new()),
        Err(_) => Err(Fault::at_path(folder, "the folder holds files that are no site of gbench-ci", next)),
    }
}

fn is_ours(path: &str) -> bool {
    let name = path.strip_prefix("case/").or(path.strip_prefix("comparison/")).unwrap_or(path);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.ends_with(".html") && !name.starts_with('.') && name.chars().all(plain)
}

fn write_files(folder: &Path, files: &[SiteFile], before: &BTreeSet<String>) -> Result<()> {
    let now: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    // First the list: what is cut off is known for a site, and its files for ours.
    let all: BTreeSet<&str> = now.iter().copied().chain(before.iter().map(String::as_str)).collect();
    write_list(folder, &all)?;
    for file in files {
        let path = folder.join(&file.path);
        make_folder(path.parent().unwrap_or(folder))?;
        write_atomically(&path, file.text.as_bytes())?;
    }
    for gone in before.iter().filter(|path| !now.contains(path.as_str())) {
        match std::fs::remove_file(folder.join(gone)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let what = format!("cannot be removed, and is of an earlier site: {error}");
                return Err(Fault::at_path(folder.join(gone), what, "remove it, and write the site again"));
            }
            _ => {}
        }
    }
    write_list(folder, &now)
}

fn write_list(folder: &Path, files: &BTreeSet<&str>) -> Result<()> {
    make_folder(folder)?;
    let text: String = files.iter().map(|path| format!("{path}\n")).collect();
    write_atomically(&folder.join(LIST), text.as_bytes())
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Fault::at_path(folder, format!("cannot be made: {error}"), "name a folder that can be written")
    })
}
