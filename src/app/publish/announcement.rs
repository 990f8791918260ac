//! The texts and states of a result, decided once for all services. A [`Delivery`] brings them to its service.

use super::facts::publish_context;
use super::input::PublishInput;
use super::no_verdict::NoVerdict;
use super::target::{PublishRequest, check_name};
use crate::compare::{AppliedAcceptances, Conclusion, Merged, Verdict, Warning};
use crate::github::Context;
use crate::github::checks::{Annotation, AnnotationLevel, CheckConclusion, CheckOutput};
use crate::model::{Host, Result, Untouched};
use crate::report::github::{self as render, CheckPage, CheckState, PublishContext};

/// The end of a check: in one word, and in a title, a summary and folded parts.
pub(super) struct CheckEnd {
    pub conclusion: CheckConclusion,
    pub output: CheckOutput,
}

/// The text for people, and the document for programs.
pub(super) struct Note<'a> {
    /// Digest of what is said.
    pub state: String,
    /// True if the text deserves a comment, even if there is none yet.
    pub should_comment: bool,
    /// The text in Markdown, with this line as its last: by it the text is found again.
    pub body: &'a dyn Fn(&str) -> String,
    /// `None`: there is no verdict.
    pub document: Option<&'a Merged>,
}

/// A service that a result is sent to.
pub(super) trait Delivery {
    /// Ends the check of this name. `note`: the rest, where this check stands for all.
    ///
    /// Errors: [`crate::model::Exit::Unpublished`].
    fn answer(&self, name: &str, end: &CheckEnd, note: Option<&Note<'_>>) -> Result<()>;

    /// The verdict of the parts that have come: the check stays in progress.
    ///
    /// Errors: [`crate::model::Exit::Unpublished`].
    fn pending(&self, name: &str, output: &CheckOutput, note: Option<&Note<'_>>) -> Result<()>;
}

/// The publishing job: its request and event, and how far it trusts the result.
#[derive(Clone, Copy)]
pub(super) struct Announcement<'a> {
    pub request: &'a PublishRequest,
    pub context: Option<&'a Context>,
    pub unverified: bool,
}

impl Announcement<'_> {
    fn check_name(&self) -> String {
        check_name(self.context, &self.request.name, &self.request.label)
    }

    /// Checks first: the note is the louder of the two, and what it links to should be there.
    pub(super) fn verdict(
        &self,
        input: &PublishInput,
        accepted: &AppliedAcceptances,
        to: &dyn Delivery,
    ) -> Result<()> {
        let merged = &input.merged;
        let shown = PublishContext {
            accepted: accepted.clone(),
            ..publish_context(self.request, self.context, Some(input), self.unverified)
        };
        let note = Note {
            state: render::fingerprint(merged, accepted),
            should_comment: should_comment(merged),
            body: &|marker| render::comment(merged, &shown, marker),
            document: Some(merged),
        };
        let all = checks(self.request, self.context, merged, &shown);
        let last = all.len().saturating_sub(1);
        for (index, (name, check)) in all.into_iter().enumerate() {
            let note = (index == last).then_some(&note);
            // Services with statuses alone have nothing between green and red: what a fork measured stays open there.
            let has_neutral = self.context.is_none_or(|context| context.host() == Host::GitHub);
            let is_open = self.unverified && check.state == CheckState::Success && !has_neutral;
            if check.state == CheckState::InProgress || is_open {
                to.pending(&name, &output(check), note)?;
            } else {
                to.answer(&name, &end_of(check, self.unverified), note)?;
            }
        }
        Ok(())
    }

    /// That nothing was measured: the check records that, and a note that is there, which would else speak of another commit.
    pub(super) fn untouched(&self, untouched: &Untouched, to: &dyn Delivery) -> Result<()> {
        let shown = publish_context(self.request, self.context, None, false);
        let note = Note {
            state: render::untouched_fingerprint(),
            should_comment: false,
            body: &|marker| render::untouched(untouched, &shown, marker),
            document: None,
        };
        let end = end_of(render::check_untouched(untouched, &shown), false);
        to.answer(&self.check_name(), &end, Some(&note))
    }

    /// A check that ends without a verdict. An earlier note is about another run, and must not remain as the answer to this
    /// one; where there is no note, the check records enough.
    pub(super) fn no_verdict(&self, ended: &NoVerdict, to: &dyn Delivery) -> Result<()> {
        let output =
            CheckOutput { title: "No verdict".into(), summary: ended.text.clone(), ..CheckOutput::default() };
        let end = CheckEnd { conclusion: ended.conclusion, output };
        let shown = publish_context(self.request, self.context, None, false);
        let note = Note {
            state: render::no_verdict_fingerprint(&ended.text),
            should_comment: false,
            body: &|marker| render::no_verdict(&ended.text, &shown, marker),
            document: None,
        };
        to.answer(&self.check_name(), &end, Some(&note))
    }
}

/// The checks of a verdict, with their names: one for each machine that has a label, and one for all, the name that branch
/// protection can ask for. A machine's own job has only its own.
pub(super) fn checks(
    request: &PublishRequest,
    context: Option<&Context>,
    merged: &Merged,
    shown: &PublishContext,
) -> Vec<(String, CheckPage)> {
    let name = |label: &str| check_name(context, &request.name, label);
    let labelled = merged.groups.iter().filter(|group| !group.label.is_empty());
    let mut checks: Vec<(String, CheckPage)> = labelled
        .map(|group| {
            let alone = Merged::single(&group.label, group.verdict.clone());
            (name(&group.label), render::check(&alone, shown))
        })
        .collect();
    let is_own =
        !request.label.is_empty() && merged.groups.len() == 1 && merged.groups[0].label == request.label;
    if !is_own {
        checks.push((name(&request.label), render::check(merged, shown)));
    }
    checks
}

/// True if it deserves a comment: all but plain green of benchmarks that both sides define alike.
pub(super) fn should_comment(merged: &Merged) -> bool {
    let is_better = |verdict| merged.counts.get(verdict).is_some_and(|count| *count > 0);
    let better = [Verdict::Improved, Verdict::Mended].iter().any(is_better);
    let mut warnings = merged.groups.iter().flat_map(|group| &group.verdict.warning_codes);
    merged.conclusion != Conclusion::Pass || better || warnings.any(Warning::is_of_definitions)
}

pub(super) fn output(check: CheckPage) -> CheckOutput {
    let annotation = |it: render::BenchmarkAnnotation| {
        let (path, line) = it.place?;
        let level = if it.failure { AnnotationLevel::Failure } else { AnnotationLevel::Warning };
        Some(Annotation { path, line, level, title: it.title, message: it.message })
    };
    CheckOutput {
        title: check.title,
        summary: check.summary,
        text: check.text,
        annotations: check.annotations.into_iter().filter_map(annotation).collect(),
    }
}

/// A finished check that is still in progress would be a lie: it counts as failed. Green that is not verified here is not
/// green.
fn end_of(check: CheckPage, unverified: bool) -> CheckEnd {
    let conclusion = match check.state {
        CheckState::Success if unverified => CheckConclusion::Neutral,
        CheckState::Success => CheckConclusion::Success,
        CheckState::Failure | CheckState::InProgress => CheckConclusion::Failure,
        CheckState::Neutral => CheckConclusion::Neutral,
        CheckState::ActionRequired => CheckConclusion::ActionRequired,
    };
    CheckEnd { conclusion, output: output(check) }
}
