//! The progress of a long run: a bar on a terminal, a line per case in a log.
//!
//! Nothing is drawn while a child measures, except where others run next to it (`run --jobs`): the bar moves between
//! processes, without its own timer.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app::progress::Reporter;
use crate::github::commands;
use crate::model::text::count;
use crate::model::{CalmWait, CaseId, Outcome, Profiler, Side, Unrest, format_duration};
use crate::run::{Observer, Progress};

/// Writes to standard error, so that standard output holds results alone.
enum ProgressWriter {
    Bar { bar: ProgressBar, started: Instant, said: SaidCauses },
    Lines { lines: LogLines, say: fn(&str) },
    Silent,
}

impl ProgressWriter {
    /// A bar on a terminal, lines elsewhere, nothing with `quiet`.
    fn new(quiet: bool) -> Self {
        let started = Instant::now();
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Silent,
            (false, true) => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                style(&bar, UNCOUNTED);
                Self::Bar { bar, started, said: SaidCauses::default() }
            }
            (false, false) => Self::Lines { lines: LogLines::new(), say: to_stderr },
        }
    }
}

/// The bar before the number of processes is known, and from then on. A test parses both.
const UNCOUNTED: &str = "{wide_msg}";
const COUNTED: &str = "{bar:20} {pos}/{len} {wide_msg}";

fn style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

fn set_length(bar: &ProgressBar, processes: usize) {
    style(bar, if processes == 0 { UNCOUNTED } else { COUNTED });
    bar.set_length(processes as u64);
}

/// For a resumed comparison that is finished already.
const NOTHING_LEFT: &str = "nothing is left to measure";

