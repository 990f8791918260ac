//! T8: hostile names, messages and commands in GitHub's own Markdown engine. The result must contain no link, picture,
//! mention, element or cell that this crate did not write, and the texts must stay readable.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};

use super::comment::{comment, step_summary};
use super::parts::context::PublishContext;
use super::tests::fragments;
use crate::layout::escape::{markdown, markdown_block, markdown_code, markdown_code_folding, visible};
use crate::test_support as documents;
use gbench_compare::{Merged, VerdictDocument};
use gbench_model::{MAX_COMMENT, ParamValue};

const NAMES: usize = 100_000;

/// Names of one document, for a few megabytes.
const BATCH: usize = 5_000;

/// The engine: in the folder of the tests' tools, else on the path. The caller prints a skipped test.
fn engine() -> Option<PathBuf> {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/ci-tools");
    let tools = std::env::var_os("GBENCH_TEST_TOOLS").map_or(usual.into(), PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools.join("bin")).chain(std::env::split_paths(&path));
    let found = folders.map(|folder| folder.join("cmark-gfm")).find(|program| program.is_file());
    if found.is_none() {
        eprintln!("SKIPPED T8 through cmark-gfm: not installed");
    }
    found
}

fn rendered(engine: &PathBuf, page: &str) -> String {
    let mut command = Command::new(engine);
    command.arg("--unsafe");
    for extension in ["table", "strikethrough", "autolink", "tagfilter", "tasklist", "footnotes"] {
        command.args(["--extension", extension]);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = page.to_owned().into_bytes();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// HTML as its elements, each with the text before it, without `code` and `wbr`. Text outside of code must contain
/// nothing that the host turns into a mention or a reference.
fn elements(html: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut text, mut code) = (String::new(), 0);
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("an element ends");
        let part = rest[..start]
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&");
        if code == 0 {
            for (at, _) in part.match_indices(['@', '#']) {
                assert!(part[at + 1..].starts_with('\u{200b}'), "a mention in {part:?}");
            }
            assert!(!part.contains("://") && !part.to_lowercase().contains("www."), "an address in {part:?}");
        }
        text += &part;
        let element = &rest[start..=end];
        match element {
            "<code>" | "<code class=\"language-sh\">" => code += 1,
            "</code>" => code -= 1,
            "<wbr>" => {}
            _ => found.push((element.to_owned(), std::mem::take(&mut text))),
        }
        assert!((0..=1).contains(&code), "code within code: {element}");
        rest = &rest[end + 1..];
    }
    found
}

fn names(count: usize, seed: u64) -> Vec<String> {
    let fragments = fragments("names");
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let name = |_| {
        let parts = random.random_range(1..=6);
        (0..parts).map(|_| fragments[random.random_range(0..fragments.len())].as_str()).collect()
    };
    (0..count).map(name).collect()
}

/// The visible prose, without spaces at its ends and without the backticks of code.
fn read(text: &str) -> String {
    text.replace(['`', '\u{200b}'], "").trim_matches([' ', '\n']).to_owned()
}

#[test]
fn t8_a_hundred_thousand_hostile_names_stay_text() {
    let Some(engine) = engine() else { return };
    for batch in 0..NAMES / BATCH {
        let names = names(BATCH, batch as u64);
        let mut page = String::from("| a | b | c |\n|:--|--:|:--|\n");
        let mut expected: Vec<(&str, String)> = Vec::new();
        for name in &names {
            let cells = [markdown_code(name), markdown(name), markdown_code_folding(name)];
            page += &format!("| {} |\n", cells.join(" | "));
            let cells = [0; 3].map(|_| visible(name).into_owned());
            expected.extend(cells.map(|cell| ("</td>", cell)));
        }
        page += "\n";
        for name in &names {
            page += &format!("- {}\n- {} t: {}\n", markdown(name), markdown_code(name), markdown(name));
            let (shown, code) = (visible(name), visible(name));
            expected.push(("</li>", shown.clone().into_owned()));
            expected.push(("</li>", format!("{code} t: {}", shown.trim_matches(' '))));
        }
        page += "\n";
        for name in &names {
            if !markdown(name).is_empty() {
                page += &format!("{}\n\n", markdown(name));
                expected.push(("</p>", visible(name).into_owned()));
            }
        }
        for name in &names {
            page += &format!("{}\n", markdown_block("sh", name));
            let lines: Vec<_> = name.lines().map(visible).collect();
            expected.push(("</pre>", lines.join("\n")));
        }
        let html = rendered(&engine, &page);
        let ours = ["table", "thead", "tbody", "tr", "th", "td", "ul", "li", "p", "pre"];
        let mut expected = expected.into_iter();
        for (element, text) in elements(&html) {
            let name: String = element.chars().filter(char::is_ascii_alphabetic).collect();
            let name = name.trim_end_matches("alignright").trim_end_matches("alignleft").to_owned();
            assert!(ours.contains(&name.as_str()), "{element} after {text:?}");
            if ["</td>", "</li>", "</p>", "</pre>"].contains(&element.as_str()) {
                let (close, shown) = expected.next().expect("no more texts than were written");
                assert_eq!((element.as_str(), read(&text)), (close, read(&shown)));
            }
        }
        assert_eq!(expected.next(), None, "every text is there");
    }
}

