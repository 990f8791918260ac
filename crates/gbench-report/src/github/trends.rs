//! The issue of a history's findings that no single run shows: lasting changes for the worse, and drifts.

use super::parts::accepted::person;
use super::parts::budget::{ByteBudget, ShortNames, plain, prose};
use super::parts::context::PublishContext;
use super::parts::links::{full_commit, link, page_of_case, repository};
use crate::layout::case_names::CaseNames;
use crate::layout::escape::markdown_block;
use crate::layout::number::{p_value, signed_percent};
use crate::trends::series::{self, fields};
use crate::trends::spark::spark;
use gbench_compare::trend::{
    CommonStep, OpenFinding, OpenTrend, OpenTrends, SeriesState, ToldTrend, TrendsDocument, V1ChangePoint,
    V1Drift,
};
use gbench_model::text::{capitalized, count, short_commit};
use gbench_model::{MAX_COMMENT, shell_word};

const MAX_ROWS: usize = 40;
const SPARK: usize = 32;
/// The workflow that `init --github` writes for it.
const BISECT: &str = "gbench-bisect.yml";
/// Reserved for the last lines, which identify the issue and its reported findings.
const FOR_THE_STATE: usize = 24 * 1024;

/// Title (plain, at most 200 bytes) and body of the issue. The body leaves 24 KiB of GitHub's limit for lines below it.
pub fn trends_issue(open: &OpenTrends<'_>, context: &PublishContext) -> (String, String) {
    let gate = if context.gate.is_empty() { "gbench-ci" } else { &context.gate };
    let title = plain(&format!("{gate}: {}", counted(open)), 200);
    let mut budget = ByteBudget::new(MAX_COMMENT - FOR_THE_STATE);
    let view = View::new(open, context);
    let (runs, store) = open
        .standing
        .first()
        .map_or((0, ""), |first| (first.document.runs.len(), first.document.store.as_str()));
    let mut body = format!(
        "**{}.** The last {} in `{}` show it; a single one need not.\n\n",
        capitalized(&counted(open)),
        count(runs, "run"),
        plain(store, 200).replace('`', ""),
    );
    let common = open.common();
    body += &budget.fit(view.common(&common));
    let apart: Vec<OpenTrend<'_>> =
        open.standing.iter().filter(|it| !common.iter().any(|step| step.has(it.series))).copied().collect();
    body += &view.steps(&apart, &mut budget);
    body += &view.drifts(&mut budget);
    let list = |title: &str, found: &[OpenTrend<'_>], end: &str| {
        let items: String = found.iter().take(MAX_ROWS).map(|it| view.item(it, end)).collect();
        if items.is_empty() { String::new() } else { format!("**{title}**\n\n{items}\n") }
    };
    body += &budget.fit(list(
        "New with the newest run",
        &open.unconfirmed,
        "; told above if the next run shows it, too",
    ));
    body += &budget.fit(list("Taken back by the newest run", &open.withdrawn, ""));
    body += &view.next(open);
    (title, body)
}

fn counted(open: &OpenTrends<'_>) -> String {
    let common = open.common();
    let is_step = |it: &&OpenTrend<'_>| matches!(it.finding, OpenFinding::Step(_));
    let at_once: usize = common.iter().map(|step| step.members.len()).sum();
    let steps = open.standing.iter().filter(is_step).count();
    let drifts = open.standing.len() - steps;
    let parts = [
        (at_once, "worse at once"),
        (steps - at_once, "lastingly worse"),
        (drifts, "drifting for the worse"),
    ];
    let parts = parts.into_iter().filter(|(series, _)| *series > 0);
    parts.map(|(series, what)| format!("{series} series {what}")).collect::<Vec<_>>().join(", ")
}

