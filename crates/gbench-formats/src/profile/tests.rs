//! Reads every fixture below `fixtures/profile`, and checks that refused and incomplete files are refused.
//!
//! ```text
//! fixtures/profile/<profiler>/<version of the tool, or by-hand>/FILE
//! ```
//!
//! Files that must not be read have `-refused` before their extension.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;
use gbench_model::ProfileFigure::{self, *};
use gbench_model::{KernelProfile, MetricSet};

const MUTATIONS: usize = 40;
const CUTS: usize = 60;

type ReadProfile = fn(&[u8]) -> Result<Vec<KernelProfile>, ProfileReadError>;

const READERS: [(&str, ReadProfile); 3] =
    [("ncu", read_ncu_csv), ("nsys", read_nsys_stats), ("torch", read_torch_trace)];

struct Fixture {
    profiler: &'static str,
    read: ReadProfile,
    name: String,
    bytes: Vec<u8>,
}

impl Fixture {
    fn is_refused(&self) -> bool {
        self.name.contains("-refused.")
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profile")
}

fn fixtures() -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    for (profiler, read) in READERS {
        for path in sorted(&root().join(profiler)).iter().flat_map(|folder| sorted(folder)) {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            fixtures.push(Fixture { profiler, read, name, bytes: std::fs::read(&path).unwrap() });
        }
    }
    fixtures
}

fn read_fixture(name: &str) -> Vec<KernelProfile> {
    let bytes = std::fs::read(root().join(name)).unwrap();
    let (_, read) = READERS.iter().find(|(profiler, _)| name.starts_with(profiler)).unwrap();
    read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_fixture_of_a_profiler_is_read_or_refused() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/snapshots/profile"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for fixture in fixtures() {
        let kernels = (fixture.read)(&fixture.bytes);
        let name = fixture.name.replace('/', "@");
        settings.bind(|| match &kernels {
            Ok(kernels) => insta::assert_json_snapshot!(name, kernels),
            Err(error) => insta::assert_snapshot!(name, error),
        });
        assert_eq!(kernels.is_err(), fixture.is_refused(), "{}: {kernels:?}", fixture.name);
    }
}

#[test]
fn every_profiler_has_fixtures_of_two_versions() {
    for (profiler, _) in READERS {
        let folders = sorted(&root().join(profiler));
        let versions = folders
            .iter()
            .filter(|folder| !folder.ends_with("by-hand"))
            .filter(|folder| sorted(folder).iter().any(|file| !file.to_str().unwrap().contains("-refused.")));
        assert!(versions.count() >= 2, "{profiler}");
    }
}

/// The report of one launch, printed under several locales.
#[test]
fn every_locale_and_both_scales_give_the_same_figures() {
    let base = "ncu/2024.1.1/raw-base";
    let plain = read_fixture(&format!("{base}-C.csv"));
    for locale in ["de_CH", "de_DE", "en_US", "fr_FR"] {
        assert_eq!(read_fixture(&format!("{base}-{locale}.csv")), plain, "{locale}");
    }
    let scaled = read_fixture("ncu/2024.1.1/raw-transposeCoalesced.csv");
    assert_eq!(read_fixture("ncu/2024.1.1/raw-de_DE.csv"), scaled);
    assert_eq!(read_fixture("ncu/2022.3.0/raw-de_DE.csv"), read_fixture("ncu/2022.3.0/raw-C.csv"));
    assert_eq!(read_fixture("ncu/2022.3.0/raw-fr_FR.csv"), read_fixture("ncu/2022.3.0/raw-C.csv"));
    // Scaled and unscaled values, on the raw and on the details page, are rounded in different places.
    same_figures(&plain, &scaled, "raw page");
    same_figures(&read_fixture("ncu/2024.1.1/details-de_DE.csv"), &scaled, "details page");
}

