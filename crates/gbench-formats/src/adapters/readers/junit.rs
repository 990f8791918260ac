//! JUnit XML of test runners: the end of each test case.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::adapters::interface::output::{Place, ReadError};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCase {
    pub classname: String,
    pub name: String,
    /// Only in the family `xunit1`.
    pub file: Option<String>,
    pub ends: Vec<TestEnd>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestEnd {
    /// `<failure>` or `<error>`.
    Failed {
        message: String,
    },
    Skipped {
        kind: String,
        message: String,
    },
}

/// The test cases of a file, in order. Errors: not XML, or an incomplete document; a test case has no name.
pub(crate) fn test_cases(file: &str, bytes: &[u8]) -> Result<Vec<TestCase>, ReadError> {
    let mut reader = Reader::from_reader(bytes);
    let mut cases: Vec<TestCase> = Vec::new();
    let (mut depth, mut roots, mut inside) = (0_usize, 0, None);
    loop {
        let event = reader.read_event();
        let place = || place(file, bytes, reader.error_position().max(reader.buffer_position()));
        let refused = |what: String| ReadError::new(place(), what);
        match event.map_err(|error| refused(error.to_string()))? {
            Event::Start(tag) => {
                roots += usize::from(depth == 0);
                if element(&tag, &mut cases, inside.is_some()).map_err(refused)? {
                    inside = Some(depth);
                }
                depth += 1;
            }
            Event::Empty(tag) => {
                roots += usize::from(depth == 0);
                element(&tag, &mut cases, inside.is_some()).map_err(refused)?;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                inside = inside.filter(|at| *at != depth);
            }
            Event::Eof if depth > 0 || roots != 1 => return Err(refused("it ends too early".into())),
            Event::Eof => return Ok(cases),
            _ => {}
        }
    }
}

/// Processes an element. `true`: it is a test case.
fn element(tag: &BytesStart, cases: &mut Vec<TestCase>, inside: bool) -> Result<bool, String> {
    let name = tag.name();
    match (name.as_ref(), cases.last_mut()) {
        (b"testcase", _) => {
            let case = TestCase {
                classname: attribute(tag, "classname")?.unwrap_or_default(),
                name: attribute(tag, "name")?.ok_or("a test case has no name")?,
                file: attribute(tag, "file")?,
                ends: Vec::new(),
            };
            cases.push(case);
            Ok(true)
        }
        (b"failure" | b"error", Some(case)) if inside => {
            let message = attribute(tag, "message")?.unwrap_or_default();
            case.ends.push(TestEnd::Failed { message });
            Ok(false)
        }
        (b"skipped", Some(case)) if inside => {
            let kind = attribute(tag, "type")?.unwrap_or_default();
            case.ends
                .push(TestEnd::Skipped { kind, message: attribute(tag, "message")?.unwrap_or_default() });
            Ok(false)
        }
        _ => Ok(false),
    }
}

fn attribute(tag: &BytesStart, name: &str) -> Result<Option<String>, String> {
    let Some(found) = tag.try_get_attribute(name).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&found.value).map_err(|error| error.to_string())?;
    let text = quick_xml::escape::unescape(text).map_err(|error| error.to_string())?;
    Ok(Some(text.into_owned()))
}

/// Line and column of a byte, each from 1.
fn place(file: &str, bytes: &[u8], at: u64) -> Place {
    let before = &bytes[..usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len())];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
    Place::Column { file: Some(file.to_owned()), line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_keep_their_order_their_odd_names_and_how_they_ended() {
        let text = br#"<?xml version="1.0"?><testsuites><testsuite name="x">
            <testcase classname="a.b" name="t[&lt;&#10;&quot;]" file="a/b.py" />
            <testcase classname="a" name="u"><failure message="no &amp; no">text &lt;error/&gt;</failure></testcase>
            <testcase classname="a" name="v"><skipped type="s" message="why" /></testcase>
            <error message="of the suite" />
        </testsuite></testsuites>"#;
        let cases = test_cases("x.xml", text).unwrap();
        assert_eq!(cases[0].name, "t[<\n\"]");
        assert_eq!(cases[0].file.as_deref(), Some("a/b.py"));
        assert!(cases[0].ends.is_empty());
        assert_eq!(cases[1].ends, [TestEnd::Failed { message: "no & no".into() }]);
        assert_eq!(cases[2].ends, [TestEnd::Skipped { kind: "s".into(), message: "why".into() }]);
    }

    #[test]
    fn a_text_cut_off_anywhere_is_refused_with_a_place_in_it() {
        let text = "<a>\n<testcase name=\"x\"><skipped/></testcase>\n</a>";
        for end in 0..text.len() {
            let error = test_cases("x.xml", &text.as_bytes()[..end]).unwrap_err();
            assert!(error.to_string().starts_with("x.xml:"), "{end}: {error}");
        }
        assert_eq!(test_cases("x.xml", text.as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn a_case_without_a_name_is_refused() {
        assert!(test_cases("x.xml", b"<a>\n <testcase classname=\"x\"/></a>").is_err());
    }
}