/// The note that closes the issue, with the outcome of its findings.
pub fn closing_note_of_trends(told: &[ToldTrend], documents: &[TrendsDocument]) -> String {
    let mut items = String::new();
    let mut gone = 0;
    for told in told.iter().take(MAX_ROWS) {
        let found = documents.iter().flat_map(|it| &it.series).find(|series| told.is_of(series));
        let Some(series) = found else {
            gone += 1;
            continue;
        };
        let accepted = series.last_change().and_then(|change| change.accepted.as_ref());
        let why = match (series.state, accepted, series.breaks.last()) {
            (SeriesState::Ended, ..) => "it is measured no more".to_owned(),
            (_, Some(accepted), _) => {
                format!("accepted by {} in #{}", person(&accepted.by), accepted.pull)
            }
            (SeriesState::TooFewRuns, _, Some(broken)) => {
                format!("the series begins again: {}", prose(&fields(broken, "->"), 300))
            }
            _ => "the newest runs show it no more".to_owned(),
        };
        let name = ShortNames::one(&series.case.to_string(), 100);
        items += &format!("- {name} {}: {why}\n", prose(&series.metric, 120));
    }
    if gone > 0 {
        items += &format!("- {gone} more series: the history shows nothing of the kind any more\n");
    }
    format!("✅ None of the findings applies any more.\n\n{items}")
}

struct View<'v> {
    open: &'v OpenTrends<'v>,
    names: CaseNames,
    context: &'v PublishContext,
}

impl<'v> View<'v> {
    fn new(open: &'v OpenTrends<'v>, context: &'v PublishContext) -> Self {
        let all = [&open.standing, &open.unconfirmed, &open.withdrawn];
        let names = CaseNames::new(all.into_iter().flatten().map(|it| &it.series.case));
        Self { open, names, context }
    }

    fn title(&self, open: &OpenTrend<'_>) -> String {
        let series = open.series;
        let place = if series.label.is_empty() { String::new() } else { format!(" on {}", series.label) };
        self.names.title(&series.case, &series.metric) + &place
    }

    fn table(&self, head: &str, rows: Vec<(OpenTrend<'_>, String)>, budget: &mut ByteBudget) -> String {
        if rows.is_empty() || !budget.take(head.len() + 80) {
            return String::new();
        }
        let titles: Vec<String> = rows.iter().map(|(open, _)| self.title(open)).collect();
        let names = ShortNames::new(titles.iter().map(String::as_str), 60);
        let row = |((open, cells), title): (&(OpenTrend<'_>, String), &String)| {
            let name = names.name_in_cell(title);
            let page = page_of_case(&open.series.case, self.context);
            let name = link(&name, page.as_deref()).unwrap_or(name);
            let row = format!("| {name} | {cells} |\n");
            Some(row).filter(|row| budget.take(row.len()))
        };
        let shown: Vec<String> = rows.iter().zip(&titles).take(MAX_ROWS).map_while(row).collect();
        let more = match rows.len() - shown.len() {
            0 => String::new(),
            more => format!("\nand {more} more\n"),
        };
        format!("{head}{}{more}\n", shown.concat())
    }

    /// An item for each step that most cases took at once, with the names of its members.
    fn common(&self, steps: &[CommonStep<'_>]) -> String {
        let item = |step: &CommonStep<'_>| {
            let run = step.members.first().and_then(|(series, _)| {
                let open = self.open.standing.iter().find(|open| std::ptr::eq(open.series, *series))?;
                open.document.runs.get(step.run)
            });
            let since = run.map_or("", series::day);
            let narrowest = step.members.iter().min_by_key(|(_, change)| change.to - change.from);
            let commits = narrowest.map_or(String::new(), |(_, change)| self.commits(change));
            let names: Vec<String> = step.members.iter().map(|(series, _)| series.case.to_string()).collect();
            let short = ShortNames::new(names.iter().map(String::as_str), 60);
            let names: Vec<String> = names.iter().take(MAX_ROWS).map(|name| short.name(name)).collect();
            let more = match step.members.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "- **{} of {} at once** {} since {} {commits}: look at the machine and the toolchain first, then at \
                 code that all of them run.\n  <details><summary>Which</summary>\n\n  {}{more}\n\n  </details>\n",
                step.cases,
                count(step.searched, "case"),
                prose(&step.words(), 80),
                prose(since, 20),
                names.join(", "),
            )
        };
        let items: String = steps.iter().map(item).collect();
        if items.is_empty() { items } else { items + "\n" }
    }

    fn steps(&self, open: &[OpenTrend<'v>], budget: &mut ByteBudget) -> String {
        let row = |it: &OpenTrend<'v>| {
            let OpenFinding::Step(change) = it.finding else { return None };
            let range = format!("{} to {}", signed_percent(change.low), signed_percent(change.high));
            let cells = format!(
                "`{}` | {} ({}) | {} | {}",
                spark(it.series, SPARK, true),
                prose(&signed_percent(change.change), 40),
                prose(&range, 60),
                prose(day(it, change.at), 20),
                self.commits(change),
            );
            Some((*it, cells))
        };
        let head =
            "| case | runs | change (interval, nominally 95 %) | since | in |\n|---|---|---|---|---|\n";
        self.table(head, open.iter().filter_map(row).collect(), budget)
    }

    fn drifts(&self, budget: &mut ByteBudget) -> String {
        let row = |it: &OpenTrend<'v>| {
            let OpenFinding::Drift(V1Drift { from, per_run, total, p, .. }) = it.finding else { return None };
            let cells = format!(
                "`{}` | {} | {} a run, {} | {}",
                spark(it.series, SPARK, true),
                prose(&signed_percent(*total), 40),
                prose(&signed_percent(*per_run), 40),
                prose(&p_value(*p), 40),
                prose(day(it, *from), 20),
            );
            Some((*it, cells))
        };
        let head = "| case | runs | drift | each | since |\n|---|---|---|---|---|\n";
        self.table(head, self.open.standing.iter().filter_map(row).collect(), budget)
    }

