//! `compare --anchor`: the head is judged against a pinned release, too, because many steps that are each too small to
//! matter may add up to one that does.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::compare::{exit_from, rendered, write_reports_as};
use super::terminal::style;
use super::terminal::write::wrote;
use crate::app::paths::shown;
use crate::compare::VerdictDocument;
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Style};
use crate::store::write_atomically;

/// What the names of the anchor's files begin with.
pub const PREFIX: &str = "anchor.";

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
            format!("two verdicts do not go into one {} document", format.word()),
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
    if let Some(folder) = places.reports {
        write_reports_as(PREFIX, anchored, folder)?;
    }
    let whole = |format| rendered(anchored, format, Style::PLAIN, true);
    for (path, format) in [(places.json, Format::Json), (places.markdown, Format::Markdown)] {
        if let Some(path) = path {
            write_atomically(&beside(path), &whole(format)?)?;
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
            let [verdict, report] =
                ["verdict.json", "verdict.md"].map(|name| shown(&folder.join(format!("{PREFIX}{name}"))));
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

/// `out/verdict.json` -> `out/anchor.verdict.json`.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    path.with_file_name(format!("{PREFIX}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anchors_files_lie_beside_the_others() {
        assert_eq!(beside(Path::new("out/v.json")), Path::new("out/anchor.v.json"));
        assert_eq!(beside(Path::new("v.md")), Path::new("anchor.v.md"));
    }
}