/// Up to the rounding of two decimals; the details page has fewer.
fn same_figures(some: &[KernelProfile], all: &[KernelProfile], what: &str) {
    let ([some], [all]) = (some, all) else { panic!("{what}: not one kernel each") };
    assert!(some.figures.len() >= 15, "{what}: only {} figures", some.figures.len());
    for (figure, value) in &some.figures {
        let other = all.figures[figure];
        let is_near = (value - other).abs() <= 0.006 * other.abs().max(1.0);
        assert!(is_near, "{what}: {figure:?}: {value} and {other}");
    }
}

#[test]
fn each_metric_that_is_asked_for_is_a_figure() {
    let [kernel] = &read_fixture("ncu/2024.1.1/raw-base-C.csv")[..] else { panic!("not one kernel") };
    for set in [MetricSet::Minimal, MetricSet::Roofline, MetricSet::Deep] {
        for name in ncu_metrics(set) {
            assert!(!kernel.raw_metrics.contains_key(*name), "{name} is not a figure");
        }
    }
    let missing: Vec<ProfileFigure> = {
        use strum::IntoEnumIterator;
        ProfileFigure::iter().filter(|figure| !kernel.figures.contains_key(figure)).collect()
    };
    assert_eq!(missing, []);
    let of = |figure| kernel.figures[&figure];
    assert_eq!((of(KernelTime), of(DramBytesRead), of(SharedBytes)), (1420.832e-6, 268_457_472.0, 4096.0));
    assert_eq!((of(SmClock), of(Launches), of(Registers)), (1_049_574_474.67, 1.0, 24.0));
}

#[test]
fn the_documentation_names_each_figure_and_each_metric_that_is_asked_for() {
    use strum::IntoEnumIterator;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiling-metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    for figure in ProfileFigure::iter() {
        let name: &str = figure.into();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("no row of `{name}`"));
        assert!(row.split('|').nth(2).unwrap().contains(figure.unit()), "unit of {row}");
    }
    for set in [MetricSet::Minimal, MetricSet::Roofline, MetricSet::Deep] {
        assert!(page.contains(&format!("`{}`", <&str>::from(set))));
        assert!(ncu_section_set(set).is_none_or(|asked| page.contains(&format!("`--set {asked}`"))));
        for name in ncu_metrics(set) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}

/// The kernels of an incomplete but accepted text are those of the whole; each figure is one of the whole's, or a mean
/// over fewer launches.
#[test]
fn a_text_that_is_cut_off_is_refused_with_its_line() {
    for fixture in fixtures().iter().filter(|fixture| !fixture.is_refused()) {
        let whole = (fixture.read)(&fixture.bytes).unwrap();
        let last = fixture.bytes.trim_ascii_end().len();
        let step = (fixture.bytes.len() / CUTS).max(1);
        for cut in (0..fixture.bytes.len()).step_by(step).chain(last.saturating_sub(20)..last) {
            let part = &fixture.bytes[..cut];
            let Ok(kernels) = (fixture.read)(part) else { continue };
            // A text that ends with a line end may be complete.
            let ends_a_line = part.last() == Some(&b'\n') || cut >= last && fixture.profiler == "torch";
            // A cut in a line of the profiler or of the program after the table has no effect.
            let line = part.rsplit(|byte| *byte == b'\n').next().unwrap();
            let is_of_table = line.is_empty() || line.contains(&b',') || line.first() == Some(&b'"');
            // Another table after the one that is read may end within its header.
            let is_behind = fixture.name.contains("several-reports") && kernels == whole;
            assert!(ends_a_line || is_behind || !is_of_table, "{} cut off at byte {cut}", fixture.name);
            for kernel in &kernels {
                let known = whole.iter().find(|known| known.kernel == kernel.kernel).unwrap();
                let launches = |kernel: &KernelProfile| kernel.figures[&Launches];
                assert!(launches(kernel) <= launches(known), "{} at {cut}", fixture.name);
                if launches(kernel) == launches(known) {
                    let of = |figure| known.figures.get(figure);
                    assert!(
                        kernel.figures.iter().all(|(figure, value)| of(figure) == Some(value)),
                        "{} cut off at byte {cut}",
                        fixture.name
                    );
                }
            }
        }
        if let Err(ProfileReadError::Line { line, .. }) = (fixture.read)(&fixture.bytes[..last - 2]) {
            let lines = fixture.bytes[..last].iter().filter(|byte| **byte == b'\n').count() + 1;
            assert!(
                line <= lines && line + 3 >= lines.min(line + 3),
                "{}: line {line} of {lines}",
                fixture.name
            );
        }
    }
}

