//! Gates killed at spread moments on a busy machine (P6): once they are gone nothing of them is left but what they had
//! finished.
//!
//! `GBENCH_TEST_KILLS` says how many; `just kills 300` kills 300.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gbench_ci::model::{Outcome, RunRecord};
use gbench_ci::store::{latest_comparison, latest_run, read_record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::wait::wait_for;
use crate::support::{child, copy_program, gbench, git};

/// Busy loops beside the gates: more than this machine has processors to spare.
const LOOPS: usize = 4;

/// Every child and grandchild of a gate has it in its environment.
const MARK: &str = "STORM_TEST_MARK";

/// Short processes, so that most kills hit while one is being started or ended; and one that leaves somebody behind.
const SUITE: &str = "[suite]\nname = \"s\"\n\
    [defaults]\ntiming = \"protocol\"\n\
    [[benchmark]]\nid = \"short\"\ncommand = [\"./child\", \"ok\", \"0.1\"]\nprocesses = 2\n\
    matrix.n = [1, 2, 3, 4, 5, 6]\n\
    [[benchmark]]\nid = \"cold\"\ncommand = [\"./child\", \"ok\", \"0.1\"]\nprocesses = 2\ncold = true\n\
    [[benchmark]]\nid = \"leaves\"\ncommand = [\"./child\", \"leaves-grandchild\"]\nprocesses = 1\n";

/// A place that everything of a storm lies in: the binary, the suites, the temporary folders.
struct Storm {
    place: tempfile::TempDir,
    loops: Vec<Child>,
}

impl Storm {
    fn new() -> Self {
        Self::of(SUITE)
    }

    fn of(suite: &str) -> Self {
        // On the disk of the binary, so that it need not be copied; a process that runs it is known by its path.
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = place.path();
        std::fs::hard_link(gbench(), root.join("gbench-ci")).unwrap();
        std::fs::create_dir(root.join("tmp")).unwrap();
        let repository = git::init(&root.join("work"));
        copy_program(child(), &root.join("work/child"));
        std::fs::write(root.join("work/gbench.toml"), suite).unwrap();
        git::commit_all(&repository);
        std::fs::write(root.join("work/note"), "so that there is a change\n").unwrap();
        git::commit_all(&repository);
        Self { place, loops: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Everything here runs at a low priority, loops and gates alike: they press each other more than the other tests. Not at the
    /// lowest, at which nothing moves on a machine that is busy otherwise.
    fn nice(&self, program: &Path) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "5"]).arg(program).env("GBENCH_LOCKS", "off");
        command
    }

    fn make_busy(&mut self) {
        for _ in 0..LOOPS {
            let mut spinning = self.nice(Path::new("sh"));
            spinning.args(["-c", "while :; do :; done"]);
            self.loops.push(spinning.spawn().unwrap());
        }
    }

    fn gate(&self, line: &str) -> Child {
        let mut gate = self.nice(&self.path("gbench-ci"));
        gate.args(line.split_whitespace()).current_dir(self.path("work"));
        gate.env("TMPDIR", self.path("tmp")).env(MARK, self.place.path());
        gate.env("GBENCH_NVML_LIBRARY", crate::fake_nvml::library("")).env("FAKE_NVML", "count=1");
        gate.env("FAKE_NVML_CLOCKS", self.path("clocks")).env_remove("CUDA_VISIBLE_DEVICES");
        gate.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Ids and command lines of the processes that a gate here has started, directly or not: they run something from here, are here,
    /// or have inherited the mark. Zombies are none.
    fn alive(&self) -> Vec<(i32, String)> {
        let place = self.place.path();
        let mark = format!("{MARK}={}", place.display());
        let is_ours = |process: &Path| {
            let leads_here =
                |link: &str| std::fs::read_link(process.join(link)).is_ok_and(|to| to.starts_with(place));
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            leads_here("exe")
                || leads_here("cwd")
                || environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let found = |process: PathBuf| {
            let pid = process.file_name()?.to_str()?.parse().ok()?;
            let bytes = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let wait = std::fs::read_to_string(process.join("wchan")).unwrap_or_default();
            Some((pid, format!("{} in {wait}", String::from_utf8_lossy(&bytes).replace('\0', " "))))
        };
        processes.filter(|process| is_ours(process)).filter_map(found).collect()
    }

    /// Waits until nothing is alive.
    fn assert_nothing_alive(&self) {
        wait_for(|| {
            let alive = self.alive();
            if alive.is_empty() { Ok(()) } else { Err(alive) }
        });
    }

    /// Kills a gate at a moment of its life. Returns what it had told of as measured.
    fn start_and_kill(&self, line: &str, when: When) -> Vec<String> {
        let mut gate = self.gate(line);
        let (planned, lines) = listen(&mut gate);
        match when {
            When::Started(delay) => std::thread::sleep(delay),
            When::Planned(delay) => {
                // Closed where it ends before: then there is nothing to wait for.
                let _ = planned.recv();
                std::thread::sleep(delay);
            }
        }
        gate.kill().unwrap();
        gate.wait().unwrap();
        let lines = lines.join().unwrap();
        let measured = lines.iter().filter_map(|line| line.strip_suffix(": measured"));
        measured.map(|line| line[line.find("s/").unwrap()..].to_owned()).collect()
    }

    /// Lets a gate do what it wants. Returns how long it took to its plan, and from there to its end.
    fn to_the_end(&self, line: &str) -> [Duration; 2] {
        let begun = Instant::now();
        let mut gate = self.gate(line);
        let (planned, lines) = listen(&mut gate);
        let _ = planned.recv();
        let plan = begun.elapsed();
        let status = gate.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 1 | 3)), "{line}: {status}: {:#?}", lines.join().unwrap());
        [plan, begun.elapsed() - plan]
    }

    /// All files and folders below, by what `wanted` says of their names.
    fn find(&self, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if wanted(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
            if entry.file_type().unwrap().is_dir() {
                found.extend(self.find(&entry.path(), wanted));
            }
        }
        found
    }
}

