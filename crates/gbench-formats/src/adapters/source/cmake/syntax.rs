//! The syntax of CMake: commands, their words, comments.

pub(crate) struct CMakeCommand {
    /// In lower case.
    pub name: String,
    pub words: Vec<String>,
}

pub(crate) fn commands(text: &str) -> Vec<CMakeCommand> {
    let mut commands = Vec::new();
    let mut rest = text;
    let mut name = String::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '#' => rest = after_comment(rest),
            '(' => {
                let (words, after) = arguments(rest);
                rest = after;
                commands.push(CMakeCommand { name: name.trim().to_ascii_lowercase(), words });
                name.clear();
            }
            c => name.push(c),
        }
    }
    commands
}

fn after_comment(rest: &str) -> &str {
    match rest.strip_prefix("[[") {
        Some(block) => block.split_once("]]").map_or("", |(_, after)| after),
        None => rest.split_once('\n').map_or("", |(_, after)| after),
    }
}

/// True if a condition never applies here: a constant, or another operating system.
pub(crate) fn is_false(words: &[String]) -> bool {
    let [word] = words else { return false };
    let never = ["0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND"];
    let elsewhere = ["WIN32", "MSVC", "MINGW", "CYGWIN", "APPLE", "IOS", "ANDROID", "EMSCRIPTEN", "XCODE"];
    never.iter().any(|constant| word.eq_ignore_ascii_case(constant)) || elsewhere.contains(&word.as_str())
}

/// Commands of the branch that begins here, including its last one.
pub(crate) fn branch(commands: &[CMakeCommand]) -> usize {
    let mut depth = 0_usize;
    for (place, command) in commands.iter().enumerate() {
        match command.name.as_str() {
            "if" => depth += 1,
            "else" | "elseif" if depth == 0 => return place + 1,
            "endif" if depth == 0 => return place + 1,
            "endif" => depth -= 1,
            _ => {}
        }
    }
    commands.len()
}

fn arguments(text: &str) -> (Vec<String>, &str) {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_usize);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '#' if word.is_empty() => rest = after_comment(rest),
            '"' => {
                let end = rest.find('"').unwrap_or(rest.len());
                word.push_str(&rest[..end]);
                rest = rest.get(end + 1..).unwrap_or_default();
                words.push(std::mem::take(&mut word));
            }
            ')' if depth == 0 => break,
            '(' | ')' => depth = if c == '(' { depth + 1 } else { depth - 1 },
            c if c.is_whitespace() || c == ';' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    (words, rest)
}
