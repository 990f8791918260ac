//! `[run]`, `[gate]` and `[profile]`: the settings of the whole suite, a row for each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keep_runs::KeepRuns;
use crate::reader::benchmark::action_reader::argv;
use crate::reader::file_patterns;
use crate::reader::item::{Item, set};
use crate::reader::table::Table;
use gbench_model::{
    Budget, ClockChoice, Interleaving, MetricSet, Profiler, Setting, Shard, Strictness, format_duration,
};

/// [`gbench_model::settings`] with a further expression in a row, which reads the setting from the file. `then` names a key
/// that follows and has no row: the message about an unknown key lists all keys in this order.
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $by:ident $(($flag:literal))? $field:ident $(as $key:literal)?: $type:ty = $usual:expr, $read:expr
              $(, |$it:ident| $show:expr)? $(, then $also:literal)?;)*
        }
        and { $($more:tt)* }
    ) => {
        gbench_model::settings! {
            $(#[$about])*
            pub struct $name {
                $($(#[$doc])* $by $(($flag))? $field $(as $key)?: $type = $usual $(, |$it| $show)?;)*
            }
            and { $($more)* }
        }

        impl $name {
            pub(crate) fn take(&mut self, table: &mut Table) {
                $(
                    set(&mut self.$field, table.take(gbench_model::settings!(@key $field $($key)?)), $read);
                    $(table.note($also);)?
                )*
            }
        }
    };
}

/// Minimum seconds between two samples of the machine; more frequent sampling would disturb the measurement.
pub const MIN_MONITOR_INTERVAL: f64 = 0.005;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum BusyGpu {
    /// It is measured, with a warning in the record.
    Warn,
    Refuse,
}

options! {
    /// `[run]`: how the suite is run.
    pub struct RunOptions {
        /// Seconds for the whole run; 0: unlimited.
        env deadline: f64 = 4.0 * 3600.0, Item::seconds, |it| format_duration(*it);
        /// Seconds to wait for other gates on the machine; 0: does not wait.
        env lock_wait: f64 = 2.0 * 3600.0, Item::seconds, |it| format_duration(*it);
        /// Folder for run folders, absolute or relative to the suite file.
        env artifacts: PathBuf = "artifacts".into(), |item| item.filled().map(PathBuf::from), |it| it.display().to_string();
        flag("--store") store: String = "dir:.gbench".into(), store_address;
        /// Program and arguments that run in the suite's folder after the timeout of a process, for example to reset a GPU.
        file after_timeout: Vec<String> = Vec::new(), argv;
        file keep: u32 = 10, |item| item.number_of(1..=1_000_000);
        /// Runs, comparisons and bisections that `gbench-ci gc` keeps; `None`: `gc` needs `--keep`.
        file keep_runs: Option<KeepRuns> = None, |item| item.keep_runs().map(Some), |it| shown_keep(*it);
        /// Samples the machine and its GPUs during processes; `None`: if NVIDIA's library knows a GPU.
        flag("--monitor") monitor: Option<bool> = None, |item| item.flag().map(Some),
            |it| it.map_or("auto".into(), serde_json::Value::from);
        /// Seconds between two samples; `None`: 0.1 with NVIDIA's library, else 1.
        flag("--monitor-interval") monitor_interval: Option<f64> = None, monitor_interval,
            |it| it.map_or("auto".into(), format_duration);
        /// Maximum seconds to wait, before a process, for a GPU in use by others or too hot; 0: does not wait.
        file calm_wait: f64 = 30.0, Item::seconds, |it| format_duration(*it);
        /// The policy for a GPU that others still use after the wait.
        file busy_gpu: BusyGpu = BusyGpu::Warn, Item::variant, |it| it.into_str();
        /// Degrees Celsius at which a GPU is too hot to start.
        file max_gpu_temperature: Option<f64> = None, temperature, |it| it.map_or("none".into(), serde_json::Value::from);
    }
    and {
        /// Prevents other gates from measuring meanwhile. Not in the suite file, because it concerns the machine.
        lock: Setting<bool> = Setting::default(true);
        /// Maximum number of concurrent processes, each on its own GPUs. Only a flag of `run` sets it.
        jobs: Setting<u32> = Setting::default(1);
        /// File for the samples. Only a flag sets it.
        monitor_output: Setting<Option<PathBuf>> = Setting::default(None);
    }
}

options! {
    /// `[gate]`: the conditions for a comparison, and the effect of verdicts on the exit code.
    pub struct Gate {
        /// Probability of any false red in the suite. Rounds have their own, smaller default.
        file alpha: f64 = 0.05, chance;
        file alpha_improved: f64 = 0.05, chance;
        flag("--rounds") rounds: u32 = 40, |item| item.number_of(4..=10_000);
        /// Seconds for the rounds; 0: until all is decided.
        flag("--budget") budget: Budget = Budget::UNLIMITED, |item| item.seconds().map(Budget::from_seconds),
            |it| format_duration(it.seconds().unwrap_or(0.0));
        /// Cases of the base that are also measured against themselves.
        flag("--controls") controls: u32 = 5, |item| item.number_of(0..=1000);
        flag("--interleave") interleaving as "way": Interleaving = Interleaving::Alternating, Item::variant, |it| it.into_str();
        /// Between commits: each side may only write to its own folders.
        file sandbox: bool = true, Item::flag;
        /// Further files and folders that both sides may write to, absolute.
        file writable: Vec<PathBuf> = Vec::new(), file_patterns::writable,
            |it| it.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        /// Watches other activity on the machine during processes.
        file watch: bool = true, Item::flag;
        /// The clock to which each GPU's multiprocessors are locked during its measurement.
        flag("--lock-sm-clock") lock_sm_clock: ClockChoice = ClockChoice::Off, Item::clock, |it| it.to_string();
        flag("--lock-memory-clock") lock_memory_clock: ClockChoice = ClockChoice::Off, Item::memory_clock, |it| it.to_string(),
            then "rule";
        /// Watts to which each GPU is limited during its measurement.
        flag("--power-limit") power_limit: Option<f64> = None, Item::power_limit, |it| it.map_or("off".into(), serde_json::Value::from);
        file inconclusive_fails as "inconclusive": bool = false, fails, |it| shown_policy(*it);
        file failed_fails as "failed": bool = true, fails, |it| shown_policy(*it);
        /// Of cases that are broken on both sides.
        file broken_fails as "broken": bool = false, fails, |it| shown_policy(*it);
        /// Stored sessions that a comparison of different runs needs to be green; 0: none.
        flag("--sessions") sessions: u32 = 4, |item| item.number_of(0..=1000);
        /// Files of the repository that the suite measures, as globs from its root.
        file paths: Vec<String> = Vec::new(), file_patterns::read;
    }
    and {
        /// Strictness by field of the match key; missing fields keep their defaults.
        match_key: BTreeMap<String, Setting<Strictness>> = BTreeMap::new();
    }
}

/// Who runs the shards of a comparison of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LauncherKind {
    /// This process, here.
    None,
    Slurm,
}

options! {
    /// `[launcher]`: who runs a comparison of commits, and in how many jobs.
    pub struct LauncherOptions {
        flag("--launcher") kind: LauncherKind = LauncherKind::None, Item::variant, |it| it.into_str();
        flag("--shards") shards: u32 = 1, |item| item.number_of(1..=Shard::MAX);
        /// Options for the scheduler; none: the whole node.
        flag("--launcher-option") options: Vec<String> = Vec::new(), |item| item.texts("[\"--gres=gpu:1\"]");
        /// Maximum seconds that a job may wait for its allocation; `None`: unlimited.
        flag("--queue-wait") queue_wait: Option<f64> = None, |item| item.seconds().map(Some),
            |it| it.map_or("none".into(), format_duration);
    }
    and {}
}

options! {
    /// `[profile]`: the profilers that run after the measurements. Set by the file and by flags, not for single benchmarks.
    pub struct ProfileOptions {
        /// Each starts a separate process of every case.
        flag("--profile") profilers: Vec<Profiler> = Vec::new(), profilers,
            |it| it.iter().map(|profiler| profiler.into_str()).collect::<Vec<_>>();
        flag("--profile-metrics") metrics: MetricSet = MetricSet::default(), Item::variant, |it| it.into_str();
        file trace: Vec<String> = ["cuda", "nvtx", "osrt"].map(str::to_owned).to_vec(), trace;
        /// Flags of `nsys profile` and of `ncu`, which replace those of the gate.
        file nsys_flags: Vec<String> = Vec::new(), profiler_flags;
        file ncu_flags: Vec<String> = Vec::new(), profiler_flags;
    }
    and {}
}

fn store_address(item: &Item) -> Option<String> {
    let address = item.filled()?;
    if !matches!(address.split_once(':'), Some((kind, rest)) if !kind.is_empty() && !rest.is_empty()) {
        let what = format!("`{address}` is not an address of a store");
        item.fault(what, "write a kind and a place, such as \"dir:.gbench\"");
    }
    Some(address.to_owned())
}

fn shown_keep(keep: Option<KeepRuns>) -> serde_json::Value {
    match keep {
        Some(KeepRuns::Newest(runs)) => runs.into(),
        Some(age) => age.to_string().into(),
        None => "none".into(),
    }
}

fn monitor_interval(item: &Item) -> Option<Option<f64>> {
    let interval = item.seconds()?;
    if interval < MIN_MONITOR_INTERVAL {
        return item.refuse(format!("`{}` is too short", item.key), "write \"5ms\" or more");
    }
    Some(Some(interval))
}

fn temperature(item: &Item) -> Option<Option<f64>> {
    let is_hot = |limit| (20.0..=150.0).contains(&limit);
    item.number_that(is_hot, "write degrees Celsius from 20 to 150").map(Some)
}

fn chance(item: &Item) -> Option<f64> {
    item.number_that(
        |chance| chance > 0.0 && chance < 0.5,
        "write a probability above 0 and below 0.5, such as 0.05",
    )
}

fn fails(item: &Item) -> Option<bool> {
    item.word(&[("pass", false), ("fail", true)])
}

fn shown_policy(fails: bool) -> &'static str {
    if fails { "fail" } else { "pass" }
}