/// A closed standard error ends the progress, and not the run.
fn to_stderr(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// On standard output, so that it stays in order with the commands there, and each line no command itself.
fn to_runner_log(text: &str) {
    let mut out = std::io::stdout().lock();
    for text in text.lines() {
        let _ = writeln!(out, "{}", commands::line(text));
    }
    let _ = out.flush();
}

/// The observer of a command that measures: standard error, or nothing with `quiet`.
pub(crate) fn reporter(quiet: bool) -> Reporter {
    Reporter::new(ProgressWriter::new(quiet))
}

/// Lines for the log of a CI job's runner, or nothing with `quiet`.
pub(crate) fn runner_reporter(quiet: bool) -> Reporter {
    Reporter::new(if quiet {
        ProgressWriter::Silent
    } else {
        ProgressWriter::Lines { lines: LogLines::new(), say: to_runner_log }
    })
}

impl Observer for ProgressWriter {
    fn on(&mut self, progress: &Progress<'_>) {
        match self {
            Self::Silent => {}
            Self::Bar { bar, started, said } => on_bar(bar, started, said, progress),
            Self::Lines { lines, say } => lines.on(progress).iter().for_each(|line| say(line)),
        }
    }
}

/// A run that ends reports what is left to say, however it ends.
impl Drop for ProgressWriter {
    fn drop(&mut self) {
        self.on(&Progress::Finished);
    }
}

/// `10 processes`, `at least 10 processes` where cases share them.
pub(crate) fn planned(processes: usize, shared: bool) -> String {
    let least = if shared { "at least " } else { "" };
    format!("{least}{}", count(processes, "process"))
}

fn on_bar(bar: &ProgressBar, started: &mut Instant, said: &mut SaidCauses, progress: &Progress<'_>) {
    match progress {
        Progress::Planned { processes, .. } => set_length(bar, *processes),
        Progress::RoundsPlanned { .. } => {}
        Progress::RoundStarted { pass: 0, processes: 0 } => bar.println(NOTHING_LEFT),
        Progress::RoundStarted { processes, .. } => {
            *started = Instant::now();
            set_length(bar, *processes);
            bar.set_position(0);
        }
        Progress::RoundEnded { measured: 0, .. } => {}
        Progress::RoundEnded { pass, open, .. } => bar.set_message(round(*pass, *open)),
        Progress::BuildStarted { benchmark, side } => {
            bar.set_message(format!("building {benchmark}{}", suffix(*side)));
            bar.tick();
        }
        Progress::BuildGoesOn { benchmark, side, seconds, line } => {
            bar.set_message(building(benchmark, *side, *seconds, line));
            bar.tick();
        }
        Progress::BuildEnded { benchmark, side, seconds, failed: true } => {
            bar.println(failed_build(benchmark, *side, *seconds));
        }
        Progress::BuildEnded { .. } => {}
        Progress::ProcessStarted { id, cases, side, process, of, done, total } => {
            let left = left(*started, *done, *total);
            bar.set_length(*total as u64);
            bar.set_message(format!("{left}{} {}{}", who(id, *cases), nth(*process, *of), suffix(*side)));
            bar.set_position(*done as u64);
        }
        Progress::CaseStarted { id, index, of, .. } => bar.set_message(case_of(id, *index, *of)),
        Progress::ProcessEnded { done, .. } => bar.set_position(*done as u64),
        Progress::CaseEnded { id, side, outcome, done, total } => {
            bar.set_position(*done as u64);
            if !outcome.is_measured() {
                said.failure(id, *side, outcome).into_iter().for_each(|text| bar.println(text));
            }
            if done == total && *total > 0 {
                bar.finish_and_clear();
            }
        }
        Progress::WaitsForCalm { causes, limit } => bar.println(waits_for_calm(causes, *limit)),
        Progress::WaitedForCalm { wait } => bar.println(waited_for_calm(wait)),
        Progress::ProfileStarted { id, side, profiler } => {
            bar.set_message(profiling(id, *side, *profiler));
            bar.tick();
        }
        Progress::Note { text } => bar.println(text),
        Progress::Finished => {
            said.untold().into_iter().for_each(|text| bar.println(text));
            bar.finish_and_clear();
        }
    }
}

/// Seconds of a build after which a log reports that it continues, and from then on the seconds between two reports, also about
/// the cases of a process.
const FIRST_REPORT: f64 = 5.0;
const REPORT_INTERVAL: f64 = 30.0;

/// The lines of a log.
struct LogLines {
    started: Instant,
    cases: usize,
    ended: usize,
    /// Seconds of a build or a process after which the next line about it is due.
    next_report: f64,
    said: SaidCauses,
}

impl LogLines {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            cases: 0,
            ended: 0,
            next_report: FIRST_REPORT,
            said: SaidCauses::default(),
        }
    }

    fn on(&mut self, progress: &Progress<'_>) -> Option<String> {
        Some(match progress {
            Progress::Planned { cases, processes, shared } => {
                self.cases = *cases;
                format!("measuring {} in {}", count(*cases, "case"), planned(*processes, *shared))
            }
            Progress::RoundsPlanned { cases, comparable } => {
                self.cases = *cases;
                format!("comparing {} in rounds", count(*comparable, "case"))
            }
            Progress::RoundStarted { pass: 0, processes: 0 } => NOTHING_LEFT.to_owned(),
            Progress::BuildStarted { benchmark, side } => {
                self.next_report = FIRST_REPORT;
                format!("building {benchmark}{}", suffix(*side))
            }
            Progress::BuildGoesOn { benchmark, side, seconds, line } if *seconds >= self.next_report => {
                self.next_report = seconds + REPORT_INTERVAL;
                building(benchmark, *side, *seconds, line)
            }
            Progress::BuildEnded { benchmark, side, seconds, failed: true } => {
                failed_build(benchmark, *side, *seconds)
            }
            // The time of a short build is not news.
            Progress::BuildEnded { benchmark, side, seconds, .. } if *seconds >= FIRST_REPORT => {
                format!("built {benchmark}{} in {}", suffix(*side), whole_seconds(*seconds))
            }
            Progress::ProcessStarted { id, cases, side, process, of, .. } if *cases > 1 => {
                self.next_report = REPORT_INTERVAL;
                format!("running {}: {}{}", who(id, *cases), nth(*process, *of), suffix(*side))
            }
            Progress::CaseStarted { id, index, of, seconds } if *seconds >= self.next_report => {
                self.next_report = seconds + REPORT_INTERVAL;
                format!("running {}", case_of(id, *index, *of))
            }
            Progress::WaitsForCalm { causes, limit } => waits_for_calm(causes, *limit),
            Progress::WaitedForCalm { wait } => waited_for_calm(wait),
            Progress::ProfileStarted { id, side, profiler } => profiling(id, *side, *profiler),
            Progress::Note { text } => (*text).to_owned(),
            Progress::CaseEnded { id, side, outcome, total: 0, .. } => {
                self.said.failure(id, *side, outcome)?
            }
            Progress::CaseEnded { id, side, outcome, done, total } => {
                // The head's turn ends a case of two arms; an ordinary run has no side at all.
                self.ended += usize::from(*side != Some(Side::Base));
                let (ended, left) = (self.ended.clamp(1, self.cases), left(self.started, *done, *total));
                let what = if outcome.is_measured() {
                    format!("{id}: measured{}", suffix(*side))
                } else {
                    self.said.failure(id, *side, outcome)?
                };
                format!("[{ended}/{}] {left}{what}", self.cases)
            }
            Progress::Finished => self.said.untold()?,
            // Of rounds the scheduler reports more.
            _ => return None,
        })
    }
}

/// The case of a process, or the benchmark whose cases share it.
fn who(id: &CaseId, cases: usize) -> String {
    if cases > 1 { format!("{} ({})", id.benchmark, count(cases, "case")) } else { id.to_string() }
}

