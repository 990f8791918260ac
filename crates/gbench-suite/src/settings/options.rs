//! `[run]`, `[gate]` and `[profile]`: the settings of the whole suite, a row for each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keep_runs::KeepRuns;
use crate::reader::benchmark::action_reader::argv;
use crate::reader::file_patterns;
use crate::reader::item::{Item, set};
use crate::reader::table::Table;
use gbench_model::{
    Budget, ClockChoice, Interleaving, MetricSet, Profiler, Setting, Strictness, format_duration,
};

/// [`gbench_model::settings`] with one more expression a row, which reads the setting from the file. `then` names a key that
/// comes behind it and is not such a row: unknown keys are answered by a list of all in this order.
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
            /// Takes the keys of its table.
            pub(crate) fn take(&mut self, table: &mut Table) {
                $(
                    set(&mut self.$field, table.take(gbench_model::settings!(@key $field $($key)?)), $read);
                    $(table.note($also);)?
                )*
            }
        }
    };
}

/// Seconds between two samples of the machine, at the least: sampling would be the work.
pub const MIN_MONITOR_INTERVAL: f64 = 0.005;

/// What becomes of a run whose GPU is in use by others when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum BusyGpu {
    /// It is measured all the same, and the record says so.
    Warn,
    /// It ends with exit code 5.
    Refuse,
}

options! {
    /// `[run]`: suite-wide matters of carrying a run out.
    pub struct RunOptions {
        /// Seconds for the whole run; 0: none.
        env deadline: f64 = 4.0 * 3600.0, Item::seconds, |it| format_duration(*it);
        /// Seconds for which other gates on the machine are waited for; 0: not at all.
        env lock_wait: f64 = 2.0 * 3600.0, Item::seconds, |it| format_duration(*it);
        /// Folder that run folders are written into, absolute or relative to the suite file.
        env artifacts: PathBuf = "artifacts".into(), |item| item.filled().map(PathBuf::from), |it| it.display().to_string();
        /// Address of the store: `dir:.gbench`.
        flag("--store") store: String = "dir:.gbench".into(), store_address;
        /// Program and arguments that run in the suite's folder after a process was stopped for its time, for example
        /// to reset a GPU; empty: none.
        file after_timeout: Vec<String> = Vec::new(), argv;
        /// Records that a stored baseline keeps.
        file keep: u32 = 10, |item| item.number_of(1..=1_000_000);
        /// Runs, comparisons and bisections that `gbench-ci gc` keeps; `None`: it has to be told.
        file keep_runs: Option<KeepRuns> = None, |item| item.keep_runs().map(Some), |it| shown_keep(*it);
        /// Sample the machine and its GPUs while processes run; `None`: where NVIDIA's library knows a GPU.
        flag("--monitor") monitor: Option<bool> = None, |item| item.flag().map(Some),
            |it| it.map_or("auto".into(), serde_json::Value::from);
        /// Seconds between two samples; `None`: 0.1 where NVIDIA's library is asked, else 1.
        flag("--monitor-interval") monitor_interval: Option<f64> = None, monitor_interval,
            |it| it.map_or("auto".into(), format_duration);
        /// Seconds to wait at most for a GPU that others use, or that is too hot, before a process; 0: none.
        file calm_wait: f64 = 30.0, Item::seconds, |it| format_duration(*it);
        /// What a GPU means that others use when the run begins, and still do after the wait.
        file busy_gpu: BusyGpu = BusyGpu::Warn, Item::variant, |it| it.into_str();
        /// Degrees Celsius at which a GPU is too hot to begin with.
        file max_gpu_temperature: Option<f64> = None, temperature, |it| it.map_or("none".into(), serde_json::Value::from);
    }
    and {
        /// Keep other gates from measuring meanwhile. No suite file says otherwise: it is the machine's matter.
        lock: Setting<bool> = Setting::default(true);
        /// Processes at once at most, each on GPUs of its own. A flag of `run` alone sets it.
        jobs: Setting<u32> = Setting::default(1);
        /// File that the samples are written to. A flag alone sets it.
        monitor_output: Setting<Option<PathBuf>> = Setting::default(None);
    }
}

