//! Pages without a judgement: of a run without a result, and of a change that touches nothing measured. They replace the
//! comment of an earlier run.

use super::check::{CheckPage, CheckState};
use super::parts::accepted::further;
use super::parts::budget::{ShortNames, prose};
use super::parts::context::PublishContext;
use super::parts::links::{commit, full_commit, gate, link};
use gbench_model::text::count;
use gbench_model::{Untouched, sha256_hex};

const MAX_PATHS: usize = 12;

/// The comment of a pull request whose newest run reached no verdict. `why` is trusted text; `marker` is the last line.
pub fn no_verdict(why: &str, context: &PublishContext, marker: &str) -> String {
    let of =
        context.head.as_deref().and_then(full_commit).map(|head| format!(" for {}", commit(head, context)));
    let mut page = format!("### ❔ {}: no verdict\n\n", gate(context));
    page += &format!("**There is no verdict{}.** {}\n\n", of.unwrap_or_default(), prose(why, 1000));
    page += "What this comment said before was about an earlier run; its history of changes has it.\n\n";
    format!("{page}{}{marker}\n", run(context))
}

fn run(context: &PublishContext) -> String {
    link("Run", context.run_url.as_deref()).map_or(String::new(), |run| format!("<sub>{run}</sub>\n\n"))
}

/// Plain text, one line.
pub fn untouched_words(untouched: &Untouched) -> String {
    let files = match untouched.files {
        0 => "it changes no file".into(),
        1 => "the one file that it changes fits none of its paths".into(),
        files => format!("none of the {} that it changes fits its paths", count(files as usize, "file")),
    };
    let paths = untouched.paths.iter().take(MAX_PATHS).cloned().collect::<Vec<_>>().join(", ");
    let more = untouched.paths.len().saturating_sub(MAX_PATHS);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("Nothing was measured: nothing that the suite measures was touched; {files} ({paths}{more})")
}

/// The page of a change that touches nothing measured; for a comment with `marker` as its last line.
pub fn untouched(untouched: &Untouched, context: &PublishContext, marker: &str) -> String {
    let mut page = format!("### ➖ {}: nothing was measured\n\n", gate(context));
    page +=
        "**Nothing that the suite measures was touched.** This is not a verdict: no benchmark has run.\n\n";
    let files = count(untouched.files as usize, "file");
    page +=
        &format!("The change has {files}, none of which `[gate] paths` of the base's suite file means:\n\n");
    let shown = || untouched.paths.iter().take(MAX_PATHS);
    let short = ShortNames::new(shown().map(String::as_str), 120);
    page.extend(shown().map(|path| format!("- {}\n", short.name(path))));
    page += &further(untouched.paths.len(), MAX_PATHS);
    format!("{page}\n{}{marker}{}", run(context), if marker.is_empty() { "" } else { "\n" })
}

/// The check of such a change: it does not block, but does not succeed either.
pub fn check_untouched(untouched: &Untouched, context: &PublishContext) -> CheckPage {
    let title = "Nothing was measured: nothing that the suite measures was touched";
    CheckPage::new(CheckState::Neutral, title, self::untouched(untouched, context, ""))
}

pub fn untouched_fingerprint() -> String {
    sha256_hex(b"nothing that the suite measures was touched")
}

/// The fingerprint of a comment without a verdict.
pub fn no_verdict_fingerprint(why: &str) -> String {
    sha256_hex(format!("no verdict: {why}").as_bytes())
}