fn nth(process: u32, of: u32) -> String {
    if of == 0 { format!("process {}", process + 1) } else { format!("process {}/{of}", process + 1) }
}

fn case_of(id: &CaseId, index: usize, of: usize) -> String {
    format!("case {} of {of} in the process: {id}", index + 1)
}

fn profiling(id: &CaseId, side: Option<Side>, profiler: Profiler) -> String {
    format!("profiling {id}{} by {}", suffix(side), profiler.into_str())
}

fn building(benchmark: &str, side: Option<Side>, seconds: f64, line: &str) -> String {
    let colon = if line.is_empty() { "" } else { ": " };
    format!("building {benchmark}{} for {}{colon}{line}", suffix(side), whole_seconds(seconds))
}

fn failed_build(benchmark: &str, side: Option<Side>, seconds: f64) -> String {
    format!("build of {benchmark}{} failed after {}", suffix(side), whole_seconds(seconds))
}

fn whole_seconds(seconds: f64) -> String {
    humantime::format_duration(Duration::from_secs(seconds as u64)).to_string()
}

fn round(pass: u32, open: usize) -> String {
    format!("round {}: {} may be measured further", pass + 1, count(open, "case"))
}

fn waits_for_calm(causes: &[Unrest], limit: f64) -> String {
    let causes: Vec<String> = causes.iter().map(Unrest::to_string).collect();
    format!("waiting for an idle GPU, {} at most: {}", format_duration(limit), causes.join("; "))
}

fn waited_for_calm(wait: &CalmWait) -> String {
    let seconds = format_duration((wait.seconds * 10.0).round() / 10.0);
    if wait.in_vain {
        format!("the GPU was not idle after {seconds}; it is measured anyway")
    } else {
        format!("the GPU is idle after {seconds}")
    }
}

/// Causes that have been said: what many cases fail of is said once, and the report has it with all their names.
#[derive(Default)]
struct SaidCauses {
    causes: HashSet<String>,
    /// Cases that ended for one of them and were not told.
    again: usize,
}

impl SaidCauses {
    /// `None`: the cause has been said, and the case is counted.
    fn failure(&mut self, id: &CaseId, side: Option<Side>, outcome: &Outcome) -> Option<String> {
        let (word, cause) = (outcome.into_str(), outcome.cause());
        if !self.causes.insert(format!("{word}: {cause}")) {
            self.again += 1;
            return None;
        }
        Some(format!("{id}: {word}{}: {cause}", suffix(side)))
    }

    /// How many cases were not told since the last time; nothing where there are none.
    fn untold(&mut self) -> Option<String> {
        match std::mem::take(&mut self.again) {
            0 => None,
            again => Some(format!("and {} for a cause told above", count(again, "more case"))),
        }
    }
}

fn suffix(side: Option<Side>) -> String {
    side.map_or(String::new(), |side| format!(" ({})", side.into_str()))
}

