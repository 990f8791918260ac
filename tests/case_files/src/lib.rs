//! Cases below a crate's `fixtures`: what is given to a reader, and all that it answers.
//!
//! ```text
//! fixtures/<kind>/*.txt        a crate's `kind_tests.rs` has its kinds; the function of each says which sections it takes
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
//! @@ gives                     an answer of any number of lines
//! settings.seed: 7
//! @@ gives warnings            one more, to the question `warnings`; `each` takes one, too
//! nothing
//! ```
//!
//! Within a line `⏎` is a newline; anywhere `␡` is the byte 127.
//! `UPDATE_CASES=1 cargo test -p CRATE every_case` writes the answers anew: look at the diff. A new line needs its input alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Answers the cases of a kind, as text; an empty text is written as `nothing`.
pub type Answer = fn(&Given) -> String;

const HOLE: &str = "<?>";
const BETWEEN: &str = " => ";

/// A head without its marks, such as `file a/b.py`, and what stands below it.
type Section = (String, String);

#[derive(Default)]
struct Case {
    name: String,
    given: Vec<Section>,
    /// Heads that begin with `each` or `gives`, with what is expected.
    answers: Vec<Section>,
}

/// The input of a case. An answer has to use all of it.
pub struct Given<'a> {
    /// The name of the folder.
    pub kind: &'a str,
    /// The words behind `gives` or `each`.
    pub question: &'a str,
    sections: &'a [Section],
    /// The input of a line below `@@ each`.
    line: Option<String>,
    used: &'a RefCell<BTreeSet<String>>,
}

impl Given<'_> {
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
    let mut names = BTreeSet::new();
    for case in &mut cases {
        let is_answer = |head: &str| ["each", "gives"].contains(&split(head).0);
        let at = case.given.iter().position(|(head, _)| is_answer(head)).unwrap_or(case.given.len());
        case.answers = case.given.split_off(at);
        if case.answers.is_empty() || !case.answers.iter().all(|(head, _)| is_answer(head)) {
            return Err(format!("`{}` does not end with what it gives", case.name));
        }
        case.answers.iter_mut().for_each(|(_, text)| text.truncate(text.trim_end_matches('\n').len()));
        let sections = || case.given.iter().chain(&case.answers);
        let heads: BTreeSet<_> = sections().map(|(head, _)| head).collect();
        if heads.len() < sections().count() || !names.insert(&case.name) {
            return Err(format!("duplicate: `{}`, or one of its heads", case.name));
        }
    }
    if cases.is_empty() { Err("it has no case".into()) } else { Ok((comment, cases)) }
}

/// A first word, and the rest.
fn split(head: &str) -> (&str, &str) {
    head.split_once(' ').unwrap_or((head, ""))
}

fn written(comment: &str, cases: &[Case]) -> String {
    let of = |Case { name, given, answers }: &Case| {
        let given = given.iter().map(|(head, text)| format!("@@ {head}\n{text}"));
        let answers = answers.iter().map(|(head, text)| format!("@@ {head}\n{text}\n"));
        format!("@@@ {name}\n{}", given.chain(answers).collect::<String>())
    };
    comment.to_owned() + &cases.iter().map(of).collect::<Vec<_>>().join("\n")
}

/// One input per line of `each`; a single `None` for `gives`.
fn inputs((head, expected): &Section) -> Vec<Option<&str>> {
    let input = |line| Some(str::split_once(line, BETWEEN).map_or(line, |(input, _)| input));
    if split(head).0 == "each" { expected.split('\n').map(input).collect() } else { vec![None] }
}

impl Case {
    /// What is answered to each question. Errors: problems that writing the answers anew would not fix.
    fn found(&self, kind: &str, answer: Answer) -> Result<Vec<String>, String> {
        let used = RefCell::default();
        let found = self.answers.iter().map(|asked| self.found_to(asked, kind, answer, &used)).collect();
        let used = used.into_inner();
        let has_lines = self.answers.iter().any(|(head, _)| split(head).0 == "each");
        let heads = self.given.iter().map(|(head, _)| head.as_str()).chain(has_lines.then_some(HOLE));
        match heads.filter(|head| !used.contains(*head)).collect::<Vec<_>>()[..] {
            [] => found,
            // What panics has not come to use them.
            _ if found.is_err() => found,
            ref unused => Err(format!("gives {unused:?}, which nothing uses")),
        }
    }

