//! A comparison whose shards a scheduler runs: they are submitted, watched until all have ended, and merged.
//!
//! Each job is `gbench-ci compare --shard I/N` in a separate allocation, with both sides in it. Nothing here has to live on: a
//! job writes into its folder, and the jobs are found again by their names.

mod of_base;
mod slurm;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::app::paths::shown;
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::json_of;
use crate::model::text::count;
use crate::model::{Exit, Fault, Result, RunId, format_duration, shell_word};
use crate::run::Interrupt;
use crate::store::{create_ignored_dir, write_atomically};
use crate::suite::plan::ShardPlan;
pub(crate) use of_base::{full_range, launcher_options};
use slurm::{JobEnd, JobId, JobState};

const FILE: &str = "launch.json";
/// Seconds that a job has to write its records down before its time limit.
const GRACE: u32 = 60;

/// The comparison to launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchRequest {
    /// Both commits in full: `A..B`.
    pub range: String,
    /// The words of `compare` in each job, without the range.
    pub words: Vec<String>,
    pub shards: u32,
    /// How the jobs cut the suite; without it by the number of cases.
    pub plan: Option<ShardPlan>,
    /// Words for the scheduler.
    pub options: Vec<String>,
    /// Seconds that a job may wait for its allocation.
    pub queue_wait: Option<f64>,
    /// The folder in which the jobs work.
    pub home: PathBuf,
    pub artifacts: PathBuf,
}

/// `launch.json`: what was submitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LaunchFile {
    version: u32,
    /// The beginning of the jobs' names.
    name: String,
    range: String,
    words: Vec<String>,
    options: Vec<String>,
    shards: u32,
    /// Seconds that a job may wait for its allocation.
    #[serde(default)]
    queue_wait: Option<f64>,
    /// When each shard was submitted last, in seconds since 1970.
    submitted: Vec<u64>,
}

pub(crate) struct ClusterLaunch {
    folder: PathBuf,
    home: PathBuf,
    file: LaunchFile,
}

/// How the jobs of a launch ended.
pub(crate) struct LaunchEnd {
    /// The folders of the parts that have a verdict.
    pub parts: Vec<PathBuf>,
    /// Why the others have none.
    pub lost: Vec<String>,
    /// The signal that ended the watching, and with it the jobs.
    pub interrupted: Option<i32>,
}

impl ClusterLaunch {
    /// Writes down what is to be submitted. Errors: the folder cannot be written.
    pub(crate) fn new(request: &LaunchRequest) -> Result<Self> {
        let id = RunId::new(SystemTime::now(), rand::random());
        let folder = request.artifacts.join(format!("launch-{id}"));
        create_ignored_dir(&request.artifacts)
            .and_then(|()| std::fs::create_dir(&folder))
            .map_err(|error| unwritable(&folder, &error))?;
        let file = LaunchFile {
            version: 1,
            name: format!("gbench-{id}-"),
            range: request.range.clone(),
            words: request.words.clone(),
            options: request.options.clone(),
            queue_wait: request.queue_wait,
            shards: request.shards,
            submitted: vec![0; request.shards as usize],
        };
        let launch = Self { folder, home: request.home.clone(), file };
        if let Some(plan) = &request.plan {
            write_atomically(&launch.plan(), format!("{plan}\n").as_bytes())?;
        }
        launch.save()?;
        Ok(launch)
    }