/// When a gate is killed: so long after it was started, or after it had told what it will measure.
#[derive(Clone, Copy)]
enum When {
    Started(Duration),
    Planned(Duration),
}

/// Reads what a gate says: when it has a plan, and all of it.
fn listen(gate: &mut Child) -> (Receiver<()>, JoinHandle<Vec<String>>) {
    let stderr = BufReader::new(gate.stderr.take().unwrap());
    let (sender, planned) = channel();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        for line in stderr.lines().map_while(Result::ok) {
            if line.starts_with("measuring ") || line.starts_with("comparing ") {
                let _ = sender.send(());
            }
            said.push(line);
        }
        said
    });
    (planned, reader)
}

impl Drop for Storm {
    fn drop(&mut self) {
        for spinning in &mut self.loops {
            let _ = spinning.kill();
            let _ = spinning.wait();
        }
        // Only where the test has failed.
        for (pid, _) in self.alive() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// The record of a run that was killed at any moment; `None` where it was killed before it began to measure.
fn readable(run: &Path) -> Option<RunRecord> {
    match read_record(run) {
        Ok(record) => Some(record),
        Err(fault) => {
            let files = std::fs::read_dir(run.join("results")).into_iter().flatten().flatten();
            let written: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
            assert_eq!(written, 0, "what was written cannot be read: {fault}");
            None
        }
    }
}

fn kills() -> u32 {
    std::env::var("GBENCH_TEST_KILLS").map_or(4, |text| text.parse().expect("a number of kills"))
}

#[test]
fn n24_p6_gates_killed_under_load_leave_no_process_no_folder_no_lock_and_every_finished_case() {
    let begun = Instant::now();
    let mut storm = Storm::new();
    storm.make_busy();
    // How long they take undisturbed, on this machine and under this load; which may change, so that few would be hit
    // late in a long life.
    let mut spans = ["run", "compare HEAD~1..HEAD --rounds 4"].map(|line| {
        let [plan, rest] = storm.to_the_end(line);
        (line, plan.min(Duration::from_secs(4)), rest.min(Duration::from_secs(4)))
    });
    let artifacts = storm.path("work/artifacts");
    let (mut cut_short, mut finished, mut most_alive) = (0, 0, 0);
    for kill in 0..kills() {
        let (line, plan, rest) = spans[usize::from(kill % 3 == 2)];
        // Spread over its whole life without a pattern that could hit the same step every time.
        let part = f64::from(kill * 37_003 % 100_000) / 100_000.0;
        let when = match kill % 4 {
            3 => When::Started(plan.mul_f64(part)),
            _ => When::Planned(rest.mul_f64(part)),
        };
        let before = latest_run(&artifacts);
        let measured = storm.start_and_kill(line, when);
        most_alive = most_alive.max(storm.alive().len());
        if line != "run" {
            let sides = |all: PathBuf| ["base", "head"].map(|side| all.join(side));
            latest_comparison(&artifacts).into_iter().flat_map(sides).for_each(|side| drop(readable(&side)));
            continue;
        }
        let run = latest_run(&artifacts).filter(|run| Some(run) != before.as_ref());
        let Some(record) = run.and_then(|run| readable(&run)) else {
            assert!(measured.is_empty(), "kill {kill}: {measured:?} without a record");
            continue;
        };
        assert_eq!(record.cases.len(), 8, "kill {kill}: every selected case is there");
        for name in &measured {
            let case = record.cases.iter().find(|case| case.id.to_string() == *name).unwrap();
            assert_eq!(case.outcome, Outcome::Measured, "kill {kill}: {name}");
        }
        finished += measured.len();
        let was_cut_short = record.cases.iter().any(|case| !case.outcome.is_measured());
        cut_short += u32::from(was_cut_short);
        if !was_cut_short {
            // The machine may have less to do by now: the next ones are killed earlier.
            spans[0].2 = rest.mul_f64(0.7);
        }
    }
    storm.assert_nothing_alive();
    assert!(cut_short >= kills() / 8, "only {cut_short} of {} kills came while it ran", kills());

    // The next start clears what the killed ones could not.
    for (line, ..) in spans {
        storm.to_the_end(line);
    }
    storm.assert_nothing_left();
    println!(
        "{} gates killed in {:.0} s: {cut_short} runs cut short, {finished} finished cases kept, up to {most_alive} \
         processes alive right after a kill and none at the end",
        kills(),
        begun.elapsed().as_secs_f64()
    );
}

/// A build that takes its time, a lock of the clocks, and something to bisect.
const OTHER_SUITE: &str = "[suite]\nname = \"s\"\n[defaults]\ntiming = \"protocol\"\n\
    [[benchmark]]\nid = \"built\"\nbuild = {shell = \"cp child built && sleep 0.2 && touch done\"}\n\
    command = [\"./built\", \"ok\", \"0.1\"]\nprocesses = 2\n";

/// Kills by any signal a user or a service sends, over the commands that write elsewhere than into a run's folder.
#[test]
fn k6_whatever_ends_a_command_leaves_nothing_in_the_way_of_the_next() {
    let storm = Storm::of(OTHER_SUITE);
    let work = storm.path("work");
    let head = git2::Repository::open(&work).unwrap().head().unwrap().peel_to_commit().unwrap().id();
    for night in 1..=20 {
        let text = format!("{{\"n\": 1, \"ms\": {night}}}");
        storm.write(&format!("nights/2026-02-{night:02}.json"), &text);
        let text = format!(
            "{{\"commit_info\": {{\"id\": \"{head}\", \"dirty\": false}}, \"datetime\": \"2026-02-{night:02}T01:02:03\", \"machine_info\": {{}}, \
             \"version\": \"5.1.0\", \"benchmarks\": [{{\"name\": \"t\", \"fullname\": \"a.py::t\", \"group\": null, \
             \"params\": null, \"options\": {{}}, \"stats\": {{\"data\": [1.0, 1.1, {night}.0], \"rounds\": 3, \
             \"iterations\": 1, \"mean\": 1.0}}}}]}}"
        );
        storm.write(&format!("dated/2026-02-{night:02}.json"), &text);
    }
    storm.to_the_end("ci --base HEAD --rounds 4");
    storm.to_the_end("ingest ../dated --each --dated-by name --history git:kept");
    let comparison = latest_comparison(&storm.path("work/artifacts")).unwrap();
    let publish = format!("publish {} --history git:gbench-history", comparison.display());
    let commands = [
        "ingest ../nights --each --metric time=ms:ms --parameters n --dated-by name",
        "ingest ../dated --each --dated-by name --history git:gbench-history",
        publish.as_str(),
        "site ../out --store git:kept",
        "bisect s/built HEAD~1..HEAD --budget 2s",
        "compare HEAD~1..HEAD --rounds 4",
        "run --lock-sm-clock base",
    ];
    let spans = commands.map(|line| {
        let [plan, rest] = storm.to_the_end(line);
        (plan + rest).min(Duration::from_secs(4))
    });
    storm.forget();
    let signals = [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    let kills = kills().max(commands.len() as u32);
    for number in 0..kills {
        let at = number as usize % commands.len();
        let signal = signals[(number as usize / commands.len() + at) % signals.len()];
        let part = f64::from(number * 37_003 % 100_000) / 100_000.0;
        let mut gate = storm.gate(commands[at]);
        let (_, lines) = listen(&mut gate);
        std::thread::sleep(spans[at].mul_f64(part));
        let _ = kill(Pid::from_raw(gate.id() as i32), signal);
        let ended = gate.wait().unwrap();
        // A service reads 130 and 143 as ended by SIGINT and SIGTERM, as of one that the signal itself has ended.
        let is_documented = match ended.code() {
            Some(code) => [0, 1, 3, 130, 143].contains(&code),
            None => std::os::unix::process::ExitStatusExt::signal(&ended) == Some(signal as i32),
        };
        assert!(is_documented, "{} at {part:.3} by {signal}: {ended}: {:#?}", commands[at], lines.join());
        if at + 1 == commands.len() {
            storm.forget();
        }
    }
    storm.assert_nothing_alive();
    for line in commands {
        storm.to_the_end(line);
    }
    storm.assert_nothing_left();
    assert_eq!(std::fs::read_to_string(storm.path("clocks")).unwrap_or_default(), "", "clocks are locked");
    let history =
        gbench_ci::history::HistoryBranch::open(&"git:gbench-history".parse().unwrap(), &work, None);
    let mut runs: Vec<String> =
        history.unwrap().list().unwrap().into_iter().map(|listed| listed.run_id.to_string()).collect();
    runs.sort();
    runs.dedup();
    assert_eq!(runs.len(), 21, "each night once, and the run that was published");
    println!("{kills} commands ended by signals");
}

impl Storm {
    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::fs::write(self.path(path), text).unwrap();
    }

    /// Takes away what ingests and publications have left, so that the next ones have something to do.
    fn forget(&self) {
        let repository = git2::Repository::open(self.path("work")).unwrap();
        if let Ok(mut branch) = repository.find_branch("gbench-history", git2::BranchType::Local) {
            branch.delete().unwrap();
        }
        let artifacts = self.path("work/artifacts");
        for entry in std::fs::read_dir(artifacts).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("202602") {
                std::fs::remove_dir_all(entry.path()).unwrap();
            }
        }
    }

    /// Nothing that is alive, temporary, half written or locked.
    fn assert_nothing_left(&self) {
        self.assert_nothing_alive();
        // One that was killed before its folder had an owner leaves it empty, and nobody can tell for a while that it is nobody's.
        let is_empty =
            |path: &PathBuf| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        let mut left = self.find(&self.path("tmp"), &|_| true);
        left.retain(|path| !is_empty(path));
        assert_eq!(left, [""; 0].map(PathBuf::from));
        let work = self.path("work");
        let halves = self.find(&work, &|name| name.starts_with(".tmp"));
        assert_eq!(halves, [""; 0].map(PathBuf::from), "files that were being written");
        for lock in self.find(&work, &|name| name.ends_with("lock")) {
            assert!(!lock.starts_with(work.join(".git")), "git is locked: {}", lock.display());
            let file = std::fs::File::open(&lock).unwrap();
            assert!(file.try_lock().is_ok(), "held by nobody who lives: {}", lock.display());
        }
    }
}
