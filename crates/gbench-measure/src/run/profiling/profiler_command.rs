//! The words of a profiler before a case's command, and the time limit for both. The suite's own flags replace the gate's.

use std::path::Path;

use super::counted_case::CountedCase;
use super::profile_files::ProfileFiles;
use super::sanitizer;
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
    case: &CountedCase,
    limit: Setting<f64>,
) -> Wrapping {
    let report = pattern(&files.report());
    let words = match profiler {
        Profiler::Nsys => nsys(options, report),
        Profiler::Ncu => ncu(options, case, report),
        Profiler::Torch => Vec::new(),
        tool => sanitizer::words(tool, report),
    };
    let program = program.map(|path| path.to_string_lossy().into_owned());
    let torch = (profiler == Profiler::Torch).then(|| [files.report(), files.table()]);
    let folder = files.folder().to_owned();
    // Else an access beyond a tensor lies within torch's own memory.
    let env = profiler.is_sanitizer().then_some(("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"));
    let words = program.into_iter().chain(words).collect();
    Wrapping { words, limit, torch, folder, env: env.into_iter().collect() }
}

/// Without samples of the CPU, which many kernels refuse and no figure needs.
fn nsys(options: &ProfileOptions, report: String) -> Vec<String> {
    let ours = [
        vec!["--sample=none".into()],
        vec!["--cpuctxsw=none".into()],
        vec!["--force-overwrite=true".into()],
        vec![format!("--trace={}", options.trace.value.join(","))],
        vec!["-o".into(), report],
    ];
    ["profile".into()].into_iter().chain(with_own(ours, &options.nsys_flags.value, &NSYS_SHORT)).collect()
}

/// Its own messages go to standard error: standard output belongs to the case.
fn ncu(options: &ProfileOptions, case: &CountedCase, report: String) -> Vec<String> {
    let pair = |option: &str, value: &str| vec![option.to_owned(), value.to_owned()];
    let metrics = options.metrics.value;
    let mut ours = vec![
        pair("--target-processes", "all"),
        pair("--log-file", "stderr"),
        vec!["--force-overwrite".into()],
        pair("--launch-count", &launches(metrics).to_string()),
    ];
    ours.extend(case.selection.iter().cloned());
    // Else each pass begins with an empty cache, and at the card's base clock.
    ours.extend(case.hot.then(|| pair("--cache-control", "none")));
    ours.extend(case.locked.then(|| pair("--clock-control", "none")));
    ours.extend(ncu_section_set(metrics).map(|set| pair("--set", set)));
    ours.push(pair("--metrics", &ncu_metrics(metrics).join(",")));
    ours.push(pair("-o", &report));
    with_own(ours, &options.ncu_flags.value, &NCU_SHORT)
}

const NSYS_SHORT: [(&str, &str); 2] = [("-t", "--trace"), ("-s", "--sample")];
const NCU_SHORT: [(&str, &str); 2] = [("-c", "--launch-count"), ("-k", "--kernel-name")];

/// The gate's options that the suite's own flags do not set, each with its value, and those flags. `short`: their short names.
fn with_own(
    ours: impl IntoIterator<Item = Vec<String>>,
    own: &[String],
    short: &[(&str, &str)],
) -> Vec<String> {
    let long = |word: &str| {
        let name = word.split('=').next().unwrap_or_default().to_owned();
        short.iter().find(|(it, _)| *it == name).map_or(name, |(_, long)| (*long).to_owned())
    };
    let is_set =
        |words: &[String]| words.iter().take(1).any(|ours| own.iter().any(|it| long(it) == long(ours)));
    ours.into_iter().filter(|words| !is_set(words)).flatten().chain(own.iter().cloned()).collect()
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

    fn options(ncu: &[&str], nsys: &[&str]) -> ProfileOptions {
        let mut options = ProfileOptions::default();
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        (options.ncu_flags.value, options.nsys_flags.value) = (texts(ncu), texts(nsys));
        options
    }

    #[test]
    fn s2_19_nsys_traces_what_the_suite_names() {
        let mut options = options(&[], &[]);
        options.trace.value = vec!["cuda".into(), "nvtx".into()];
        let words = nsys(&options, pattern(Path::new("/a/50%/x.nsys-rep")));
        assert!(words.contains(&"--trace=cuda,nvtx".into()), "{words:?}");
        assert_eq!(words.last().unwrap(), "/a/50%%/x.nsys-rep");
    }

    #[test]
    fn s0_22_a_deeper_set_asks_ncu_for_more_of_fewer_launches() {
        let words = |metrics| {
            let mut options = options(&[], &[]);
            options.metrics.value = metrics;
            ncu(&options, &CountedCase::default(), "x".into()).join(" ")
        };
        assert!(words(MetricSet::Minimal).contains("--launch-count 100"));
        assert!(words(MetricSet::Deep).contains("--launch-count 20 --set full"));
        assert!(
            words(MetricSet::Roofline).contains("--set roofline")
                && !words(MetricSet::Minimal).contains("--set")
        );
    }

    #[test]
    fn b35_flags_of_the_suite_replace_those_of_the_gate_and_come_last() {
        let options = options(
            &["-c", "5", "--section", "WarpStateStats", "--cache-control=all"],
            &["-t", "cuda", "--gpu-metrics-device=all"],
        );
        let hot = CountedCase { hot: true, ..CountedCase::default() };
        let counted = ncu(&options, &hot, "x".into()).join(" ");
        assert!(counted.ends_with("-o x -c 5 --section WarpStateStats --cache-control=all"), "{counted}");
        assert!(
            !counted.contains("--launch-count") && !counted.contains("--cache-control none"),
            "{counted}"
        );
        let traced = nsys(&options, "x".into()).join(" ");
        assert!(traced.ends_with("-o x -t cuda --gpu-metrics-device=all"), "{traced}");
        assert!(!traced.contains("--trace"), "{traced}");
    }
}
