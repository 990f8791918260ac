//! `compare --anchor`: the head is judged against a pinned release, too, because many steps that are each too small to
//! matter may add up to one that does.

use std::io::Write;
use std::path::Path;

use super::terminal::style;
use super::terminal::write::wrote;
use crate::app::paths::shown;
use crate::app::verdict_files::{ANCHOR_PREFIX, anchor_beside, exit_from, rendered, write_as};
use crate::compare::VerdictDocument;
use crate::model::{Exit, Fault, Result};
use crate::report::Format;

/// Where the anchor's verdict goes beside the first one's.
pub struct Places<'a> {
    /// Folder of a fresh run's reports.
    pub reports: Option<&'a Path>,
    pub json: Option<&'a Path>,
    pub markdown: Option<&'a Path>,
}

/// Refuses to print two verdicts as one document of a format that holds one.
pub fn check(format: Format) -> Result<()> {
    match format {
        Format::Terminal | Format::Markdown | Format::Jsonl => Ok(()),
        Format::Json | Format::Csv | Format::Junit => Err(Fault::at_flag(
            "--anchor",
            format!("two verdicts do not go into one {} document", format.into_str()),
            "take `--format` out; `--json FILE` and `--markdown FILE` write the anchor's verdict beside the other",
        )),
    }
}

/// Prints the anchor's verdict below the first one, writes it beside the first one's files, and gives the graver of the
/// two exit codes. `name`: how the user called the anchor.
pub fn deliver(
    (first, anchored): (&VerdictDocument, &VerdictDocument),
    name: &str,
    places: &Places,
    (format, all): (Format, bool),
    out: &mut impl Write,
) -> Result<Exit> {
    for (path, format) in [(places.json, Format::Json), (places.markdown, Format::Markdown)] {
        if let Some(path) = path {
            write_as(format, anchored, &anchor_beside(path))?;
        }
    }
    let text = rendered(anchored, format, style::of_stdout(), all)?;
    let heading = match format {
        Format::Terminal => format!("\nAgainst the anchor {name}\n\n"),
        Format::Markdown => format!("\n# Against the anchor {name}\n\n"),
        _ => String::new(),
    };
    wrote(out.write_all(heading.as_bytes()))?;
    wrote(out.write_all(&text))?;
    let (exit, of_anchor) = (exit_from(first), exit_from(anchored));
    let graver = exit.most_severe(of_anchor);
    if format == Format::Terminal {
        if let Some(folder) = places.reports {
            let [verdict, report] = ["verdict.json", "verdict.md"]
                .map(|name| shown(&folder.join(format!("{ANCHOR_PREFIX}{name}"))));
            wrote(writeln!(out, "\nverdict {verdict}\nreport  {report}"))?;
        }
        let both = format!(
            "exit code {}: {} against {}, {} against the anchor {name}",
            graver.code(),
            exit.code(),
            first.base.name,
            of_anchor.code()
        );
        wrote(writeln!(out, "\n{both}"))?;
    }
    Ok(graver)
}
