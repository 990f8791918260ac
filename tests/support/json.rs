//! JSON for people: what fits stands on one line, the rest is indented.

use serde::Serialize;
use serde_json::Value;

const WIDTH: usize = 100;

pub fn readable(value: &impl Serialize) -> String {
    let mut text = String::new();
    write(&serde_json::to_value(value).unwrap(), 0, &mut text);
    text + "\n"
}

fn write(value: &Value, depth: usize, text: &mut String) {
    let flat = value.to_string();
    let entries: Vec<(String, &Value)> = match value {
        _ if flat.len() + 2 * depth <= WIDTH => Vec::new(),
        Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, item)| (format!("{}: ", Value::from(name.as_str())), item)).collect()
        }
        _ => Vec::new(),
    };
    if entries.is_empty() {
        *text += &flat;
        return;
    }
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    text.push(open);
    for (index, (name, item)) in entries.into_iter().enumerate() {
        *text += if index > 0 { "," } else { "" };
        *text += &indent(depth + 1);
        *text += &name;
        write(item, depth + 1, text);
    }
    *text += &indent(depth);
    text.push(close);
}