    /// The launch in a folder, by its name, or the latest. Errors: there is none.
    pub(crate) fn find(name: &str, home: &Path, artifacts: &Path) -> Result<Self> {
        let folder = match name {
            "" => latest(artifacts).ok_or_else(|| {
                let next = "begin one: `gbench-ci compare BASE..HEAD --launcher slurm`";
                Fault::at_path(artifacts, "no comparison was launched here", next)
            })?,
            name if name.contains('/') => PathBuf::from(name),
            name => artifacts.join(name),
        };
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Fault::at_path(&path, error, "name a launch: a folder `launch-...` of the artifacts")
        })?;
        let file: LaunchFile = serde_json::from_str(&text)
            .ok()
            .filter(|file: &LaunchFile| file.version == 1 && file.submitted.len() == file.shards as usize)
            .ok_or_else(|| {
                Fault::at_path(
                    &path,
                    "it is not the file of a launch of this version",
                    "begin a new comparison",
                )
            })?;
        Ok(Self { folder, home: home.to_owned(), file })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the plan by which the jobs cut the suite, where there is one.
    fn plan(&self) -> PathBuf {
        self.folder.join("plan.txt")
    }

    /// The limit that it began with.
    pub(crate) fn queue_wait(&self) -> Option<Duration> {
        self.file.queue_wait.map(Duration::from_secs_f64)
    }

    pub(crate) fn shards(&self) -> u32 {
        self.file.shards
    }

    /// Submits the shards that have no verdict and no job, waits until all have ended, and reports what changes.
    ///
    /// `queue_wait`: how long a job may wait for its allocation. Errors: the scheduler refuses a job; those that it took are
    /// cancelled then.
    pub(crate) fn carry_out(
        &mut self,
        queue_wait: Option<Duration>,
        reporter: &Reporter,
    ) -> Result<LaunchEnd> {
        let mut interrupt = Interrupt::install()
            .map_err(|error| Fault::at("signals", error, "run the gate in a usual process"))?;
        let mut shards: Vec<WatchedShard> = (1..=self.file.shards).map(|index| self.watched(index)).collect();
        let known = slurm::states(&self.file.name)?;
        for shard in shards.iter_mut().filter(|shard| !shard.has_verdict()) {
            match known.get(&shard.name) {
                Some((id, JobState::Pending(_) | JobState::Running(_))) => shard.job = Some(id.clone()),
                _ => {
                    if let Err(fault) = self.submit(shard) {
                        slurm::cancel(&self.jobs()).unwrap_or_else(|fault| reporter.note(&fault.what));
                        return Err(fault);
                    }
                }
            }
            let job = shard.job.as_deref().unwrap_or_default();
            reporter.note(&format!("{}  job {job}", shard.title));
        }
        let begin = SystemTime::now();
        let mut silent = false;
        loop {
            match slurm::states(&self.file.name) {
                Ok(known) => {
                    silent = false;
                    shards.iter_mut().for_each(|shard| shard.follow(&known, reporter));
                }
                // A controller that restarts is not the end of its jobs.
                Err(fault) if !silent => {
                    silent = true;
                    reporter.note(&format!("warning: {}: {}; it is asked again", fault.place, fault.what));
                }
                Err(_) => {}
            }
            if shards.iter().all(WatchedShard::has_ended) {
                break;
            }
            self.give_up_waiting(&mut shards, queue_wait, reporter)?;
            if let Some(signal) = interrupt.wait(poll_time(begin)) {
                let ids: Vec<JobId> =
                    shards.iter().filter(|it| !it.has_ended()).filter_map(|it| it.job.clone()).collect();
                slurm::cancel(&ids)?;
                reporter.note(&format!("{} cancelled", count(ids.len(), "job")));
                return Ok(self.end(shards, Some(signal)));
            }
        }
        Ok(self.end(shards, None))
    }

    fn end(&self, shards: Vec<WatchedShard>, interrupted: Option<i32>) -> LaunchEnd {
        let lost = shards.iter().filter(|shard| !shard.has_verdict()).map(WatchedShard::lost).collect();
        let parts = shards.into_iter().filter_map(|shard| shard.verdict()).collect();
        LaunchEnd { parts, lost, interrupted }
    }

    fn jobs(&self) -> Vec<JobId> {
        let known = slurm::states(&self.file.name).unwrap_or_default();
        known
            .into_values()
            .filter(|(_, state)| !matches!(state, JobState::Ended(_)))
            .map(|(id, _)| id)
            .collect()
    }

    /// Cancels the jobs that have waited too long.
    fn give_up_waiting(
        &self,
        shards: &mut [WatchedShard],
        queue_wait: Option<Duration>,
        reporter: &Reporter,
    ) -> Result<()> {
        let Some(most) = queue_wait else { return Ok(()) };
        let now = seconds();
        for shard in shards.iter_mut() {
            let Some(JobState::Pending(reason)) = &shard.state else { continue };
            let since = self.file.submitted.get(shard.index as usize - 1).copied().unwrap_or(now);
            if now.saturating_sub(since) < most.as_secs() {
                continue;
            }
            let what = format!(
                "{}  waited {} for its allocation ({reason}), and was cancelled",
                shard.title,
                format_duration(most.as_secs_f64())
            );
            reporter.note(&what);
            slurm::cancel(shard.job.as_slice())?;
            shard.state = Some(JobState::Ended(JobEnd::Cancelled));
            shard.gave_up = Some(most);
        }
        Ok(())
    }

    fn watched(&self, index: u32) -> WatchedShard {
        let folder = self.folder.join(format!("part-{index}"));
        WatchedShard {
            index,
            title: format!("shard {index}/{}", self.file.shards),
            name: format!("{}{index}", self.file.name),
            log: folder.join("log.txt"),
            folder,
            job: None,
            state: None,
            gave_up: None,
            read: 0,
        }
    }

    fn submit(&mut self, shard: &mut WatchedShard) -> Result<()> {
        std::fs::create_dir_all(&shard.folder).map_err(|error| unwritable(&shard.folder, &error))?;
        let script = shard.folder.join("job.sh");
        write_atomically(&script, self.script(shard)?.as_bytes())?;
        // Before the job is there: who is killed in between finds it by its name.
        if let Some(submitted) = self.file.submitted.get_mut(shard.index as usize - 1) {
            *submitted = seconds();
        }
        self.save()?;
        shard.read = std::fs::metadata(&shard.log).map_or(0, |about| about.len());
        let own = |option: &str, value: &Path| {
            let mut word = OsString::from(option);
            word.push(value);
            word
        };
        let ours = [
            format!("--job-name={}", shard.name).into(),
            own("--chdir=", &self.home),
            own("--output=", &shard.log),
            "--open-mode=append".into(),
            "--nodes=1".into(),
            "--requeue".into(),
            format!("--signal=B:TERM@{GRACE}").into(),
        ];
        let exclusive: Option<OsString> = self.file.options.is_empty().then(|| "--exclusive".into());
        let theirs = self.file.options.iter().map(OsString::from);
        let id = slurm::submit(ours.into_iter().chain(exclusive).chain(theirs), &script)?;
        shard.job = Some(id);
        Ok(())
    }

    /// A job continues with the rounds that an earlier one of its shard left.
    fn script(&self, shard: &WatchedShard) -> Result<String> {
        let program =
            std::env::current_exe().map_err(|error| Fault::at("gbench-ci", error, "run it by its path"))?;
        let word = |path: &Path| shell_word(&path.display().to_string());
        let words: String = self.file.words.iter().map(|word| format!(" {}", shell_word(word))).collect();
        let plan = Some(self.plan()).filter(|plan| plan.is_file());
        let plan = plan.map_or_else(String::new, |plan| format!(" --shard-plan {}", word(&plan)));
        let common = format!(
            "{} compare --shard {}/{}{plan} --artifacts {}{words}",
            word(&program),
            shard.index,
            self.file.shards,
            word(&shard.folder)
        );
        Ok(format!(
            "#!/bin/sh\n# A part of a comparison: {name}\nset -- {folder}/*/head/results/record.json\nif [ -e \"$1\" ]; then\n    \
             exec {common} --resume > {report}\nfi\nexec {common} {range} > {report}\n",
            name = shard.name,
            folder = word(&shard.folder),
            report = word(&shard.folder.join("report.txt")),
            range = shell_word(&self.file.range),
        ))
    }

    fn save(&self) -> Result<()> {
        write_atomically(&self.folder.join(FILE), &json_of(&self.file)?)
    }
}

