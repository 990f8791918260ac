//! `gbench-ci site`: pages of a history, through the binary; whatever stands in a record stays text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gbench_ci::compare::{
    AcceptanceDecision, AcceptedFinding, AcceptedRow, DecisionKind, LandedDecision, SCHEMA_ACCEPTED,
};
use gbench_ci::history::{BesideFile, HistoryBranch, HistoryEntry};
use gbench_ci::model::{CaseId, Probe};
use gbench_ci::report::html::case_page;
use gbench_ci::trend::TrendsDocument;

use crate::support::cli::{Ran, ended, ran};
use crate::support::git::Sandbox;
use crate::support::job::{Checkout, outside, work};
use crate::support::nightly::{append, commit, night};
use crate::support::records::{Planned, build_sized, crash, noise, plan};

const HOSTILE: [&str; 5] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "a\u{202e}b",
    "../../../etc/x",
];

/// A year of nights with a step, a new driver and a gap, and a step that was accepted.
fn year() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let nights = (0..90).map(|number| {
        let step = if number < 60 { 1.0 } else { 1.06 };
        let better = if number < 70 { 1.0 } else { 0.95 };
        let mut entry =
            night(number, &[("kernels/gemm", step), ("kernels/softmax", step), ("kernels/norm", better)]);
        if let (20.., Probe::Known(gpu)) = (number, &mut entry.record.manifest.gpu) {
            gpu.driver = Probe::Known("590.11".into());
        }
        entry
    });
    append(&sandbox.root(), nights);
    sandbox
}

fn write(sandbox: &Sandbox, flags: &str) -> (PathBuf, Ran) {
    let out = sandbox.folder.path().join("out");
    let line = format!("site {} --store git:gbench-history --repository acme/kernels {flags}", out.display());
    (out, ran(&sandbox.root(), &line))
}

fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for place in ["", "case/", "comparison/"] {
        let entries = std::fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        found.extend(files.map(|entry| format!("{place}{}", entry.file_name().to_str().unwrap())));
    }
    found
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// The values of an attribute, as a browser reads them.
fn values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    let parts = html.split(&start).skip(1);
    let unescaped =
        |it: &str| it.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    parts.map(|part| unescaped(part.split('"').next().unwrap())).collect()
}

/// Nothing on a page can be run or loaded, and each of its links leads somewhere.
fn is_harmless(folder: &Path, file: &str) {
    let html = text(folder, file);
    let small = html.to_lowercase();
    for forbidden in [
        "<script",
        "<iframe",
        "<object",
        "<embed",
        "<base",
        "<form",
        "javascript:\"",
        " onerror=\"",
        " style=\"",
    ] {
        assert!(!small.contains(forbidden), "{file} has {forbidden}");
    }
    assert!(!html.contains('\u{202e}'), "{file} turns its text around");
    assert!(html.contains("default-src 'none'"), "{file} has no policy");
    assert_eq!(html.matches("<style>").count(), 1, "{file}");
    assert!(html.len() < 300_000, "{file} has {} bytes", html.len());
    let up = folder.join(file);
    for link in values(&html, "href").iter().chain(&values(&html, "src")) {
        let is_page = link.starts_with("https://github.com/acme/kernels/") || link.starts_with("data:");
        if is_page || link.starts_with('#') {
            continue;
        }
        assert!(!link.contains(':'), "{file} leads to {link}");
        assert!(up.parent().unwrap().join(link).is_file(), "{file} leads to {link}, which is not there");
    }
    // Each name of an element is there once.
    let mut ids = values(&html, "id");
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "{file}");
}

#[test]
fn a_year_becomes_an_overview_and_a_page_for_each_case() {
    let sandbox = year();
    let (out, written) = write(&sandbox, "--title Kernels --note Simulated.");
    written.exits(0).says("5 cases and 0 comparisons in").says("index.html");
    let files = files(&out);
    assert_eq!(files.len(), 5 + 2, "{files:?}");
    files.iter().filter(|file| file.ends_with(".html")).for_each(|file| is_harmless(&out, file));
    let index = text(&out, "index.html");
    for words in [
        "<h1>Kernels</h1>",
        "<p class=\"banner\" role=\"note\">Simulated.</p>",
        "<strong>1</strong> lastingly worse",
        "<strong>2</strong> lastingly better",
        "driver 570.86.15 → 590.11",
        "▲ +",
        "The noisiest",
    ] {
        assert!(index.contains(words), "`{words}` in {index}");
    }
    assert!(!index.contains("without a figure"), "every case has one: {index}");
    let document = ran(&sandbox.root(), "history --format json --store git:gbench-history").exits(0).out;
    let document: TrendsDocument = serde_json::from_str(&document).unwrap();
    let gemm = document.series.iter().find(|it| it.case.benchmark.as_str() == "kernels/gemm").unwrap();
    let page = text(&out, &case_page(&gemm.case));
    assert_eq!(page.matches("<circle").count(), 90, "each run is a point");
    // What is wider than the chart ends at the chart's edges: it is drawn in a picture of that size.
    let (before, bands) = page.split_once("<path class=\"band\"").unwrap();
    assert!(
        before.ends_with(
            "<svg x=\"76.0\" y=\"34.0\" width=\"808.0\" height=\"216.0\" viewBox=\"76 34 808 216\">"
        ),
        "{before}"
    );
    assert!(!bands.split_once("</svg>").unwrap().1.contains("class=\"band\""), "{page}");
    let change = &gemm.changes[0];
    let (good, bad) = (change.good.clone().unwrap(), change.bad.clone().unwrap());
    for words in [
        &format!("https://github.com/acme/kernels/compare/{good}...{bad}"),
        &format!("<title>2026-03-01 {}: ", &commit(59)[..10]),
        "worse since",
        "break",
        "<svg class=\"chart\"",
        "role=\"img\"",
    ] {
        assert!(page.contains(words), "`{words}` in {page}");
    }
}