    fn item(&self, open: &OpenTrend<'_>, end: &str) -> String {
        let OpenFinding::Step(change) = open.finding else { return String::new() };
        let name = ShortNames::one(&self.title(open), 100);
        let change_words = prose(&signed_percent(change.change), 40);
        format!("- {name}: {change_words} since {}{end}\n", prose(day(open, change.at), 20))
    }

    fn commits(&self, change: &V1ChangePoint) -> String {
        let (Some(bad), good) = (change.bad.as_deref().and_then(full_commit), change.good.as_deref()) else {
            return String::new();
        };
        let Some(good) = good.and_then(full_commit) else { return format!("`{}`", short_commit(bad)) };
        let range = format!("`{}..{}`", short_commit(good), short_commit(bad));
        let page = repository(self.context).map(|page| format!("{page}/compare/{good}...{bad}"));
        link(&range, page.as_deref()).unwrap_or(range)
    }

    fn next(&self, open: &OpenTrends<'_>) -> String {
        let mut text = String::new();
        let first = open.standing.iter().find_map(|it| match it.finding {
            OpenFinding::Step(change) => Some((it, change)),
            OpenFinding::Drift(_) => None,
        });
        // Only names that a shell takes literally appear in a command.
        if let Some((open, change)) = first
            && let (Some(good), Some(bad)) = (&change.good, &change.bad)
        {
            let case = shell_word(&plain(&open.series.case.to_string(), 300));
            let range = format!("{}..{}", short_commit(good), short_commit(bad));
            let command = format!(
                "git fetch\ngbench-ci history {case}\ngit log --oneline {range}\ngbench-ci bisect {case} {range}"
            );
            text += &format!(
                "To look at the first, and to find its commit:\n\n{}\n",
                markdown_block("sh", &command)
            );
            let workflow = repository(self.context).map(|page| format!("{page}/actions/workflows/{BISECT}"));
            text += &link("gbench-ci bisect", workflow.as_deref()).map_or(String::new(), |workflow| {
                format!(
                    "On the machine that measures, the workflow {workflow} does the same: *Run workflow*.\n\n"
                )
            });
        }
        let pages = link("the pages of the history", self.context.pages.as_deref());
        text += &pages.map_or(String::new(), |pages| format!("Every series: {pages}.\n\n"));
        text + "Close this issue to dismiss its findings: each is reported again only if it recurs, or if a drift has doubled. \
                Reopen it to undo that. A change that was accepted in its pull request is not reported.\n"
    }
}

fn day<'o>(open: &'o OpenTrend<'_>, point: u32) -> &'o str {
    open.run(point).map_or("", series::day)
}
