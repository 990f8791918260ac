//! Rows that a person accepted, in the comment and the check of a verdict; the answer to a command; and the stored
//! acceptances.

use std::collections::BTreeSet;

use super::budget::{ShortNames, figure, prose};
use super::context::PublishContext;
use super::links::{commit, full_commit, gate, link};
use crate::layout::number::value;
use gbench_compare::{AcceptedFinding, AcceptedRow, DecidedRow, DecisionKind, Merged, StandingAcceptance};
use gbench_model::CaseId;
use gbench_model::text::{count, percent};

/// Rows that a page names; the others are counted.
const MAX_ROWS: usize = 12;

const COLUMNS: usize = 100;

/// Decisions about the failed rows of a verdict; empty without any.
pub(crate) fn decided(context: &PublishContext) -> String {
    let accepted = &context.accepted;
    let covered = rows("Accepted", &accepted.covered, |row| {
        format!("{}, {}", now(&row.finding), acceptances(row, context))
    });
    let exceeded = rows("No longer accepted", &accepted.exceeded, |row| {
        format!("{}, which is worse than what was {}", now(&row.finding), acceptances(row, context))
    });
    covered + &exceeded
}

fn rows(title: &str, rows: &[DecidedRow], said: impl Fn(&DecidedRow) -> String) -> String {
    if rows.is_empty() {
        String::new()
    } else {
        list(title, rows, |row| (&row.label, &row.case, &row.metric), said)
    }
}

/// A heading and an item for each row. `of`: its label, case and metric.
fn list<T>(
    title: &str,
    rows: &[T],
    of: fn(&T) -> (&String, &CaseId, &String),
    said: impl Fn(&T) -> String,
) -> String {
    let cases: Vec<String> = rows.iter().map(|row| of(row).1.to_string()).collect();
    let names = ShortNames::new(cases.iter().map(String::as_str), COLUMNS);
    let item = |(row, case): (&T, &String)| {
        let (label, _, metric) = of(row);
        format!("- {}: {}\n", named(&names, label, case, metric), said(row))
    };
    let shown: String = rows.iter().zip(&cases).take(MAX_ROWS).map(item).collect();
    format!("**{title}**\n\n{shown}{}\n", further(rows.len(), MAX_ROWS))
}

pub(crate) fn further(all: usize, most: usize) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    }
}

fn named(names: &ShortNames, label: &str, case: &str, metric: &str) -> String {
    let mut text = names.name(case);
    if !metric.is_empty() {
        text += &format!(" {}", prose(metric, 120));
    }
    if !label.is_empty() {
        text += &format!(" on {}", prose(label, 120));
    }
    text
}

fn now(finding: &AcceptedFinding) -> String {
    match finding {
        AcceptedFinding::Slower { slowdown, .. } => format!("{} worse", figure(&percent(*slowdown))),
        AcceptedFinding::Larger { difference, unit, .. } => {
            format!("{} worse", figure(&value(*difference, unit)))
        }
        AcceptedFinding::Missing {} => "missing".into(),
    }
}

fn most(finding: &AcceptedFinding) -> String {
    match finding {
        AcceptedFinding::Slower { high, .. } => format!("up to {}", figure(&percent(*high))),
        AcceptedFinding::Larger { at_most, unit, .. } => format!("up to {}", figure(&value(*at_most, unit))),
        AcceptedFinding::Missing {} => "its removal".into(),
    }
}

fn acceptances(row: &DecidedRow, context: &PublishContext) -> String {
    let said = |acceptance: &StandingAcceptance| by_whom(acceptance, context);
    row.acceptances.iter().take(3).map(said).collect::<Vec<_>>().join("; ")
}

/// `` accepted by `maria` for `02ab45cd66`, up to 6.4 % ([comment](…)): needed for exact results ``
fn by_whom(acceptance: &StandingAcceptance, context: &PublishContext) -> String {
    let head = full_commit(&acceptance.head).map(|head| format!(" for {}", commit(head, context)));
    format!(
        "accepted by {} in {}{}, {}: {}",
        person(&acceptance.by),
        command_link(acceptance.pull, acceptance.comment, context),
        head.unwrap_or_default(),
        most(&acceptance.row.finding),
        prose(&acceptance.reason, 600)
    )
}

