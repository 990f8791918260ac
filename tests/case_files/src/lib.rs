//! Cases below a crate's `fixtures`: what is given to a reader, and all that it answers.
//!
//! ```text
//! fixtures/<kind>/*.txt        `kind_tests.rs` has the kinds; the function of each says which sections it takes
//!
//! Text above the first case is a comment on the file.
//!
//! @@@ the name of a case
//! @@ suite                     what is given, and below it a text
//! seed = <?>
//! @@ each                      lines of input and answer: each input stands for `<?>`, or is the whole `text`
//! 7 => settings.seed: 7
//!
//! @@@ another one
//! @@ suite
//! seed = 7
//! @@ gives                     the one answer, of any number of lines
//! settings.seed: 7
//! ```
//!
//! Within a line `⏎` is a newline; anywhere `␡` is the byte 127.
//! `UPDATE_CASES=1 cargo test -p CRATE kind_tests` writes the answers anew: look at the diff. A new line needs its input alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What answers the cases of a kind, as text.
pub type Answer = fn(&Given) -> String;

const HOLE: &str = "<?>";
const BETWEEN: &str = " => ";

/// A head without its marks, such as `file a/b.py`, and what stands below it.
type Section = (String, String);

#[derive(Default)]
struct Case {
    name: String,
    given: Vec<Section>,
    /// Below `@@ each`, or else below `@@ gives`.
    lines: bool,
    expected: String,
}

/// What a case gives; all of it has to be used.
pub struct Given {
    sections: Vec<Section>,
    /// The input of a line below `@@ each`.
    line: Option<String>,
    used: RefCell<BTreeSet<String>>,
}

impl Given {
    /// What stands below a head.
    pub fn get(&self, head: &str) -> Option<String> {
        let (_, text) = self.sections.iter().find(|(other, _)| other == head)?;
        self.used.borrow_mut().insert(head.to_owned());
        Some(self.filled(text))
    }

    /// The input of a kind that takes one text: the section `text`, or the line.
    pub fn text(&self) -> String {
        self.get("text").or_else(|| self.line.as_ref().map(|_| self.filled(HOLE))).expect("a text")
    }

    /// Paths and texts of the heads that begin with a word: `file a/b.py`.
    pub fn paths(&self, word: &str) -> Vec<(String, String)> {
        let paths = self.sections.iter().filter_map(|(head, _)| head.strip_prefix(word)?.strip_prefix(' '));
        paths.map(|path| (path.to_owned(), self.get(&format!("{word} {path}")).unwrap())).collect()
    }

    fn filled(&self, text: &str) -> String {
        let text = text.replace('␡', "\x7f");
        let Some(line) = self.line.as_ref().filter(|_| text.contains(HOLE)) else { return text };
        self.used.borrow_mut().insert(HOLE.to_owned());
        text.replace(HOLE, line)
    }
}

/// The comment of a file, and its cases. Errors: what is no case.
fn parsed(text: &str) -> Result<(String, Vec<Case>), String> {
    let (mut comment, mut cases) = (String::new(), Vec::<Case>::new());
    for line in text.split_inclusive('\n') {
        let is_head = line.starts_with("@@@ ") || line.starts_with("@@ ") && !cases.is_empty();
        if !is_head && line.trim_start().starts_with("@@") {
            return Err(format!("`{}` is not a head, or stands above the first case", line.trim_end()));
        }
        if let Some(name) = line.strip_prefix("@@@ ") {
            cases.push(Case { name: name.trim_end().to_owned(), ..Case::default() });
        } else if let Some(case) = cases.last_mut() {
            match (line.strip_prefix("@@ "), case.given.last_mut()) {
                (Some(head), _) => case.given.push((head.trim_end().to_owned(), String::new())),
                (None, Some((_, text))) => text.push_str(line),
                (None, None) => return Err(format!("`{}` has a text without a head", case.name)),
            }
        } else {
            comment.push_str(line);
        }
    }
    let (mut names, mut twice) = (BTreeSet::new(), None);
    for case in &mut cases {
        let answer = case.given.pop().filter(|(head, _)| ["each", "gives"].contains(&head.as_str()));
        let (head, expected) = answer.ok_or_else(|| format!("`{}` does not say what it gives", case.name))?;
        (case.lines, case.expected) = (head == "each", expected.trim_end_matches('\n').to_owned());
        let heads: BTreeSet<_> = case.given.iter().map(|(head, _)| head).chain([&head]).collect();
        if heads.len() <= case.given.len() || !names.insert(&case.name) {
            twice = Some(format!("`{}` stands there twice, or one of its heads", case.name));
        }
    }
    match twice {
        None if cases.is_empty() => Err("it has no case".into()),
        None => Ok((comment, cases)),
        Some(twice) => Err(twice),
    }
}

