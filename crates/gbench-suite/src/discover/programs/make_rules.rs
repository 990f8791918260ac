//! The rules of a makefile, as far as they follow from its text: variables, the functions of texts, files of the tree that it
//! includes, and conditions on variables. Starts nothing: what `$(shell ...)` gives stays unknown.

use std::collections::BTreeMap;

use gbench_formats::adapters::SourceTree;

const FILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Bounds of variables that refer to others, and of files that include others.
const MAX_DEPTH: usize = 12;
const MAX_TEXT: usize = 1 << 16;
/// Variables that make sets itself.
const BUILT_IN: [(&str, &str); 2] = [("CC", "cc"), ("CXX", "g++")];

#[derive(Clone, Debug, Default)]
pub(crate) struct MakeRule {
    pub targets: Vec<String>,
    pub needs: Vec<String>,
    pub recipe: Vec<String>,
}

pub(crate) struct MakeRules {
    pub file: &'static str,
    pub rules: Vec<MakeRule>,
}

impl MakeRules {
    /// Those of a folder's makefile; `None`: it has none.
    pub(crate) fn of(tree: &dyn SourceTree, dir: &str) -> Option<Self> {
        let (file, text) = FILES.into_iter().find_map(|file| Some((file, tree.text(&below(dir, file))?)))?;
        let mut reader = Reader { tree, dir, variables: BTreeMap::new(), rules: Vec::new() };
        reader.read(&text, 0);
        let Reader { rules, .. } = reader;
        Some(Self { file, rules })
    }

    pub(crate) fn named(&self, target: &str) -> Option<&MakeRule> {
        self.rules.iter().find(|rule| rule.targets.iter().any(|name| name == target))
    }

    pub(crate) fn is_phony(&self, target: &str) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|name| name == word);
        self.rules.iter().any(|rule| has(&rule.targets, ".PHONY") && has(&rule.needs, target))
    }
}

impl MakeRule {
    /// The lines of its recipe, with the automatic variables of one of its targets.
    pub(crate) fn lines(&self, target: &str) -> Vec<String> {
        let first = self.needs.first().map_or("", String::as_str);
        let (name, all) = (plain(target), self.needs.join(" "));
        let line = |line: &String| {
            let line = line.replace("$@", name).replace("$(@)", name).replace("$<", first);
            let (above, leaf) = name.rsplit_once('/').unwrap_or((".", name));
            let line = line.replace("$(@F)", leaf).replace("$(@D)", above);
            line.replace("$^", &all).trim_start_matches(['@', '-']).trim().to_owned()
        };
        self.recipe.iter().map(line).collect()
    }
}

pub(crate) fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

pub(crate) fn below(dir: &str, path: &str) -> String {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

struct Reader<'t> {
    tree: &'t dyn SourceTree,
    dir: &'t str,
    variables: BTreeMap<String, String>,
    rules: Vec<MakeRule>,
}

