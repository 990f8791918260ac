//! One request on its way through the fake, and what is answered to it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::world::{Repository, Token, World};

/// A request that has an operation.
pub struct Call {
    /// GitHub's name of the operation: `issues/create-comment`.
    pub operation: String,
    /// `/repos/o/r/issues/1/comments`.
    pub path: String,
    /// What the path's placeholders stand for.
    pub names: BTreeMap<String, String>,
    pub query: Vec<(String, String)>,
    pub body: Value,
    pub token: Token,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Option<Value>,
    pub headers: Vec<(String, String)>,
}

/// A refusal is a reply too; `?` ends a handler with it.
pub type Handled = Result<Reply, Reply>;

impl Reply {
    pub fn new(status: u16, body: Value) -> Self {
        Self { status, body: Some(body), headers: Vec::new() }
    }

    pub fn ok(body: Value) -> Self {
        Self::new(200, body)
    }

    pub fn created(body: Value) -> Self {
        Self::new(201, body)
    }

    pub fn empty(status: u16) -> Self {
        Self { status, body: None, headers: Vec::new() }
    }

    /// A refusal in GitHub's usual form.
    pub fn refusal(status: u16, message: &str) -> Self {
        let address = "https://docs.github.com/rest";
        Self::new(
            status,
            json!({ "message": message, "documentation_url": address, "status": status.to_string() }),
        )
    }

    /// 422 with the fields that are wrong.
    pub fn invalid(resource: &str, field: &str, code: &str, message: Option<&str>) -> Self {
        let mut error = json!({ "resource": resource, "field": field, "code": code });
        if let Some(message) = message {
            error["message"] = message.into();
        }
        let mut reply = Self::refusal(422, "Validation Failed");
        reply.body.as_mut().unwrap()["errors"] = json!([error]);
        reply.body.as_mut().unwrap().as_object_mut().unwrap().remove("status");
        reply
    }

    pub fn not_found() -> Self {
        Self::refusal(404, "Not Found")
    }

    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.into(), value.to_string()));
        self
    }
}

impl Call {
    pub fn name(&self, name: &str) -> &str {
        &self.names[name]
    }

    /// A placeholder that the description says is a number.
    pub fn number(&self, name: &str) -> u64 {
        self.names[name].parse().unwrap_or(0)
    }

    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// `/` for the operations that are about no repository.
    pub fn slug(&self) -> String {
        let name = |name: &str| self.names.get(name).map_or("", String::as_str);
        format!("{}/{}", name("owner"), name("repo"))
    }

    pub fn repository<'a>(&self, world: &'a mut World) -> Result<&'a mut Repository, Reply> {
        world.repository(&self.slug()).ok_or_else(Reply::not_found)
    }

    /// A text of the body; `None` where it is missing or null.
    pub fn text(&self, name: &str) -> Option<String> {
        self.body[name].as_str().map(str::to_owned)
    }

    /// One page of a list, with the links to the others. GitHub cuts `per_page` off at 100.
    pub fn page(&self, world: &World, key: Option<&str>, all: Vec<Value>) -> Reply {
        let number = |name: &str, usual: usize| {
            self.asked(name).and_then(|text| text.parse().ok()).filter(|n| *n > 0).unwrap_or(usual)
        };
        let (size, page) = (number("per_page", 30).min(100), number("page", 1));
        let last = all.len().div_ceil(size).max(1);
        let total = all.len();
        let items: Vec<Value> = all.into_iter().skip((page - 1) * size).take(size).collect();
        let mut links = Vec::new();
        let mut link = |to: usize, rel: &str| {
            let others = self.query.iter().filter(|(name, _)| name != "page");
            let others = others.map(|(name, value)| format!("{name}={value}&")).collect::<String>();
            links.push(format!("<{}{}?{others}page={to}>; rel=\"{rel}\"", world.api, self.path));
        };
        if page > 1 {
            link(page.min(last + 1) - 1, "prev");
        }
        if page < last {
            link(page + 1, "next");
            link(last, "last");
        }
        if page > 1 {
            link(1, "first");
        }
        let body = match key {
            Some(key) => json!({ "total_count": total, key: items }),
            None => Value::Array(items),
        };
        let reply = Reply::ok(body);
        if links.is_empty() { reply } else { reply.header("link", links.join(", ")) }
    }
}

/// `a%2Fb` as `a/b`; what is no such code stays as it is.
pub fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The parameters of a query, decoded.
pub fn parameters(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    };
    parts.map(pair).collect()
}