fn hostile(names: &[String]) -> VerdictDocument {
    let mut document = documents::one_regressed();
    let row = document.rows[0].clone();
    document.rows = names
        .chunks(4)
        .map(|texts| {
            let mut row = row.clone();
            row.case.params.insert("p".into(), ParamValue::Text(texts[0].clone()));
            (row.metric, row.reason, row.next) = (texts[1].clone(), texts[2].clone(), texts[3].clone());
            row.unit = texts[0].clone();
            row
        })
        .collect();
    document.sentence = names.iter().take(5).cloned().collect();
    document.warnings = names.iter().take(9).cloned().collect();
    (document.base.name, document.head.machine) = (names[0].clone(), names[1].clone());
    document.reproduce = names.iter().take(7).cloned().collect();
    document
}

#[test]
fn t8_a_page_of_hostile_texts_holds_only_the_elements_that_are_ours() {
    let Some(engine) = engine() else { return };
    let ours = "h3 h4 p strong sub table thead tbody tr th td br ul li pre details summary blockquote a";
    let ours: Vec<&str> = ours.split(' ').collect();
    for seed in 0..20 {
        let texts = names(400, 1000 + seed);
        let mut merged = Merged::single(&texts[0], hostile(&texts));
        merged.groups.push(merged.groups[0].clone());
        merged.sentence = texts[1].clone();
        let address = "https://github.com/o/r";
        let context = PublishContext {
            gate: texts[2].clone(),
            run_url: Some(format!("{address}/actions/runs/1")),
            report_url: Some(format!("{} ", texts[3])),
            server: "https://github.com".into(),
            slug: Some("o/r".into()),
            unverified: seed % 2 == 0,
            ..PublishContext::default()
        };
        for page in [comment(&merged, &context, "<!-- ours -->"), step_summary(&merged, &context)] {
            let html = rendered(&engine, &page.replace("<!-- ours -->", ""));
            for (element, text) in elements(&html) {
                let name: String = element
                    .trim_start_matches(['<', '/'])
                    .chars()
                    .take_while(char::is_ascii_alphanumeric)
                    .collect();
                assert!(ours.contains(&name.as_str()), "{element} after {text:?}");
                let link = element.strip_prefix("<a href=\"");
                assert!(link.is_none_or(|link| link.starts_with(address)), "{element}");
            }
            assert_eq!(html.matches("<details>").count(), html.matches("</details>").count());
        }
    }
}

/// The marker is searched on the last line only, which no name reaches; and no name contains one outside of code.
#[test]
fn t9_a_marker_in_a_name_is_none() {
    let forged = "<!-- gbench-ci {\"gate\":\"x\",\"run\":999} -->";
    let mut document = documents::one_regressed();
    for text in [&mut document.sentence, &mut document.rows[0].reason, &mut document.head.machine] {
        *text = format!("{forged}\n{forged}");
    }
    document.rows[0].case.params.insert("p".into(), ParamValue::Text(forged.into()));
    document.warnings = vec![forged.into()];
    let page =
        comment(&Merged::single(forged, document), &PublishContext::default(), "<!-- gbench-ci {} -->");
    assert_eq!(page.lines().last(), Some("<!-- gbench-ci {} -->"));
    assert_eq!((page.matches("<!--").count(), page.matches("-->").count()), (1, 1), "{page}");
    assert!(page.len() < MAX_COMMENT);
}
