//! What Cargo and the lints cannot say of the code: that the table in `src/lib.rs` is what the manifests say, which crates do no
//! I/O, who knows the terminal, where `unsafe` may stand, and that files use each other in one direction.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

use circles::Source;

/// The program's package: the use cases, the command line and `main.rs`.
const PROGRAM: &str = "gbench-ci";

/// Crates, or parts of one, that turn values into values: their callers read and write.
const WITHOUT_IO: [&str; 8] = [
    "gbench-model/",
    "gbench-stats/",
    "gbench-device-code/",
    "gbench-formats/",
    "gbench-suite/plan/",
    "gbench-measure/ingest/",
    "gbench-compare/",
    "gbench-report/",
];

/// What code without I/O has no business with. `std::process` has one harmless type.
const IO: [&str; 4] = ["fs", "net", "env", "process"];

/// The files that may hold `unsafe`: process control, the driver's library, the matrix product's pointers.
const UNSAFE: [&str; 10] = [
    "gbench-host/supervise/",
    "gbench-host/machine/nvml/library.rs",
    "gbench-micro/gemm.rs",
    "gbench-micro/cuda/api.rs",
    "gbench-micro/cuda/device.rs",
    "gbench-micro/cuda/buffers.rs",
    "gbench-micro/cuda/modules.rs",
    "gbench-micro/cuda/compiler.rs",
    "gbench-micro/cuda/hip.rs",
    "gbench-micro/cuda/cublas.rs",
];

/// The one module that knows a command line and writes to the terminal.
const COMMAND_LINE: &str = "gbench-ci/cli/";

/// The hidden child programs: standard output and standard error are theirs, and the parent reads them.
const CHILD_PROGRAMS: [&str; 5] = [
    "gbench-host/machine/clock_guard.rs",
    "gbench-host/supervise/supervisor.rs",
    "gbench-host/supervise/count.rs",
    "gbench-micro/channel.rs",
    "gbench-micro/catalog.rs",
];

/// The programs that the demonstration measures are no part of ours.
const NOT_OURS: &str = "gbench-ci/app/demo/repository";

/// One source file: its crate and its path below the crate's `src/`, its code without comments, and how much of it is not tests.
struct File {
    path: String,
    code: String,
    before_tests: usize,
}

impl File {
    /// The name of its crate, and its path in there.
    fn place(&self) -> (&str, &str) {
        self.path.split_once('/').unwrap()
    }

    fn is_support_of_tests(&self) -> bool {
        self.path.ends_with("test_support.rs") || self.path.ends_with("tests.rs")
    }

    /// The code that ships.
    fn shipped(&self) -> &str {
        if self.is_support_of_tests() { "" } else { &self.code[..self.before_tests] }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every crate by its name, with its folder.
fn crates() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut crates: Vec<(String, PathBuf)> =
        folders.map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), folder)).collect();
    crates.sort();
    assert!(crates.len() > 8, "only {} crates are found", crates.len());
    crates.push((PROGRAM.to_owned(), root().to_owned()));
    crates
}

fn files() -> Vec<File> {
    let mut files = Vec::new();
    for (name, folder) in crates() {
        let source = folder.join("src");
        for path in rust_files(&source) {
            let below = path.strip_prefix(&source).unwrap().to_str().unwrap();
            let code = without_comments(&std::fs::read_to_string(&path).unwrap());
            // A module of tests with a body stands last; `#[cfg(test)] mod support;` does not end the file.
            let tests = pattern(r"#\[cfg\(test\)\]\n(?:pub(?:\([a-z]+\))? )?mod \w+ \{").find(&code);
            let before_tests = tests.map_or(code.len(), |tests| tests.start());
            files.push(File { path: format!("{name}/{below}"), code, before_tests });
        }
    }
    files.retain(|file| !file.path.starts_with(NOT_OURS));
    assert!(files.len() > 800, "only {} source files are found", files.len());
    files
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths
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

/// The names of our crates in a part of a manifest.
fn ours_in(manifest: &toml::Table, part: &str) -> BTreeSet<String> {
    let names = manifest.get(part).and_then(|part| part.as_table()).into_iter().flat_map(toml::Table::keys);
    names.filter(|name| name.starts_with("gbench-")).cloned().collect()
}

#[test]
fn the_map_in_the_documentation_is_what_the_manifests_say() {
    let lib = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! |")).skip(2);
    let mut shown = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, _, may, ..] = cells.as_slice() else { panic!("{row}") };
        let name = name.split('`').nth(1).unwrap().to_owned();
        let may = may.split(", ").filter(|may| *may != "nothing").map(|may| format!("gbench-{may}"));
        shown.insert(name, may.collect::<BTreeSet<_>>());
    }
    let mut held = BTreeMap::new();
    for (name, folder) in crates().into_iter().filter(|(name, _)| name != PROGRAM) {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let imports = ours_in(&manifest, "dependencies");
        // The tests of a crate go no other way than its code does.
        let own = ours_in(&manifest, "dev-dependencies");
        let more: Vec<&String> = own.difference(&imports).filter(|other| **other != name).collect();
        assert!(more.is_empty(), "{name}: [dev-dependencies] has {more:?}");
        held.insert(name, imports);
    }
    assert_eq!(shown, held);
}

