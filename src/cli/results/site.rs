//! `gbench-ci site`: a history as pages.

use std::io::{Write, stderr};
use std::path::PathBuf;

use crate::app::paths::shown;
use crate::app::reports::site::{SiteRequest, write_site};
use crate::cli::args::RunsArgs;
use crate::cli::terminal::write::wrote;
use crate::model::text::count;
use crate::model::{Exit, Result};
use crate::suite::Benchmark;

/// Write a history as a static site: trends, changes, comparisons
///
/// The site has an overview, a page per case and a page per comparison. The pages can be opened from a folder or from any
/// web server; they load nothing and contain no script. The folder must be new, empty, or written by this command before.
///
/// Exit codes: 0 written; 2 no such history or comparison, or a folder with other contents.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct SiteArgs {
    /// Folder of the site
    output: PathBuf,
    /// Heading of the first page [default: the suite's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Sentence to show on every page
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// GitHub repository that commits link to [default: the job's own, in a GitHub Actions job]
    #[arg(long, value_name = "OWNER/REPO")]
    repository: Option<String>,
    /// Comparison to write a page for, by folder or id; repeatable [default: the newest 10 that are kept here]
    #[arg(long, value_name = "COMPARISON")]
    comparison: Vec<String>,
    /// Folder of runs and comparisons instead of the suite file's
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    #[command(flatten)]
    selected: RunsArgs,
}

pub(crate) fn run(args: &SiteArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let SiteArgs { output, title, note, repository, comparison: comparisons, artifacts, selected } =
        args.clone();
    let history = selected.request(None);
    let request = SiteRequest { output, history, comparisons, artifacts, title, note, repository };
    let written = write_site(&request, builtins)?;
    for warning in &written.warnings {
        wrote(writeln!(stderr(), "warning: {warning}"))?;
    }
    let cases = count(written.cases, "case");
    let comparisons = count(written.comparisons, "comparison");
    let page = shown(&written.folder.join("index.html"));
    wrote(writeln!(out, "{cases} and {comparisons} in {page}").and_then(|()| out.flush()))?;
    Ok(Exit::Pass)
}
