//! The issue of what the history shows: open while a lasting change for the worse or a drift exists that was not accepted or put
//! aside.

use serde::{Deserialize, Serialize};

use super::facts::shown;
use super::input::PublishInput;
use super::target::PublishTarget;
use crate::github::issues::{self, IssueSubject, IssueTopic};
use crate::model::Result;
use crate::report::github::{closing_note_of_trends, trends_issue};
use crate::trend::{OpenTrends, ToldTrend};

/// Findings that are remembered of each kind: with their dates they fit into what the issue leaves for them.
const MOST: usize = 60;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrendsState {
    told: Vec<ToldTrend>,
    /// Told before, and a person closed the issue.
    aside: Vec<ToldTrend>,
}

pub(super) fn issue(target: &PublishTarget<'_>, input: &PublishInput) -> Result<()> {
    if input.trends.is_empty() {
        return Ok(());
    }
    if !input.has_all_trends {
        return target.log("trends: the issue is left as it is, a part does not say what its history shows");
    }
    let (client, me) = (&target.client, &target.me);
    let subject = IssueSubject { gate: &target.request.name, topic: IssueTopic::Trends };
    let newest = issues::newest(client, subject, me)?;
    let mut before: TrendsState =
        newest.as_ref().and_then(|issue| issues::read_state(&issue.body)).unwrap_or_default();
    if newest.is_some_and(|issue| issue.closed_by_person) {
        before.aside.append(&mut before.told);
    }
    let open = OpenTrends::of(&input.trends).without(&before.aside);
    tell_unconfirmed(target, &open)?;
    let shown = shown(target, Some(input), false);
    let (title, body) = trends_issue(&open, &shown);
    let older = before.aside.len().saturating_sub(MOST);
    let state = TrendsState {
        told: open.standing.iter().take(MOST).map(|it| it.as_told()).collect(),
        aside: before.aside.split_off(older),
    };
    let state = issues::state_line(&state);
    let body = |marker: &str| format!("{}\n\n{state}\n{marker}", body.trim_end());
    let note = closing_note_of_trends(&before.told, &input.trends);
    let stands = !open.standing.is_empty();
    let done = issues::report(client, subject, stands, &title, &body, &note, me)?;
    target.log(&format!("trends: {done}"))
}

fn tell_unconfirmed(target: &PublishTarget<'_>, open: &OpenTrends<'_>) -> Result<()> {
    for (found, what) in [
        (&open.unconfirmed, "a lasting change for the worse, new with this run and not confirmed yet"),
        (&open.withdrawn, "this run takes a lasting change back"),
    ] {
        for it in found {
            target.log(&format!("trends: {} {}: {what}", it.series.case, it.series.metric))?;
        }
    }
    Ok(())
}