/// A condition: whether its current branch is read, and whether an earlier one was.
struct Branch {
    read: bool,
    taken: bool,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, depth: usize) {
        let mut conditions: Vec<Branch> = Vec::new();
        let mut lines = text.lines();
        // Lines of a recipe belong to the rule before them, unless something else came between.
        let mut of_rule = false;
        while let Some(line) = lines.next() {
            let mut line = line.to_owned();
            while line.ends_with('\\') {
                line.pop();
                line.push(' ');
                line.push_str(lines.next().unwrap_or_default().trim_start());
            }
            if let (Some(recipe), true) = (line.strip_prefix('\t'), of_rule) {
                if conditions.iter().all(|branch| branch.read) {
                    let recipe = self.expanded(recipe, 0);
                    self.rules.last_mut().into_iter().for_each(|rule| rule.recipe.push(recipe.clone()));
                }
                continue;
            }
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() || self.condition(line, &mut conditions) {
                continue;
            }
            if conditions.iter().any(|branch| !branch.read) {
                continue;
            }
            of_rule = self.statement(line, depth);
        }
    }

    /// True if the line is a rule.
    fn statement(&mut self, line: &str, depth: usize) -> bool {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if ["include", "-include", "sinclude"].contains(&word) {
            let files = self.expanded(rest, 0);
            for file in files.split_whitespace().filter(|_| depth < MAX_DEPTH) {
                let text = self.tree.text(&below(self.dir, file));
                text.into_iter().for_each(|text| self.read(&text, depth + 1));
            }
            return false;
        }
        let line = ["export ", "override "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
        let Some(at) = outside_calls(line, &['=', ':']).next() else { return false };
        let is_set = line[at..].starts_with('=') || line[at..].trim_start_matches(':').starts_with('=');
        if is_set {
            self.set(line);
            return false;
        }
        let (targets, needs) = (&line[..at], line[at..].trim_start_matches(':'));
        let (needs, recipe) = needs.split_once(';').unwrap_or((needs, ""));
        if is_assignment(needs) {
            return false;
        }
        let [targets, needs] = [targets, needs].map(|words| self.expanded(words, 0));
        let words = |text: &str| text.split_whitespace().map(|word| plain(word).to_owned()).collect();
        let needs = words(&needs.replace('|', " "));
        let recipe = Some(self.expanded(recipe, 0)).filter(|line| !line.is_empty()).into_iter().collect();
        // A target that only make knows is one, whatever its words.
        let targets = if targets.contains("$(") { vec![targets] } else { words(&targets) };
        self.rules.push(MakeRule { targets, needs, recipe });
        true
    }

    fn set(&mut self, line: &str) {
        let Some((left, value)) = line.split_once('=') else { return };
        let name = left.trim_end_matches([':', '?', '+', '!']).trim().to_owned();
        let old = self.variables.get(&name).cloned();
        let value = value.trim().to_owned();
        let value = match (left.chars().next_back(), old) {
            (Some('?'), Some(old)) => old,
            (Some('+'), Some(old)) => format!("{old} {value}"),
            (Some(':'), _) => self.expanded(&value, 0),
            _ => value,
        };
        self.variables.insert(name, value);
    }

    /// True if the line is one of a condition.
    fn condition(&self, line: &str, conditions: &mut Vec<Branch>) -> bool {
        let (word, rest) = line.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((line, ""));
        let holds = |word: &str, rest: &str| match word {
            "ifeq" => self.are_equal(rest),
            "ifneq" => !self.are_equal(rest),
            "ifdef" => self.variables.get(rest.trim()).is_some_and(|value| !value.is_empty()),
            _ => self.variables.get(rest.trim()).is_none_or(String::is_empty),
        };
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                let read = holds(word, rest);
                conditions.push(Branch { read, taken: read });
            }
            "else" => {
                let Some(last) = conditions.last_mut() else { return true };
                let (word, rest) =
                    rest.split_once(|c: char| c.is_whitespace() || c == '(').unwrap_or((rest, ""));
                last.read = !last.taken && (word.is_empty() || holds(word, rest));
                last.taken |= last.read;
            }
            "endif" => _ = conditions.pop(),
            _ => return false,
        }
        true
    }

    /// Of `a,b)`, `(a,b)` or `"a" "b"`.
    fn are_equal(&self, rest: &str) -> bool {
        let rest = rest.trim().trim_start_matches('(');
        let quoted: Vec<&str> = rest.split(['"', '\'']).collect();
        let (one, other) = match quoted.as_slice() {
            ["", one, _, other, ..] => (*one, *other),
            _ => {
                let rest = rest.strip_suffix(')').unwrap_or(rest);
                let at = outside_calls(rest, &[',']).next();
                at.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]))
            }
        };
        self.expanded(one, 0).trim() == self.expanded(other, 0).trim()
    }

    /// The text with its variables; a call that only make can answer stays as it is.
    fn expanded(&self, text: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            let Some(close) = behind.chars().next().and_then(|open| closing(open, behind)) else {
                let end = behind.chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[at..=at + end]);
                rest = &behind[end..];
                continue;
            };
            let inside = &behind[1..close];
            rest = &behind[close + 1..];
            match Some(inside).filter(|_| depth < MAX_DEPTH).and_then(|call| self.called(call, depth + 1)) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&format!("$({inside})")),
            }
            if out.len() > MAX_TEXT {
                return out;
            }
        }
        out + rest
    }

    /// The value of `$(...)`: of a variable, of one with its ends replaced, or of a function.
    fn called(&self, inside: &str, depth: usize) -> Option<String> {
        let each = |text: &str, change: &dyn Fn(&str) -> String| {
            text.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
        };
        let Some((function, arguments)) = inside.split_once(' ') else {
            if let Some((name, ends)) = inside.split_once(':') {
                let (from, to) = ends.split_once('=')?;
                let (from, to) = (self.expanded(from, depth), self.expanded(to, depth));
                let value = self.expanded(self.variables.get(name)?, depth);
                let pattern = from.contains('%');
                return Some(each(&value, &|word| {
                    if pattern { substituted(word, &from, &to) } else { replaced_end(word, &from, &to) }
                }));
            }
            // Also their folders and leaves: `@F`.
            if inside.starts_with(['@', '<', '^', '*', '?', '+', '%', '|']) {
                return None;
            }
            // A variable that is not set is empty, or of the environment.
            let unset = || BUILT_IN.iter().find(|(name, _)| *name == inside).map_or("", |(_, value)| value);
            let value = self.variables.get(inside).map(|value| self.expanded(value, depth));
            return Some(value.unwrap_or_else(|| unset().to_owned()));
        };
        let commas: Vec<usize> = outside_calls(arguments, &[',']).take(2).collect();
        let starts = std::iter::once(0).chain(commas.iter().map(|at| at + 1));
        let ends = commas.iter().copied().chain([arguments.len()]);
        let parts: Vec<String> =
            starts.zip(ends).map(|(start, end)| self.expanded(&arguments[start..end], depth)).collect();
        let words = |at: usize| parts.get(at).map_or("", |part| part.trim());
        Some(match function {
            "strip" => each(words(0), &str::to_owned),
            "notdir" => each(words(0), &|word| word.rsplit('/').next().unwrap_or(word).to_owned()),
            "basename" => each(words(0), &|word| {
                let end = word.rfind('.').filter(|at| !word[*at..].contains('/')).unwrap_or(word.len());
                word[..end].to_owned()
            }),
            "addprefix" => each(words(1), &|word| format!("{}{word}", words(0))),
            "addsuffix" => each(words(1), &|word| format!("{word}{}", words(0))),
            "patsubst" => each(words(2), &|word| substituted(word, words(0), words(1))),
            "wildcard" => {
                words(0).split_whitespace().flat_map(|it| self.matching(it)).collect::<Vec<_>>().join(" ")
            }
            _ => return None,
        })
    }

    /// The files of the tree that a pattern with one `*` matches, relative to the makefile's folder.
    fn matching(&self, pattern: &str) -> Vec<String> {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        let folder = if self.dir.is_empty() { String::new() } else { format!("{}/", self.dir) };
        let own = self.tree.files().iter().filter_map(|path| path.strip_prefix(&folder));
        let found = own.filter(|path| {
            let middle = path.strip_prefix(plain(before)).and_then(|rest| rest.strip_suffix(after));
            middle.is_some_and(|middle| !middle.contains('/') && (pattern.contains('*') || middle.is_empty()))
        });
        found.map(str::to_owned).collect()
    }
}

