//! Reads every fixture below `fixtures/adapters`, and checks that damaged copies are refused.
//!
//! ```text
//! fixtures/adapters/<adapter>/<version of the tool>/
//!   stdout  out/...            the output of a measuring process: standard output, files of its folder
//!   list.stdout  list.out/...  the same for listing, if that differs from measuring
//! fixtures/adapters/<adapter>/tree/...     a project with it, for `init` (tests/harness_table.rs)
//! ```

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;

/// The least number of damaged copies for each adapter or format. `.ci/run nightly` uses more.
pub(crate) fn damaged_copies() -> usize {
    std::env::var("GBENCH_TEST_DAMAGE").map_or(500, |text| text.parse().expect("a number of copies"))
}

#[derive(Clone)]
struct Fixture {
    adapter: &'static dyn Adapter,
    folder: PathBuf,
    stdout: Vec<u8>,
    files: OutputFiles,
}

fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

fn files_of(folder: &Path) -> OutputFiles {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, bytes_of(&path));
            }
        }
    }
    OutputFiles(files)
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/adapters");
    let mut fixtures = Vec::new();
    for adapter in ALL {
        let mut versions: Vec<PathBuf> = std::fs::read_dir(root.join(adapter.name()))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && !path.ends_with("tree"))
            .collect();
        versions.sort();
        for folder in versions {
            let (stdout, files) = (bytes_of(&folder.join("stdout")), files_of(&folder.join("out")));
            fixtures.push(Fixture { adapter: *adapter, folder, stdout, files });
        }
    }
    fixtures
}

impl Fixture {
    fn read(&self) -> Result<Vec<Reading>, ReadError> {
        read(self.adapter, &HarnessOutput { stdout: &self.stdout, files: &self.files })
    }

    fn name(&self) -> String {
        let version = self.folder.file_name().unwrap().to_str().unwrap();
        format!("{}/{version}", self.adapter.name())
    }
}

fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/snapshots/adapters"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn every_fixture_of_a_harness_is_read() {
    for fixture in fixtures() {
        let readings = fixture.read().unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
        snapshots().bind(|| insta::assert_debug_snapshot!(fixture.name().replace('/', "@"), readings));
    }
}

#[test]
fn every_list_of_a_fixture_is_read() {
    for fixture in fixtures() {
        let (stdout, files) = (fixture.folder.join("list.stdout"), fixture.folder.join("list.out"));
        if !stdout.exists() && !files.exists() {
            continue;
        }
        let (stdout, files) = (bytes_of(&stdout), files_of(&files));
        let cases = list(fixture.adapter, &HarnessOutput { stdout: &stdout, files: &files });
        let cases = cases.unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
        for reading in fixture.read().unwrap() {
            let known = cases.iter().any(|case| case.native == reading.case.native);
            assert!(known, "{}: `{}` is not listed", fixture.name(), reading.case.native);
        }
        let name = format!("{}@list", fixture.name().replace('/', "@"));
        snapshots().bind(|| insta::assert_debug_snapshot!(name, cases));
    }
}