/// A login without an `@` mention.
pub(crate) fn person(login: &str) -> String {
    ShortNames::one(login, 40)
}

fn command_link(pull: u64, comment: u64, context: &PublishContext) -> String {
    let page = context.slug.as_ref().map(|slug| format!("{}/{slug}/pull/{pull}", context.server));
    let url = page.map(|page| format!("{page}#issuecomment-{comment}"));
    link(&format!("pull request {pull}"), url.as_deref()).unwrap_or_else(|| format!("pull request {pull}"))
}

#[derive(Clone, Debug, PartialEq)]
pub struct AcceptanceAnswer {
    pub pull: u64,
    pub comment: u64,
    /// The login of the person who gave it.
    pub by: String,
    pub outcome: AcceptanceOutcome,
    /// The current acceptances.
    pub standing: Vec<StandingAcceptance>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AcceptanceOutcome {
    /// For the rows that it named.
    Done(DecisionKind, Vec<AcceptedRow>),
    /// The reason, as a sentence without a period, and the names of the rows that can be accepted.
    Refused(String, Vec<String>),
}

/// The answering comment, without its marker.
pub fn acceptance_answer(answer: &AcceptanceAnswer, context: &PublishContext) -> String {
    let command = command_link(answer.pull, answer.comment, context);
    let who = person(&answer.by);
    let mut page = match &answer.outcome {
        AcceptanceOutcome::Done(kind, rows) => {
            let (sign, word) = match kind {
                DecisionKind::Accept => ("✅", "accepted"),
                DecisionKind::Revoke => ("↩️", "revoked"),
            };
            let rows = count(rows.len(), "row");
            format!("### {sign} {}: {word}\n\n{rows} {word} by {who} in {command}.\n\n", gate(context))
        }
        AcceptanceOutcome::Refused(why, names) => {
            let head = format!("### ❌ {}: refused\n\n", gate(context));
            let why = prose(why, 900);
            head + &format!("The command of {who} in {command} is refused: {why}.\n\n") + &choices(names)
        }
    };
    page += &standing(&answer.standing, context);
    page + "<sub>A person with write access accepts with `/gbench accept CASE... -- REASON` and takes it back with \
            `/gbench revoke CASE...`, each in a separate comment.</sub>\n"
}

fn choices(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let short = ShortNames::new(names.iter().map(String::as_str), 200);
    let items: String = names.iter().take(MAX_ROWS).map(|name| format!("- {}\n", short.name(name))).collect();
    format!("These can be accepted:\n\n{items}{}\n", further(names.len(), MAX_ROWS))
}

fn standing(standing: &[StandingAcceptance], context: &PublishContext) -> String {
    if standing.is_empty() {
        return "Nothing stands accepted.\n\n".into();
    }
    list(
        "Accepted",
        standing,
        |StandingAcceptance { row, .. }| (&row.label, &row.case, &row.metric),
        |it| by_whom(it, context),
    )
}

/// Title and summary of the check that stores the decisions.
pub fn kept_acceptances(all: &[StandingAcceptance], context: &PublishContext) -> [String; 2] {
    let title = match all.len() {
        0 => "Nothing is accepted".into(),
        rows => format!("{} accepted", count(rows, "row")),
    };
    let words = "The decisions of people with write access are stored below, as JSON. This check itself decides nothing.\n";
    [title, standing(all, context) + words]
}

pub(crate) fn in_title(context: &PublishContext) -> String {
    match context.accepted.covered.len() {
        0 => String::new(),
        rows => format!("; {rows} accepted"),
    }
}

/// The distinct names of the rows that a command may accept.
pub fn acceptable(merged: &Merged) -> Vec<String> {
    let rows = merged.groups.iter().flat_map(|group| &group.verdict.rows);
    let can = rows.filter(|row| AcceptedFinding::of(row).is_some());
    let names: BTreeSet<String> = can.map(|row| row.case.to_string()).collect();
    names.into_iter().collect()
}
