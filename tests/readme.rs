//! The README is what a stranger believes: its commands run, its flags exist, its links lead somewhere.

use std::path::{Path, PathBuf};
use std::process::Output;

use strum::IntoEnumIterator;

use gbench_ci::model::Exit;
use gbench_ci::stats::seq_e::{SequentialLimits, Version};

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The contents of every fenced block of one language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(opened) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            if opened == language {
                found.push(body.join("\n"));
            }
        }
    }
    found
}

/// The command in the block below `<!-- command: name -->`, as `.ci/run` finds it too.
fn marked(readme: &str, name: &str) -> String {
    let marker = format!("<!-- command: {name} -->\n```sh\n");
    let (_, rest) = readme.split_once(&marker).unwrap_or_else(|| panic!("README.md has no `{name}`"));
    rest.split("\n```").next().unwrap().to_owned()
}

fn gate(arguments: &[&str]) -> Output {
    crate::support::gate().args(arguments).output().expect("the gate starts")
}

#[test]
fn the_main_command_of_the_readme_does_what_it_says() {
    let command = marked(&text_of("README.md"), "demo");
    let arguments = command.strip_prefix("cargo run --release -- ").expect("a command of cargo");
    let folder = crate::support::tempdir().unwrap();
    let output = folder.path().join("demo");
    let arguments: Vec<&str> = arguments.split(' ').chain(["--quiet", "--output"]).collect();
    let ran = crate::support::gate().args(&arguments).arg(&output).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{out}\n{err}");
    let named = |word: &str| {
        let line = out.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{out}"));
        PathBuf::from(line[word.len()..].trim())
    };
    for word in ["base record", "head record", "report", "verdict"] {
        assert!(named(word).is_file(), "{out}");
    }
}

#[test]
fn the_test_command_of_the_readme_is_one_line_for_cargo() {
    let command = marked(&text_of("README.md"), "test");
    assert!(command.starts_with("cargo test") && !command.contains('\n'), "{command}");
}

/// `gbench-ci ...` from blocks of shell and from code within sentences.
fn command_lines(text: &str) -> Vec<String> {
    let of_blocks = blocks(text, "sh").into_iter().flat_map(|block| {
        let lines = block.lines().filter(|line| line.starts_with("gbench-ci "));
        lines.map(|line| line.split(" #").next().unwrap().trim().to_owned()).collect::<Vec<_>>()
    });
    let of_sentences = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let of_sentences = of_sentences.filter(|code| code.starts_with("gbench-ci ")).map(str::to_owned);
    of_blocks.chain(of_sentences).collect()
}