    fn found_to(
        &self,
        asked: &Section,
        kind: &str,
        answer: Answer,
        used: &RefCell<BTreeSet<String>>,
    ) -> Result<String, String> {
        let question = split(&asked.0).1;
        let mut found = Vec::new();
        for input in inputs(asked) {
            let line = input.map(|input| input.replace('⏎', "\n"));
            let given = Given { kind, question, sections: &self.given, line, used };
            let answered = catch_unwind(AssertUnwindSafe(|| answer(&given)))
                .map_err(|_| format!("panics at {:?}, {input:?}", asked.0))?;
            let answered = if answered.trim_end().is_empty() { "nothing" } else { answered.trim_end() };
            if answered.contains("\n@@") {
                return Err(format!("answers {answered:?} to {input:?}, which no file can hold"));
            }
            found.push(match input {
                Some(input) => format!("{input}{BETWEEN}{}", answered.replace('\n', "⏎")),
                None => answered.to_owned(),
            });
        }
        Ok(found.join("\n"))
    }
}

/// The lines that differ, or all.
fn difference((head, expected): &Section, found: &str) -> String {
    let (word, question) = split(head);
    let of = if question.is_empty() { String::new() } else { format!(" of {question}") };
    if word == "gives" {
        return format!("expects{of}:\n{expected}\nand it is:\n{found}");
    }
    let lines = expected.split('\n').zip(found.split('\n')).filter(|(expected, found)| expected != found);
    lines.map(|(expected, found)| format!("expects{of}:\n{expected}\nand it is:\n{found}")).collect()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Lists the problems of a file, and counts its inputs. `writes`: changed answers are written and are not a problem.
fn wrongs(path: &Path, kind: &str, answer: Answer, writes: bool) -> (Vec<String>, usize) {
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
        let found = match case.found(kind, answer) {
            Ok(found) => found,
            Err(error) => {
                wrong.push(format!("`{}` {error}", case.name));
                continue;
            }
        };
        for (asked, found) in case.answers.iter_mut().zip(found).filter(|(asked, found)| asked.1 != *found) {
            if writes {
                asked.1 = found;
            } else {
                wrong.push(format!("`{}` {}", case.name, difference(asked, &found)));
            }
        }
    }
    if writes {
        fs::write(path, written(&comment, &cases)).unwrap();
    }
    (wrong, cases.iter().flat_map(|case| &case.answers).map(|asked| inputs(asked).len()).sum())
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
            wrong.push(format!("`{kind}` is not a kind of cases"));
            continue;
        };
        let files = sorted(&folder);
        assert!(!files.is_empty(), "{kind} is empty");
        for path in files {
            let (wrongs, inputs) = wrongs(&path, kind, answer, writes);
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
        ("@@@ a\n@@ text\n1\n", "`a` does not end with what it gives"),
        ("@@@ a\n@@ gives\n1\n@@ text\n1\n", "`a` does not end with what it gives"),
        ("@@@ a\n1\n@@ gives\n1\n", "`a` has a text without a head"),
        ("@@@ a\n@@ gives\n1\n\n@@@ a\n@@ gives\n1\n", "duplicate: `a`"),
        ("@@@ a\n@@ text\n1\n@@ gives\n1\n@@ gives b\n2\n", "`a` expects of b:\n2\nand it is:\n1"),
        ("@@@ a\n@@ text\n1\n@@ text\n1\n@@ gives\n1\n", "duplicate: `a`, or one of its heads"),
        ("@@@ a\n@@ text\n1\n\n@@ gives\n2\n", "`a` expects:\n2\nand it is:\n1"),
        ("@@@ a\n@@ text\n1\n@@ gives\n\n", "`a` expects:\n\nand it is:\n1"),
        ("@@@ a\n@@ each\n1 => 1\n2 => 3\n4 => 4\n", "`a` expects:\n2 => 3\nand it is:\n2 => 2"),
        ("@@@ a\n@@ each\n1\n", "`a` expects:\n1\nand it is:\n1 => 1"),
        ("@@@ a\n@@ text\n1\n@@ each\n1 => 1\n", "`a` gives [\"<?>\"], which nothing uses"),
        ("@@@ a\n@@ text\n1\n@@ more\n2\n@@ gives\n1\n", "`a` gives [\"more\"], which nothing uses"),
        ("@@@ a\n@@ gives\n1\n", "`a` panics at \"gives\", None"),
        ("@@@ a\n@@ text\n1\n@@ gives\n1\n\n\n", "UPDATE_CASES=1 writes it in another way"),
    ] {
        let file = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
        fs::write(file.path(), text).unwrap();
        let (told, _) = wrongs(file.path(), "a", |given| given.text(), false);
        assert!(told.len() == 1 && told[0].starts_with(says), "{text}: {told:?}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), text);
    }
    let file = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
    fs::write(file.path(), "@@@ a\n@@ each\n1\n2 => 3\n").unwrap();
    assert_eq!(wrongs(file.path(), "a", |given| given.text(), true), (Vec::new(), 2));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "@@@ a\n@@ each\n1 => 1\n2 => 2\n");
}