#[test]
fn a_damaged_text_never_panics_and_never_gives_what_is_no_number() {
    let random = &mut Pcg64::seed_from_u64(20_261_125);
    for fixture in fixtures() {
        for _ in 0..MUTATIONS {
            let mut bytes = fixture.bytes.clone();
            for _ in 0..random.random_range(1..4_u32) {
                let at = random.random_range(0..bytes.len().max(1));
                let to = (at + random.random_range(0..40_usize)).min(bytes.len());
                let rest = bytes.split_off(at);
                match random.random_range(0..4_u32) {
                    0 => bytes.extend_from_slice(&rest[to - at..]),
                    1 => bytes.extend(rest[..to - at].iter().chain(&rest)),
                    2 => {
                        bytes.extend([b"\",.\n0 \xff{"[random.random_range(0..8_usize)]].iter().chain(&rest))
                    }
                    _ => {
                        bytes.extend_from_slice(&rest);
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = random.random_range(0..=255_u32) as u8;
                        }
                    }
                }
            }
            let Ok(kernels) = (fixture.read)(&bytes) else { continue };
            for kernel in kernels {
                let raw = kernel.raw_metrics.values().map(|metric| metric.value);
                let mut values = kernel.figures.values().copied().chain(raw);
                assert!(values.all(f64::is_finite), "{}: {kernel:?}", fixture.name);
            }
        }
    }
}

#[test]
fn a_text_of_something_else_is_refused() {
    for (profiler, read) in READERS {
        for text in ["", "\n", "{}", "[]", "null", "hello\n", "a,b\n1,2\n", "\0\u{1}\u{2}", "\"ID\"\n"] {
            assert!(read(text.as_bytes()).is_err(), "{profiler} takes {text:?}");
        }
    }
    for profiler in ["ncu", "torch"] {
        let (_, read) = READERS.iter().find(|(name, _)| *name == profiler).unwrap();
        for other in fixtures().iter().filter(|fixture| fixture.profiler != profiler) {
            assert!(read(&other.bytes).is_err(), "{profiler} takes {}", other.name);
        }
    }
}

#[test]
fn a_summary_that_holds_nothing_is_an_error_whatever_the_exit_code_was() {
    for version in ["2022.4.2", "2023.4.4"] {
        let bytes = std::fs::read(root().join(format!("nsys/{version}/no-kernels-refused.csv"))).unwrap();
        assert_eq!(read_nsys_stats(&bytes), Err(ProfileReadError::Nothing), "{version}");
    }
}

#[test]
fn both_versions_of_the_summary_give_the_same_kernels() {
    let times = |name: &str| {
        let kernels = read_fixture(name);
        let of = |kernel: &KernelProfile| (kernel.figures[&KernelTime], kernel.figures[&Launches]);
        kernels.iter().map(|kernel| (kernel.kernel.clone(), of(kernel))).collect::<BTreeMap<_, _>>()
    };
    let new = times("nsys/2023.4.4/cuda_gpu_kern_sum.csv");
    for same in [
        "nsys/2022.4.2/gpukernsum.csv",
        "nsys/2022.4.2/several-reports.csv",
        "nsys/2023.4.4/cuda_gpu_kern_gb_sum.csv",
    ] {
        let other = times(same);
        assert_eq!(other.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
        for (kernel, (seconds, launches)) in &other {
            assert!((seconds / new[kernel].0 - 1.0).abs() < 1e-12 && *launches == new[kernel].1, "{same}");
        }
    }
}
