//! `bench.yaml`: how the kernels of a folder are called. It applies to every file of its folder.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::call::{CallWork, SkipCondition};
use super::node::{Node, NodeValue, YamlFault, YamlPlace};
use super::yaml::document;
use gbench_model::near;

const KEYS: [&str; 11] = [
    "problem_size",
    "precisions",
    "backends",
    "iterations",
    "warmup",
    "seed",
    "tolerances",
    "skip_conditions",
    "function_name",
    "reference",
    "work",
];
const TOLERANCES: [&str; 3] = ["rmse", "relative_error", "max_error"];
const CONDITION: [&str; 4] = ["backend", "precision", "check", "reason"];
const WORK: [&str; 4] = ["items", "bytes", "flops", "tokens"];
/// Descriptive keys without an effect on the calls.
const FOR_PEOPLE: [&str; 8] =
    ["name", "title", "description", "version", "author", "authors", "tags", "notes"];
/// Keys of other runners, and their replacement here.
const ELSEWHERE: [(&str, &str); 4] = [
    (
        "configs",
        "one `problem_size` is read: give each size a folder, or `matrix` and `file` in the suite file",
    ),
    ("skip_if", "write `skip_conditions`, each with `check` and `reason`"),
    ("timeout", "write `deadlines` at the benchmark in the suite file"),
    ("baseline", "name the right result by `reference`"),
];
/// Names with another meaning in a case.
const TAKEN: [&str; 5] = ["case", "precision", "backend", "chapter", "variant"];
/// Bytes of a file that are read; the tree provides no more.
const MAX_BYTES: usize = 1 << 20;
/// Cases of one kernel: a file of 34 kB could request nine million.
const MAX_CASES: usize = 1000;

/// The contents of a `bench.yaml`; the default if there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BenchYaml {
    /// Keyword arguments, in the file's types.
    pub problem_size: BTreeMap<String, Value>,
    /// In the file's order, each once.
    pub precisions: Vec<String>,
    pub backends: Vec<String>,
    pub iterations: Option<u64>,
    pub warmup: Option<u64>,
    pub seed: Option<u64>,
    pub tolerances: BTreeMap<String, f64>,
    pub skip_conditions: Vec<SkipCondition>,
    pub function: Option<String>,
    pub reference: Option<String>,
    pub work: CallWork,
    pub config: Map<String, Value>,
    /// Complaints about the file, as sentences with the place.
    pub warnings: Vec<String>,
}

impl BenchYaml {
    /// `path`: the file, from the tree. Errors: the fault, with path, line and column.
    pub(super) fn read(path: &str, text: &str) -> Result<Self, String> {
        if text.len() >= MAX_BYTES {
            return Err(format!("{path}: the file has 1 MiB or more, and is not read"));
        }
        if let Some(place) = text.find('\u{fffd}') {
            let line = text[..place].matches('\n').count() + 1;
            return Err(format!("{path}:{line}: the file is not UTF-8"));
        }
        let mut reader = Reader::default();
        let sentence = |fault: YamlFault| format!("{path}:{}: {}", fault.at, fault.what);
        let read = reader.read(text).map_err(sentence)?;
        reader.warnings.sort_by_key(|warning| warning.at);
        Ok(Self { warnings: reader.warnings.into_iter().map(sentence).collect(), ..read })
    }
}

type Read<T> = Result<T, YamlFault>;

#[derive(Default)]
struct Reader {
    warnings: Vec<YamlFault>,
}

impl Reader {
    fn read(&mut self, text: &str) -> Read<BenchYaml> {
        let document = document(text)?;
        self.warnings.extend(document.warnings);
        let root = document.root;
        let mut read = BenchYaml::default();
        if let NodeValue::Null = root.value {
            return Ok(read);
        }
        if let Value::Object(config) = root.json()? {
            read.config = config;
        }
        for (key, node) in self.entries(&root, "the file", &KEYS)? {
            // A key without a value has no effect.
            if node.value == NodeValue::Null {
                continue;
            }
            match key {
                "problem_size" => read.problem_size = problem_size(node)?,
                "precisions" => read.precisions = self.words(node, key)?,
                "backends" => read.backends = self.words(node, key)?,
                "iterations" => read.iterations = Some(number(node, key, 1)?),
                "warmup" => read.warmup = Some(number(node, key, 0)?),
                "seed" => read.seed = Some(number(node, key, 0)?),
                "tolerances" => {
                    for (name, node) in self.entries(node, "`tolerances`", &TOLERANCES)? {
                        read.tolerances.insert(name.to_owned(), amount(node, name)?);
                    }
                }
                "skip_conditions" => read.skip_conditions = self.conditions(node)?,
                "function_name" => read.function = Some(function_name(node)?),
                "reference" => read.reference = Some(text_of(node, key)?),
                _ => {
                    for (name, node) in self.entries(node, "`work`", &WORK)? {
                        let amount = Some(amount(node, name)?);
                        match name {
                            "items" => read.work.items = amount,
                            "bytes" => read.work.bytes = amount,
                            "flops" => read.work.flops = amount,
                            _ => read.work.tokens = amount,
                        }
                    }
                }
            }
        }
        let [precisions, backends] = [&read.precisions, &read.backends].map(|words| words.len().max(1));
        if precisions * backends > MAX_CASES {
            let what = format!(
                "{precisions} precisions with {backends} backends are {} cases of a kernel, and {MAX_CASES} are the most: list fewer",
                precisions * backends
            );
            return Err(root.wrong(what));
        }
        Ok(read)
    }