/// The places of characters that are not within a call or the name of a variable.
fn outside_calls(text: &str, wanted: &[char]) -> impl Iterator<Item = usize> {
    let mut depth = 0;
    text.char_indices().filter_map(move |(at, c)| {
        depth += i32::from("({".contains(c)) - i32::from(")}".contains(c));
        (depth == 0 && wanted.contains(&c)).then_some(at)
    })
}

/// True if the words behind a target set a variable for it.
fn is_assignment(needs: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let rest = needs.trim_start().trim_start_matches(is_of_name);
    let has_name = rest.len() < needs.trim_start().len();
    has_name && rest.trim_start().trim_start_matches([':', '?', '+', '!']).starts_with('=')
}

fn closing(open: char, text: &str) -> Option<usize> {
    let close = match open {
        '(' => ')',
        '{' => '}',
        _ => return None,
    };
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == open) - i32::from(c == close);
        (depth == 0).then_some(at)
    })
}

fn replaced_end(word: &str, from: &str, to: &str) -> String {
    word.strip_suffix(from).map_or_else(|| word.to_owned(), |stem| format!("{stem}{to}"))
}

fn substituted(word: &str, from: &str, to: &str) -> String {
    let Some((before, after)) = from.split_once('%') else {
        return if word == from { to } else { word }.to_owned();
    };
    let stem = word.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    stem.map_or_else(|| word.to_owned(), |stem| to.replacen('%', stem, 1))
}
