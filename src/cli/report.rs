//! `report`: a verdict, several merged ones or a run record, shown again in any format from its JSON alone.

use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::comparison::read_checked;
use super::look;
use super::merge::MERGED;
use super::output::wrote;
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Input, Options, Style};
use crate::store::{comparison_of, read_record, write_atomically};

/// Show a verdict or a run record again
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A verdict, merged verdicts, a run record, or the folder of a run or a merge
    file: PathBuf,
    /// How to write it
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show everything: unchanged rows in full, no table cut short
    #[arg(long)]
    all: bool,
    /// Exit with the code that the document stands for, instead of 0
    #[arg(long)]
    exit_code: bool,
}

/// Takes the words of [`Format::ALL`].
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(_, word)| word))
        .try_map(|word| Format::from_word(&word).ok_or_else(|| format!("no such format: {word}")))
}

/// Reads the document and writes the report. Exit 0, or the document's own code where that is asked for.
pub fn run(args: &Args, out: &mut impl io::Write) -> Result<Exit> {
    // What is shown of a comparison is shown only where its records hold.
    if let Some(folder) = comparison_of(&args.file) {
        read_checked(&folder)?;
    }
    let input = input(&args.file)?;
    match &args.output {
        Some(path) => {
            let mut bytes = Vec::new();
            let options = Options { format: args.format, style: Style::PLAIN, all: args.all };
            wrote(input.render(&options, &mut bytes))?;
            write_atomically(path, &bytes)?;
        }
        None => {
            let options = Options { format: args.format, style: look::of_stdout(), all: args.all };
            wrote(input.render(&options, out).and_then(|()| out.flush()))?;
        }
    }
    match args.exit_code {
        false => Ok(Exit::Pass),
        true => input.exit().ok_or_else(|| {
            let what = "its exit code is none that gbench-ci knows";
            Fault::at_path(&args.file, what, "use the file as gbench-ci wrote it")
        }),
    }
}

/// A document, what a merge left, or the record of a run: its folder, or what a killed run left.
fn input(path: &Path) -> Result<Input> {
    let merged = path.join(MERGED);
    if merged.is_file() {
        return Input::parse(&merged, &read(&merged)?);
    }
    let of_a_run = path.is_dir() || path.extension().is_some_and(|extension| extension == "jsonl");
    match of_a_run {
        true => Ok(Input::Record(Box::new(read_record(path)?))),
        false => Input::parse(path, &read(path)?),
    }
}

fn read(path: &Path) -> Result<String> {
    let next = "give the path of a verdict or a run record that gbench-ci wrote";
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::at_path(path, format!("cannot be read: {error}"), next))?;
    String::from_utf8(bytes)
        .map_err(|error| Fault::at_path(path, format!("is no UTF-8 text: {}", error.utf8_error()), next))
}
