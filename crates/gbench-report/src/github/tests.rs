//! Limits and forms of posts for made-up, random and hostile documents.

use std::collections::BTreeMap;

use proptest::prelude::*;
use strum::VariantArray;

use super::parts::context::MAX_SUMMARY;
use super::*;
use crate::test_support as documents;
use crate::test_support::{of_rows, row, timed};
use gbench_compare::{Conclusion, Difference, Group, Merged, Row, SCHEMA_MERGED, Verdict, VerdictDocument};
use gbench_model::{BaseChoice, MAX_CHECK, MAX_COMMENT, ParamValue, SourceLine};

pub(super) const MARKER: &str = "<!-- gbench-ci {\"gate\":\"x\"} -->";

pub(super) fn context() -> PublishContext {
    PublishContext {
        gate: "gbench-ci".into(),
        head: Some("02ab45cd66778899aabbccddeeff00112233aabb".into()),
        base: BaseChoice {
            commit: Some("9f1c2e7ab04d5566778899aabbccddeeff001122".into()),
            committed: None,
            why: "the merge base of main and this branch, 3 days old".into(),
            by_hand: false,
        },
        run_url: Some("https://github.com/o/r/actions/runs/1".into()),
        report_url: Some("https://github.com/o/r/actions/runs/1/artifacts/2".into()),
        server: "https://github.com".into(),
        slug: Some("o/r".into()),
        ..PublishContext::default()
    }
}

/// `count` rows with names of 200 characters that differ at the end.
fn long(count: usize, verdict: impl Fn(usize) -> Verdict) -> Vec<Row> {
    let one = |index: usize| {
        let mut row = timed("s/x", verdict(index), 1.5e-3, 0.1, 0.03);
        let tail = format!("[batch_size=4096,n={index}]");
        let stem = "models/transformer_block_forward_and_backward_with_flash_attention_";
        let name = format!("{stem}{}", "k".repeat(200 - stem.len() - tail.len()));
        row.case = documents::case(&name, &[("batch_size", 4096), ("n", index as i64)]);
        assert_eq!(row.case.to_string().len(), 200);
        row.reason = "at least 5.1 % worse over 12 rounds, 99 % sure for the whole suite".into();
        row.next = "look for the cause in `git log -p 9f1c2e7ab0..02ab45cd66`".into();
        row
    };
    (0..count).map(one).collect()
}

fn merged(documents: Vec<(String, VerdictDocument)>) -> Merged {
    let mut counts: BTreeMap<Verdict, u32> = BTreeMap::new();
    for (verdict, count) in documents.iter().flat_map(|(_, document)| &document.counts) {
        *counts.entry(*verdict).or_default() += count;
    }
    let first = &documents[0].1;
    Merged {
        schema: SCHEMA_MERGED.into(),
        tool_version: first.tool_version.clone(),
        conclusion: first.conclusion,
        exit_code: first.exit_code,
        sentence: first.sentence.clone(),
        counts,
        groups: documents.into_iter().map(|(label, verdict)| Group { label, verdict }).collect(),
        warnings: Vec::new(),
        warning_codes: Vec::new(),
    }
}

fn shown(page: &str, sign: &str) -> usize {
    page.lines().filter(|line| line.starts_with("| ") && line.contains(sign)).count()
}

/// The page without its fenced blocks, whose content is arbitrary; each of them is closed.
fn outside_of_fences(page: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut outside = String::new();
    for line in page.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => fence = Some(line.trim_end_matches("sh")),
            None => outside += &format!("{line}\n"),
        }
    }
    assert_eq!(fence, None);
    outside
}