/// Items at the top level that a crate offers: the lint `unreachable_pub` has made all others private.
fn offered(code: &str) -> Vec<String> {
    let item =
        pattern(r"(?m)^pub (?:const |unsafe |async )*(?:fn|const|static|struct|enum|trait|type|union) (\w+)");
    item.captures_iter(code).map(|found| found[1].to_owned()).collect()
}

/// Words of public signatures, fields, variants and values: a type among them is reached without being named.
fn reached(code: &str) -> BTreeSet<String> {
    let item = pattern(
        r"(?m)^\s*pub (?:const |unsafe |async )*fn \w+([^{;]*)|^\s+pub \w+:([^\n]*)|^\s*type \w+ =([^\n]*)|^pub (?:const|static|type) \w+([^\n]*)|^pub struct \w+([^\n{]*)|^pub (?:enum|trait) \w+([^{]*\{(?s:.*?)^\})",
    );
    let parts = item.captures_iter(code).flat_map(|found| {
        found.iter().skip(1).flatten().map(|part| part.as_str().to_owned()).collect::<Vec<String>>()
    });
    parts.flat_map(|part| words_of(&part).map(str::to_owned).collect::<Vec<String>>()).collect()
}

#[test]
fn what_a_crate_offers_is_used_outside_of_it() {
    let files = files();
    let mut outside: Vec<(&str, String)> = Vec::new();
    for file in &files {
        // The unit tests of another crate have names of their own.
        let code = if file.place().0 == PROGRAM { &file.code } else { file.shipped() };
        outside.push((file.place().0, code.to_owned()));
    }
    for place in ["tests", "benches"] {
        for path in rust_files(&root().join(place)) {
            outside.push((place, std::fs::read_to_string(path).unwrap()));
        }
    }
    let words: Vec<(&str, BTreeSet<&str>)> =
        outside.iter().map(|(place, code)| (*place, words_of(code).collect())).collect();
    let mut unused = Vec::new();
    let mut inside: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        inside.entry(file.place().0).or_default().extend(reached(file.shipped()));
    }
    for file in files.iter().filter(|file| file.place().0 != PROGRAM && !file.is_support_of_tests()) {
        for name in offered(file.shipped()) {
            let is_used = |(place, words): &(&str, BTreeSet<&str>)| {
                *place != file.place().0 && words.contains(name.as_str())
            };
            if !words.iter().any(is_used) && !inside[file.place().0].contains(&name) {
                unused.push(format!("{}: {name}", file.path));
            }
        }
    }
    assert_eq!(unused, [""; 0], "write `pub(crate)`");
}

