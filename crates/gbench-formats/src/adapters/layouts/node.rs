//! A value of a YAML document and its place.

use std::fmt;

use serde_json::{Map, Number, Value};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub at: YamlPlace,
    pub value: NodeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// Each key once.
    Map(Vec<(Node, Node)>),
}

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct YamlPlace {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for YamlPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlFault {
    pub at: YamlPlace,
    pub what: String,
}

impl YamlFault {
    pub(super) fn new(at: YamlPlace, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

impl Node {
    /// In words: `a list`.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a mapping",
        }
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> YamlFault {
        YamlFault::new(self.at, what)
    }

    /// The fault of a value that must be something else.
    pub(super) fn has_to_be(&self, what: &str, other: &str) -> YamlFault {
        self.wrong(format!("{what} has to be {other}, and is {}", self.kind()))
    }

    /// The same value in JSON. Errors: a number that JSON lacks, or a key that is not a text.
    pub(super) fn json(&self) -> Result<Value, YamlFault> {
        Ok(match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(*value),
            NodeValue::Int(value) => Value::from(*value),
            NodeValue::Float(value) => Value::Number(
                Number::from_f64(*value).ok_or_else(|| self.wrong("this is not a finite number"))?,
            ),
            NodeValue::Text(text) => Value::from(text.as_str()),
            NodeValue::List(nodes) => {
                Value::Array(nodes.iter().map(Self::json).collect::<Result<Vec<Value>, YamlFault>>()?)
            }
            NodeValue::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| Ok((key.key()?.to_owned(), node.json()?)));
                Value::Object(entries.collect::<Result<Map<String, Value>, YamlFault>>()?)
            }
        })
    }

    pub(super) fn key(&self) -> Result<&str, YamlFault> {
        match &self.value {
            NodeValue::Text(text) => Ok(text),
            _ => {
                Err(self
                    .wrong(format!("this key is {}, and has to be a text: put it in quotes", self.kind())))
            }
        }
    }
}