/// Holds for any posted text.
fn well_formed(page: &str, limit: usize) {
    assert!(page.len() <= limit, "{} bytes of {limit}", page.len());
    let page = &outside_of_fences(page);
    assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
    let mut columns = None;
    for line in page.lines() {
        // No name contains a pipe or a line break, so counting pipes counts cells.
        let pipes = line.starts_with("| ").then(|| line.matches('|').count());
        let line_of_head = line.starts_with("|:");
        if line_of_head {
            assert_eq!(Some(line.matches('|').count()), columns, "{line}");
        } else if let (Some(before), Some(here)) = (columns, pipes) {
            assert_eq!(before, here, "{line}");
        }
        if !line_of_head {
            columns = pipes;
        }
        assert!(pipes.is_none() || line.ends_with(" |"), "{line}");
    }
}

fn all_well_formed(merged: &Merged, context: &PublishContext) {
    let comment = comment(merged, context, MARKER);
    well_formed(&comment, MAX_COMMENT);
    assert!(comment.ends_with(&format!("\n\n{MARKER}\n")), "{comment}");
    assert_eq!(outside_of_fences(&comment).matches("<!--").count(), 1);
    let (title, body) = issue(merged, context, context.run_url.as_deref());
    well_formed(&body, MAX_COMMENT - 1024);
    assert!(title.len() <= 200 && !title.contains('\n'));
    well_formed(&step_summary(merged, context), MAX_SUMMARY);
    well_formed(&closing_note(merged, context), MAX_COMMENT);
    let check = check(merged, context);
    well_formed(&check.summary, MAX_CHECK);
    well_formed(check.text.as_deref().unwrap_or_default(), MAX_CHECK);
    assert!(check.title.len() <= 255 && check.annotations.len() <= 200);
    let log = annotations_of_log(merged, context);
    assert!(log.len() <= 10);
    let texts = check.annotations.iter().map(|annotation| (&annotation.title, &annotation.message));
    for (title, message) in texts.chain(log.iter().map(|annotation| (&annotation.title, &annotation.message)))
    {
        assert!(title.len() <= 255 && !title.contains('\n') && message.len() <= 16_384);
    }
}

/// The comment, after a check that all other texts are well-formed.
fn comment_of(merged: &Merged) -> String {
    all_well_formed(merged, &context());
    comment(merged, &context(), MARKER)
}

#[test]
fn b2_five_hundred_cases_with_long_names_of_which_none_changed() {
    let merged = Merged::single("", of_rows(long(500, |_| Verdict::Unchanged), Conclusion::Pass, 0));
    let comment = comment_of(&merged);
    assert!(comment.contains("500 rows: 500 unchanged"), "{comment}");
    assert!(comment.contains("440 further rows are in the [whole report](https://github.com/"), "{comment}");
    assert!(step_summary(&merged, &context()).contains("n=499&#93;"));
}

#[test]
fn b2_five_hundred_cases_with_long_names_and_some_of_each_verdict() {
    let verdict = |index: usize| Verdict::VARIANTS[index % Verdict::VARIANTS.len()];
    let merged = Merged::single("", of_rows(long(500, verdict), Conclusion::Regressed, 1));
    let comment = comment_of(&merged);
    // All failed rows stay; improved and new rows are dropped first.
    assert_eq!(shown(&comment, "❌ regressed") + shown(&comment, "❌\u{a0}regressed"), 50);
    assert_eq!(shown(&comment, "❌\u{a0}invalid") + shown(&comment, "❌\u{a0}missing"), 100);
    assert!(comment.contains("<summary>How it was decided</summary>") || comment.contains("further rows"));
}

#[test]
fn b2_three_hundred_regressions_with_long_names_all_stay() {
    let verdict = |index: usize| if index < 300 { Verdict::Regressed } else { Verdict::Unchanged };
    let merged = Merged::single("", of_rows(long(500, verdict), Conclusion::Regressed, 1));
    let comment = comment_of(&merged);
    assert_eq!(shown(&comment, "❌\u{a0}regressed"), 300);
    // Each is still distinguishable, and has its advice.
    for index in 0..300 {
        assert!(comment.contains(&format!(",n={index}]`")), "{index}");
    }
    assert!(comment.contains("git log -p 9f1c2e7ab0..02ab45cd66"), "{comment}");
    // The folded results were dropped.
    assert!(comment.contains("further rows are in the [whole report]"), "{comment}");
}

