//! The formats that the `.toml` files of this folder describe.

use serde::{Deserialize, Deserializer};

use super::description::{Described, LinePattern, RowLayout};
use super::failures::failures;
use super::source::has_columns;
use crate::adapters::formats::interface::format::{FormatAbout, ResultFormat};
use crate::adapters::formats::interface::prelude::*;

/// The files, by what their formats are about.
const SHELVES: [&str; 5] = [
    include_str!("gpu.toml"),
    include_str!("harness.toml"),
    include_str!("serving.toml"),
    include_str!("system.toml"),
    include_str!("universal.toml"),
];

/// One table `[[format]]`. Its texts are leaked: the list is read once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::adapters::formats) struct RowFormat {
    name: Leaked,
    title: Leaked,
    versions: Leaked,
    direction: Leaked,
    /// As in [`FormatAbout`].
    #[serde(default)]
    tried: Vec<Leaked>,
    #[serde(default = "no_load", deserialize_with = "load")]
    load: LoadFields,
    layouts: Vec<Layout>,
    #[serde(skip)]
    fields: Leaked,
    #[serde(skip)]
    failures: Leaked,
    #[serde(skip)]
    versions_tried: &'static [&'static str],
}

/// One of the forms in which a tool leaves its rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    /// Keys and paths, `results[].spec.id`, or columns that together are in files of this format alone.
    #[serde(default)]
    known_by: Vec<String>,
    /// Lines that no other program writes: one for each expression.
    #[serde(default)]
    known_by_lines: Vec<KnownLine>,
    /// Parts of a text that together are in files of this format alone.
    #[serde(default)]
    known_by_words: Vec<String>,
    /// For documents without distinctive keys: all keys of their objects.
    known_by_objects: Option<KnownObjects>,
    rows: Described,
}

/// A document whose values at a depth are all objects with these keys and no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownObjects {
    depth: usize,
    need: Vec<String>,
    allow: Vec<String>,
}

impl KnownObjects {
    fn fit(&self, value: &Value, depth: usize) -> bool {
        let has_all =
            |object: &serde_json::Map<String, Value>| self.need.iter().all(|key| object.contains_key(key));
        let is_known = |key: &String| self.need.contains(key) || self.allow.contains(key);
        match value {
            Value::Object(object) if depth == 0 => has_all(object) && object.keys().all(is_known),
            Value::Object(object) => {
                !object.is_empty() && object.values().all(|value| self.fit(value, depth - 1))
            }
            Value::Array(list) if depth > 0 => {
                !list.is_empty() && list.iter().all(|value| self.fit(value, depth - 1))
            }
            _ => false,
        }
    }

    fn recognise(&self, file: &ResultFile) -> bool {
        let quoted: Vec<String> = self.need.iter().map(|key| format!("\"{key}\"")).collect();
        file.holds(&quoted.iter().map(String::as_str).collect::<Vec<_>>())
            && document::<Value>(file).is_ok_and(|document| self.fit(&document, self.depth))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownLine {
    /// A part of the line.
    word: String,
    line: LinePattern,
}

#[derive(Clone, Copy, Default)]
struct Leaked(&'static str);

impl<'de> Deserialize<'de> for Leaked {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(text.leak()))
    }
}

fn no_load() -> LoadFields {
    LoadFields::NONE
}

fn load<'de, D: Deserializer<'de>>(from: D) -> Result<LoadFields, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Load {
        parameters: Vec<Leaked>,
        axes: Vec<Leaked>,
        answered: Option<Leaked>,
    }
    let leaked = |texts: Vec<Leaked>| -> &'static [&'static str] {
        texts.into_iter().map(|text| text.0).collect::<Vec<_>>().leak()
    };
    let Load { parameters, axes, answered } = Load::deserialize(from)?;
    let answered = answered.map(|text| text.0);
    Ok(LoadFields { parameters: leaked(parameters), axes: leaked(axes), answered, ..LoadFields::NONE })
}