#[test]
fn every_command_line_of_the_documentation_is_understood() {
    let mut checked = 0;
    let documents = [
        "README.md",
        "CHANGELOG.md",
        "docs/comparing.md",
        "docs/suite-file.md",
        "docs/micro.md",
        "docs/statistics.md",
    ];
    for document in documents {
        for line in command_lines(&text_of(document)) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            if words[0].starts_with("__") {
                // A hidden role, which the micro suite's page shows for use by hand.
                continue;
            }
            let mut path = vec![words[0]];
            let mut help = help_of(&path, &line, document);
            if help.contains("\nCommands:") {
                path.push(words.get(1).unwrap_or_else(|| panic!("{document}: `{line}` says not what to do")));
                help = help_of(&path, &line, document);
            }
            for flag in words.iter().filter(|word| word.starts_with('-')) {
                let flag = flag.split('=').next().unwrap();
                let is_known = help.split([' ', '\n', ',', '=']).any(|word| word == flag);
                assert!(is_known, "{document}: `{line}`: no flag {flag}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 20, "only {checked} command lines are found");
}

fn help_of(path: &[&str], line: &str, document: &str) -> String {
    let arguments: Vec<&str> = path.iter().copied().chain(["--help"]).collect();
    let output = gate(&arguments);
    assert!(output.status.success(), "{document}: `{line}`: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_table_of_commands_names_each_one() {
    let help = String::from_utf8(gate(&["--help"]).stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let readme = text_of("README.md");
    for line in list.lines() {
        let name = line.split_whitespace().next().unwrap();
        assert!(name == "help" || readme.contains(&format!("`gbench-ci {name}")), "README.md: no {name}");
    }
}

#[test]
fn the_table_of_exit_codes_is_the_programs_own() {
    let readme = text_of("README.md");
    let section = readme.split("\n## Exit codes\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let shown: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let own: Vec<String> =
        Exit::iter().map(|exit| format!("| {} | {} |", exit.code(), exit.words())).collect();
    assert_eq!(shown, own);
}

#[test]
fn the_price_of_a_red_is_the_rules_own() {
    let page = text_of("docs/statistics.md");
    let (_, table) = page.split_once("<!-- checked: SequentialLimits::least_rounds -->\n").unwrap();
    let limits = SequentialLimits {
        version: Version::Three,
        alpha: 0.01,
        alpha_improved: 0.05,
        screen_rounds: 3,
        most_rounds: 40,
        beside: 0,
    };
    let rows: Vec<Vec<usize>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect())
        .collect();
    assert!(rows.len() >= 5, "{rows:?}");
    for row in rows {
        let needed = limits.ln_red(row[0]).exp().round() as usize;
        assert_eq!(row, [row[0], needed, limits.least_rounds(row[0])]);
    }
}

#[test]
fn the_suite_file_of_the_readme_is_one() {
    let files = blocks(&text_of("README.md"), "toml");
    // An entry more for the same file.
    assert_eq!(files.len(), 2);
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path().join("gbench.toml");
    std::fs::write(&path, files.join("\n")).unwrap();
    let listed = gate(&["list", "--config", path.to_str().unwrap()]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
}

#[test]
fn every_link_within_the_repository_leads_to_a_file() {
    let mut documents = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    let mut checked = 0;
    for document in documents {
        let text = text_of(document.to_str().unwrap());
        let folder = root().join(document.parent().unwrap_or(Path::new("")));
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let file = link.split('#').next().unwrap();
            if link.contains("://") || file.is_empty() {
                continue;
            }
            assert!(folder.join(file).exists(), "{}: {link} leads nowhere", document.display());
            checked += 1;
        }
    }
    assert!(checked >= 10, "only {checked} links are found");
}

#[test]
fn every_step_of_ci_has_its_recipe() {
    let (script, recipes) = (text_of(".ci/run"), text_of("justfile"));
    let steps = script.lines().find_map(|line| line.strip_prefix("all=(")).unwrap().trim_end_matches(')');
    for step in steps.split(' ') {
        assert!(recipes.contains(&format!("\n{step}:\n    .ci/run {step}\n")), "justfile: no {step}");
        assert!(script.contains(&format!("\nstep_{step}() {{\n")), ".ci/run: no step {step}");
    }
    assert!(recipes.contains("\nci:\n    .ci/run\n"));
}

/// Paths from the root, from `src` or from `crates`, or the last names of a file's path where its folder stands just before.
#[test]
fn every_file_that_the_design_names_is_there() {
    let mut folders = vec![root().join("src"), root().join("crates")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            files.push(if path.is_dir() { format!("{name}/") } else { name });
            folders.extend(path.is_dir().then_some(path));
        }
    }
    let mut checked = 0;
    for document in ["docs/design.md", "CONTRIBUTING.md"] {
        let text = text_of(document);
        for name in text.split('`').skip(1).step_by(2) {
            let one_word = name.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
            if !one_word || !(name.ends_with(".rs") || name.ends_with('/')) {
                continue;
            }
            let within = format!("/{name}");
            let there = root().join(name).exists() || files.iter().any(|file| file.ends_with(&within));
            assert!(there, "{document}: there is no {name}");
            checked += 1;
        }
    }
    assert!(checked >= 50, "only {checked} files are found");
}

/// Each row of "Where is ..." names a path from the root and an item that a Rust file there defines.
#[test]
fn the_design_says_where_everything_is() {
    let design = text_of("docs/design.md");
    let (_, table) = design.split_once("## Where is ...").unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|line| line.contains("` | `")).map(|line| line.split('`').collect()).collect();
    assert!(rows.len() >= 40, "{}", rows.len());
    for row in rows {
        let [path, item] = [row[row.len() - 4], row[row.len() - 2]];
        let defined = ["fn", "struct", "enum", "trait", "const", "mod"].map(|kind| format!("{kind} {item}"));
        let defines = |text: &str| {
            defined.iter().any(|word| {
                let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                text.match_indices(word).any(|(at, word)| is_end(&text[at + word.len()..]))
            })
        };
        let mut open = vec![root().join(path)];
        let mut is_found = false;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|end| end == "rs") {
                is_found |= defines(&std::fs::read_to_string(path).unwrap());
            }
        }
        assert!(is_found, "{path} does not define `{item}`");
    }
}