/// `about 40s left: `, from the pace so far; nothing before the first process has ended.
fn left(started: Instant, done: usize, total: usize) -> String {
    if done == 0 || done >= total {
        return String::new();
    }
    let seconds = started.elapsed().as_secs_f64() / done as f64 * (total - done) as f64;
    let rounded = Duration::from_secs(seconds.ceil() as u64);
    format!("about {} left: ", humantime::format_duration(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Thermal, Timing};

    #[test]
    fn the_bar_has_templates_that_parse() {
        for template in [UNCOUNTED, COUNTED] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }

    #[test]
    fn u27_a_cause_is_said_once_and_the_other_cases_of_it_are_counted_at_the_end() {
        let mut lines = LogLines { cases: 4, ..LogLines::new() };
        let outcome = |cause: &str| Outcome::Skipped { code: None, cause: cause.into(), advice: "do".into() };
        let (gpu, file) = (outcome("needs a GPU"), outcome("needs a file"));
        let ids = ["s/a", "s/b", "s/c", "s/d"].map(|name| CaseId {
            benchmark: name.parse().unwrap(),
            variant: None,
            params: Default::default(),
            timing: Timing::Protocol,
            thermal: Thermal::Warm,
            device: "host".into(),
        });
        let mut told = Vec::new();
        for (done, (id, outcome)) in ids.iter().zip([&gpu, &gpu, &file, &gpu]).enumerate() {
            let (side, done) = (None, done + 1);
            told.extend(lines.on(&Progress::CaseEnded { id, side, outcome, done, total: 4 }));
        }
        told.extend(lines.on(&Progress::Finished));
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].ends_with("s/a: skipped: needs a GPU"), "{told:?}");
        assert!(told[1].starts_with("[3/4] ") && told[1].ends_with("s/c: skipped: needs a file"), "{told:?}");
        assert_eq!(told[2], "and 2 more cases for a cause told above");
        assert_eq!(lines.on(&Progress::Finished), None, "it is said once");
    }

    #[test]
    fn n30_a_finished_comparison_that_is_resumed_says_that_nothing_is_left() {
        let told = |processes| {
            let progress = Progress::RoundStarted { pass: 0, processes };
            LogLines { cases: 1, ..LogLines::new() }.on(&progress)
        };
        assert_eq!(told(0).as_deref(), Some("nothing is left to measure"));
        assert_eq!(told(4), None);
        // On a terminal no count is shown as long as there is nothing to count.
        let written = Terminal::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(written.clone()), 255);
        let bar = ProgressBar::with_draw_target(None, target);
        style(&bar, UNCOUNTED);
        let mut started = Instant::now();
        for progress in [
            Progress::RoundStarted { pass: 0, processes: 0 },
            Progress::RoundEnded { pass: 0, measured: 0, open: 1, seconds: 0.0 },
        ] {
            on_bar(&bar, &mut started, &mut SaidCauses::default(), &progress);
            bar.tick();
        }
        assert!(
            written.text().contains(NOTHING_LEFT) && !written.text().contains("0/0"),
            "{}",
            written.text()
        );
        on_bar(
            &bar,
            &mut started,
            &mut SaidCauses::default(),
            &Progress::RoundStarted { pass: 1, processes: 4 },
        );
        bar.tick();
        assert!(written.text().contains("0/4"), "{}", written.text());
    }

    /// Everything that a bar has written.
    #[derive(Clone, Debug, Default)]
    struct Terminal(std::sync::Arc<std::sync::Mutex<String>>);

    impl Terminal {
        fn text(&self) -> String {
            self.0.lock().unwrap().clone()
        }
    }

    impl indicatif::TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> std::io::Result<()> {
            self.write_str(line)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn n27_a_build_shows_its_time_and_its_last_line_and_a_log_hears_of_it_now_and_then() {
        let going = |seconds: f64| Progress::BuildGoesOn {
            benchmark: "s/gemm",
            side: Some(Side::Head),
            seconds,
            line: "nvcc -c gemm.cu",
        };
        let bar = ProgressBar::hidden();
        on_bar(&bar, &mut Instant::now(), &mut SaidCauses::default(), &going(72.4));
        assert_eq!(bar.message(), "building s/gemm (head) for 1m 12s: nvcc -c gemm.cu");

        let mut lines = LogLines::new();
        let mut heard = |seconds: f64| lines.on(&going(seconds)).is_some();
        // One beat a second, give or take: neither missed nor told twice.
        let beats = (1..80).map(|beat| f64::from(beat) * 1.013);
        assert_eq!(beats.filter(|seconds| heard(*seconds)).count(), 3);
    }

    #[test]
    fn b20_a_log_says_which_cases_share_a_process_and_now_and_then_which_of_them_runs() {
        let id = CaseId {
            benchmark: "s/fn".parse().unwrap(),
            variant: None,
            params: Default::default(),
            timing: Timing::Protocol,
            thermal: Thermal::Warm,
            device: "host".into(),
        };
        let mut lines = LogLines::new();
        let started = |cases| Progress::ProcessStarted {
            id: &id,
            cases,
            side: None,
            process: 1,
            of: 5,
            done: 1,
            total: 5,
        };
        assert_eq!(lines.on(&started(1)), None, "the end of its case is told");
        assert_eq!(lines.on(&started(540)).as_deref(), Some("running s/fn (540 cases): process 2/5"));
        let mut case =
            |index: usize, seconds| lines.on(&Progress::CaseStarted { id: &id, index, of: 540, seconds });
        assert_eq!(case(0, 0.1), None);
        assert_eq!(case(41, 31.0).as_deref(), Some("running case 42 of 540 in the process: s/fn"));
        assert_eq!(case(42, 50.0), None);
        assert!(case(43, 62.0).is_some());
    }

    #[test]
    fn a_build_that_failed_is_not_said_to_be_built() {
        let told = |seconds: f64, failed| {
            let side = Some(Side::Head);
            LogLines::new().on(&Progress::BuildEnded { benchmark: "s/gemm", side, seconds, failed })
        };
        assert_eq!(told(87.3, true).as_deref(), Some("build of s/gemm (head) failed after 1m 27s"));
        assert_eq!(told(0.2, true).as_deref(), Some("build of s/gemm (head) failed after 0s"));
        assert_eq!(told(87.3, false).as_deref(), Some("built s/gemm (head) in 1m 27s"));
        assert_eq!(told(0.2, false), None);
    }

    #[test]
    fn the_time_left_follows_the_pace() {
        let started = Instant::now() - Duration::from_secs(10);
        assert_eq!(left(started, 0, 4), "");
        assert_eq!(left(started, 4, 4), "");
        assert!(left(started, 1, 4).starts_with("about 3"), "{}", left(started, 1, 4));
    }
}
