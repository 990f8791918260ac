//! Formats whose files are flat rows: `row_formats.toml` describes each one by its fields.
//!
//! The rows are read by [`Described`], as are those that a suite file or `--metric` describes.

use serde::{Deserialize, Deserializer};

use super::interface::described::Described;
use super::interface::format::{FormatAbout, ResultFormat};
use super::interface::prelude::*;

/// One table `[[format]]`. Its texts are leaked: the list is read once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowFormat {
    name: Leaked,
    title: Leaked,
    versions: Leaked,
    direction: Leaked,
    /// Keys, or columns, that together are in the rows of this format alone.
    known_by: Vec<String>,
    rows: Described,
    #[serde(skip)]
    fields: Leaked,
}

#[derive(Clone, Copy, Default)]
struct Leaked(&'static str);

impl<'de> Deserialize<'de> for Leaked {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(text.leak()))
    }
}

pub(super) fn leaked() -> &'static [RowFormat] {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        format: Vec<RowFormat>,
    }
    // The text is a part of this program, and a test reads it.
    #[expect(clippy::expect_used)]
    let file: File =
        toml::from_str(include_str!("row_formats.toml")).expect("row_formats.toml is read by a test");
    let mut formats = file.format;
    for format in &mut formats {
        format.rows.keeps_others = true;
        format.fields = Leaked(format.rows.documented().leak());
    }
    formats.leak()
}

impl ResultFormat for RowFormat {
    fn name(&self) -> &'static str {
        self.name.0
    }

    fn about(&self) -> FormatAbout {
        let [title, versions, fields, direction] =
            [self.title, self.versions, self.fields, self.direction].map(|text| text.0);
        let summaries = self.rows.metrics.iter().any(|metric| metric.summary.is_some());
        let reads = if summaries { Reads::Summary } else { Reads::Samples };
        FormatAbout { title, versions, fields, direction, reads, tried: &[] }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        let keys: Vec<&str> = self.known_by.iter().map(String::as_str).collect();
        if file.begins(b'{') || file.begins(b'[') {
            return Outline::has_keys(file, &keys);
        }
        let header = file.first_line();
        let columns: Vec<&str> = header.split(',').map(str::trim).collect();
        keys.iter().all(|key| columns.contains(key))
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        self.rows.read(file)
    }
}
