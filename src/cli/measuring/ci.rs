//! `gbench-ci ci`: the measuring job, with its log. In GitHub Actions everything that comes from the repository is printed
//! where the runner obeys no command.

use std::io::Write;
use std::path::Path;

use crate::app::ci_job::{
    CiJobRequest, CiResult, JudgedJob, RunnerNote, choose_base, guard, judge, runner_output,
};
use crate::app::compare::fail_on::{FailOn, decide};
use crate::app::paths::shown;
use crate::app::reports::verdict_files::{exit_from, rendered};
use crate::app::request::CommitsRequest;
use crate::cli::args::{MeasureArgs, ProfileArgs, RoundsArgs};
use crate::cli::exit::{of_signal, with_profiles};
use crate::cli::terminal::progress::{reporter, runner_reporter};
use crate::cli::terminal::style;
use crate::cli::terminal::write::{announce_environment, wrote};
use crate::github::Context;
use crate::github::commands::{self, CommandEscaper};
use crate::model::{Exit, Fault, Result};
use crate::report::Format;
use crate::report::github::untouched_words;
use crate::suite::Benchmark;

/// Judge the change that triggered this CI job, for `publish`
///
/// In GitHub Actions, GitLab CI, Buildkite and the actions of Gitea the event determines what is compared. For a pull
/// request, its own head is compared with the merge base. For a push, the new commit is compared with the one before the
/// push. For a scheduled run, the base is the newest green commit of the history. Elsewhere the command compares as
/// `gbench-ci compare` does. If there is nothing to compare with, the commit is compared with itself and the verdict is
/// inconclusive. Code from forks runs only with `--allow-forks`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CiArgs {
    /// Compare with the merge base of the judged commit and this branch, tag or commit, instead of with the base that the
    /// event gives
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The only classes of results that fail the job: regression, inconclusive, failed; `none` for no class [default: the
    /// gate's policy]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Also run the code of pull requests from forks; use it only on machines where untrusted code may run
    #[arg(long)]
    allow_forks: bool,
    /// Name of this machine in a matrix, for its check and its section in the comment
    #[arg(long, value_name = "NAME", value_parser = label)]
    label: Option<String>,
    /// History whose newest green commit is the base of scheduled runs: git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    history: Option<String>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    rounds: RoundsArgs,
    #[command(flatten)]
    profile: ProfileArgs,
}

impl CiArgs {
    fn request(&self) -> Result<CiJobRequest> {
        Ok(CiJobRequest {
            comparison: CommitsRequest {
                store: self.store.clone(),
                run: self.measure.request()?,
                rounds: self.rounds.request()?,
                profile: self.profile.request(),
                ..CommitsRequest::default()
            },
            base: self.base.clone(),
            history: self.history.clone(),
            fail_on: self.fail_on.clone(),
            label: self.label.clone().unwrap_or_default(),
        })
    }
}

fn label(text: &str) -> std::result::Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._+-".contains(c);
    let whole = text.trim() == text && !text.is_empty() && text.len() <= 50;
    if whole && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a label is up to 50 letters, digits, blanks and any of `._+-`".into())
    }
}

pub(crate) fn run(args: &CiArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let tokens = guard::tokens();
    if !tokens.is_empty() {
        if let Some(warning) = guard::token_warning(&tokens) {
            warn(&warning, out)?;
        }
        guard::restart_without(&tokens)?;
    }
    let context = Context::read(&|name| std::env::var(name).ok());
    let announced = announce_environment();
    let context = announced.and(context);
    let done = context.and_then(|context| match context {
        Some(context) => in_job(args, &context, builtins, out),
        None => judged(args, None, builtins, out).map(|(_, exit)| exit),
    });
    if let (Err(fault), true) = (&done, in_actions()) {
        annotate(&runner_output::fault_annotations(fault), out)?;
        wrote(out.flush())?;
        runner_output::write_fault(fault)?;
    }
    done
}

/// In a job. Where its runner obeys commands in the log: all that comes from the repository is printed where no command is obeyed.
fn in_job(args: &CiArgs, context: &Context, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    guard::refuse(context, args.allow_forks)?;
    if let Some(warning) = guard::credentials_warning() {
        warn(&warning, out)?;
    }
    if !context.host().obeys_commands() {
        return judged(args, Some(context), builtins, out).map(|(_, exit)| exit);
    }
    let token = commands::stop(out).map_err(|error| {
        // Nothing from the log could be kept from the runner.
        let next = "give the job a log that can be written";
        Fault::at_path(Path::new("standard output"), error, next).exits(Exit::Internal)
    })?;
    let mut escaper = CommandEscaper::new(&mut *out);
    let done = judged(args, Some(context), builtins, &mut escaper);
    let escaped = escaper.finish().and_then(|out| out.flush());
    wrote(escaped.and_then(|()| commands::resume(out, &token)))?;
    let (result, exit) = done?;
    annotate(&runner_output::annotations(&result), out)?;
    runner_output::write(&result, exit, context)?;
    Ok(exit)
}

fn judged(
    args: &CiArgs,
    context: Option<&Context>,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<(CiResult, Exit)> {
    let request = args.request()?;
    let base = choose_base(&request, context, &|warning| eprintln!("{}", commands::line(warning)))?;
    wrote(writeln!(out, "base {}: {}", base.base.short(), base.choice.why))?;
    if let Some(missing) = base.missing {
        wrote(writeln!(out, "nothing will be decided; next: {}", missing.next()))?;
    }
    wrote(out.flush())?;
    let reporter = if context.is_some() { runner_reporter } else { reporter };
    let result = judge(&request, context, &base, builtins, &reporter(args.measure.is_quiet()))?;
    let exit = match &result {
        CiResult::Verdict(judged) => {
            let exit = print_verdict(judged, &args.fail_on, out)?;
            with_profiles(exit, &request.comparison.profile, &judged.profiles)
        }
        CiResult::Untouched { job, folder } => {
            let words = job.untouched.as_ref().map_or_else(String::new, untouched_words);
            wrote(writeln!(out, "{words}\n\njob {}", shown(&folder.join("job.json"))))?;
            Exit::Pass
        }
        CiResult::Interrupted { signal, folder } => {
            let folder = shown(folder);
            wrote(writeln!(out, "interrupted: nothing is decided; what was measured is in {folder}"))?;
            of_signal(*signal)
        }
    };
    Ok((result, exit))
}

fn print_verdict(judged: &JudgedJob, fail_on: &[FailOn], out: &mut impl Write) -> Result<Exit> {
    let JudgedJob { document, job, folder, .. } = judged;
    wrote(out.write_all(&rendered(document, Format::Terminal, style::of_stdout(), false)?))?;
    wrote(writeln!(out, "\nverdict {}", shown(&folder.join("reports/verdict.json"))))?;
    let gate = exit_from(document);
    let exit = decide(fail_on, &document.counts, document.conclusion, gate);
    if exit != gate {
        let (code, gate, classes) = (exit.code(), gate.code(), job.fail_on.join(", "));
        wrote(writeln!(out, "exit    {code}: the gate has {gate}, and the job fails on {classes}"))?;
    }
    Ok(exit)
}

fn in_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

fn warn(note: &RunnerNote, out: &mut impl Write) -> Result<()> {
    if in_actions() {
        return wrote(writeln!(out, "{}", note.command()).and_then(|()| out.flush()));
    }
    let _ = writeln!(std::io::stderr(), "warning: {}", note.message);
    Ok(())
}

fn annotate(notes: &[RunnerNote], out: &mut impl Write) -> Result<()> {
    notes.iter().try_for_each(|note| wrote(writeln!(out, "{}", note.command())))
}
