//! GitHub's own OpenAPI description, in part (`fixtures/github`), held against every request and every answer.
//!
//! What OpenAPI 3.0 says otherwise than JSON Schema is turned round on reading: `nullable` becomes a type, and `oneOf`
//! becomes `anyOf`, for GitHub's own answers often fit several. Unknown properties are errors here, though the schemas
//! allow them: a misspelt field is otherwise never noticed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::{Draft, Validator};
use regex::Regex;
use serde_json::{Map, Value, json};

/// The parts of the description that the fake needs, each compiled when it is first used.
pub struct Contract {
    operations: Vec<Operation>,
    components: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// One method of one path.
pub struct Operation {
    /// GitHub's name: `issues/create-comment`.
    pub id: String,
    method: String,
    path: Regex,
    /// Fewer is more exact: `/issues/comments/{id}` goes before `/issues/{number}/comments`.
    placeholders: usize,
    parameters: Vec<Parameter>,
    body: Option<Value>,
    /// The schema of each described status; `None` for an empty answer.
    answers: BTreeMap<u16, Option<Value>>,
}

struct Parameter {
    name: String,
    in_query: bool,
    required: bool,
    schema: Value,
}

/// What of a request does not follow the description.
#[derive(Default)]
pub struct Complaints {
    /// GitHub answers 422 to these.
    pub wrong: Vec<String>,
    /// GitHub passes over these in silence.
    pub unknown: Vec<String>,
}

/// GitHub answers null here where a fork was deleted, though its description does not say so.
const NULL_ALL_THE_SAME: [&str; 2] = ["/head/repo", "/head_repository"];

impl Contract {
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Contract> = OnceLock::new();
        SHARED.get_or_init(|| {
            let text = std::fs::read(crate::support::fixture("github/openapi-subset.json")).unwrap();
            Self::read(serde_json::from_slice(&text).unwrap())
        })
    }

