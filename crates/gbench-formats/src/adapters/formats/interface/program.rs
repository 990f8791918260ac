//! A program whose output has a known format, as an adapter: the command of the suite file is started, and each row of
//! its output is a case.

use super::check;
use super::format::{FormatAbout, ResultFile, ResultFormat};
use crate::adapters::interface::adapter::{About, Adapter, CaseRequest, Invocation, Reading};
use crate::adapters::interface::output::STDERR;
use crate::adapters::interface::output::{HarnessOutput, OutputFiles, ReadError};

/// The placeholder in a command for the program's output folder.
pub(in crate::adapters) const OUT: &str = "{out}";

/// The environment variable with the same folder, for shell lines.
const OUT_VARIABLE: &str = "GBENCH_OUT";

pub(crate) struct ResultProgram(pub &'static dyn ResultFormat);

impl Adapter for ResultProgram {
    fn about(&self) -> About {
        let FormatAbout { title, reads, tried, .. } = self.0.about();
        About { name: self.0.name(), title, reads, tried, load: self.0.load(), ..About::PLAIN }
    }

    /// The program's own arguments determine how much it measures.
    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let argv = ask.command.iter().map(|word| word.replace(OUT, ask.out)).collect();
        Some(Invocation { argv, env: vec![(OUT_VARIABLE.to_owned(), ask.out.to_owned())] })
    }

    /// From the program's file; from standard output if it wrote none.
    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let format = self.0;
        let left: Vec<(&String, &Vec<u8>)> =
            output.files.0.iter().filter(|(path, _)| path.as_str() != STDERR).collect();
        let none = OutputFiles::default();
        let stdout = ResultFile { name: "stdout", bytes: output.stdout, beside: &none };
        let files = left.iter().map(|(path, bytes)| ResultFile { name: path, bytes, beside: output.files });
        let mut known: Vec<ResultFile> = files.filter(|file| format.recognises(file)).collect();
        let file = match (known.len(), left.as_slice()) {
            (1, _) => known.remove(0),
            (0, []) => stdout,
            (0, [(path, bytes)]) => ResultFile { name: path, bytes, beside: output.files },
            (found, _) => {
                let what = format!(
                    "{found} of {} files match {}; exactly one is required",
                    left.len(),
                    format.name()
                );
                return Err(stdout.wrong(what));
            }
        };
        let mut runs = check::read(format, &file)?;
        match (runs.pop(), runs.is_empty()) {
            (Some(run), true) => Ok(run.readings),
            _ => Err(file.wrong("the file contains several runs; a process must be one run")),
        }
    }
}