fn written(comment: &str, cases: &[Case]) -> String {
    let of = |Case { name, given, lines, expected }: &Case| {
        let given: String = given.iter().map(|(head, text)| format!("@@ {head}\n{text}")).collect();
        format!("@@@ {name}\n{given}@@ {}\n{expected}\n", if *lines { "each" } else { "gives" })
    };
    comment.to_owned() + &cases.iter().map(of).collect::<Vec<_>>().join("\n")
}

impl Case {
    /// One input per line of `each`; a single `None` for `gives`.
    fn inputs(&self) -> Vec<Option<&str>> {
        let input = |line| Some(str::split_once(line, BETWEEN).map_or(line, |(input, _)| input));
        if self.lines { self.expected.split('\n').map(input).collect() } else { vec![None] }
    }

    /// What is answered. Errors: problems that writing the answers anew would not fix.
    fn found(&self, answer: Answer) -> Result<String, String> {
        let mut given = Given { sections: self.given.clone(), line: None, used: RefCell::default() };
        let mut found = Vec::new();
        for input in self.inputs() {
            given.line = input.map(|input| input.replace('⏎', "\n"));
            let answered = catch_unwind(AssertUnwindSafe(|| answer(&given)))
                .map_err(|_| format!("panics at {input:?}"))?;
            let answered = answered.trim_end();
            if answered.is_empty() || answered.contains("\n@@") {
                return Err(format!("answers {answered:?} to {input:?}, which no file can hold"));
            }
            found.push(match input {
                Some(input) => format!("{input}{BETWEEN}{}", answered.replace('\n', "⏎")),
                None => answered.to_owned(),
            });
        }
        let used = given.used.into_inner();
        let heads = self.given.iter().map(|(head, _)| head.as_str()).chain(self.lines.then_some(HOLE));
        match heads.filter(|head| !used.contains(*head)).collect::<Vec<_>>()[..] {
            [] => Ok(found.join("\n")),
            ref unused => Err(format!("gives {unused:?}, which nothing uses")),
        }
    }

