//! Buildkite: an annotation of the build for each gate, written by the agent's own program. The same context is replaced, so
//! that an annotation is never written twice, whatever became of an earlier answer.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::announcement::{CheckEnd, Delivery, Note};
use super::target::unpublished;
use crate::github::checks::{CheckConclusion, CheckOutput};
use crate::github::comments::CommentMode;
use crate::model::Result;

const AGENT: &str = "buildkite-agent";

/// Characters of a context.
const MAX_CONTEXT: usize = 100;

pub(super) struct BuildAnnotation<'a> {
    pub comment: CommentMode,
    pub log: &'a dyn Fn(&str) -> Result<()>,
}

impl Delivery for BuildAnnotation<'_> {
    fn answer(&self, name: &str, end: &CheckEnd, note: Option<&Note<'_>>) -> Result<()> {
        self.write(name, style(end.conclusion), note)
    }

    fn pending(&self, name: &str, _output: &CheckOutput, note: Option<&Note<'_>>) -> Result<()> {
        self.write(name, "info", note)
    }
}

impl BuildAnnotation<'_> {
    /// A build shows its state by itself: only the note is written, also of plain green, because it sends no mail.
    fn write(&self, name: &str, style: &str, note: Option<&Note<'_>>) -> Result<()> {
        let Some(note) = note else { return Ok(()) };
        if self.comment == CommentMode::Never {
            return (self.log)("annotation: none, as asked");
        }
        let context: String = name.chars().take(MAX_CONTEXT).collect();
        annotate(&context, style, &dialect(&(note.body)("")))?;
        (self.log)(&format!("annotation {context}: written, {style}"))
    }
}

fn style(conclusion: CheckConclusion) -> &'static str {
    match conclusion {
        CheckConclusion::Success => "success",
        CheckConclusion::Skipped | CheckConclusion::Neutral => "warning",
        CheckConclusion::Cancelled
        | CheckConclusion::TimedOut
        | CheckConclusion::ActionRequired
        | CheckConclusion::Failure => "error",
    }
}

/// Buildkite strips all but a few elements, so that two lines of a cell would become one word. Names never contain an
/// element outside of code: they are escaped.
fn dialect(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut out = String::with_capacity(text.len());
    for line in text.trim_end().lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            _ => {}
        }
        if fence.is_some() {
            out += line;
        } else {
            let line = line.replace("<br>", " / ").replace("<wbr>", "");
            out += &line.replace("<sub>", "").replace("</sub>", "");
        }
        out.push('\n');
    }
    out
}

fn annotate(context: &str, style: &str, body: &str) -> Result<()> {
    let ran = run(context, style, body).map_err(|error| {
        let next = "publish in a step of Buildkite, where its agent is on the PATH; in a container mount it into that";
        unpublished(AGENT, format!("cannot be started: {error}"), next)
    })?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("without a message");
    let next = "see what the agent says; a container needs BUILDKITE_AGENT_ACCESS_TOKEN and BUILDKITE_JOB_ID of the step";
    Err(unpublished("buildkite-agent annotate", format!("{}: {said}", ran.status), next))
}

fn run(context: &str, style: &str, body: &str) -> std::io::Result<Output> {
    let mut agent = Command::new(AGENT);
    agent.args(["annotate", "--style", style, "--context", context]);
    agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut agent = agent.spawn()?;
    if let Some(mut input) = agent.stdin.take() {
        // An agent that refuses does not read on: its status and its words are the answer.
        let _ = input.write_all(body.as_bytes());
    }
    agent.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::dialect;

    #[test]
    fn elements_that_buildkite_strips_are_written_otherwise_and_code_stays() {
        let text = "| `a`<br>1 % | <code>x<wbr>y</code> |\n```sh\necho '<br>'\n```\n<sub>Run</sub>\n\n";
        let told = "| `a` / 1 % | <code>xy</code> |\n```sh\necho '<br>'\n```\nRun\n";
        assert_eq!(dialect(text), told);
    }
}