/// That maria accepted a slowdown in a pull request that came with this commit.
fn accepted(case: CaseId, merged_as: String, reason: &str) -> LandedDecision {
    LandedDecision {
        schema: SCHEMA_ACCEPTED.into(),
        gate: "gbench-ci".into(),
        pull: 7,
        merged_as: merged_as.clone(),
        decision: AcceptanceDecision {
            kind: DecisionKind::Accept,
            comment: 1,
            by: "maria".into(),
            at: "2026-03-01T00:00:00Z".into(),
            head: merged_as,
            reason: reason.into(),
            rows: vec![AcceptedRow {
                label: String::new(),
                case,
                metric: "time".into(),
                finding: AcceptedFinding::Slower { slowdown: 0.06, low: 0.05, high: 0.07 },
            }],
        },
    }
}

#[test]
fn an_accepted_step_is_shown_as_accepted_with_who_and_why() {
    let sandbox = year();
    let document = ran(&sandbox.root(), "history --format json --store git:gbench-history").exits(0).out;
    let document: TrendsDocument = serde_json::from_str(&document).unwrap();
    let gemm = document.series.iter().find(|it| it.case.benchmark.as_str() == "kernels/gemm").unwrap();
    let decision = accepted(gemm.case.clone(), gemm.changes[0].bad.clone().unwrap(), HOSTILE[0]);
    let bytes = serde_json::to_vec_pretty(&decision).unwrap();
    let beside = BesideFile { path: "history/accepted/7-1.json".into(), bytes };
    let history = HistoryBranch::open(&"git:gbench-history".parse().unwrap(), &sandbox.root(), None).unwrap();
    let step = [("kernels/gemm", 1.06), ("kernels/softmax", 1.06), ("kernels/norm", 0.95)];
    let mut entry = night(90, &step);
    if let Probe::Known(gpu) = &mut entry.record.manifest.gpu {
        gpu.driver = Probe::Known("590.11".into());
    }
    history.append_with(&entry, &[beside]).unwrap();
    let (out, written) = write(&sandbox, "");
    written.exits(0);
    let page = text(&out, &case_page(&gemm.case));
    assert!(page.contains("worse, accepted") && page.contains("accepted by maria in #7"), "{page}");
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "{page}");
    is_harmless(&out, &case_page(&gemm.case));
    assert!(text(&out, "index.html").contains("<strong>1</strong> worse, and accepted"));
}

#[test]
fn hostile_names_are_text_on_every_page() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let hostile = |number: u32| -> HistoryEntry {
        let mut entry = night(number, &[]);
        for (case, name) in entry.record.cases.iter_mut().zip(HOSTILE) {
            let mut id = serde_json::to_value(&case.id).unwrap();
            id["params"] = serde_json::json!({ "p": name, "q": "x".repeat(300) });
            id["device"] = name.into();
            case.id = serde_json::from_value::<CaseId>(id).unwrap();
        }
        entry
    };
    append(&sandbox.root(), (0..30).map(hostile));
    let out = sandbox.folder.path().join("out");
    let mut command = outside(&sandbox.root(), "site");
    command.arg(&out).args(["--store", "git:gbench-history", "--title", HOSTILE[0], "--note", HOSTILE[1]]);
    ended(command).exits(0);
    let pages = files(&out);
    assert_eq!(pages.len(), 5 + 2, "{pages:?}");
    for file in pages.iter().filter(|file| file.ends_with(".html")) {
        is_harmless(&out, file);
    }
}