#[test]
fn more_regressions_than_any_comment_holds_are_counted_and_linked() {
    let long = |label: &str| {
        (label.to_owned(), of_rows(long(2000, |_| Verdict::Regressed), Conclusion::Regressed, 1))
    };
    let merged = merged(vec![long("h100"), long("a100")]);
    let comment = comment_of(&merged);
    let rows = shown(&comment, "❌\u{a0}regressed");
    assert!(rows > 300, "{rows}");
    let more = |rows| format!("{} further rows are in the [whole report](https://", 2000 - rows);
    assert!(comment.contains(&more(rows / 2)) && comment.contains(&more(rows - rows / 2)), "{rows}");
}

#[test]
fn every_usual_document_is_well_formed_alone_and_together() {
    let together = documents::all().into_iter().map(|(name, document)| (name.to_owned(), document)).collect();
    all_well_formed(&merged(together), &context());
    for (_, document) in documents::all() {
        for context in
            [context(), PublishContext::default(), PublishContext { unverified: true, ..context() }]
        {
            all_well_formed(&Merged::single("", document.clone()), &context);
        }
    }
}

#[test]
fn a_thousand_machines_are_counted_where_they_have_no_section() {
    let machine = |index: usize| {
        let document = match index {
            999 => documents::one_regressed(),
            _ => documents::all_unchanged(),
        };
        (format!("machine-{index}"), document)
    };
    let merged = merged((0..1000).map(machine).collect());
    let comment = comment_of(&merged);
    assert!(comment.contains("#### ❌ machine-999: regressed"), "the red one has its section");
    assert!(comment.contains("machines without a section here: see the [whole report]"), "{comment}");
}

/// All texts of one verdict, with breakable blanks.
pub(super) fn texts(merged: &Merged, context: &PublishContext) -> Vec<String> {
    let check = check(merged, context);
    let annotations = check.annotations.iter().map(|annotation| annotation.message.clone());
    let log = annotations_of_log(merged, context).into_iter().map(|annotation| annotation.message);
    let mut texts = vec![comment(merged, context, MARKER), step_summary(merged, context), check.summary];
    texts.push(issue(merged, context, None).1);
    texts.extend(annotations.chain(log));
    texts.into_iter().map(|text| text.replace('\u{a0}', " ")).collect()
}

#[test]
fn many_rows_of_one_benchmark_are_one_annotation() {
    let source = SourceLine {
        benchmark: long(1, |_| Verdict::New)[0].case.benchmark.to_string(),
        path: "a.py".into(),
        line: 1,
    };
    let verdict = |index| if index < 30 { Verdict::Regressed } else { Verdict::Inconclusive };
    let merged = Merged::single("", of_rows(long(40, verdict), Conclusion::Regressed, 1));
    let annotations = check(&merged, &PublishContext { sources: vec![source], ..context() }).annotations;
    assert_eq!(annotations.len(), 1);
    assert!(annotations[0].title.ends_with(": 10 regressed"), "{}", annotations[0].title);
    let lines: Vec<&str> = annotations[0].message.lines().collect();
    assert_eq!(lines.len(), 11, "{lines:#?}");
    assert!(lines[10].starts_with("for these 10: "), "{lines:#?}");
}

/// Fragments that try to leave their context.
pub(super) fn fragments(of: &str) -> Vec<String> {
    let mut all: BTreeMap<String, Vec<String>> = serde_json::from_str(include_str!("hostile.json")).unwrap();
    all.remove(of).unwrap()
}

fn hostile_text() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(fragments("posts"));
    (prop::collection::vec(fragment, 0..12), prop::sample::select(vec![1usize, 1, 1, 1, 1, 40]))
        .prop_map(|(parts, times)| parts.concat().repeat(times))
}

