//! The kernels of a CUDA source: names, parameters, and facts about a launch from their bodies.
//!
//! Reads declarations like a text, not like a compiler: it expands no macros and follows no `#include`. It reports what it
//! cannot read.

use std::collections::BTreeMap;

use super::code_text::{CodeText, CodeToken, tokens};
use super::parameter::{KernelParameter, element, parameter};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CudaSource {
    pub kernels: Vec<FoundSignature>,
    /// The first thing that a compiler of device code rejects.
    pub host: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundSignature {
    pub name: String,
    pub parameters: Result<Vec<KernelParameter>, NoCall>,
    /// Axes of the grid that the body uses: 1 to 3.
    pub axes: usize,
    /// Bytes for each thread of the dynamic shared memory that it declares.
    pub shared: Option<u32>,
    /// Its blocks wait for each other.
    pub cooperative: bool,
}

/// Why only its author can call a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NoCall {
    /// Why the gate cannot provide an argument, as the end of a sentence.
    Argument(String),
    /// Several kernels have the name.
    Ambiguous,
    /// It reads this constant, which is not set.
    Constant(String),
    Template,
}

impl NoCall {
    /// As the end of a sentence about the kernel of this name.
    pub(super) fn why(&self, name: &str) -> String {
        match self {
            Self::Argument(why) => why.clone(),
            Self::Ambiguous => "has several signatures, so that its name is ambiguous".into(),
            Self::Constant(constant) => {
                format!("reads the constant `{constant}`: write an entry that sets it by `data`")
            }
            Self::Template => {
                format!(
                    "is a template: write an entry with its arguments, such as `entry = \"{name}<float>\"`"
                )
            }
        }
    }
}

enum Scope {
    Namespace(String),
    /// `extern "C" {`, or a namespace without a name.
    Transparent,
}

impl CudaSource {
    pub(crate) fn read(text: &str) -> Self {
        let text = CodeText::new(text);
        let mut source = CudaSource::default();
        let tokens = tokens(&text.code);
        source.host = text.host_header.map(|name| format!("it includes <{name}>"));
        if source.host.is_none() && text.code.contains("<<<") {
            source.host = Some("it launches kernels itself (`<<<`)".into());
        }
        let (mut scopes, mut aliases): (Vec<Scope>, BTreeMap<&str, Vec<CodeToken>>) = Default::default();
        let mut unset: Vec<CodeToken> = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < tokens.len() {
            match tokens[at] {
                ";" => {
                    note_alias(&tokens[start..at], &mut aliases);
                    unset.extend(unset_constant(&tokens[start..at]));
                    (start, at) = (at + 1, at + 1);
                }
                "}" => {
                    scopes.pop();
                    (start, at) = (at + 1, at + 1);
                }
                "{" => {
                    let declaration = &tokens[start..at];
                    if let Some(scope) = scope(declaration) {
                        scopes.push(scope);
                        (start, at) = (at + 1, at + 1);
                        continue;
                    }
                    let end = closing(&tokens, at);
                    let body = &tokens[at + 1..end.min(tokens.len())];
                    if declaration.contains(&"__global__") {
                        let mut found = kernel(declaration, body, &scopes, &aliases);
                        if let (Some(found), Some(why)) = (&mut found, refused(body, &unset))
                            && found.parameters.is_ok()
                        {
                            found.parameters = Err(why);
                        }
                        source.kernels.extend(found);
                    } else if let Some(name) = host_function(declaration) {
                        source.host.get_or_insert(format!("`{name}` is host code"));
                    }
                    at = end + 1;
                    // `struct x { } y;` and `int x[] = { };` end at their `;`.
                    if declaration.last() == Some(&")") || is_function(declaration) {
                        start = at;
                    }
                }
                _ => at += 1,
            }
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        source.kernels.iter().for_each(|kernel| *seen.entry(kernel.name.clone()).or_default() += 1);
        for kernel in &mut source.kernels {
            if seen[&kernel.name] > 1 && kernel.parameters.is_ok() {
                kernel.parameters = Err(NoCall::Ambiguous);
            }
        }
        source.kernels.dedup_by(|one, other| one.name == other.name && one.parameters == other.parameters);
        source
    }
}

fn closing(tokens: &[CodeToken], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match *token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The scope that a brace opens after these words, if declarations can be in it.
fn scope(words: &[CodeToken]) -> Option<Scope> {
    if words.contains(&"(") {
        return None;
    }
    if let Some(at) = words.iter().position(|word| *word == "namespace") {
        let name: String = words[at + 1..].concat();
        return Some(if name.is_empty() { Scope::Transparent } else { Scope::Namespace(name) });
    }
    (words == ["extern"]).then_some(Scope::Transparent)
}

fn note_alias<'t>(words: &[CodeToken<'t>], aliases: &mut BTreeMap<&'t str, Vec<CodeToken<'t>>>) {
    match words {
        ["using", name, "=", of @ ..] => _ = aliases.insert(name, of.to_vec()),
        ["typedef", of @ .., name] => _ = aliases.insert(name, of.to_vec()),
        _ => {}
    }
}

