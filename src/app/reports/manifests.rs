//! The manifest of a record, of a run's folder, or by itself.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{Fault, Manifest};

/// Where a run's folder keeps its manifest, the likeliest first.
const IN_FOLDER: [&str; 4] = ["manifest.json", "results/record.json", "record.json", "results/manifest.json"];

/// The manifest of a file or of a run's folder: the document itself, or its member `manifest`.
pub(crate) fn read(path: &Path) -> Result<Manifest, Fault> {
    const NEXT: &str = "name a manifest.json, a record, or the folder of a run";
    let file = if path.is_dir() {
        let found = IN_FOLDER.iter().map(|name| path.join(name)).find(|file| file.is_file());
        found.ok_or_else(|| Fault::at_path(path, "the folder holds neither a manifest nor a record", NEXT))?
    } else {
        path.to_owned()
    };
    let bytes = std::fs::read(&file).map_err(|error| Fault::at_path(&file, error, NEXT))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Fault::at_path(&file, "the file is not UTF-8 text", NEXT))?;
    let text: Arc<str> = text.into();
    let fault = |error: serde_json::Error| {
        let start = offset(&text, error.line(), error.column());
        let end = text[start..].chars().next().map_or(start, |first| start + first.len_utf8());
        // The place is shown anyway.
        let text_of_error = error.to_string();
        let cause = text_of_error.split(" at line ").next().unwrap_or_default();
        let what = match error.classify() {
            serde_json::error::Category::Data => format!("this is not a manifest of this version: {cause}"),
            _ => format!("this is not JSON: {cause}"),
        };
        Fault::in_text(&file, &text, start..end, what, NEXT)
    };
    let holder: MaybeHolder = serde_json::from_str(&text).map_err(fault)?;
    match holder.manifest {
        Some(_) => serde_json::from_str::<Holder>(&text).map(|holder| holder.manifest).map_err(fault),
        None => serde_json::from_str(&text).map_err(fault),
    }
}

#[derive(Deserialize)]
struct MaybeHolder {
    #[serde(default)]
    manifest: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Holder {
    manifest: Manifest,
}

/// Byte offset of a one-based line and column as `serde_json` counts them: columns in bytes, 0 for the line's end.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut offset = (before + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_within_the_text_and_between_characters() {
        assert_eq!(offset("ab\ncd", 2, 2), 4);
        assert_eq!(offset("é", 1, 2), 0);
        assert_eq!(offset("ab", 9, 9), 2);
    }
}
