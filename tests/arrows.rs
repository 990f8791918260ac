//! The map of src/lib.rs as data, held against the imports: a wrong arrow is found here and not in review.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

use circles::Source;

/// Every room and the rooms that it may import. `app` alone knows the whole route, and `cli` alone its flags.
const ARROWS: [(&str, &[&str]); 21] = [
    ("model", &[]),
    ("stats", &[]),
    ("adapters", &["model"]),
    ("suite", &["model", "adapters"]),
    ("micro", &["model", "stats", "device_code"]),
    ("driver", &[]),
    ("machine", &["model"]),
    ("supervise", &["model"]),
    ("github", &["model"]),
    ("device_code", &["model"]),
    ("profile", &["model"]),
    ("compare", &["model", "stats", "device_code", "profile"]),
    ("store", &["model", "github"]),
    ("guard", &["model", "github"]),
    ("trend", &["model", "stats", "compare"]),
    ("report", &["model", "compare", "trend"]),
    (
        "run",
        &["model", "stats", "adapters", "suite", "supervise", "store", "driver", "device_code", "profile"],
    ),
    ("trees", &["model", "suite", "machine", "store"]),
    ("ingest", &["model", "adapters", "run"]),
    ("app", BELOW_APP),
    ("cli", &BELOW_CLI),
];
const BELOW_CLI: [&str; 20] = [
    "model",
    "stats",
    "adapters",
    "suite",
    "micro",
    "driver",
    "machine",
    "supervise",
    "github",
    "device_code",
    "profile",
    "compare",
    "store",
    "guard",
    "trend",
    "report",
    "run",
    "trees",
    "ingest",
    "app",
];
/// All but the last.
const BELOW_APP: &[&str] = BELOW_CLI.split_at(BELOW_CLI.len() - 1).0;

/// Rooms, or parts of one, that turn values into values: their callers read and write.
const WITHOUT_IO: [&str; 10] = [
    "model/",
    "stats/",
    "adapters/",
    "suite/plan/",
    "device_code/",
    "profile/",
    "compare/",
    "trend/",
    "report/",
    "ingest/",
];

/// What a room without I/O has no business with. `std::process` has one harmless type.
const IO: [&str; 4] = ["fs", "net", "env", "process"];

/// The files that may hold `unsafe`: process control, the driver's library, the matrix product's pointers.
const UNSAFE: [&str; 7] = [
    "supervise/",
    "machine/nvml/library.rs",
    "micro/gemm.rs",
    "micro/cuda/api.rs",
    "micro/cuda/device.rs",
    "micro/cuda/compiler.rs",
    "micro/cuda/cublas.rs",
];

/// The one module that knows a command line and writes to the terminal.
const COMMAND_LINE: &str = "cli";

/// Names of the standard streams, and the macros that write to them.
const STREAMS: [&str; 6] = ["println", "eprintln", "print", "eprint", "stdout", "stderr"];

/// The hidden child programs: standard output and standard error are theirs, and the parent reads them.
const CHILD_PROGRAMS: [&str; 5] = [
    "machine/clock_guard.rs",
    "supervise/supervisor.rs",
    "supervise/count.rs",
    "micro/channel.rs",
    "micro/catalog.rs",
];

/// The programs that the demonstration measures are no part of ours.
const NOT_OURS: &str = "app/demo/repository";

/// One source file: its path below `src/`, its code without comments, and how much of it is not tests.
struct File {
    path: String,
    code: String,
    before_tests: usize,
}

impl File {
    /// The room that the file belongs to; `None` for `lib.rs` and `main.rs`, which hold the rooms together.
    fn room(&self) -> Option<&str> {
        let first = self.path.split('/').next().unwrap();
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (!matches!(name, "lib" | "main")).then_some(name)
    }

    fn is_support_of_tests(&self) -> bool {
        self.path.ends_with("test_support.rs") || self.path.ends_with("tests.rs")
    }

    /// The code that ships.
    fn shipped(&self) -> &str {
        if self.is_support_of_tests() { "" } else { &self.code[..self.before_tests] }
    }
}