    fn read(mut document: Value) -> Self {
        as_json_schema(&mut document);
        let components = document["components"].take();
        let mut operations = Vec::new();
        for (template, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                operations.push(Operation::read(template, method, operation, &components));
            }
        }
        operations.sort_by_key(|operation| operation.placeholders);
        Self { operations, components, validators: Mutex::default() }
    }

    /// The operation that answers, and what its path's placeholders stand for, still percent-encoded.
    pub fn find(&self, method: &str, path: &str) -> Option<(&Operation, BTreeMap<String, String>)> {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let fits = |operation: &&Operation| operation.fits(method, path);
        let operation = self.operations.iter().find(fits)?;
        let captures = operation.path.captures(path)?;
        let names = operation.path.capture_names().flatten();
        Some((operation, names.map(|name| (name.to_owned(), captures[name].to_owned())).collect()))
    }

    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter()
    }

    /// Holds a request's query and body against its operation.
    pub fn check_request(
        &self,
        operation: &Operation,
        query: &[(String, String)],
        body: Option<&Value>,
    ) -> Complaints {
        let mut found = Complaints::default();
        for (name, text) in query {
            match operation.parameters.iter().find(|p| p.in_query && p.name == *name) {
                None => found.unknown.push(format!("the query parameter `{name}` is not described")),
                Some(parameter) => {
                    let value = typed(&self.resolved(&parameter.schema), text);
                    let key = format!("{} ?{name}", operation.id);
                    found.wrong.extend(self.errors(&key, &parameter.schema, &value));
                }
            }
        }
        for parameter in operation.parameters.iter().filter(|p| p.in_query && p.required) {
            if !query.iter().any(|(name, _)| *name == parameter.name) {
                found.wrong.push(format!("the query parameter `{}` is missing", parameter.name));
            }
        }
        match (&operation.body, body) {
            (Some(schema), body) => {
                let body = body.cloned().unwrap_or(json!({}));
                found.wrong.extend(self.errors(&format!("{} body", operation.id), schema, &body));
                self.unknown(&[schema], &body, "", &mut found.unknown);
            }
            (None, Some(_)) => found.unknown.push("a body is sent where none is described".into()),
            (None, None) => {}
        }
        found
    }

    /// Holds an answer against its operation. Refusals that are not described by operation have GitHub's usual form.
    pub fn check_answer(&self, operation: &Operation, status: u16, body: Option<&Value>) -> Vec<String> {
        let mut wrong = Vec::new();
        match (operation.answers.get(&status), body) {
            (Some(Some(schema)), Some(body)) => {
                wrong.extend(self.errors(&format!("{} {status}", operation.id), schema, body));
                // Refusals say more than is described: their status once more.
                if status < 400 {
                    self.unknown(&[schema], body, "", &mut wrong);
                }
            }
            (Some(Some(_)), None) => wrong.push(format!("the answer {status} has no body")),
            (Some(None), Some(Value::Object(body))) if status < 300 => {
                wrong.push(format!("the answer {status} has a body: {body:?}"));
            }
            (Some(None), _) => {}
            (None, Some(body)) if status >= 400 && body["message"].is_string() => {}
            (None, _) => wrong.push(format!("an answer {status} is not described")),
        }
        wrong
    }

    /// Fills in what an answer's schema requires and the fake has no opinion about, with the emptiest value allowed.
    pub fn complete(&self, operation: &Operation, status: u16, body: &mut Value) {
        if let Some(Some(schema)) = operation.answers.get(&status) {
            self.fill(schema, body);
        }
    }

    fn fill(&self, schema: &Value, value: &mut Value) {
        let schema = self.resolved(schema);
        for part in parts(&schema, "allOf") {
            self.fill(part, value);
        }
        // Of alternatives the first that describes something is meant.
        if let Some(first) = parts(&schema, "anyOf").find(|part| !is_null(part)) {
            self.fill(first, value);
        }
        if let Some(list) = value.as_array_mut() {
            for item in list {
                self.fill(&schema["items"], item);
            }
        }
        let Some(object) = value.as_object_mut() else { return };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                object.insert(name.into(), self.emptiest(&schema["properties"][name]));
            }
        }
        for (name, value) in object {
            self.fill(&schema["properties"][name], value);
        }
    }

    fn emptiest(&self, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        let has_type = |name: &str| match &schema["type"] {
            Value::Array(types) => types.iter().any(|one| one == name),
            one => one == name,
        };
        if has_type("null") || parts(&schema, "anyOf").any(is_null) {
            return Value::Null;
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        let mut value = match schema["format"].as_str() {
            Some("uri") => json!("https://github.invalid/"),
            Some("date-time") => json!("2026-01-01T00:00:00Z"),
            _ if has_type("string") => json!(""),
            _ if has_type("integer") || has_type("number") => json!(0),
            _ if has_type("boolean") => json!(false),
            _ if has_type("array") => json!([]),
            _ => json!({}),
        };
        if let Some(first) = parts(&schema, "anyOf").next() {
            return self.emptiest(first);
        }
        self.fill(&schema, &mut value);
        value
    }

    /// Every property that no schema of `schemas` knows. Objects without described properties are open.
    fn unknown(&self, schemas: &[&Value], value: &Value, place: &str, found: &mut Vec<String>) {
        let mut flat = Vec::new();
        for schema in schemas {
            self.flatten(schema, &mut flat);
        }
        match value {
            Value::Object(object) => {
                let is_open = flat.iter().any(|schema| schema["additionalProperties"].is_object());
                let known: Vec<&Map<String, Value>> =
                    flat.iter().filter_map(|schema| schema["properties"].as_object()).collect();
                if is_open || known.is_empty() {
                    return;
                }
                for (name, value) in object {
                    let described: Vec<&Value> = known.iter().filter_map(|known| known.get(name)).collect();
                    match described.is_empty() {
                        true => found.push(format!("`{place}{name}` is not described")),
                        false => self.unknown(&described, value, &format!("{place}{name}."), found),
                    }
                }
            }
            Value::Array(list) => {
                let items: Vec<&Value> = flat.iter().filter_map(|schema| schema.get("items")).collect();
                for (at, value) in list.iter().enumerate() {
                    self.unknown(&items, value, &format!("{place}{at}."), found);
                }
            }
            _ => {}
        }
    }

    fn flatten(&self, schema: &Value, into: &mut Vec<Value>) {
        let schema = self.resolved(schema);
        for key in ["allOf", "anyOf"] {
            for part in parts(&schema, key) {
                self.flatten(part, into);
            }
        }
        into.push(schema);
    }

    fn resolved(&self, schema: &Value) -> Value {
        let mut schema = schema;
        while let Some(pointer) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/components")) {
            schema = self.components.pointer(pointer).unwrap();
        }
        schema.clone()
    }

    fn errors(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let validator = {
            let mut validators = self.validators.lock().unwrap();
            let make = || {
                let schema = json!({ "allOf": [schema], "components": self.components });
                let options = jsonschema::options().with_draft(Draft::Draft4).should_validate_formats(true);
                Arc::new(options.build(&schema).unwrap())
            };
            validators.entry(key.to_owned()).or_insert_with(make).clone()
        };
        let errors = validator.iter_errors(value).filter(|error| {
            let place = error.instance_path().to_string();
            !(error.instance().is_null() && NULL_ALL_THE_SAME.iter().any(|end| place.ends_with(end)))
        });
        errors.map(|error| format!("`{}`: {error}", error.instance_path()).replace('\n', " ")).collect()
    }
}

