//! YAML with the semantics of PyYAML's `safe_load`. Only this file uses the parser. A document is limited in depth and in
//! values, with aliases expanded.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::node::{Node, NodeValue, YamlFault, YamlPlace};
use super::scalars::plain;

const MAX_DEPTH: usize = 64;
/// Number of values, plus bytes of their texts.
const MAX_WEIGHT: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    pub root: Node,
    pub warnings: Vec<YamlFault>,
}

/// The one document of a text. An empty one is `Null`. Errors: not YAML, or too large.
pub(super) fn document(text: &str) -> Result<Document, YamlFault> {
    let mut builder = Builder::default();
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            YamlFault::new(mark(*error.marker()), format!("invalid YAML: {}", error.info()))
        })?;
        if let Event::DocumentStart(_) = event {
            documents += 1;
            if documents > 1 {
                return Err(YamlFault::new(start(span), "a second document begins here; one is read"));
            }
        }
        builder.take(event, span)?;
    }
    let nothing = Node { at: YamlPlace { line: 1, column: 1 }, value: NodeValue::Null };
    Ok(Document { root: builder.root.unwrap_or(nothing), warnings: builder.warnings })
}

fn mark(marker: saphyr_parser::Marker) -> YamlPlace {
    YamlPlace { line: marker.line(), column: marker.col() + 1 }
}

fn start(span: Span) -> YamlPlace {
    mark(span.start)
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    warnings: Vec<YamlFault>,
    weight: usize,
}

struct Open {
    at: YamlPlace,
    anchor: usize,
    /// [`Builder::weight`] before it.
    before: usize,
    nodes: OpenNodes,
}

enum OpenNodes {
    List(Vec<Node>),
    Map { entries: Vec<(Node, Node)>, key: Option<Node> },
}

impl Builder {
    fn take(&mut self, event: Event, span: Span) -> Result<(), YamlFault> {
        let at = start(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.weight;
                self.weigh(at, 1 + text.len())?;
                let value = match (style, tag) {
                    (_, Some(tag)) => tagged(at, &text, &tag)?,
                    (ScalarStyle::Plain, None) => plain(at, &text)?,
                    (_, None) => NodeValue::Text(text.into_owned()),
                };
                self.add(Node { at, value }, anchor, before)
            }
            Event::SequenceStart(anchor, tag) => {
                collection_tag(at, tag.as_deref(), "seq")?;
                self.open(at, anchor, OpenNodes::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                collection_tag(at, tag.as_deref(), "map")?;
                self.open(at, anchor, OpenNodes::Map { entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let Some((node, weight)) = self.anchors.get(&anchor).cloned() else {
                    return Err(YamlFault::new(at, "this alias is inside its own anchor"));
                };
                let before = self.weight;
                self.weigh(at, weight)?;
                self.add(Node { at, ..node }, 0, before)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn weigh(&mut self, at: YamlPlace, weight: usize) -> Result<(), YamlFault> {
        self.weight += weight;
        if self.weight > MAX_WEIGHT {
            return Err(YamlFault::new(at, "up to here it is more than is looked at, aliases written out"));
        }
        Ok(())
    }

    fn open(&mut self, at: YamlPlace, anchor: usize, nodes: OpenNodes) -> Result<(), YamlFault> {
        if self.open.len() == MAX_DEPTH {
            return Err(YamlFault::new(at, format!("more than {MAX_DEPTH} values lie within one another")));
        }
        self.open.push(Open { at, anchor, before: self.weight, nodes });
        self.weigh(at, 1)
    }

    fn close(&mut self) -> Result<(), YamlFault> {
        let Some(Open { at, anchor, before, nodes }) = self.open.pop() else { return Ok(()) };
        let value = match nodes {
            OpenNodes::List(nodes) => NodeValue::List(nodes),
            OpenNodes::Map { entries, .. } => NodeValue::Map(self.merged(entries)?),
        };
        self.add(Node { at, value }, anchor, before)
    }

    fn add(&mut self, node: Node, anchor: usize, before: usize) -> Result<(), YamlFault> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), self.weight - before));
        }
        match self.open.last_mut().map(|open| &mut open.nodes) {
            None => self.root = Some(node),
            Some(OpenNodes::List(nodes)) => nodes.push(node),
            Some(OpenNodes::Map { entries, key }) => match key.take() {
                None => *key = Some(node),
                Some(key) => entries.push((key, node)),
            },
        }
        Ok(())
    }