#[test]
fn a_comparison_has_its_page() {
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.1, 1.0, 1.0]))]);
    append(&checkout.root(), (0..12).map(|number| night(number, &[])));
    let alone = checkout.sandbox.folder.path().join("alone.html");
    let line = format!("compare main..topic --quiet --html {}", alone.display());
    let compared = ended(outside(&checkout.root(), &line)).exits(1);
    is_harmless(alone.parent().unwrap(), "alone.html");
    let page = std::fs::read_to_string(&alone).unwrap();
    for words in ["regressed", "data:image/svg+xml;base64,", "s/c0"] {
        assert!(page.contains(words), "`{words}` in {page}");
    }
    assert!(!page.contains("index.html"), "it stands alone: {page}");
    let line = format!("compare main..topic --html {0} --json {0}", alone.display());
    ended(outside(&checkout.root(), &line))
        .exits(2)
        .says("--json, --html: the two would overwrite each other");
    let out = checkout.sandbox.folder.path().join("out");
    let line = format!("site {} --store git:gbench-history --repository acme/kernels", out.display());
    ended(outside(&checkout.root(), &line)).exits(0).says("5 cases and 1 comparison in");
    let file = files(&out).into_iter().find(|file| file.starts_with("comparison/")).unwrap();
    is_harmless(&out, &file);
    let page = text(&out, &file);
    for words in ["regressed", "data:image/svg+xml;base64,", "<h2 id=\"why\">Why</h2>", "../index.html"] {
        assert!(page.contains(words), "`{words}` in {page}");
    }
    assert!(text(&out, "index.html").contains(&file));
    assert!(compared.out.contains("REGRESSED"));
}

#[test]
fn only_what_it_wrote_itself_is_replaced() {
    let sandbox = year();
    let (out, written) = write(&sandbox, "");
    written.exits(0);
    let first = files(&out);
    std::fs::write(out.join("CNAME"), "bench.example.org").unwrap();
    let (_, written) = write(&sandbox, "--runs 3 --title Again");
    written.exits(0);
    assert!(out.join("CNAME").is_file(), "a file of somebody else stays");
    // A list that was changed leads nowhere.
    let outside = sandbox.folder.path().join("outside.html");
    std::fs::write(&outside, "mine").unwrap();
    std::fs::write(out.join("case/old-0123456789.html"), "old").unwrap();
    let list = format!(
        "../outside.html\ncase/../../outside.html\ncase/old-0123456789.html\n{}",
        text(&out, "gbench-ci-site.txt")
    );
    std::fs::write(out.join("gbench-ci-site.txt"), list).unwrap();
    write(&sandbox, "").1.exits(0);
    assert!(outside.is_file() && !out.join("case/old-0123456789.html").exists());
    let mut last = files(&out);
    assert!(last.remove("CNAME"));
    assert_eq!(last, first);

    let elsewhere = sandbox.folder.path().join("mine");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("notes.txt"), "x").unwrap();
    let line = format!("site {} --store git:gbench-history", elsewhere.display());
    ran(&sandbox.root(), &line).exits(2).says("files that are no site of gbench-ci").says("new or empty");
    assert_eq!(files(&elsewhere).len(), 1);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_written() {
    let sandbox = year();
    for (flags, words) in [
        ("--store git:nothing", "no such branch"),
        ("--repository acme", "OWNER/REPO"),
        ("--comparison nowhere", "nowhere"),
        ("--since yesterday", "neither a date nor a time span"),
    ] {
        let out = sandbox.folder.path().join("out");
        let store = if flags.starts_with("--store") { "" } else { "--store git:gbench-history" };
        let ended = ran(&sandbox.root(), &format!("site {} {store} {flags}", out.display())).exits(2);
        assert!(ended.err.contains(words) || flags.contains("nothing"), "{}", ended.err);
        assert!(!out.exists(), "{flags}");
    }
}

/// The made-up year that `.ci/run site` looks at in a browser: 300 nights of 50 cases, in the folder that `GBENCH_SITE_YEAR` names, with
/// a comparison beside it. Nothing in it was measured but the comparison.
#[test]
#[ignore = "it writes what .ci/run site needs"]
fn a_simulated_year() {
    let folder =
        PathBuf::from(std::env::var_os("GBENCH_SITE_YEAR").expect("GBENCH_SITE_YEAR names a folder"));
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.1, 1.0, 0.9]))]);
    append(&checkout.root(), (0..YEAR).map(night_of_the_year));
    accept_softmax(&checkout.root());
    ended(outside(&checkout.root(), "compare main..topic --quiet")).exits(1);
    let moved =
        std::process::Command::new("cp").arg("-a").arg(checkout.root()).arg(&folder).status().unwrap();
    assert!(moved.success(), "{}", folder.display());
}

const YEAR: u32 = 300;

