//! XML documents of harnesses as trees, with the line of each element.

use quick_xml::errors::Error;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::adapters::interface::output::{Place, ReadError};

/// No harness nests deeper; it also bounds recursive walks over a tree.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub name: String,
    /// From 1.
    pub line: usize,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// Its own text, without that of its children.
    pub text: String,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// An error at the element's line. `file`: `None` for stdout.
    pub(crate) fn refused(&self, file: Option<&str>, what: impl Into<String>) -> ReadError {
        ReadError::new(Place::Line { file: file.map(str::to_owned), line: self.line }, what)
    }
}

/// The root of a document. `file`: its name in messages; `None`: stdout. Errors: XML that is not well-formed or
/// incomplete, with its line.
pub(crate) fn document(file: Option<&str>, bytes: &[u8]) -> Result<Element, ReadError> {
    let refused = |at: usize, what: String| {
        let line = 1 + memchr::memchr_iter(b'\n', bytes.get(..at).unwrap_or(bytes)).count();
        ReadError::new(Place::Line { file: file.map(str::to_owned), line }, what)
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| refused(error.valid_up_to(), format!("it is not UTF-8: {error}")))?;
    let mut reader = Reader::from_str(text);
    let (mut open, mut root): (Vec<Element>, Option<Element>) = (Vec::new(), None);
    let (mut line, mut counted) = (1, 0);
    loop {
        let before = reader.buffer_position() as usize;
        line += memchr::memchr_iter(b'\n', bytes.get(counted..before).unwrap_or_default()).count();
        counted = before;
        let event = reader.read_event().map_err(|error| refused(before, error.to_string()))?;
        let closed = match event {
            Event::Start(start) => {
                if open.len() >= MAX_DEPTH {
                    return Err(refused(before, format!("elements are nested more than {MAX_DEPTH} deep")));
                }
                open.push(element(&start, line).map_err(|error| refused(before, error.to_string()))?);
                None
            }
            Event::Empty(start) => {
                Some(element(&start, line).map_err(|error| refused(before, error.to_string()))?)
            }
            Event::End(_) => open.pop(),
            Event::Eof => break,
            other => {
                let said = said(&other).map_err(|what| refused(before, what))?;
                match open.last_mut() {
                    Some(element) => element.text.push_str(&said),
                    None if said.trim().is_empty() => {}
                    None => return Err(refused(before, "text outside of the document".into())),
                }
                None
            }
        };
        if let Some(element) = closed {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None if root.is_some() => return Err(refused(before, "a second document begins".into())),
                None => root = Some(element),
            }
        }
    }
    if let Some(element) = open.last() {
        return Err(refused(bytes.len(), format!("it ends within `{}`", element.name)));
    }
    root.ok_or_else(|| refused(0, "it contains no XML".into()))
}

fn element(start: &BytesStart, line: usize) -> Result<Element, Error> {
    let name = start.name();
    let mut element = Element { name: text(name.as_ref()), line, ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0)?.into_owned();
        element.attributes.push((text(attribute.key.as_ref()), value));
    }
    Ok(element)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text of an event; empty for comments and declarations.
fn said(event: &Event) -> Result<String, String> {
    match event {
        Event::Text(part) => part.decode().map(|text| text.into_owned()).map_err(|error| error.to_string()),
        Event::CData(part) => part.decode().map(|text| text.into_owned()).map_err(|error| error.to_string()),
        Event::GeneralRef(name) => {
            if let Some(c) = name.resolve_char_ref().map_err(|error| error.to_string())? {
                return Ok(c.to_string());
            }
            let name = name.decode().map_err(|error| error.to_string())?;
            let known = resolve_predefined_entity(&name).map(str::to_owned);
            known.ok_or_else(|| format!("`&{name};` is not an XML entity"))
        }
        _ => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_lines_attributes_and_unescaped_text() {
        let root = document(
            None,
            b"<?xml version=\"1.0\"?>\n<a>\n <b c=\"&lt;1&quot;\"/>x&amp;&#65;<![CDATA[<]]></a>\n",
        )
        .unwrap();
        let b = root.child("b").unwrap();
        assert_eq!((b.line, b.attribute("c"), root.text.trim()), (3, Some("<1\""), "x&A<"));
    }

    #[test]
    fn what_is_no_whole_document_is_refused_with_its_line() {
        for text in
            ["", "<a>\n<b></b>", "<a></b>", "<a/><a/>", "x<a/>", "<a>&no;</a>", "<a b='1' b='2'/>", "<a"]
        {
            let error = document(Some("x.xml"), text.as_bytes()).expect_err(text);
            assert!(error.to_string().starts_with("x.xml:"), "{error}");
        }
        assert!(document(None, "<a>".repeat(200).as_bytes()).unwrap_err().what.contains("deep"));
        assert!(document(None, b"<a>\xff</a>").unwrap_err().what.contains("UTF-8"));
    }
}