impl Operation {
    fn read(template: &str, method: &str, operation: &Value, components: &Value) -> Self {
        let target = |value: &Value| match value["$ref"].as_str() {
            Some(reference) => {
                components.pointer(reference.strip_prefix("#/components").unwrap()).unwrap().clone()
            }
            None => value.clone(),
        };
        let mut path = String::from("^");
        for segment in template.split('/').skip(1) {
            path += "/";
            path += &match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                // These stand for several segments: `heads/history/2026`.
                Some(name @ ("ref" | "path")) => format!("(?P<{name}>.+)"),
                Some(name) => format!("(?P<{name}>[^/]+)"),
                None => regex::escape(segment),
            };
        }
        let parameter = |value: &Value| {
            let value = target(value);
            Parameter {
                name: value["name"].as_str().unwrap().into(),
                in_query: value["in"] == "query",
                required: value["required"] == true,
                schema: value["schema"].clone(),
            }
        };
        let schema_of = |value: &Value| {
            let content = value["content"].as_object()?;
            let content = content.get("application/json").or_else(|| content.values().next())?;
            Some(content["schema"].clone())
        };
        let answer = |(status, value): (&String, &Value)| {
            let value = target(value);
            Some((status.parse().ok()?, schema_of(&value)))
        };
        Self {
            id: operation["operationId"].as_str().unwrap().into(),
            method: method.to_ascii_uppercase(),
            path: Regex::new(&(path + "$")).unwrap(),
            placeholders: template.matches('{').count(),
            parameters: operation["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
            body: schema_of(&operation["requestBody"]),
            answers: operation["responses"].as_object().unwrap().iter().filter_map(answer).collect(),
        }
    }

    /// Whether the path is this one's, numbers being numbers: `/issues/comments` is no issue.
    fn fits(&self, method: &str, path: &str) -> bool {
        let Some(captures) = self.path.captures(path).filter(|_| self.method == method) else { return false };
        let numbers = self.parameters.iter().filter(|p| !p.in_query && p.schema["type"] == "integer");
        numbers
            .into_iter()
            .all(|number| captures.name(&number.name).is_none_or(|text| text.as_str().parse::<u64>().is_ok()))
    }
}

fn parts<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema[key].as_array().into_iter().flatten()
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// A query's text as the value that its schema speaks of; text where it is none.
fn typed(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "boolean" | "number") => serde_json::from_str(text).unwrap_or(json!(text)),
        _ => json!(text),
    }
}

fn as_json_schema(node: &mut Value) {
    match node {
        Value::Array(list) => list.iter_mut().for_each(as_json_schema),
        Value::Object(object) => {
            object.values_mut().for_each(as_json_schema);
            if let Some(list) = object.remove("oneOf").filter(Value::is_array) {
                object.insert("anyOf".into(), list);
            }
            if object.get("nullable").is_none_or(|value| *value != true) {
                return;
            }
            object.remove("nullable");
            if let Some(list) = object.get_mut("enum").and_then(Value::as_array_mut) {
                list.push(Value::Null);
            }
            let is_plain = !["anyOf", "allOf"].iter().any(|key| object.contains_key(*key));
            match object.get("type").cloned().filter(|_| is_plain) {
                Some(kind) => {
                    object.insert("type".into(), json!([kind, "null"]));
                }
                None => {
                    let was = Value::Object(std::mem::take(object));
                    object.insert("anyOf".into(), json!([was, { "type": "null" }]));
                }
            }
        }
        _ => {}
    }
}