    /// The entries, preceded by those that `<<` includes, with each key once: the last one wins.
    fn merged(&mut self, entries: Vec<(Node, Node)>) -> Result<Vec<(Node, Node)>, YamlFault> {
        let mut found: Vec<(Node, Node)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut merges = Vec::new();
        for (key, node) in entries {
            match &key.value {
                NodeValue::Text(text) if text == "<<" => merges.push(node),
                NodeValue::Text(text) => match places.get(text) {
                    None => {
                        places.insert(text.clone(), found.len());
                        found.push((key, node));
                    }
                    Some(place) => {
                        self.warnings.push(YamlFault::new(
                            key.at,
                            format!("duplicate key `{text}`: the last one wins"),
                        ));
                        found[*place] = (key, node);
                    }
                },
                _ => found.push((key, node)),
            }
        }
        for merge in merges {
            let wrong = YamlFault::new(merge.at, "`<<` takes a mapping, or a list of them");
            let maps = match merge.value {
                NodeValue::List(nodes) => nodes,
                value => vec![Node { at: merge.at, value }],
            };
            for map in maps {
                let NodeValue::Map(others) = map.value else { return Err(wrong) };
                for (key, node) in others {
                    let text = key.key()?.to_owned();
                    if let std::collections::hash_map::Entry::Vacant(place) = places.entry(text) {
                        place.insert(found.len());
                        found.push((key, node));
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Errors: the tag is not YAML's own for such a value.
fn collection_tag(at: YamlPlace, tag: Option<&Tag>, own: &str) -> Result<(), YamlFault> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == own) => Err(unknown_tag(at, tag)),
        _ => Ok(()),
    }
}

fn unknown_tag(at: YamlPlace, tag: &Tag) -> YamlFault {
    YamlFault::new(at, format!("the tag `{}{}` is not read: write a plain value", tag.handle, tag.suffix))
}

/// A value with an explicit type: `!!float 1`.
fn tagged(at: YamlPlace, text: &str, tag: &Tag) -> Result<NodeValue, YamlFault> {
    if !tag.is_yaml_core_schema() {
        return Err(unknown_tag(at, tag));
    }
    let value = plain(at, text)?;
    match (tag.suffix.as_str(), value) {
        ("str", _) => Ok(NodeValue::Text(text.to_owned())),
        ("float", NodeValue::Int(value)) => Ok(NodeValue::Float(value as f64)),
        ("float", value @ NodeValue::Float(_))
        | ("int", value @ NodeValue::Int(_))
        | ("bool", value @ NodeValue::Bool(_))
        | ("null", value @ NodeValue::Null) => Ok(value),
        ("float" | "int" | "bool" | "null", _) => {
            Err(YamlFault::new(at, format!("`{text}` is not what its tag says")))
        }
        _ => Err(unknown_tag(at, tag)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn json(text: &str) -> Value {
        document(text).unwrap().root.json().unwrap()
    }

    fn fault(text: &str) -> String {
        let fault = document(text).and_then(|document| document.root.json()).unwrap_err();
        format!("{}: {}", fault.at, fault.what)
    }

    #[test]
    fn s1_31_words_mean_what_pyyaml_means_by_them() {
        for (text, expected) in [
            ("1.0e-5", serde_json::json!(1.0e-5)),
            ("1e-5", serde_json::json!(1.0e-5)),
            ("1.5e3", serde_json::json!(1500.0)),
            ("-2.", serde_json::json!(-2.0)),
            (".5", serde_json::json!(0.5)),
            ("1_000", serde_json::json!(1000)),
            ("1_000.5", serde_json::json!(1000.5)),
            ("010", serde_json::json!(8)),
            ("0x1F", serde_json::json!(31)),
            ("-0b11", serde_json::json!(-3)),
            ("1:30", serde_json::json!(90)),
            ("1:30.5", serde_json::json!(90.5)),
            ("-.5", serde_json::json!(-0.5)),
            ("0._5", serde_json::json!(0.5)),
            ("08", serde_json::json!("08")),
            ("0o10", serde_json::json!("0o10")),
            ("1.2.3", serde_json::json!("1.2.3")),
            ("2024-01-31", serde_json::json!("2024-01-31")),
            ("e5", serde_json::json!("e5")),
            ("-", serde_json::json!([null])),
            ("+.", serde_json::json!("+.")),
            ("no", serde_json::json!(false)),
            ("On", serde_json::json!(true)),
            ("y", serde_json::json!("y")),
            ("'no'", serde_json::json!("no")),
            ("\"1\"", serde_json::json!("1")),
            ("~", Value::Null),
            ("", Value::Null),
            ("# nothing\n", Value::Null),
            ("!!float 3", serde_json::json!(3.0)),
            ("!!str 3", serde_json::json!("3")),
            ("[[1, 2.0], [three, {a: null}]]", serde_json::json!([[1, 2.0], ["three", {"a": null}]])),
            ("\u{feff}a: 1", serde_json::json!({"a": 1})),
        ] {
            assert_eq!(json(text), expected, "{text:?}");
        }
    }

    #[test]
    fn aliases_and_merged_mappings_are_written_out() {
        let text = "base: &base {n: 1, m: 2}\nother: {<<: *base, n: 3}\nlist: {<<: [*base, {k: 4, n: 5}]}\n";
        let expected = serde_json::json!({"base": {"n": 1, "m": 2}, "other": {"n": 3, "m": 2}, "list": {"n": 1, "m": 2, "k": 4}});
        assert_eq!(json(text), expected);
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        for (text, expected) in [
            ("a: 1\nb: [1, 2\nc: 3\n", "3:"),
            ("a:\n\t- 1\n", "2:"),
            ("a: !!python/tuple [1]\n", "1:4: the tag"),
            ("a: 1\n---\nb: 2\n", "2:1: a second document"),
            ("a: .inf\n", "1:4: this is not a finite number"),
            ("a: {1: 2}\n", "1:5: this key is a number"),
            ("n: 99999999999999999999\n", "1:4: `99999999999999999999` is larger"),
            ("a: &a [*a]\n", "1:"),
            ("a: *b\n", "1:4: invalid YAML"),
            ("a: {<<: 3}\n", "1:9: `<<` takes a mapping"),
        ] {
            assert!(fault(text).starts_with(expected), "{text:?}: {}", fault(text));
        }
        let read = document("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!(read.root.json().unwrap(), serde_json::json!({"a": 3, "b": 2}));
        assert_eq!(read.warnings[0].at.to_string(), "3:1");
    }

    #[test]
    fn bombs_are_refused_at_once() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(fault(&text).contains("aliases written out"), "{}", fault(&text));
        for part in ["[", "{a: ", "- ", "? ", "[{", "&a [", "!!seq ["] {
            let found = fault(&part.repeat((1 << 20) / part.len()));
            assert!(found.contains("within one another") || found.contains("ecursion"), "{part}: {found}");
        }
    }
}