options! {
    /// `[gate]`: when two records may be compared and what the verdicts mean for the exit code.
    pub struct Gate {
        /// Chance of any false red in a whole suite; unless it is set, rounds keep to their own, which is smaller.
        file alpha: f64 = 0.05, chance;
        /// In rounds: chance of any false "improved".
        file alpha_improved: f64 = 0.05, chance;
        /// Most rounds of a comparison of two commits.
        flag("--rounds") rounds: u32 = 40, |item| item.number_of(4..=10_000);
        /// Seconds that the rounds may take; 0: until all is decided.
        flag("--budget") budget: Budget = Budget::UNLIMITED, |item| item.seconds().map(Budget::from_seconds),
            |it| format_duration(it.seconds().unwrap_or(0.0));
        /// Cases of the base that are measured against themselves.
        flag("--controls") controls: u32 = 5, |item| item.number_of(0..=1000);
        flag("--interleave") interleaving as "way": Interleaving = Interleaving::Alternating, Item::variant, |it| it.into_str();
        /// Between commits: each side writes to its own places alone.
        file sandbox: bool = true, Item::flag;
        /// More files and folders that both sides may write to, absolute.
        file writable: Vec<PathBuf> = Vec::new(), file_patterns::writable,
            |it| it.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        /// Look at what else the machine does while a process runs.
        file watch: bool = true, Item::flag;
        /// The clock to which the multiprocessors of each GPU are locked while it is measured.
        flag("--lock-sm-clock") lock_sm_clock: ClockChoice = ClockChoice::Off, Item::clock, |it| it.to_string();
        flag("--lock-memory-clock") lock_memory_clock: ClockChoice = ClockChoice::Off, Item::memory_clock, |it| it.to_string(),
            then "rule";
        /// Inconclusive cases make the exit code 3.
        file inconclusive_fails as "inconclusive": bool = false, fails, |it| shown_policy(*it);
        /// Missing, failed or invalid cases make the exit code 4.
        file failed_fails as "failed": bool = true, fails, |it| shown_policy(*it);
        /// Stored sessions that a comparison of different runs needs before it may be green; 0: none.
        flag("--sessions") sessions: u32 = 4, |item| item.number_of(0..=1000);
        /// Files of the repository that the suite measures, as globs from its root; empty: not declared.
        file paths: Vec<String> = Vec::new(), file_patterns::read;
    }
    and {
        /// Field of the match key to strictness; fields that are not named keep their default.
        match_key: BTreeMap<String, Setting<Strictness>> = BTreeMap::new();
    }
}

options! {
    /// `[profile]`: what runs under profilers once all is measured. Only the table of the whole file and a flag say it: no
    /// benchmark can.
    pub struct ProfileOptions {
        /// Each takes a process of its own of every case; empty: nothing is profiled.
        flag("--profile") profilers: Vec<Profiler> = Vec::new(), profilers,
            |it| it.iter().map(|profiler| profiler.into_str()).collect::<Vec<_>>();
        /// How much Nsight Compute counts.
        flag("--profile-metrics") metrics: MetricSet = MetricSet::default(), Item::variant, |it| it.into_str();
        /// What Nsight Systems traces, by its own words.
        file trace: Vec<String> = ["cuda", "nvtx", "osrt"].map(str::to_owned).to_vec(), trace;
    }
    and {}
}

fn store_address(item: &Item) -> Option<String> {
    let address = item.filled()?;
    if !matches!(address.split_once(':'), Some((kind, rest)) if !kind.is_empty() && !rest.is_empty()) {
        let what = format!("`{address}` is no address of a store");
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
        "write a chance above 0 and below 0.5, such as 0.05",
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
        if !profilers.contains(&profiler) {
            profilers.push(profiler);
        }
    }
    Some(profilers)
}

/// Words of `nsys profile --trace`. They become one argument, between commas.
fn trace(item: &Item) -> Option<Vec<String>> {
    let words = item.texts("[\"cuda\", \"nvtx\"]")?;
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    match words.iter().find(|word| !is_plain(word)) {
        Some(odd) => item
            .refuse(format!("`{odd}` is nothing that nsys traces"), "write words of `nsys profile --help`"),
        None if words.is_empty() => {
            item.refuse("`trace` is empty", "name what nsys is to trace, such as [\"cuda\"]")
        }
        None => Some(words),
    }
}
