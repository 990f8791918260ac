//! `[benchmark.requires]`: the requirements that are checked before anything is started.

use std::path::Path;

use crate::benchmark::launch::Requires;
use crate::reader::item::Item;
use crate::reader::table::Table;

/// `folder`: the suite file's, for relative paths. `gpus`: the default.
pub(super) fn read_requires(mut table: Table, folder: &Path, gpus: u32) -> Requires {
    let mut texts = |key: &'static str, example: &str| {
        table.take(key).and_then(|item| item.texts(example)).unwrap_or_default()
    };
    let binaries = texts("binary", "[\"nvcc\"]");
    let files = texts("file", "[\"weights.bin\"]");
    let env = texts("env", "[\"CUDA_HOME\"]");
    let requires = Requires {
        binaries,
        files: files.into_iter().map(|file| folder.join(file)).collect(),
        env,
        gpus: table.take("gpus").and_then(|item| item.whole(0..=1024)).map_or(gpus, |count| count as u32),
        gpu_memory: table.take("gpu_memory").and_then(|item| item.bytes()).unwrap_or(0),
        compute_capability: table.take("compute_capability").and_then(|item| capability(&item)),
    };
    table.close();
    requires
}

/// `"9.0"`. Text, because the number 8.10 would be 8.1.
fn capability(item: &Item) -> Option<(u32, u32)> {
    let example = "the minimum compute capability in quotes, such as \"8.0\"";
    if !item.value.is_str() {
        return item.wrong(example);
    }
    let text = item.text()?;
    let parts = text.split_once('.').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    if parts.is_none() {
        item.fault(format!("`{text}` is not a compute capability"), format!("write {example}"));
    }
    parts
}

fn number(text: &str) -> Option<u32> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