fn files() -> Vec<File> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&source, &mut paths);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
        let code = without_comments(&std::fs::read_to_string(&path).unwrap());
        // A module of tests with a body stands last; `#[cfg(test)] mod support;` does not end the file.
        let tests = pattern(r"#\[cfg\(test\)\]\n(?:pub(?:\([a-z]+\))? )?mod \w+ \{").find(&code);
        let before_tests = tests.map_or(code.len(), |tests| tests.start());
        File { path: name, code, before_tests }
    };
    let files: Vec<File> =
        paths.into_iter().map(read).filter(|file| !file.path.starts_with(NOT_OURS)).collect();
    assert!(files.len() > 100, "only {} source files are found", files.len());
    files
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Without whole-line and trailing comments: documentation may point anywhere. A `//` within a text costs
/// the rest of its line, which holds no import.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or("").trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first names behind every `root::` in the code: those of `root::{a::B, c}` too.
fn names_after<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let pattern = format!("{root}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&pattern) {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + pattern.len()..];
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(list) => {
                let mut depth = 0;
                let mut begins = true;
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => begins = true,
                        c if begins && !c.is_whitespace() => {
                            found.push(word(&list[at..]));
                            begins = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn is_allowed(from: &str, to: &str) -> bool {
    from == to || ARROWS.iter().any(|(room, may)| *room == from && may.contains(&to))
}

#[test]
fn every_import_follows_an_arrow() {
    let rooms: BTreeSet<&str> = ARROWS.iter().map(|(room, _)| *room).collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in files() {
        let Some(room) = file.room() else { continue };
        assert!(rooms.contains(room), "src/{}: no room `{room}` is on the map", file.path);
        for name in names_after(&file.code, "crate") {
            seen += 1;
            // A name of the crate's root that is no room is a macro or nothing at all.
            if rooms.contains(name) && !is_allowed(room, name) {
                wrong.push(format!("src/{}: `{room}` must not import `{name}`", file.path));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(seen > 100, "only {seen} imports are found");
}

#[test]
fn no_file_leaves_its_room_through_super() {
    let files = files();
    let folders: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    for file in files.iter().filter(|file| file.room().is_some()) {
        for name in names_after(&file.code, "super") {
            let has_own = |path: String| folders.iter().any(|folder| folder.starts_with(&path));
            // A module may bear a room's name inside of another room.
            let mut folders_above = Path::new(&file.path).ancestors().skip(1).map(|folder| folder.display());
            let is_own = folders_above
                .any(|folder| has_own(format!("{folder}/{name}.rs")) || has_own(format!("{folder}/{name}/")));
            let is_room = ARROWS.iter().any(|(room, _)| *room == name);
            assert!(is_own || !is_room, "src/{}: write `crate::{name}`, not `super::{name}`", file.path);
        }
    }
}

#[test]
fn the_map_in_the_documentation_is_the_one_held_here() {
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! |")).skip(2);
    let mut shown = BTreeSet::new();
    let mut level_of = std::collections::BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [level, rooms, may, ..] = cells.as_slice() else { panic!("{row}") };
        let may: Vec<&str> = match *may {
            "nothing of ours" => Vec::new(),
            "any" => BELOW_CLI.to_vec(),
            "any but `cli`" => BELOW_APP.to_vec(),
            list => list.split(", ").map(|name| name.trim_matches('`')).collect(),
        };
        for room in rooms.split(", ") {
            let room = room.trim_matches(['[', ']', '`']);
            level_of.insert(room, level.parse::<u8>().unwrap());
            shown.insert((room, may.iter().copied().collect::<BTreeSet<_>>()));
        }
    }
    let held: BTreeSet<_> = ARROWS.iter().map(|(room, may)| (*room, may.iter().copied().collect())).collect();
    assert_eq!(shown, held);
    for (room, may) in shown {
        assert!(may.iter().all(|other| level_of[other] < level_of[room]), "{room} imports its own level");
        assert!(lib.contains(&format!("\npub mod {room};")), "lib.rs has no room `{room}`");
    }
}

#[test]
fn the_rooms_of_values_do_no_input_or_output() {
    let mut wrong = Vec::new();
    let files = files();
    let inside = files.iter().filter(|file| WITHOUT_IO.iter().any(|place| file.path.starts_with(place)));
    for file in inside {
        let code = file.shipped().replace("std::process::ExitCode", "");
        for name in names_after(&code, "std") {
            if IO.contains(&name) {
                wrong.push(format!("src/{}: std::{name}", file.path));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn only_the_command_line_knows_clap() {
    let files = files();
    let outside = files.iter().filter(|file| file.room().is_some_and(|room| room != COMMAND_LINE));
    let wrong: Vec<&str> = outside
        .filter(|file| words_of(file.shipped()).any(|word| word.starts_with("clap")))
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(wrong, [""; 0], "a request takes the place of flags there");
}

#[test]
fn only_the_command_line_writes_to_the_terminal() {
    let files = files();
    let outside = files.iter().filter(|file| file.room().is_some_and(|room| room != COMMAND_LINE));
    let outside = outside.filter(|file| !CHILD_PROGRAMS.contains(&file.path.as_str()));
    let wrong: Vec<String> = outside
        .flat_map(|file| uses_of_streams(file.shipped()).map(|stream| format!("src/{}: {stream}", file.path)))
        .collect();
    assert_eq!(wrong, [""; 0], "return a value, or report to the observer");
}

/// Macros that write to a standard stream, and calls of `io::stdout` and `io::stderr`.
fn uses_of_streams(code: &str) -> impl Iterator<Item = &'static str> {
    STREAMS.into_iter().filter(|stream| {
        let is_use = |at: usize| {
            let (before, after) = (&code[..at], &code[at + stream.len()..]);
            let is_macro =
                after.starts_with("!(") && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let is_handle = after.starts_with("()") && before.ends_with("io::");
            if stream.starts_with("std") { is_handle } else { is_macro }
        };
        code.match_indices(*stream).any(|(at, _)| is_use(at))
    })
}

fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn uses_of_streams_are_found_and_fields_of_their_name_are_none() {
    let found = |code| uses_of_streams(code).collect::<Vec<_>>();
    assert_eq!(found("println!(\"x\"); std::io::stderr().lock()"), ["println", "stderr"]);
    assert_eq!(found("child.stdout(pipe); writeln!(out); my_print!(x); self.stderr()"), [""; 0]);
}

#[test]
fn unsafe_code_stands_only_where_it_is_expected() {
    for file in files() {
        // A flag of another program's may be called so too.
        let code = file.code.replace("\"--unsafe\"", "");
        let has_unsafe = words_of(&code).any(|word| word == "unsafe");
        let is_expected = UNSAFE.iter().any(|place| file.path.starts_with(place));
        assert!(!has_unsafe || is_expected, "src/{} has `unsafe`", file.path);
    }
}

#[test]
fn names_are_found_in_every_form_of_an_import() {
    let code = "use crate::model::Exit;\nlet x = crate::stats::mean(v);\nuse crate::{suite::{Suite, plan}, run};\n\
                macro::mycrate::store;";
    assert_eq!(names_after(code, "crate"), ["model", "stats", "suite", "run"]);
    assert_eq!(without_comments("a // crate::store\n/// crate::cli\nb"), "a\n\nb");
}

/// An expression over ASCII: `regex` is built here without the tables of Unicode.
fn pattern(text: &str) -> Regex {
    let text = text.replace(r"\w", "[A-Za-z0-9_]").replace(r"\s", r"[ \t\n]").replace(r"\b", r"(?-u:\b)");
    Regex::new(&text).unwrap()
}

/// Files that use each other and rightly so, each with the reason.
const HONEST_CIRCLES: [(&[&str], &str); 1] = [(
    &["trees/checkout.rs", "trees/submodules.rs"],
    "a submodule is written as its tree is, and may have submodules of its own",
)];

#[test]
fn files_use_each_other_in_one_direction() {
    let files = files();
    let shipped = files.iter().filter(|file| !file.is_support_of_tests());
    let sources: Vec<Source> =
        shipped.map(|file| Source { path: &file.path, code: file.shipped() }).collect();
    let graph = circles::graph(&sources);
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 1000, "the graph has too few arrows");
    let found = circles::circles(&graph);
    let honest = |circle: &BTreeSet<String>| {
        HONEST_CIRCLES.iter().any(|(files, _)| files.iter().copied().eq(circle.iter().map(String::as_str)))
    };
    let open: Vec<&BTreeSet<String>> = found.iter().filter(|circle| !honest(circle)).collect();
    assert!(open.is_empty(), "files that use each other in a circle: {open:#?}");
    for (files, reason) in HONEST_CIRCLES {
        let still = found.iter().any(|circle| files.iter().copied().eq(circle.iter().map(String::as_str)));
        assert!(still, "no circle any more, take it off the list: {files:?} ({reason})");
    }
}

#[test]
fn no_two_types_of_the_crate_have_one_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files() {
        for name in public_types(file.shipped()) {
            places.entry(name).or_default().push(file.path.clone());
        }
    }
    assert!(places.len() > 300, "only {} types are found", places.len());
    let shared: BTreeMap<&str, &Vec<String>> = places
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, files)| (name.as_str(), files))
        .collect();
    assert!(shared.is_empty(), "one name for several types: {shared:#?}");
}

/// Types that another file of the crate can name.
fn public_types(code: &str) -> Vec<String> {
    let item = pattern(r"(?m)^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (\w+)");
    item.captures_iter(code).map(|found| found[1].to_owned()).collect()
}

#[test]
fn a_choice_between_two_is_an_if() {
    let files = files();
    let found = files.iter().filter(|file| matches_on_a_bool(file.shipped())).map(|file| file.path.as_str());
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "`match` on a bool; write `if`: {found:#?}");
}

fn matches_on_a_bool(code: &str) -> bool {
    pattern(r"(?m)(?:^|[{,])\s*(?:true|false)(?:\s+if\b[^\n]*?)?\s*=>").is_match(code)
}

/// Files in which a reason is an identifier: what a GPU's driver calls it.
const REASONS_ARE_IDENTIFIERS: [&str; 3] =
    ["compare/throttling.rs", "machine/checks/gpu.rs", "machine/telemetry/calm.rs"];

/// A document of an earlier version names the comparison that it is of in a command alone.
const OLD_DOCUMENTS: &str = "compare/document.rs";

#[test]
fn nothing_is_decided_by_the_wording_of_a_sentence() {
    let files = files();
    // What a harness prints has no code in it: its words are its format.
    let ours = files.iter().filter(|file| !file.path.starts_with("adapters/"));
    let sentences = ours.filter(|file| !REASONS_ARE_IDENTIFIERS.contains(&file.path.as_str()));
    let found: BTreeSet<&str> =
        sentences.filter(|file| reads_a_sentence(file.shipped())).map(|file| file.path.as_str()).collect();
    assert_eq!(found, BTreeSet::from([OLD_DOCUMENTS]), "the wording of a sentence decides");
}

/// As far as names tell: a question about the text of what is called a reason, an advice, a message.
fn reads_a_sentence(code: &str) -> bool {
    const SENTENCES: &str =
        "reason|reasons|why|next|advice|message|sentence|reproduce|warning|warnings|resume";
    const QUESTIONS: &str =
        "starts_with|ends_with|contains|strip_prefix|strip_suffix|split_once|find|matches";
    let direct = format!(
        r"\b(?:{SENTENCES})(?:\(\))?(?:\.as_str\(\)|\.as_deref\(\)|\.as_ref\(\))?\s*\.(?:{QUESTIONS})\("
    );
    pattern(&format!("{direct}\\s*(?:&?format!|\"|'|[A-Z_]+\\))")).is_match(code)
}

#[test]
fn the_checks_see_what_they_forbid() {
    for code in [
        "match a {\n    true => 1,\n    false => 2,\n}",
        "match a { true => 1, false => 2 }",
        "match a {\n    true if b => 1,\n    _ => 2,\n}",
    ] {
        assert!(matches_on_a_bool(code), "{code}");
    }
    for code in [
        "match a {\n    Some(true) => 1,\n    \"true\" => 2,\n    (0, false) => 3,\n}",
        "if a { true } else { false }",
    ] {
        assert!(!matches_on_a_bool(code), "{code}");
    }
    for code in [
        "row.next.starts_with(RESUME)",
        "document.reproduce\n    .strip_prefix(\"gbench-ci replay \")?",
        "case.reason().contains(\"apart\")",
        "warning.contains(&format!(\"{name}\"))",
    ] {
        assert!(reads_a_sentence(code), "{code}");
    }
    for code in ["names.contains(\"x\")", "rest.next.is_empty()", "lines.next().contains(other)"] {
        assert!(!reads_a_sentence(code), "{code}");
    }
    let types = "pub struct A;\n    pub(crate) enum B {}\npub(super) type C = u8;\nstruct D;\npub fn e() {}";
    assert_eq!(public_types(types), ["A", "B", "C"]);
}
