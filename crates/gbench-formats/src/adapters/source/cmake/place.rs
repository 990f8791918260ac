//! The path of a built program: by its file's folder, by variables, by properties of its target.

use std::collections::HashMap;

/// Variables that name the folder of programs, in order of precedence. The configuration is Release.
pub(crate) const VARIABLES: [&str; 3] =
    ["CMAKE_RUNTIME_OUTPUT_DIRECTORY_RELEASE", "CMAKE_RUNTIME_OUTPUT_DIRECTORY", "EXECUTABLE_OUTPUT_PATH"];
/// The corresponding properties of a target, for its folder and its name.
const DIRECTORIES: [&str; 2] = ["RUNTIME_OUTPUT_DIRECTORY_RELEASE", "RUNTIME_OUTPUT_DIRECTORY"];
const NAMES: [&str; 4] =
    ["RUNTIME_OUTPUT_NAME_RELEASE", "RUNTIME_OUTPUT_NAME", "OUTPUT_NAME_RELEASE", "OUTPUT_NAME"];

/// Represents the build folder at the beginning of a path.
const BUILD: &str = "$<BUILD>";
/// Marks an absolute path in a file, because paths of the source tree also begin with `/`.
const ABSOLUTE: &str = "$<ABSOLUTE>";

pub(crate) fn built(below: &str) -> String {
    if below.is_empty() { BUILD.to_owned() } else { format!("{BUILD}/{below}") }
}

pub(crate) fn marked(words: &[String]) -> Vec<String> {
    let mark = |word: &String| if word.starts_with('/') { format!("{ABSOLUTE}{word}") } else { word.clone() };
    words.iter().map(mark).collect()
}

pub(crate) fn joined(folder: &str, rest: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[derive(Default)]
pub(crate) struct Properties(HashMap<String, HashMap<String, String>>);

impl Properties {
    /// Words of `set_target_properties`: targets, `PROPERTIES`, then names with their values.
    pub(crate) fn of_targets(&mut self, words: &[String]) {
        let mut parts = words.splitn(2, |word| word == "PROPERTIES");
        let (targets, values) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        for target in targets {
            let own = self.0.entry(target.clone()).or_default();
            own.extend(values.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())));
        }
    }

    /// Words of `set_property(TARGET ...)`: targets, `PROPERTY`, a name and its value.
    pub(crate) fn of_one(&mut self, words: &[String]) {
        let mut parts = words.splitn(2, |word| word == "PROPERTY");
        let (targets, values) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let [name, value] = values else { return };
        for target in targets {
            self.0.entry(target.clone()).or_default().insert(name.clone(), value.clone());
        }
    }

    /// The path of a target's program from the tree's root. `root`: the configured folder; `below`: that of the target's
    /// file in the build; `directory`: the value of the variables. Errors: the word that is not understood.
    pub(crate) fn program(
        &self,
        target: &str,
        (root, below): (&str, &str),
        directory: Option<&String>,
    ) -> Result<String, String> {
        let own = self.0.get(target);
        let value = |name: &str| own.and_then(|own| own.get(name));
        let directory = DIRECTORIES.iter().find_map(|name| value(name)).or(directory);
        let name = NAMES.iter().find_map(|name| value(name)).map_or(target, String::as_str);
        let suffix = value("SUFFIX").map_or("", String::as_str);
        let build = joined(root, "build");
        let folder = match directory.map(|text| (text, text.strip_prefix(BUILD))) {
            None => joined(&build, below),
            Some((_, Some(rest))) if rest.is_empty() || rest.starts_with('/') => joined(&build, rest),
            Some((text, _)) if text.starts_with('/') => joined("", text),
            Some((text, _)) => joined(&joined(&build, below), text),
        };
        let path = joined(&folder, &format!("{name}{suffix}"));
        // A path out of the tree cannot be expressed; unresolved marks are refused as well.
        let asked = directory.into_iter().chain(value("SUFFIX")).map(String::as_str).chain([name]);
        let outside = |text: &&str| text.contains("..");
        let unknown = |text: &&str| text.strip_prefix(BUILD).unwrap_or(text).contains('$');
        match asked.clone().find(unknown).or_else(|| asked.clone().find(outside)) {
            Some(text) => Err(text.replace(ABSOLUTE, "").replace(BUILD, "${CMAKE_BINARY_DIR}")),
            None => Ok(path),
        }
    }
}
