//! Webhooks: the document of the verdict, for any program that wants it.

use super::announcement::{Announcement, CheckEnd, Delivery, Note};
use super::destination::webhooks;
use super::input::PublishInput;
use super::target::PublishRequest;
use crate::app::reports::verdict_files::json_of;
use crate::compare::{AppliedAcceptances, Merged};
use crate::github::checks::CheckOutput;
use crate::github::webhook::{WebhookAddress, WebhookSecret, deliver};
use crate::github::{ClientLimits, Context};
use crate::model::{Fault, Result, sha256_hex};

const SECRET: &str = "GBENCH_WEBHOOK_SECRET";

/// The key of all receivers, from the environment alone. Errors: there is none, or it is not a key.
pub(super) fn secret() -> Result<WebhookSecret> {
    let next = "set it to the secret that the receiver has; `openssl rand -hex 32` makes one";
    let text =
        std::env::var(SECRET).map_err(|_| Fault::at(SECRET, "is not set, and a webhook is signed", next))?;
    WebhookSecret::new(&text).map_err(|what| Fault::at(SECRET, what, next))
}

/// Tells every receiver that is named. All of them are tried. Errors: that of the first which failed.
pub(super) fn notify(
    request: &PublishRequest,
    context: Option<&Context>,
    input: &PublishInput,
    log: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    if webhooks(&request.to).next().is_some() && context.is_some_and(Context::is_fork) {
        return log("webhook: not sent, a fork's result is not verified");
    }
    let announcement = Announcement { request, context, unverified: false };
    let told = |to| {
        let receiver = Receiver { to, gate: &request.name, log };
        announcement.verdict(input, &AppliedAcceptances::default(), &receiver)
    };
    let told: Vec<Result<()>> = webhooks(&request.to).map(told).collect();
    told.into_iter().collect()
}

struct Receiver<'a> {
    to: &'a WebhookAddress,
    gate: &'a str,
    log: &'a dyn Fn(&str) -> Result<()>,
}

impl Delivery for Receiver<'_> {
    fn answer(&self, _name: &str, _end: &CheckEnd, note: Option<&Note<'_>>) -> Result<()> {
        let Some(merged) = note.and_then(|note| note.document) else { return Ok(()) };
        let document = document(merged)?;
        let event = event(self.gate, &document);
        deliver(self.to, &secret()?, &event, &document, ClientLimits::default())?;
        (self.log)(&format!("webhook {}: sent, event {event}", self.to))
    }

    /// A program would take it for the verdict.
    fn pending(&self, _name: &str, _output: &CheckOutput, note: Option<&Note<'_>>) -> Result<()> {
        let Some(_) = note else { return Ok(()) };
        (self.log)(&format!("webhook {}: not sent, parts are pending", self.to))
    }
}

/// As the measuring job wrote it: the verdict, or the merged verdict of a matrix.
fn document(merged: &Merged) -> Result<Vec<u8>> {
    match merged.groups.as_slice() {
        [only] if only.label.is_empty() && merged.warnings.is_empty() => json_of(&only.verdict),
        _ => json_of(merged),
    }
}

/// The same for the same document, so that a receiver takes a repetition for one.
fn event(gate: &str, document: &[u8]) -> String {
    let digest = sha256_hex(&[gate.as_bytes(), b"\n", document].concat());
    digest.chars().take(32).collect()
}