/// 48 cases of eight kernels by their size, and one kernel in two variants.
fn cases_of_the_year() -> Vec<Planned> {
    let kernels = [
        ("kernels/gemm", "time", "s", 1.2e-3),
        ("kernels/softmax", "time", "s", 2.1e-4),
        ("kernels/layernorm", "time", "s", 9.0e-5),
        ("kernels/attention", "throughput", "GB/s", 1650.0),
        ("kernels/scan", "time", "s", 5.2e-5),
        ("kernels/sort", "time", "s", 7.7e-4),
        ("kernels/copy", "throughput", "GB/s", 2400.0),
        ("kernels/reduce", "time", "s", 3.1e-5),
    ];
    let sizes = (0..6).map(|power| 256 << power);
    let of_kernel = |(name, metric, unit, centre): (&'static str, &'static str, &'static str, f64)| {
        let factor = move |n: i64| if unit == "s" { n as f64 / 1024.0 } else { 1.0 };
        sizes.clone().map(move |n| plan(name, n, "cuda:0", metric, unit, centre * factor(n), 0.002))
    };
    let spmv = [1, 2].map(|_| plan("kernels/spmv", 4096, "cuda:0", "time", "s", 4.4e-4, 0.002));
    kernels.into_iter().flat_map(of_kernel).chain(spmv).collect()
}

/// What the code makes of a case in a night, against the first.
fn factor_of_the_year(number: u32, benchmark: &str, n: i64, is_optimized: bool) -> f64 {
    let from = |night: u32, factor: f64| if number >= night { factor } else { 1.0 };
    match (benchmark, n) {
        ("kernels/gemm", 1024) => from(180, 1.041),
        ("kernels/attention", _) => from(120, 1.08),
        ("kernels/softmax", 4096) => from(240, 1.03),
        ("kernels/layernorm", 2048) => 1.001_f64.powi(number.saturating_sub(230) as i32),
        ("kernels/sort", 512) => from(60, 0.93) * from(260, 1.05),
        ("kernels/spmv", _) if is_optimized => 0.8 * from(200, 0.9),
        _ => 1.0,
    }
}

fn night_of_the_year(number: u32) -> HistoryEntry {
    let plans = cases_of_the_year();
    let mut entry = night(number, &[]);
    let mut record = build_sized(number, &plans, 4, 3);
    (record.run_id, record.started) = (entry.record.run_id.clone(), entry.record.started.clone());
    for (index, case) in record.cases.iter_mut().enumerate() {
        let n = plans[index].n;
        let is_optimized = index + 1 == plans.len();
        let quiet = case.id.benchmark.as_str() != "kernels/copy" || n != 256;
        let spread = if quiet { 0.006 } else { 0.03 };
        let factor = factor_of_the_year(number, case.id.benchmark.as_str(), n, is_optimized);
        let factor = factor * (spread * noise([number, index as u32, 3, 3])).exp();
        for value in case.metrics.iter_mut().flat_map(|it| &mut it.processes).flat_map(|it| &mut it.values) {
            *value *= factor;
        }
        let mut id = serde_json::to_value(&case.id).unwrap();
        if case.id.benchmark.as_str() == "kernels/spmv" {
            id["variant"] = if is_optimized { "optimized" } else { "baseline" }.into();
        }
        // What a program may say of itself.
        if case.id.benchmark.as_str() == "kernels/reduce" {
            id["params"]["layout"] = HOSTILE[index % HOSTILE.len()].into();
        }
        case.id = serde_json::from_value(id).unwrap();
    }
    if let (90.., Probe::Known(gpu)) = (number, &mut record.manifest.gpu) {
        gpu.driver = Probe::Known("590.11".into());
    }
    if number >= 280 {
        record.cases.retain(|case| {
            case.id.benchmark.as_str() != "kernels/scan" || case.id.params["n"].to_string() != "512"
        });
    }
    if number + 1 == YEAR {
        crash(&mut record, "kernels/sort");
    }
    entry.record = record;
    entry
}

fn accept_softmax(root: &Path) {
    let history = HistoryBranch::open(&"git:gbench-history".parse().unwrap(), root, None).unwrap();
    let last = night_of_the_year(YEAR);
    let is_it =
        |id: &CaseId| id.benchmark.as_str() == "kernels/softmax" && id.params["n"].to_string() == "4096";
    let case = last.record.cases.iter().map(|case| case.id.clone()).find(is_it).unwrap();
    let decision = accepted(case, commit(240), "exact results need the longer sum");
    let bytes = serde_json::to_vec_pretty(&decision).unwrap();
    // Another run of the last night brings it.
    let beside = BesideFile { path: "history/accepted/412-1.json".into(), bytes };
    let mut again = night_of_the_year(YEAR - 1);
    again.record.run_id = "20261027T120000.000Z-00aaaa".parse().unwrap();
    again.run_id = again.record.run_id.clone();
    history.append_with(&again, &[beside]).unwrap();
}