struct WatchedShard {
    index: u32,
    title: String,
    /// Of its jobs.
    name: String,
    folder: PathBuf,
    log: PathBuf,
    job: Option<JobId>,
    state: Option<JobState>,
    /// The job was cancelled because it waited so long.
    gave_up: Option<Duration>,
    /// Bytes of the log that were shown.
    read: u64,
}

impl WatchedShard {
    /// The folder of its comparison, once that has a verdict.
    fn verdict(&self) -> Option<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).ok()?.flatten().map(|entry| entry.path());
        entries.filter(|path| path.join("job.json").exists()).max()
    }

    fn has_verdict(&self) -> bool {
        self.verdict().is_some()
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, Some(JobState::Ended(_))) || self.job.is_none()
    }

    fn follow(&mut self, known: &BTreeMap<String, (JobId, JobState)>, reporter: &Reporter) {
        if self.has_ended() {
            return;
        }
        let state =
            known.get(&self.name).map_or(JobState::Ended(JobEnd::Forgotten), |(_, state)| state.clone());
        self.show_log(reporter);
        if self.state.as_ref() == Some(&state) {
            return;
        }
        let words = match &state {
            JobState::Pending(reason) => format!("waits: {reason}"),
            JobState::Running(node) => format!("runs on {node}"),
            JobState::Ended(_) if self.has_verdict() => "has ended".to_owned(),
            JobState::Ended(end) => end.words()[0].to_owned(),
        };
        reporter.note(&format!("{}  {words}", self.title));
        self.state = Some(state);
    }

    /// Shows the whole lines that its log has gained.
    fn show_log(&mut self, reporter: &Reporter) {
        let Ok(mut file) = std::fs::File::open(&self.log) else { return };
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).is_err() || file.read_to_end(&mut bytes).is_err() {
            return;
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in String::from_utf8_lossy(&bytes[..whole]).lines().filter(|line| !line.trim().is_empty()) {
            reporter.note(&format!("{} | {line}", self.title));
        }
        self.read += whole as u64;
    }

    fn lost(&self) -> String {
        let end = match &self.state {
            Some(JobState::Ended(end)) => *end,
            _ => JobEnd::Cancelled,
        };
        let [what, next] = match self.gave_up {
            Some(most) => [
                format!("it waited {} for its allocation", format_duration(most.as_secs_f64())),
                "wait longer with `--queue-wait`, or continue later with `--resume`".to_owned(),
            ],
            None => end.words().map(str::to_owned),
        };
        format!("{}: {what}; {next} (log: {})", self.title, shown(&self.log))
    }
}

