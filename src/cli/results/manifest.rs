//! `gbench-ci manifest`: what this machine is, and what changed between two records' machines.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::app::paths::current_folder;
use crate::app::reports::manifests::read;
use crate::cli::terminal::write::{write_json, wrote};
use crate::machine::{self, ManifestChange};
use crate::model::{Exit, Fault, Manifest};
use crate::report::table;

#[derive(Args, Clone, Debug)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// Show the machine, repository and tools that a record written here and now would contain
    Show {
        /// Print the manifest as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the differences between two manifests
    Diff {
        /// A manifest, a record, or the folder of a run
        a: PathBuf,
        /// The manifest, record or folder to compare it with
        b: PathBuf,
        /// Print the differences as JSON
        #[arg(long)]
        json: bool,
        /// Also show values that change by the minute, such as load and temperature
        #[arg(long)]
        all: bool,
    },
}

pub(crate) fn run(args: &ManifestArgs, out: &mut impl io::Write) -> Result<Exit, Fault> {
    wrote(match &args.command {
        Command::Show { json } => {
            let manifest = machine::manifest(&current_folder()?);
            if *json { write_json(&manifest, out) } else { out.write_all(shown(&manifest).as_bytes()) }
        }
        Command::Diff { a, b, json, all } => {
            let changes = machine::diff(&read(a)?, &read(b)?);
            if *json {
                write_json(&changes, out)
            } else {
                out.write_all(listed(a, b, &changes, *all).as_bytes())
            }
        }
    })?;
    Ok(Exit::Pass)
}

fn shown(manifest: &Manifest) -> String {
    table(&[], machine::flat(manifest).into_iter().map(|(field, value)| vec![format!(" {field}"), value]))
}

fn listed(a: &Path, b: &Path, changes: &[ManifestChange], all: bool) -> String {
    let (volatile, lasting): (Vec<&ManifestChange>, Vec<&ManifestChange>) =
        changes.iter().partition(|change| change.volatile);
    let mut text = match lasting.len() {
        0 => "Nothing lasting differs.\n".to_owned(),
        1 => "1 field differs.\n".to_owned(),
        some => format!("{some} fields differ.\n"),
    };
    let shown: Vec<&ManifestChange> = if all { changes.iter().collect() } else { lasting };
    if !shown.is_empty() {
        let head = [" field".to_owned(), a.display().to_string(), b.display().to_string()].to_vec();
        let rows =
            shown.iter().map(|change| vec![format!(" {}", change.field), change.a.clone(), change.b.clone()]);
        text.push('\n');
        text.push_str(&table(&[], std::iter::once(head).chain(rows)));
    }
    if !all && !volatile.is_empty() {
        let count = volatile.len();
        text.push_str(&format!("\n{count} more change by the minute or by the job; --all shows them.\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_changes_are_shown_and_fleeting_ones_counted() {
        let change = |field: &str, volatile| ManifestChange {
            field: field.into(),
            a: "1".into(),
            b: "2".into(),
            volatile,
        };
        let changes = [change("host.kernel", false), change("host.load", true)];
        let (a, b) = (Path::new("a.json"), Path::new("b.json"));
        let some = listed(a, b, &changes, false);
        assert!(some.starts_with("1 field differs.") && some.contains("host.kernel"), "{some}");
        assert!(!some.contains("host.load") && some.contains("1 more"), "{some}");
        assert!(listed(a, b, &changes, true).contains("host.load"));
        assert_eq!(listed(a, b, &[], false), "Nothing lasting differs.\n");
    }
}
