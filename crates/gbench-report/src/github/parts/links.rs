//! Links and the lines with them. Only a URL of harmless characters becomes a link.

use super::budget::prose;
use super::context::PublishContext;
use crate::html::addresses::case_page;
use gbench_compare::Merged;
use gbench_model::text::short_commit;
use gbench_model::{CaseId, Host};

/// Longest URL that is linked, in bytes.
const MAX_ADDRESS: usize = 1000;

/// The text if it is a plain URL and nothing else.
pub(crate) fn address(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or(url.strip_prefix("http://"))?;
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#%=&+,".contains(c);
    (!rest.is_empty() && url.len() <= MAX_ADDRESS && rest.chars().all(harmless)).then_some(url)
}

pub(crate) fn link(word: &str, url: Option<&str>) -> Option<String> {
    url.and_then(address).map(|url| format!("[{word}]({url})"))
}

/// The page of a case, if the pages of `gbench-ci site` have a URL.
pub(crate) fn page_of_case(case: &CaseId, context: &PublishContext) -> Option<String> {
    let pages = context.pages.as_deref().and_then(address)?;
    Some(format!("{}/{}", pages.trim_end_matches('/'), case_page(case)))
}

/// A full commit id: 40 or 64 hexadecimal digits.
pub(crate) fn full_commit(commit: &str) -> Option<&str> {
    let hexadecimal = commit.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    (hexadecimal && [40, 64].contains(&commit.len())).then_some(commit)
}

pub(crate) fn repository(context: &PublishContext) -> Option<String> {
    let slug = context.slug.as_deref()?;
    let part = |text: &str| {
        let harmless = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        !text.is_empty() && text.chars().all(harmless) && !text.starts_with('.')
    };
    let parts: Vec<&str> = slug.split('/').collect();
    let fits = if context.host == Host::GitLab { parts.len() >= 2 } else { parts.len() == 2 };
    let page = format!("{}/{slug}", address(&context.server)?.trim_end_matches('/'));
    // GitLab has its own pages of a repository below a dash: groups may be called as they please.
    let dash = if context.host == Host::GitLab { "/-" } else { "" };
    (fits && parts.into_iter().all(part)).then(|| page + dash)
}

/// Both commits of the comparison: as the publishing job knows them, else as in the verdict.
pub(crate) fn commits<'a>(merged: &'a Merged, context: &'a PublishContext) -> [Option<&'a str>; 2] {
    let verdict = merged.groups.first().map(|group| &group.verdict);
    let base = context.base.commit.as_deref().or(verdict.and_then(|verdict| verdict.base.commit.as_deref()));
    let head = context.head.as_deref().or(verdict.and_then(|verdict| verdict.head.commit.as_deref()));
    [base, head].map(|commit| full_commit(commit?))
}

/// True if the head was a working tree with changes.
pub(crate) fn is_dirty(merged: &Merged) -> bool {
    merged.groups.iter().any(|group| group.verdict.head.dirty)
}

pub(crate) fn commit(commit: &str, context: &PublishContext) -> String {
    let short = format!("`{}`", short_commit(commit));
    match repository(context) {
        Some(page) => format!("[{short}]({page}/commit/{commit})"),
        None => short,
    }
}

pub(crate) fn gate(context: &PublishContext) -> String {
    if context.gate.is_empty() { "gbench-ci".into() } else { prose(&context.gate, 300) }
}

/// Where to find everything: for `12 more rows are in …`.
pub(crate) fn whole_report(context: &PublishContext) -> String {
    let report = link("whole report", context.report_url.as_deref()).map(|report| format!("the {report}"));
    let run = || Some(format!("the {}'s summary and artifacts", link("run", context.run_url.as_deref())?));
    report.or_else(run).unwrap_or_else(|| "the JSON document".into())
}

/// The step before a command that reads the files of a job: a sentence that ends before the command.
pub(crate) fn files_of_the_job(context: &PublishContext) -> String {
    let run = link("run", context.run_url.as_deref()).unwrap_or_else(|| "run".into());
    format!(
        "download the {run}'s artifact with the records, unpack it into the folder `artifacts` of your checkout, and then:"
    )
}

/// The last line: the commits, the baseline and its reason, the run, the version.
pub(crate) fn footer(merged: &Merged, context: &PublishContext) -> String {
    let [base, head] = commits(merged, context);
    let mut said = String::new();
    if base.is_some() || !context.base.why.is_empty() {
        let base = base.map_or(String::new(), |base| format!(" {}", commit(base, context)));
        let day = context.base.committed.as_deref().and_then(day);
        let day = day.map_or(String::new(), |day| format!(" of {day}"));
        let colon = if context.base.why.is_empty() { "" } else { ": " };
        said += &format!("Base{base}{day}{colon}{}. ", prose(&context.base.why, 600));
    }
    if let Some(head) = head {
        let changes = if is_dirty(merged) { " with changes that are not committed" } else { "" };
        said += &format!("Head {}{changes}. ", commit(head, context));
    }
    let changed = match (repository(context), base, head) {
        (Some(page), Some(base), Some(head)) if base != head => {
            Some(format!("[What changed]({page}/compare/{base}...{head})"))
        }
        _ => None,
    };
    let run = link("Run", context.run_url.as_deref());
    let links = [changed, run, link("Whole report", context.report_url.as_deref())];
    let version = format!("gbench-ci {}", prose(&merged.tool_version, 60));
    let links: Vec<String> = links.into_iter().flatten().chain([version]).collect();
    format!("<sub>{said}{}</sub>\n", links.join(" · "))
}

fn day(time: &str) -> Option<&str> {
    let day = time.get(..10)?;
    day.chars().all(|c| c.is_ascii_digit() || c == '-').then_some(day)
}
