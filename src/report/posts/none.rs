//! What stands where a run gave no answer: in place of what an earlier run has said.

use super::Facts;
use super::links::{address, commit, full_commit};
use super::page::gate;
use super::text::prose;
use crate::model::sha256_hex;

/// The comment of a pull request whose newest run came to no verdict. `why` is ours; `marker` is the last line.
pub fn no_verdict(why: &str, facts: &Facts, marker: &str) -> String {
    let of = facts.head.as_deref().and_then(full_commit).map(|head| format!(" for {}", commit(head, facts)));
    let mut page = format!("### ❔ {}: no verdict\n\n", gate(facts));
    page += &format!("**There is no verdict{}.** {}\n\n", of.unwrap_or_default(), prose(why, 1000));
    page += "What this comment said before was about an earlier run; its history of changes has it.\n\n";
    if let Some(url) = facts.run_url.as_deref().and_then(address) {
        page += &format!("<sub>[Run]({url})</sub>\n\n");
    }
    format!("{page}{marker}\n")
}

/// [`super::state`] of an answer that is none.
pub fn state_of_none(why: &str) -> String {
    sha256_hex(format!("no verdict: {why}").as_bytes())
}