    fn warn(&mut self, at: YamlPlace, what: String) {
        self.warnings.push(YamlFault { at, what });
    }

    /// The entries of a mapping with known keys; unknown keys cause a warning.
    fn entries<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&'static str],
    ) -> Read<Vec<(&'n str, &'n Node)>> {
        let NodeValue::Map(entries) = &node.value else {
            return Err(node.has_to_be(what, "a mapping of keys and values"));
        };
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            let name = key.key()?;
            if known.contains(&name) {
                found.push((name, value));
                continue;
            }
            if FOR_PEOPLE.contains(&name) {
                continue;
            }
            let elsewhere =
                ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, next)| (*next).to_owned());
            let near = || near(name, known).first().map(|near| format!("is `{near}` meant?"));
            match elsewhere.or_else(near) {
                Some(next) => {
                    self.warn(key.at, format!("{what} has no key `{name}`, which is not read: {next}"));
                }
                None => unknown.push((key.at, format!("`{name}`"))),
            }
        }
        if let Some((at, _)) = unknown.first() {
            let names: Vec<&str> = unknown.iter().map(|(_, name)| name.as_str()).collect();
            let known = known.join(", ");
            self.warn(
                *at,
                format!("{what} has keys that are not read: {}; known are {known}", names.join(", ")),
            );
        }
        Ok(found)
    }

    /// A list of words, each once. One word alone is a list, too, and a number is its text.
    fn words(&mut self, node: &Node, key: &str) -> Read<Vec<String>> {
        let nodes = match &node.value {
            NodeValue::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut words: Vec<String> = Vec::new();
        for node in nodes {
            let word = match &node.value {
                NodeValue::Text(text) if !text.trim().is_empty() => text.clone(),
                NodeValue::Int(value) => value.to_string(),
                NodeValue::Bool(value) => {
                    let what = format!(
                        "a word of `{key}` is the boolean {value}, as YAML reads yes, no, on and off: put it in quotes"
                    );
                    return Err(node.wrong(what));
                }
                _ => {
                    return Err(node.wrong(format!("`{key}` takes words, and this is {}", node.kind())));
                }
            };
            if word.chars().any(char::is_control) {
                return Err(node.wrong(format!("a word of `{key}` contains a control character")));
            }
            if words.contains(&word) {
                self.warn(node.at, format!("`{word}` appears twice in `{key}`: it is used once"));
                continue;
            }
            words.push(word);
        }
        Ok(words)
    }

    fn conditions(&mut self, node: &Node) -> Read<Vec<SkipCondition>> {
        let NodeValue::List(nodes) = &node.value else {
            return Err(node.has_to_be("`skip_conditions`", "a list"));
        };
        let mut conditions = Vec::new();
        for node in nodes {
            let mut condition = SkipCondition::default();
            for (name, node) in self.entries(node, "a skip condition", &CONDITION)? {
                let text = match node.value {
                    NodeValue::Null => None,
                    NodeValue::Bool(value) if name == "check" => {
                        Some(if value { "True" } else { "False" }.to_owned())
                    }
                    _ => Some(text_of(node, name)?),
                };
                match name {
                    "backend" => condition.backend = text,
                    "precision" => condition.precision = text,
                    "check" => condition.check = text,
                    _ => condition.reason = text,
                }
            }
            conditions.push(condition);
        }
        Ok(conditions)
    }
}

/// Keyword arguments. Errors: a name that cannot be one, or that has another meaning in a case.
fn problem_size(node: &Node) -> Read<BTreeMap<String, Value>> {
    let NodeValue::Map(entries) = &node.value else {
        return Err(node.has_to_be("`problem_size`", "a mapping of argument names and values"));
    };
    let mut found = BTreeMap::new();
    for (key, value) in entries {
        let name = key.key()?;
        if TAKEN.contains(&name) {
            let what = match name {
                "precision" | "backend" => {
                    format!("list it under `{name}s`, which hands each to the function")
                }
                _ => "give the argument another name".into(),
            };
            let what = format!("`{name}` of `problem_size` has the name of another part of a case: {what}");
            return Err(key.wrong(what));
        }
        if !is_identifier(name) {
            return Err(key.wrong(format!("`{name}` cannot be the name of an argument")));
        }
        found.insert(name.to_owned(), value.json()?);
    }
    Ok(found)
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn number(node: &Node, key: &str, least: u64) -> Read<u64> {
    let value = match node.value {
        NodeValue::Int(value) => u64::try_from(value).ok().filter(|value| *value >= least),
        _ => None,
    };
    value.ok_or_else(|| node.wrong(format!("`{key}` has to be a whole number of at least {least}")))
}

fn amount(node: &Node, key: &str) -> Read<f64> {
    let value = match node.value {
        NodeValue::Int(value) => Some(value as f64),
        NodeValue::Float(value) => Some(value),
        _ => None,
    };
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| node.has_to_be(&format!("`{key}`"), "a number of at least 0"))
}

fn text_of(node: &Node, key: &str) -> Read<String> {
    match &node.value {
        NodeValue::Text(text) if !text.trim().is_empty() => Ok(text.clone()),
        NodeValue::Int(value) => Ok(value.to_string()),
        _ => Err(node.has_to_be(&format!("`{key}`"), "a text")),
    }
}

fn function_name(node: &Node) -> Read<String> {
    let name = text_of(node, "function_name")?;
    if name.split('.').all(is_identifier) {
        return Ok(name);
    }
    Err(node.wrong(format!("`{name}` cannot be the name of a function")))
}