#[test]
fn every_adapter_has_a_fixture_a_name_of_its_own_and_says_what_was_tried() {
    let fixtures = fixtures();
    let mut names = HashMap::new();
    for adapter in ALL {
        let (name, about) = (adapter.name(), adapter.about());
        assert!(names.insert(name, ()).is_none(), "{name} twice");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        let versions: Vec<String> = fixtures
            .iter()
            .filter(|fixture| fixture.adapter.name() == name)
            .map(|fixture| fixture.folder.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert!(!versions.is_empty(), "{name} has no fixture");
        for tried in about.tried {
            assert!(versions.iter().any(|version| version == tried), "{name} {tried} has no fixture");
        }
        // Fixtures that the real tool did not print are marked by their name.
        for version in versions.iter().filter(|version| !about.tried.contains(&version.as_str())) {
            assert!(version.starts_with("by-hand"), "{name}/{version} is neither tried nor marked by-hand");
        }
    }
}

pub(super) fn damaged(bytes: &[u8], random: &mut Pcg64) -> Vec<u8> {
    let at = |random: &mut Pcg64, len: usize| random.random_range(0..len.max(1));
    let mut copy = bytes.to_vec();
    match random.random_range(0..8_u32) {
        // Truncated.
        0 | 1 => copy.truncate(at(random, bytes.len())),
        // One byte changed.
        2 => {
            let place = at(random, bytes.len());
            if let Some(byte) = copy.get_mut(place) {
                *byte = random.random();
            }
        }
        // A number replaced.
        3 | 4 => {
            let words = ["NaN", "nan", "-inf", "Infinity", "null", "\"x\"", "-1", "1e400", "", "0"];
            let word = words[at(random, words.len())];
            let starts: Vec<usize> = (0..bytes.len())
                .filter(|at| {
                    bytes[*at].is_ascii_digit() && (*at == 0 || !b"0123456789.eE+-".contains(&bytes[at - 1]))
                })
                .collect();
            if let Some(start) = starts.get(at(random, starts.len())).copied() {
                let rest = bytes[start..].iter();
                let length = rest.take_while(|byte| b"0123456789.eE+-,".contains(byte)).count();
                copy.splice(start..start + length, word.bytes());
            }
        }
        // A line removed or duplicated.
        5 | 6 => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            let line = at(random, lines.len());
            if random.random() {
                lines.remove(line.min(lines.len().saturating_sub(1)));
            } else {
                lines.insert(line, lines[line]);
            }
            copy = lines.concat();
        }
        // A range overwritten.
        _ => {
            let from = at(random, bytes.len());
            let to = (from + at(random, 40)).min(bytes.len());
            copy.splice(from..to, std::iter::repeat_n(b'#', at(random, 10)));
        }
    }
    copy
}

#[test]
fn damaged_output_never_panics_and_never_gives_what_is_no_number() {
    let random = &mut Pcg64::seed_from_u64(20_261_122);
    let fixtures = fixtures();
    for fixture in &fixtures {
        let of_adapter =
            fixtures.iter().filter(|other| other.adapter.name() == fixture.adapter.name()).count();
        let mutations = damaged_copies().div_ceil(of_adapter);
        let whole = fixture.read().unwrap();
        let names: Vec<String> = fixture.files.0.keys().cloned().collect();
        for _ in 0..mutations {
            let mut copy = fixture.clone();
            let texts = names.len() + usize::from(!fixture.stdout.is_empty());
            let which = random.random_range(0..texts.max(1));
            match names.get(which) {
                Some(name) => {
                    let bytes = damaged(&fixture.files.0[name], random);
                    copy.files.0.insert(name.clone(), bytes);
                }
                None => copy.stdout = damaged(&fixture.stdout, random),
            }
            let Ok(readings) = copy.read() else { continue };
            for reading in readings.iter().filter(|reading| reading.end == End::Measured) {
                let values = reading.metrics.iter().flat_map(|metric| &metric.values);
                assert!(values.clone().all(|value| value.is_finite()), "{}", fixture.name());
            }
        }
        // After any cut, each case that is still read has its original values.
        for name in names.iter().map(Some).chain([None]) {
            let bytes = name.map_or(&fixture.stdout, |name| &fixture.files.0[name]);
            for _ in 0..mutations.div_ceil(8) {
                let cut = random.random_range(0..bytes.len().max(1));
                let mut copy = fixture.clone();
                match name {
                    Some(name) => _ = copy.files.0.insert(name.clone(), bytes[..cut].to_vec()),
                    None => copy.stdout.truncate(cut),
                }
                for reading in copy.read().into_iter().flatten() {
                    let before = whole.iter().find(|before| before.case.native == reading.case.native);
                    assert_eq!(
                        Some(&reading),
                        before,
                        "{} cut off at byte {cut} of {name:?}",
                        fixture.name()
                    );
                }
            }
        }
    }
}

#[test]
fn output_that_is_empty_or_of_something_else_is_refused() {
    for adapter in ALL {
        for stdout in ["", "\n", "{}", "[]", "null", "hello\n", "\0\u{1}\u{2}"] {
            let files = OutputFiles::default();
            let read = read(*adapter, &HarnessOutput { stdout: stdout.as_bytes(), files: &files });
            assert!(read.is_err(), "{} takes {stdout:?}: {read:?}", adapter.name());
        }
    }
}
