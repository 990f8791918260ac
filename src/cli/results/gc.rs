//! `gbench-ci gc`: what is not kept goes.

use std::io::Write;
use std::path::PathBuf;

use crate::app::store::comparison::ArtifactsRequest;
use crate::app::store::gc::{Cleaned, GcRequest, gc};
use crate::cli::exit::of_signal;
use crate::cli::terminal::write::wrote;
use crate::model::text::{count, grouped, list};
use crate::model::{Exit, Fault, Result};
use crate::store::ArtifactsKind;
use crate::suite::{Benchmark, KeepRuns};

const SHOWN: usize = 20;

/// Remove old runs, comparisons and bisections, and pack the history's objects
///
/// Keeps the newest ones, by number or by age. It also keeps runs that a baseline refers to, comparisons and bisections that
/// can be resumed, and folders that another gbench-ci process is using. It removes what killed processes left behind, and
/// leaves files that gbench-ci did not create. It removes no run from a history: it packs the history's objects in this
/// repository into one file.
///
/// Exit codes: 0 done; 2 neither a flag nor the suite file sets how much to keep; 5 something could not be removed; 130 or
/// 143 ended by a signal, after the current folder was finished.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct GcArgs {
    /// How many of the newest runs, comparisons and bisections to keep, such as 200, or how old they may be, such as 30d
    /// [default: `keep_runs` in [run]]
    #[arg(long, value_name = "KEEP", allow_hyphen_values = true)]
    keep: Option<String>,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Folder of runs and comparisons instead of the suite file's
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// History whose objects are packed: git:BRANCH [default: the suite's store and git:gbench-history]
    #[arg(long, value_name = "ADDRESS")]
    history: Option<String>,
    /// Suite file whose folders are cleaned [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store whose baselines are kept, instead of the suite file's
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
}

pub(crate) fn run(args: &GcArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let keep = args.keep.as_deref().map(|text| {
        text.parse().map_err(|what: String| Fault::at_flag(format!("--keep {text}"), what, KeepRuns::FORMS))
    });
    let keep = keep.transpose()?;
    let GcArgs { dry_run, artifacts, history, config, store, .. } = args.clone();
    let request = GcRequest { place: ArtifactsRequest { config, artifacts }, store, keep, history, dry_run };
    let cleaned = gc(&request, builtins)?;
    wrote(print(&cleaned, args.dry_run, out).and_then(|()| out.flush()))?;
    match (Fault::chain(cleaned.faults), cleaned.interrupted) {
        (_, Some(signal)) => Ok(of_signal(signal)),
        (Some(fault), None) => Err(fault),
        (None, None) => Ok(Exit::Pass),
    }
}

fn print(cleaned: &Cleaned, dry_run: bool, out: &mut impl Write) -> std::io::Result<()> {
    let (removed, stays, packed) =
        if dry_run { ("would remove", "would keep", "would pack") } else { ("removed", "kept", "packed") };
    let kinds: Vec<String> = cleaned.removed.iter().map(|(kind, number)| counted(*kind, *number)).collect();
    let bytes = megabytes(cleaned.bytes);
    match kinds.as_slice() {
        [] => writeln!(out, "{removed} nothing; {stays} {}", grouped(cleaned.kept as u64))?,
        kinds => {
            writeln!(
                out,
                "{removed} {}, {bytes}; {stays} {}",
                list(kinds, kinds.len()),
                grouped(cleaned.kept as u64)
            )?;
        }
    }
    for (address, it) in &cleaned.packed {
        let loose = megabytes(it.loose_bytes);
        let into = if dry_run { String::new() } else { format!(" into {}", megabytes(it.pack_bytes)) };
        writeln!(out, "{packed} {} of {address}, {loose}{into}", many(it.objects, "loose object"))?;
    }
    for (name, why) in &cleaned.spared {
        writeln!(out, "  {stays} {name}: {why}")?;
    }
    if let [_, ..] = cleaned.foreign.as_slice() {
        let (entries, verb) = match cleaned.foreign.len() {
            1 => ("1 item was not made by gbench-ci".to_owned(), "stays"),
            more => (format!("{} were not made by gbench-ci", many(more, "item")), "stay"),
        };
        let names: Vec<String> = cleaned.foreign.iter().map(|name| name.escape_debug().to_string()).collect();
        writeln!(out, "{entries} and {verb}: {}", list(&names, SHOWN))?;
    }
    if cleaned.interrupted.is_some() {
        writeln!(out, "a signal ended it: run it again for the rest")?;
    }
    Ok(())
}

fn counted(kind: ArtifactsKind, number: usize) -> String {
    let noun = match kind {
        ArtifactsKind::Run => "run",
        ArtifactsKind::Comparison => "comparison",
        ArtifactsKind::Bisection => "bisection",
        ArtifactsKind::Leftover | ArtifactsKind::Busy | ArtifactsKind::Foreign => "leftover",
    };
    many(number, noun)
}

fn many(number: usize, noun: &str) -> String {
    let text = count(number, noun);
    let (_, noun) = text.split_once(' ').unwrap_or_default();
    format!("{} {noun}", grouped(number as u64))
}

fn megabytes(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{} MB", grouped(bytes / 1_000_000)),
    }
}