#[test]
fn the_crates_of_values_do_no_input_or_output() {
    let mut wrong = Vec::new();
    let files = files();
    let inside = files.iter().filter(|file| WITHOUT_IO.iter().any(|place| file.path.starts_with(place)));
    for file in inside {
        let code = file.shipped().replace("std::process::ExitCode", "");
        for name in names_after(&code, "std") {
            if IO.contains(&name) {
                wrong.push(format!("{}: std::{name}", file.path));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn only_the_command_line_knows_clap() {
    let files = files();
    // The other crates do not have it in their manifests.
    let outside = files.iter().filter(|file| file.path.starts_with("gbench-ci/app/"));
    let wrong: Vec<&str> = outside
        .filter(|file| words_of(file.shipped()).any(|word| word.starts_with("clap")))
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(wrong, [""; 0], "a request takes the place of flags there");
}

#[test]
fn only_the_command_line_writes_to_the_terminal() {
    // Macros that print are refused by clippy.
    let handle = pattern(r"\bio::(?:stdout|stderr)\(\)");
    let files = files();
    let outside = files.iter().filter(|file| !file.path.starts_with(COMMAND_LINE));
    let outside = outside.filter(|file| !CHILD_PROGRAMS.contains(&file.path.as_str()));
    let wrong: Vec<&str> =
        outside.filter(|file| handle.is_match(file.shipped())).map(|file| file.path.as_str()).collect();
    assert_eq!(wrong, [""; 0], "return a value, or report to the observer");
}

fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn unsafe_code_stands_only_where_it_is_expected() {
    for file in files() {
        // A flag of another program's may be called so too.
        let code = file.code.replace("\"--unsafe\"", "");
        let has_unsafe = words_of(&code).any(|word| word == "unsafe");
        let is_expected = UNSAFE.iter().any(|place| file.path.starts_with(place));
        assert!(!has_unsafe || is_expected, "{} has `unsafe`", file.path);
    }
}

#[test]
fn names_are_found_in_every_form_of_an_import() {
    let code = "use crate::model::Exit;\nlet x = crate::stats::mean(v);\nuse crate::{suite::{Suite, plan}, run};\n\
                macro::mycrate::store;";
    assert_eq!(names_after(code, "crate"), ["model", "stats", "suite", "run"]);
    assert_eq!(
        offered(
            "pub fn a() {}\npub(crate) fn b() {}\n    pub fn c() {}\npub const D: u8 = 1;\npub struct E;"
        ),
        ["a", "D", "E"]
    );
    let code = "pub struct A(pub B);\npub struct C {\n    pub d: D,\n    e: E,\n}\npub enum F {\n    G(G),\n}\n\
                pub fn h(\n    i: I,\n) -> J {\n    let k: K;\n}\nfn l(m: M) {}";
    let names = reached(code).into_iter().filter(|name| name.chars().all(|c| c.is_ascii_uppercase()));
    assert_eq!(names.collect::<String>(), "BDGIJ");
    assert_eq!(without_comments("a // crate::store\n/// crate::cli\nb"), "a\n\nb");
}

/// An expression over ASCII: `regex` is built here without the tables of Unicode.
fn pattern(text: &str) -> Regex {
    let text = text.replace(r"\w", "[A-Za-z0-9_]").replace(r"\s", r"[ \t\n]").replace(r"\b", r"(?-u:\b)");
    Regex::new(&text).unwrap()
}

/// Files that use each other and rightly so, each with the reason.
const HONEST_CIRCLES: [(&[&str], &str); 1] = [(
    &["gbench-measure/trees/checkout.rs", "gbench-measure/trees/submodules.rs"],
    "a submodule is written as its tree is, and may have submodules of its own",
)];

#[test]
fn files_use_each_other_in_one_direction() {
    let files = files();
    let (mut found, mut arrows) = (Vec::new(), 0);
    for (name, _) in crates() {
        let shipped = files.iter().filter(|file| file.place().0 == name && !file.is_support_of_tests());
        let sources: Vec<Source> =
            shipped.map(|file| Source { path: file.place().1, code: file.shipped() }).collect();
        let graph = circles::graph(&sources);
        arrows += graph.values().map(BTreeSet::len).sum::<usize>();
        let whole = |circle: BTreeSet<String>| circle.iter().map(|path| format!("{name}/{path}")).collect();
        found.extend(circles::circles(&graph).into_iter().map(whole));
    }
    assert!(arrows > 1000, "the graph has too few arrows");
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
fn no_two_types_have_one_name() {
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

/// Types that another file can name.
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
const REASONS_ARE_IDENTIFIERS: [&str; 3] = [
    "gbench-compare/evidence/throttling.rs",
    "gbench-host/machine/checks/gpu.rs",
    "gbench-host/machine/telemetry/calm.rs",
];

/// A document of an earlier version names the comparison that it is of in a command alone.
const OLD_DOCUMENTS: &str = "gbench-compare/verdict/document.rs";

#[test]
fn nothing_is_decided_by_the_wording_of_a_sentence() {
    let files = files();
    // What a harness prints has no code in it: its words are its format.
    let ours = files.iter().filter(|file| !file.path.starts_with("gbench-formats/"));
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