fn any_row() -> impl Strategy<Value = Row> {
    let figures = (prop::sample::select(Verdict::VARIANTS), any::<f64>(), any::<f64>(), any::<bool>());
    let texts = (hostile_text(), hostile_text(), hostile_text(), hostile_text());
    (figures, texts).prop_map(|((verdict, base, slowdown, measured), (name, metric, reason, next))| {
        let mut row =
            if measured { timed("s/x", verdict, base, slowdown, 0.01) } else { row("s/x", verdict) };
        row.case.params.insert("p".into(), ParamValue::Text(name));
        (row.metric, row.unit) = (metric.clone(), metric);
        (row.reason, row.next) = (reason, next);
        row
    })
}

fn any_document() -> impl Strategy<Value = VerdictDocument> {
    let conclusion = prop::sample::select(vec![
        (Conclusion::Pass, 0),
        (Conclusion::Regressed, 1),
        (Conclusion::Failed, 4),
        (Conclusion::Inconclusive, 3),
        (Conclusion::Incomparable, 5),
    ]);
    let rows = (prop::collection::vec(any_row(), 0..12), 1usize..12);
    let texts = prop::collection::vec(hostile_text(), 6..20);
    (conclusion, rows, texts, any::<bool>()).prop_map(|((conclusion, code), (rows, times), texts, strict)| {
        let rows = rows.iter().cycle().take(rows.len() * times).cloned().collect();
        let mut document = of_rows(rows, conclusion, code);
        document.sentence = texts[0].clone();
        document.reproduce = texts[1].clone();
        document.tool_version = texts[2].clone();
        document.base.name = texts[3].clone();
        document.head.machine = texts[4].clone();
        document.head.commit = Some(texts[5].clone());
        let field = |text: &String| Difference {
            field: text.clone(),
            base: text.clone(),
            head: text.clone(),
            strict,
        };
        document.differences = texts.iter().map(field).collect();
        document.warnings = texts;
        document
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_documents_give_texts_within_their_limits(
        documents in prop::collection::vec((hostile_text(), any_document()), 1..5),
        (gate, why, url, flags) in (hostile_text(), hostile_text(), hostile_text(), hostile_text()),
        unverified: bool,
    ) {
        let base = BaseChoice { commit: Some(url.clone()), committed: Some(why.clone()), why, by_hand: false };
        let odd = PublishContext {
            gate, base, unverified,
            head: Some(url.clone()),
            run_url: Some(url.clone()),
            report_url: Some(format!("https://x/{url}")),
            flags,
            server: url.clone(),
            slug: Some(url),
            ..PublishContext::default()
        };
        let mut merged = merged(documents);
        merged.warnings = merged.groups[0].verdict.warnings.clone();
        all_well_formed(&merged, &odd);
        all_well_formed(&merged, &context());
    }
}

#[test]
fn what_became_of_device_code_is_folded_and_gives_way_to_room() {
    let told =
        |document: VerdictDocument| comment(&merged(vec![(String::new(), document)]), &context(), MARKER);
    let page = told(documents::named("device_code"));
    assert!(
        page.contains("<summary>Device code: 1 changed, 13 identical, 1 not comparable</summary>"),
        "{page}"
    );
    assert!(page.contains("| `gemm_tiled` | 16"), "{page}");
    let mut flood = documents::named("device_code");
    let kernel = flood.device_code[0].kernels[0].clone();
    flood.device_code[0].kernels = (0..5000)
        .map(|index| {
            let name = format!("{}{index}", "k".repeat(4000));
            gbench_compare::KernelChange { name, ..kernel.clone() }
        })
        .collect();
    let page = told(flood);
    assert!(page.len() <= MAX_COMMENT, "{}", page.len());
    assert!(!told(documents::one_regressed()).contains("Device code"));
}
