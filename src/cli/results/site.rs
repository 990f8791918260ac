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
/// The pages open from a folder and from any web server, load nothing and contain no script: an overview, a page for each
/// case and one for each comparison. The folder is new, empty, or one that this command has written before.
///
/// Exit codes: 0 written; 2 no such history or comparison, or a folder that holds something else.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct SiteArgs {
    /// Folder of the site
    output: PathBuf,
    /// Heading of the first page [default: the suite's name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A sentence for every page
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// Repository at GitHub where commits are linked [default: the job's, if this is one]
    #[arg(long, value_name = "OWNER/REPO")]
    repository: Option<String>,
    /// A comparison that gets a page, by its folder or id; may be given again [default: the newest 10 that are kept here]
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