fn latest(artifacts: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(artifacts).ok()?.flatten();
    let launches = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("launch-"));
    launches.map(|entry| entry.path()).filter(|path| path.join(FILE).exists()).max()
}

/// Often at first, then seldom: a controller serves a whole cluster.
fn poll_time(begin: SystemTime) -> Duration {
    match begin.elapsed().unwrap_or_default().as_secs() {
        0..30 => Duration::from_secs(1),
        30..600 => Duration::from_secs(5),
        _ => Duration::from_secs(20),
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn unwritable(folder: &Path, error: &std::io::Error) -> Fault {
    let next = "name a folder that the nodes share with `--artifacts`";
    Fault::at_path(folder, format!("cannot be made: {error}"), next).exits(Exit::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::test_support::case_id;

    #[test]
    fn every_job_of_a_launch_has_its_plan_also_when_it_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let script = |plan: Option<ShardPlan>| {
            let artifacts = folder.path().join("artifacts");
            let request = LaunchRequest {
                range: "a..b".into(),
                shards: 2,
                plan,
                artifacts,
                queue_wait: Some(60.0),
                ..Default::default()
            };
            let launch = ClusterLaunch::new(&request).unwrap();
            let found = ClusterLaunch::find(
                &launch.folder().display().to_string(),
                &request.home,
                &request.artifacts,
            );
            let found = found.unwrap();
            assert_eq!(found.queue_wait(), Some(Duration::from_secs(60)));
            (found.script(&found.watched(2)).unwrap(), found.plan())
        };
        let case = case_id("s/a");
        let plan = ShardPlan::new(1.0, [(&case, 2.0)]);
        let (text, file) = script(Some(plan.clone()));
        let words = format!("compare --shard 2/2 --shard-plan {} --artifacts", file.display());
        assert_eq!(text.matches(&words).count(), 2, "{text}");
        assert_eq!(std::fs::read_to_string(file).unwrap().parse(), Ok(plan));
        assert!(script(None).0.contains("compare --shard 2/2 --artifacts"));
    }
}
