//! `gbench-ci discover`: the benchmarks of a folder. Starts nothing and writes nothing.

use std::io::Write;
use std::path::PathBuf;

use crate::app::discover::{V1Discovery, V1Found};
use crate::cli::terminal::write::{table, write_json, wrote};
use crate::model::text::count;
use crate::model::{Exit, Result};
use crate::report::paragraph;

/// Show the benchmarks of a folder; runs nothing
///
/// It lists harness programs, scripts, CUDA kernels that belong to no program, and Python modules by their layout: pairs of
/// baseline_NAME.py and optimized_NAME.py, and kernels with their bench.yaml.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DiscoverArgs {
    /// Folder to search
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Also list files that look like benchmarks of a layout but are not
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(args: &DiscoverArgs, out: &mut impl Write) -> Result<Exit> {
    let found = V1Discovery::of(&args.folder, args.verbose)?;
    if args.json {
        wrote(write_json(&found, out))?;
    } else {
        wrote(out.write_all(page(&found).as_bytes()))?;
    }
    Ok(Exit::Pass)
}

fn page(found: &V1Discovery) -> String {
    let mut parts = Vec::new();
    if found.benchmarks.is_empty() {
        parts.push("Nothing here looks like a benchmark that could be measured as it is.\n".to_owned());
    } else {
        let rows = found.benchmarks.iter().map(row);
        parts.push(table(&["benchmark", "of", "starts", "why"], rows));
    }
    if !found.pairs.is_empty() || !found.cuda_pairs.is_empty() {
        let modules = found.pairs.iter().map(|pair| {
            let files = pair
                .optimized
                .iter()
                .map(|optimized| optimized.technique.clone().unwrap_or_else(|| "optimized".into()));
            vec![pair.chapter.clone(), pair.name.clone(), files.collect::<Vec<_>>().join(", ")]
        });
        let sources = found.cuda_pairs.iter().map(|pair| {
            let leaf = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
            let files: Vec<String> = pair.optimized.iter().map(leaf).collect();
            vec![pair.chapter.clone(), format!("{} (CUDA)", pair.name), files.join(", ")]
        });
        parts.push(table(&["chapter", "pair", "optimized by"], modules.chain(sources)));
    }
    if !found.kernels.is_empty() {
        let rows = found.kernels.iter().map(|kernel| {
            let cases = if kernel.fault.is_some() { "broken".into() } else { kernel.cases.len().to_string() };
            vec![
                kernel.path.clone(),
                cases,
                format!("{}?", kernel.backend_guessed),
                kernel.dependencies.join(", "),
            ]
        });
        parts.push(table(&["kernel", "cases", "backend", "imports"], rows));
    }
    let said: Vec<String> = found.warnings.iter().chain(&found.unclear).cloned().collect();
    parts.extend(sentences("seen and left out, or odd:", &said));
    let over: Vec<String> =
        found.passed_over.iter().flatten().map(|over| format!("{}: {}", over.path, over.why)).collect();
    parts.extend(sentences("passed over:", &over));
    let counts = [
        count(found.benchmarks.len(), "benchmark"),
        count(found.pairs.len() + found.cuda_pairs.len(), "pair"),
        count(found.kernels.len(), "kernel"),
        count(found.orphans.len(), "orphan"),
    ];
    parts.push(format!("{}; nothing was run\n", counts.join(", ")));
    parts.join("\n")
}

fn row(found: &V1Found) -> Vec<String> {
    let of = match (&found.python, found.harness) {
        _ if found.pairs.is_some() => "pairs of sources".to_owned(),
        _ if found.cuda.is_some() => "CUDA kernel".to_owned(),
        (Some(python), _) => format!("layout {}", python.layout),
        (None, Some(harness)) => harness.to_owned(),
        (None, None) => "-".into(),
    };
    let starts = match (&found.python, &found.cuda) {
        (Some(python), _) => python.roots.join(" "),
        (None, Some(kernel)) => format!("{} of {}", kernel.entry, kernel.file),
        (None, None) => found.command.iter().flatten().cloned().collect::<Vec<_>>().join(" "),
    };
    let place = if found.dir.is_empty() { String::new() } else { format!(" (in {})", found.dir) };
    vec![found.id.clone(), of, format!("{starts}{place}"), found.why.clone()]
}

fn sentences(title: &str, all: &[String]) -> Option<String> {
    let lines = || all.iter().map(|sentence| paragraph("  - ", sentence)).collect::<String>();
    (!all.is_empty()).then(|| format!("{title}\n{}", lines()))
}
