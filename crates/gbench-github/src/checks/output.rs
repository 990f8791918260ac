//! The output of a check within GitHub's limits, and the annotations that a check lacks.

use serde::Deserialize;
use serde_json::{Value, json};

use gbench_model::MAX_CHECK;

/// Bytes of a title. GitHub counts an annotation's in characters, which are never more.
const TITLE: usize = 255;
/// Bytes of an annotation's message: 64 KiB.
const MESSAGE: usize = 65_536;
/// Annotations of one request, and of one check.
pub(super) const AT_ONCE: usize = 50;
const ANNOTATIONS: usize = 200;
/// The output of a check. A text that is too long is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOutput {
    /// Plain text; also the description of a commit status.
    pub title: String,
    pub summary: String,
    pub text: Option<String>,
    /// The most severe first: 200 are shown.
    pub annotations: Vec<Annotation>,
}

/// A remark on a line of the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Annotation {
    /// From the repository's root, with `/`.
    pub path: String,
    pub line: u32,
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}

impl CheckOutput {
    /// The annotations as they are sent: none longer than GitHub takes, none without words.
    pub(super) fn fitting(&self) -> Vec<Annotation> {
        self.annotations.iter().take(ANNOTATIONS).map(Annotation::fitting).collect()
    }

    /// The `output` of a request, with some of the annotations: at most [`AT_ONCE`].
    pub(super) fn sent(&self, annotations: &[Annotation]) -> Value {
        let mut output =
            json!({ "title": cut(&self.title, TITLE), "summary": cut(&self.summary, MAX_CHECK) });
        if let Some(text) = &self.text {
            output["text"] = json!(cut(text, MAX_CHECK));
        }
        if !annotations.is_empty() {
            output["annotations"] = annotations.iter().map(Annotation::sent).collect();
        }
        output
    }
}

impl Annotation {
    fn fitting(&self) -> Self {
        let message = if self.message.trim().is_empty() { &self.title } else { &self.message };
        Self {
            path: self.path.clone(),
            line: self.line.max(1),
            level: self.level,
            title: cut(&self.title, TITLE),
            message: cut(message, MESSAGE),
        }
    }

    fn sent(&self) -> Value {
        json!({
            "path": self.path,
            "start_line": self.line,
            "end_line": self.line,
            "annotation_level": self.level.into_str(),
            "title": self.title,
            "message": self.message,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct ExistingAnnotation {
    #[serde(default)]
    path: String,
    #[serde(default)]
    start_line: u32,
    annotation_level: Option<String>,
    title: Option<String>,
    message: Option<String>,
}

impl ExistingAnnotation {
    fn is(&self, annotation: &Annotation) -> bool {
        let same =
            |there: &Option<String>, here: &str| there.as_deref().unwrap_or_default().trim() == here.trim();
        self.path == annotation.path
            && self.start_line == annotation.line
            && same(&self.annotation_level, annotation.level.into_str())
            && same(&self.title, &annotation.title)
            && same(&self.message, &annotation.message)
    }
}

/// Those that are wanted and not there. One that is wanted twice has to be there twice.
pub(super) fn missing(mut wanted: Vec<Annotation>, mut there: Vec<ExistingAnnotation>) -> Vec<Annotation> {
    wanted.retain(|annotation| match there.iter().position(|remark| remark.is(annotation)) {
        Some(at) => {
            there.swap_remove(at);
            false
        }
        None => true,
    });
    wanted
}

/// At most so many bytes of a text, whole characters of it; what is cut ends with `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let sign = "…";
    let end =
        (0..=most.saturating_sub(sign.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{sign}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("short", 5), "short");
        for most in 3..40 {
            let text = cut(&"aé日🚀".repeat(20), most);
            assert!(text.len() <= most && text.ends_with('…'), "{most}: {text}");
        }
    }

    #[test]
    fn an_annotation_that_is_wanted_twice_has_to_be_there_twice() {
        let wanted = |line: u32| Annotation {
            path: "a.py".into(),
            line,
            level: AnnotationLevel::Failure,
            title: "t".into(),
            message: "m\n".into(),
        };
        let there = |line: u32| ExistingAnnotation {
            path: "a.py".into(),
            start_line: line,
            annotation_level: Some("failure".into()),
            title: Some("t".into()),
            message: Some("m".into()),
        };
        let left = missing(vec![wanted(1), wanted(1), wanted(2)], vec![there(1), there(2), there(3)]);
        assert_eq!(left, [wanted(1)]);
    }

    #[test]
    fn an_annotation_without_words_says_its_title() {
        let output = CheckOutput {
            annotations: vec![Annotation {
                path: "a.py".into(),
                line: 0,
                level: AnnotationLevel::Notice,
                title: "t".repeat(300),
                message: "\n".into(),
            }],
            ..CheckOutput::default()
        };
        let fitting = output.fitting();
        assert_eq!((fitting[0].line, fitting[0].title.len()), (1, 255));
        assert_eq!(fitting[0].message, "t".repeat(300));
        assert!(output.sent(&[]).get("annotations").is_none());
    }
}