/// The name of a `__constant__` variable without an initialiser.
fn unset_constant<'t>(words: &[CodeToken<'t>]) -> Option<CodeToken<'t>> {
    if !words.contains(&"__constant__") || words.contains(&"=") {
        return None;
    }
    let end = words.iter().position(|word| *word == "[").unwrap_or(words.len());
    words[..end].last().copied()
}

/// Why a launch with the proposed arguments would not be the author's.
fn refused(body: &[CodeToken], unset: &[CodeToken]) -> Option<NoCall> {
    let name = unset.iter().find(|name| body.contains(name))?;
    Some(NoCall::Constant((*name).to_owned()))
}

fn is_function(words: &[CodeToken]) -> bool {
    let of_type = ["struct", "class", "union", "enum"].iter().any(|word| words.first() == Some(word));
    words.contains(&"(") && !words.contains(&"=") && !of_type
}

fn host_function<'t>(words: &[CodeToken<'t>]) -> Option<&'t str> {
    if !is_function(words) || words.iter().any(|word| ["__device__", "constexpr", "template"].contains(word))
    {
        return None;
    }
    let at = words.iter().position(|word| *word == "(")?;
    // A macro of the project may expand to `__device__`.
    let is_macro = |word: &&str| {
        word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let name = *words[..at].last()?;
    (!words[..at].iter().any(is_macro) && is_name(name)).then_some(name)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// `None`: not recognised as a kernel.
fn kernel(
    words: &[CodeToken],
    body: &[CodeToken],
    scopes: &[Scope],
    aliases: &BTreeMap<&str, Vec<CodeToken>>,
) -> Option<FoundSignature> {
    let global = words.iter().position(|word| *word == "__global__")?;
    let (name, inside) = signature(&words[global + 1..])?;
    let namespaces = scopes.iter().filter_map(|scope| match scope {
        Scope::Namespace(name) => Some(format!("{name}::")),
        Scope::Transparent => None,
    });
    let name: String = namespaces.chain([name.to_owned()]).collect();
    let parameters = if words[..global].contains(&"template") {
        Err(NoCall::Template)
    } else {
        list(inside).into_iter().map(|words| parameter(words, aliases).map_err(NoCall::Argument)).collect()
    };
    let looks_at = |axis: &str| {
        let of_index = ["blockIdx", "threadIdx"];
        body.windows(3).any(|it| of_index.contains(&it[0]) && it[1] == "." && it[2] == axis)
    };
    let axes = if looks_at("z") {
        3
    } else if looks_at("y") {
        2
    } else {
        1
    };
    let (shared, cooperative) = (dynamic_shared(body, aliases), body.contains(&"this_grid"));
    Some(FoundSignature { name, parameters, axes, shared, cooperative })
}

/// The name and the parameters after `__global__`: the first word before parentheses that is not an attribute.
fn signature<'w, 't>(words: &'w [CodeToken<'t>]) -> Option<(&'t str, &'w [CodeToken<'t>])> {
    let mut at = 0;
    loop {
        let open = at + words[at..].iter().position(|word| *word == "(")?;
        let close = matching(words, open)?;
        let name = *words[..open].last()?;
        let goes_on = words.get(close + 1).is_some_and(|word| is_name(word) && *word != "noexcept");
        if is_name(name) && !name.starts_with("__") && !goes_on {
            return Some((name, &words[open + 1..close]));
        }
        at = close + 1;
    }
}

fn matching(words: &[CodeToken], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn list<'w, 't>(words: &'w [CodeToken<'t>]) -> Vec<&'w [CodeToken<'t>]> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" | "<" | "[" | "{" => depth += 1,
            ")" | ">" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&words[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&words[start..]);
    parts.retain(|part| !part.is_empty() && *part != ["void"]);
    parts
}

fn dynamic_shared(body: &[CodeToken], aliases: &BTreeMap<&str, Vec<CodeToken>>) -> Option<u32> {
    const LARGEST: u32 = 16;
    let at = body.windows(2).position(|words| words.contains(&"extern") && words.contains(&"__shared__"))?;
    let rest = &body[at + 2..];
    let end = rest.iter().position(|word| *word == ";").unwrap_or(rest.len());
    let words: Vec<CodeToken> = rest[..end].iter().copied().take_while(|word| *word != "[").collect();
    let (_, of) = words.split_last()?;
    Some(element(of, aliases).map_or(LARGEST, |(dtype, lanes)| dtype.size() as u32 * lanes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::discover::cuda::parameter::tests::parameter_text;
    use case_files::Given;

    /// Input: a source. Answer: its host code and its kernels.
    pub(crate) fn answer(given: &Given) -> String {
        let CudaSource { kernels, host } = CudaSource::read(&given.text());
        let mut text = format!("host: {}\n", host.as_deref().unwrap_or("nothing"));
        for FoundSignature { name, parameters, axes, shared, cooperative } in kernels {
            let parameters = match parameters {
                Ok(parameters) => parameters.iter().map(parameter_text).collect::<Vec<_>>().join(", "),
                Err(why) => format!("it {}", why.why(&name)),
            };
            let together = if cooperative { ", cooperative" } else { "" };
            text += &format!("kernel {name}({parameters}): axes {axes}, shared {shared:?}{together}\n");
        }
        text
    }
}