    /// The lines that differ, or all.
    fn difference(&self, found: &str) -> String {
        if !self.lines {
            return format!("expects:\n{}\nand it is:\n{found}", self.expected);
        }
        let lines =
            self.expected.split('\n').zip(found.split('\n')).filter(|(expected, found)| expected != found);
        lines.map(|(expected, found)| format!("expects:\n{expected}\nand it is:\n{found}")).collect()
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// What is wrong with a file, and how many inputs it has. `writes`: a changed answer is written and is not wrong.
fn wrongs(path: &Path, answer: Answer, writes: bool) -> (Vec<String>, usize) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let (comment, mut cases) = match parsed(&text) {
        Ok(parsed) if path.extension().is_some_and(|end| end == "txt") => parsed,
        Ok(_) => return (vec!["its name does not end with .txt".into()], 0),
        Err(error) => return (vec![error], 0),
    };
    let mut wrong = Vec::new();
    if written(&comment, &cases) != text && !writes {
        wrong.push("UPDATE_CASES=1 writes it in another way".to_owned());
    }
    for case in &mut cases {
        match case.found(answer) {
            Err(error) => wrong.push(format!("`{}` {error}", case.name)),
            Ok(found) if found == case.expected => {}
            Ok(found) if writes => case.expected = found,
            Ok(found) => wrong.push(format!("`{}` {}", case.name, case.difference(&found))),
        }
    }
    if writes {
        fs::write(path, written(&comment, &cases)).unwrap();
    }
    (wrong, cases.iter().map(|case| case.inputs().len()).sum())
}

/// Holds a crate's cases against what is answered. `folder`: the crate's; `kinds`: the name of each folder below its `fixtures`, with
/// what answers there; `at_least`: a lower bound of the inputs; fewer means
/// that files were not found.
///
/// Panics if an answer differs or a file is malformed, and names every case.
pub fn walk(folder: &str, kinds: impl IntoIterator<Item = (&'static str, Answer)>, at_least: usize) {
    let root = Path::new(folder).join("fixtures");
    let writes = std::env::var_os("UPDATE_CASES").is_some();
    let mut kinds: BTreeMap<&str, Answer> = kinds.into_iter().collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for folder in sorted(&root) {
        let kind = folder.file_name().unwrap().to_str().unwrap();
        let Some(answer) = kinds.remove(kind) else {
            wrong.push(format!("{kind} is no kind"));
            continue;
        };
        let files = sorted(&folder);
        assert!(!files.is_empty(), "{kind} is empty");
        for path in files {
            let (wrongs, inputs) = wrongs(&path, answer, writes);
            let name = path.strip_prefix(&root).unwrap().display();
            wrong.extend(wrongs.into_iter().map(|it| format!("{name}: {it}")));
            count += inputs;
        }
    }
    assert!(kinds.is_empty(), "no cases of {:?}", kinds.keys());
    assert!(wrong.is_empty(), "{} are wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count >= at_least, "only {count} inputs");
}

#[test]
fn what_is_wrong_with_a_case_is_told_with_its_name() {
    for (text, says) in [
        ("", "it has no case"),
        ("@@ gives\n1\n", "`@@ gives` is not a head, or stands above the first case"),
        ("@@@a\n@@ gives\n1\n", "`@@@a` is not a head"),
        ("@@@ a\n @@ gives\n1\n", "` @@ gives` is not a head"),
        ("@@@ a\n@@ text\n1\n", "`a` does not say what it gives"),
        ("@@@ a\n@@ gives\n1\n@@ text\n1\n", "`a` does not say what it gives"),
        ("@@@ a\n1\n@@ gives\n1\n", "`a` has a text without a head"),
        ("@@@ a\n@@ gives\n1\n\n@@@ a\n@@ gives\n1\n", "`a` stands there twice"),
        ("@@@ a\n@@ text\n1\n@@ text\n1\n@@ gives\n1\n", "`a` stands there twice, or one of its heads"),
        ("@@@ a\n@@ text\n1\n\n@@ gives\n2\n", "`a` expects:\n2\nand it is:\n1"),
        ("@@@ a\n@@ text\n1\n@@ gives\n\n", "`a` expects:\n\nand it is:\n1"),
        ("@@@ a\n@@ each\n1 => 1\n2 => 3\n4 => 4\n", "`a` expects:\n2 => 3\nand it is:\n2 => 2"),
        ("@@@ a\n@@ each\n1\n", "`a` expects:\n1\nand it is:\n1 => 1"),
        ("@@@ a\n@@ text\n1\n@@ each\n1 => 1\n", "`a` gives [\"<?>\"], which nothing uses"),
        ("@@@ a\n@@ text\n1\n@@ more\n2\n@@ gives\n1\n", "`a` gives [\"more\"], which nothing uses"),
        ("@@@ a\n@@ gives\n1\n", "`a` panics at None"),
        ("@@@ a\n@@ text\n1\n@@ gives\n1\n\n\n", "UPDATE_CASES=1 writes it in another way"),
    ] {
        let file = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
        fs::write(file.path(), text).unwrap();
        let (told, _) = wrongs(file.path(), Given::text, false);
        assert!(told.len() == 1 && told[0].starts_with(says), "{text}: {told:?}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    }
    let file = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
    fs::write(file.path(), "@@@ a\n@@ each\n1\n2 => 3\n").unwrap();
    assert_eq!(wrongs(file.path(), Given::text, true), (Vec::new(), 2));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "@@@ a\n@@ each\n1 => 1\n2 => 2\n");
}