pub(in crate::adapters::formats) fn leaked() -> &'static [RowFormat] {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        format: Vec<RowFormat>,
    }
    // The texts are a part of this program, and a test reads them.
    #[expect(clippy::expect_used)]
    let read = |text: &str| toml::from_str::<File>(text).expect("the formats are read by a test").format;
    let mut formats: Vec<RowFormat> = SHELVES.into_iter().flat_map(read).collect();
    for format in &mut formats {
        for layout in &mut format.layouts {
            layout.rows.keeps_others = true;
            layout.rows.notes.extend(format.load.answered.map(str::to_owned));
        }
        let fields: Vec<String> = format.layouts.iter().map(|layout| layout.rows.documented()).collect();
        let tried: Vec<&str> = format.tried.iter().map(|version| version.0).collect();
        format.fields = Leaked(fields.join("; or ").leak());
        format.failures = Leaked(failures(format.layouts.iter().map(|layout| &layout.rows)).leak());
        format.versions_tried = tried.leak();
    }
    formats.leak()
}

impl Layout {
    fn recognises(&self, file: &ResultFile) -> bool {
        if let Some(objects) = &self.known_by_objects {
            return objects.recognise(file);
        }
        if !self.known_by_lines.is_empty() {
            let is_there = |known: &KnownLine| file.any_line(&known.word, |line| known.line.0.is_match(line));
            return self.known_by_lines.iter().all(is_there);
        }
        if !self.known_by_words.is_empty() {
            return file.holds(&self.known_by_words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let keys: Vec<&str> = self.known_by.iter().map(String::as_str).collect();
        if keys.is_empty() {
            return false;
        }
        if file.begins(b'{') || file.begins(b'[') {
            if matches!(self.rows.layout, RowLayout::Csv | RowLayout::Text(_)) {
                return false;
            }
            let first: Vec<&str> =
                keys.iter().map(|key| key.split(['.', '[']).next().unwrap_or(key)).collect();
            let outline = Outline::of(file, &first, &[]);
            return outline.is_some_and(|outline| outline.first().unwrap_or(&outline).has(&keys));
        }
        let is_table = matches!(self.rows.layout, RowLayout::Csv | RowLayout::Auto);
        is_table && has_columns(&file.first_line(), &self.known_by)
    }
}

impl ResultFormat for RowFormat {
    fn name(&self) -> &'static str {
        self.name.0
    }

    fn about(&self) -> FormatAbout {
        let [title, versions, direction] = [self.title, self.versions, self.direction].map(|text| text.0);
        let mut metrics = self.layouts.iter().flat_map(|layout| &layout.rows.metrics);
        let reads =
            if metrics.any(|metric| metric.summary.is_some()) { Reads::Summary } else { Reads::Samples };
        let (fields, failures, tried) = (self.fields.0, self.failures.0, self.versions_tried);
        FormatAbout { title, versions, fields, direction, failures, reads, tried }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        self.layouts.iter().any(|layout| layout.recognises(file))
    }

    fn load(&self) -> LoadFields {
        self.load
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        self.read_by(file, |layout| layout.rows.read(file))
    }

    fn read_samples(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        self.read_by(file, |layout| layout.rows.read_samples(file))
    }
}

impl RowFormat {
    /// Reads the layout that recognises the file; else the first that can read it. Errors: those of the first layout of the
    /// file's form.
    fn read_by(
        &self,
        file: &ResultFile,
        read: impl Fn(&Layout) -> Result<Vec<RunReading>, ReadError>,
    ) -> Result<Vec<RunReading>, ReadError> {
        if let Some(layout) = self.layouts.iter().find(|layout| layout.recognises(file)) {
            return read(layout);
        }
        let is_json = file.begins(b'{') || file.begins(b'[');
        let has_form = |layout: &&Layout| match layout.rows.layout {
            RowLayout::Auto => true,
            RowLayout::Json(_) => is_json,
            RowLayout::Csv | RowLayout::Text(_) => !is_json,
        };
        let mut results = self.layouts.iter().filter(has_form).map(read);
        let first = results.next().unwrap_or_else(|| {
            Err(file.wrong(if is_json {
                "it is JSON, which this format is not"
            } else {
                "it is not JSON, as files of this format are"
            }))
        });
        first.or_else(|error| results.find_map(Result::ok).ok_or(error))
    }
}