fn profilers(item: &Item) -> Option<Vec<Profiler>> {
    let mut profilers = Vec::new();
    for member in item.list("a list of profilers, such as [\"nsys\"]")? {
        let profiler = member.variant::<Profiler>()?;
        if profiler.is_sanitizer() {
            let word = profiler.into_str();
            let next = format!("remove it: `gbench-ci profile --profile {word}` runs it");
            return member.refuse(format!("`{word}` is not a profiler: it looks for errors"), next);
        }
        if !profilers.contains(&profiler) {
            profilers.push(profiler);
        }
    }
    Some(profilers)
}

/// Words of `nsys profile --trace`, which are joined by commas.
fn trace(item: &Item) -> Option<Vec<String>> {
    let words = item.texts("[\"cuda\", \"nvtx\"]")?;
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    match words.iter().find(|word| !is_plain(word)) {
        Some(odd) => {
            item.refuse(format!("nsys does not trace `{odd}`"), "write words of `nsys profile --help`")
        }
        None if words.is_empty() => {
            item.refuse("`trace` is empty", "name the traces of nsys, such as [\"cuda\"]")
        }
        None => Some(words),
    }
}

/// Flags by which a profiler would not leave the report that the gate reads.
const OF_THE_REPORT: [&str; 8] =
    ["-o", "--output", "--export", "-f", "--force-overwrite", "--log-file", "-i", "--import"];

fn profiler_flags(item: &Item) -> Option<Vec<String>> {
    let words = item.texts("[\"--section\", \"WarpStateStats\"]")?;
    let of_the_report = |word: &&String| OF_THE_REPORT.contains(&word.split('=').next().unwrap_or_default());
    match (words.first(), words.iter().find(of_the_report)) {
        (_, Some(word)) => item.refuse(format!("the gate itself sets `{word}`"), "take it out"),
        (Some(first), None) if !first.starts_with('-') => {
            item.refuse(format!("`{first}` is not a flag"), "begin with a flag, such as \"--section\"")
        }
        _ => Some(words),
    }
}
