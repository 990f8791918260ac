//! The words of a profiler before a case's command, and the time limit for both.

use std::path::Path;

use super::profile_files::ProfileFiles;
use crate::run::process::wrapping::Wrapping;
use gbench_formats::profile::{ncu_metrics, ncu_section_set};
use gbench_model::{Deadlines, MetricSet, Origin, Profiler, Setting, Settings, Stage};
use gbench_suite::ProfileOptions;

/// Seconds for nsys, unless the suite file sets `deadlines.profile`, whose default applies to the others.
const NSYS_LIMIT: f64 = 120.0;

/// The most launches per process that ncu counts: it repeats each of them. A deep set takes ten times the passes of a minimal
/// one.
fn launches(metrics: MetricSet) -> u32 {
    match metrics {
        MetricSet::Minimal => 100,
        MetricSet::Roofline => 50,
        MetricSet::Deep => 20,
    }
}

/// Seconds that a process of a benchmark may take under a profiler, before the multiplier.
pub(super) fn limit_of(profiler: Profiler, settings: &Settings) -> Setting<f64> {
    let usual = || Setting::default(Deadlines::default().get(Stage::Profile));
    let limit = settings.deadlines.get(&Stage::Profile).cloned().unwrap_or_else(usual);
    match (profiler, &limit.origin) {
        (Profiler::Nsys, Origin::Default) => Setting::default(NSYS_LIMIT.min(limit.value)),
        _ => limit,
    }
}

/// `program`: the profiler's program; `None`: it has none.
pub(super) fn wrapping(
    profiler: Profiler,
    program: Option<&Path>,
    files: &ProfileFiles,
    options: &ProfileOptions,
    limit: Setting<f64>,
) -> Wrapping {
    let report = pattern(&files.report());
    let words = match profiler {
        Profiler::Nsys => nsys(&options.trace.value, report),
        Profiler::Ncu => ncu(options.metrics.value, report),
        Profiler::Torch => Vec::new(),
    };
    let program = program.map(|path| path.to_string_lossy().into_owned());
    let torch = (profiler == Profiler::Torch).then(|| [files.report(), files.table()]);
    let folder = files.folder().to_owned();
    Wrapping { words: program.into_iter().chain(words).collect(), limit, torch, folder }
}

/// Without samples of the CPU, which many kernels refuse and no figure needs.
fn nsys(trace: &[String], report: String) -> Vec<String> {
    let mut words: Vec<String> =
        ["profile", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"].map(str::to_owned).to_vec();
    words.push(format!("--trace={}", trace.join(",")));
    words.extend(["-o".into(), report]);
    words
}

/// Its own messages go to standard error: standard output belongs to the case.
fn ncu(metrics: MetricSet, report: String) -> Vec<String> {
    let mut words: Vec<String> =
        ["--target-processes", "all", "--log-file", "stderr", "--force-overwrite", "--launch-count"]
            .map(str::to_owned)
            .to_vec();
    words.push(launches(metrics).to_string());
    if let Some(set) = ncu_section_set(metrics) {
        words.extend(["--set".into(), set.into()]);
    }
    let names = ncu_metrics(metrics);
    if !names.is_empty() {
        words.extend(["--metrics".into(), names.join(",")]);
    }
    words.extend(["-o".into(), report]);
    words
}

/// A path for both programs, in which `%` begins a placeholder.
fn pattern(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_15_each_profiler_has_its_limit_unless_the_suite_sets_one() {
        let mut settings = Settings::default();
        let limit = |settings: &Settings, profiler| limit_of(profiler, settings).value;
        assert_eq!((limit(&settings, Profiler::Nsys), limit(&settings, Profiler::Ncu)), (120.0, 180.0));
        let own = Setting { value: 300.0, origin: Origin::File("gbench.toml:3".into()) };
        settings.deadlines.insert(Stage::Profile, own);
        assert_eq!((limit(&settings, Profiler::Nsys), limit(&settings, Profiler::Torch)), (300.0, 300.0));
    }

    #[test]
    fn s2_19_nsys_traces_what_the_suite_names() {
        let words = nsys(&["cuda".into(), "nvtx".into()], pattern(Path::new("/a/50%/x.nsys-rep")));
        assert!(words.contains(&"--trace=cuda,nvtx".into()), "{words:?}");
        assert_eq!(words.last().unwrap(), "/a/50%%/x.nsys-rep");
    }

    #[test]
    fn s0_22_a_deeper_set_asks_ncu_for_more_of_fewer_launches() {
        let words = |metrics| ncu(metrics, "x".into()).join(" ");
        assert!(words(MetricSet::Minimal).contains("--launch-count 100"));
        assert!(words(MetricSet::Deep).contains("--launch-count 20 --set full"));
        assert!(
            words(MetricSet::Roofline).contains("--set roofline")
                && !words(MetricSet::Minimal).contains("--set")
        );
    }
}
