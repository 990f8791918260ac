//! `explain` and `replay` on comparisons that are kept.

use std::path::Path;

use gbench_ci::model::{FailureKind, Outcome, RunRecord};

use crate::support::cli::{Ran, command, ended, ran, write};
use crate::support::stories::{self, Story};
use crate::support::{fixture, records};

const ID: &str = "20261121T110000.000Z-c0ffee";

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/rounds");
    settings.set_omit_expression(true);
    settings
}

/// A folder with one comparison in its artifacts.
fn kept(story: &Story) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    story.write(&folder.path().join("artifacts"));
    folder
}

/// Runs the line on a story.
fn on(story: &Story, line: &str) -> Ran {
    ran(kept(story).path(), line)
}

#[test]
fn every_kind_of_verdict_is_explained_at_eighty_columns() {
    let _bound = settings().bind_to_scope();
    // The base once more, and slower than itself.
    let mut red_in_doubt = stories::red();
    let mut control = red_in_doubt.base.clone();
    control.side = Some(gbench_ci::model::Side::Control);
    control.cases.retain(|case| case.id.benchmark.as_str() == "kernels/gemm");
    records::scale(&mut control, "kernels/gemm", 1.05);
    red_in_doubt.control = Some(control);
    for (name, story, case) in [
        ("regressed", stories::red(), "kernels/gemm"),
        ("improved", stories::red(), "kernels/softmax"),
        ("open", stories::open(), "kernels/scan"),
        ("ended_early", stories::open(), "kernels/attention"),
        ("screened_out", stories::clean(), "kernels/gemm"),
        ("certified_later", stories::clean(), "kernels/conv"),
        ("taken_back", red_in_doubt, "memory/copy"),
    ] {
        let text = on(&story, &format!("explain {case}")).exits(0).out;
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{name}");
        insta::assert_snapshot!(format!("explain_{name}"), text);
    }
}

#[test]
fn every_round_is_listed_and_ascii_is_enough() {
    let _bound = settings().bind_to_scope();
    let folder = kept(&stories::red());
    let mut line = command(folder.path(), "explain gemm --all");
    line.env("LC_ALL", "C");
    let text = ended(line).exits(0).out;
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("explain_every_round", text);
}

#[test]
fn the_numbers_of_an_explanation_are_those_of_the_verdict() {
    let story = stories::red();
    let text = on(&story, "explain kernels/gemm --format json").exits(0).out;
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let verdict = story.verdict();
    let row = verdict.rows.iter().find(|row| row.case.benchmark.as_str() == "kernels/gemm").unwrap();
    let sequence = row.sequence.as_ref().unwrap();
    let argument = &found["rows"][0]["argument"];
    let last = argument["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["log10_worse"].as_f64().unwrap(), sequence.log10_worse);
    assert_eq!(argument["log10_needed_worse"].as_f64().unwrap(), sequence.log10_needed);
    assert_eq!(
        (&argument["ruled"], &found["schema"]),
        (&"regressed".into(), &"gbench-ci/explanation/v1".into())
    );
    let rounds = argument["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), sequence.rounds as usize);
    for round in rounds {
        let of = |name: &str| round[name].as_f64().unwrap();
        assert!((of("difference") - (of("head") / of("base")).ln()).abs() < 1e-12, "{round}");
    }
}

#[test]
fn an_image_stands_alone_and_escapes_what_it_shows() {
    let mut story = stories::red();
    for record in [&mut story.base, &mut story.head] {
        let case = records::case_of(record, "kernels/gemm");
        case.id
            .params
            .insert("evil".into(), gbench_ci::model::ParamValue::Text("</text><script>x&'\"".into()));
    }
    let folder = kept(&story);
    ran(folder.path(), "explain gemm --svg why.svg").exits(0);
    let svg = std::fs::read_to_string(folder.path().join("why.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"));
    assert!(
        !svg.contains("<script") && svg.contains("&lt;/text&gt;&lt;script&gt;x&amp;&#39;&quot;"),
        "{svg}"
    );
    for outside in ["href", "url(", "@import", "<image", "<foreignObject", "NaN", "inf"] {
        assert!(!svg.contains(outside), "{outside} in {svg}");
    }
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("needed"));
    // Every element that is opened is closed.
    let opened = svg.matches('<').count();
    assert_eq!(opened, svg.matches("/>").count() + 2 * svg.matches("</").count(), "{svg}");
    ran(folder.path(), "explain * --svg why.svg").exits(2).says("an image shows one");
}

#[test]
fn a_case_is_found_by_name_by_glob_and_its_neighbours_are_named() {
    let folder = kept(&stories::red());
    let path = folder.path();
    ran(path, "explain gemm").exits(0).says("REGRESSED: kernels/gemm time");
    let both = ran(path, "explain s*").exits(0).says("kernels/scan time");
    assert!(both.out.contains("kernels/softmax time") && !both.out.contains("kernels/gemm"), "{}", both.out);
    ran(path, "explain kernels/gem").exits(2).says("write `kernels/gemm`");
    ran(path, "explain gemm --metric bandwidth").exits(2).says("use one of `time`");
    ran(path, "explain memory/copy --metric band*").exits(0).says("bandwidth is at least");
    ran(path, &format!("explain gemm {ID}")).exits(0);
    ran(path, &format!("explain gemm artifacts/{ID}")).exits(0);
    ran(path, "explain gemm 20261121T110000.000Z-000000").exits(2).says(&format!("the latest one is {ID}"));
    ran(path, "explain gemm artifacts").exits(2).says("the folder holds neither a comparison nor a run");
    let empty = crate::support::tempdir().unwrap();
    ran(empty.path(), "explain gemm").exits(2).says("no comparison in rounds is kept here");
}

#[test]
fn rows_that_rounds_did_not_decide_say_why() {
    let mut story = stories::red();
    let conv = records::case_of(&mut story.head, "kernels/conv");
    conv.outcome = Outcome::Failed {
        kind: FailureKind::Signal,
        cause: "ended by SIGSEGV in measure".into(),
        advice: "read its log".into(),
    };
    story.head.cases.retain(|case| case.id.benchmark.as_str() != "kernels/scan");
    let folder = kept(&story);
    let path = folder.path();
    ran(path, "explain conv").exits(0).says("INVALID: kernels/conv was not compared").says("Read its log");
    ran(path, "explain scan").exits(0).says("MISSING: kernels/scan").says("there is nothing to compare");

    let apart = |mut record: RunRecord| {
        record.comparison = None;
        record
    };
    write(path, "base.json", &apart(story.base));
    write(path, "head.json", &apart(story.head));
    ran(path, "explain gemm --base base.json --head head.json")
        .exits(0)
        .says("were not measured in rounds")
        .says("process-session");
}

#[test]
fn a_replay_elsewhere_is_bit_identical() {
    for story in [stories::red(), stories::open(), stories::clean()] {
        let first = kept(&story);
        let elsewhere = crate::support::tempdir().unwrap();
        let copied = elsewhere.path().join("some/other place");
        copy(&first.path().join("artifacts").join(ID), &copied);
        let kept =
            std::fs::read(first.path().join("artifacts").join(ID).join("reports/verdict.json")).unwrap();
        let code = i32::from(story.verdict().exit_code);

        let mut line = command(elsewhere.path(), "replay --json replayed.json");
        line.arg(&copied).env("TZ", "Asia/Kathmandu").env("HOME", elsewhere.path());
        ended(line).exits(code).says("replayed identical to");
        assert_eq!(std::fs::read(elsewhere.path().join("replayed.json")).unwrap(), kept);

        // The records alone, under other names.
        let [base, head, control] =
            ["base", "head", "control"].map(|side| copied.join(side).join("results/record.json"));
        let mut line = command(first.path(), "replay --format json");
        line.arg(&base).arg(&head);
        if story.control.is_some() {
            line.arg("--control").arg(&control);
        }
        let said = ended(line).exits(code);
        assert_eq!(said.out.as_bytes(), kept);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &name),
            false => drop(std::fs::copy(entry.path(), name).unwrap()),
        }
    }
}

#[test]
fn a_verdict_that_the_records_do_not_give_is_named_figure_by_figure() {
    let folder = kept(&stories::red());
    let path = folder.path();
    let verdict = path.join("artifacts").join(ID).join("reports/verdict.json");
    let text = std::fs::read_to_string(&verdict).unwrap();
    std::fs::write(&verdict, text.replacen("\"regressed\"", "\"unchanged\"", 1)).unwrap();
    ran(path, "replay").exits(4).says("the kept verdict is not what the records give").says("conclusion is");

    let older = text.replace(&format!("\"{}\"", env!("CARGO_PKG_VERSION")), "\"0.0.1\"");
    std::fs::write(&verdict, older).unwrap();
    ran(path, "replay").exits(1).says("replayed the same, by another version, as");
    std::fs::remove_file(&verdict).unwrap();
    let quiet = ran(path, "replay").exits(1);
    assert!(!quiet.out.contains("replayed"), "{}", quiet.out);
}

#[test]
fn records_that_are_no_comparison_are_refused_with_what_to_do() {
    let story = stories::red();
    let folder = kept(&story);
    let path = folder.path();
    let [base, head] = ["base", "head"].map(|side| format!("artifacts/{ID}/{side}"));
    ran(path, &format!("replay {head} {base}")).exits(2).says("what was given as base says that it is head");
    let mut other = story.head.clone();
    other.comparison.as_mut().unwrap().id = "20261122T110000.000Z-c0ffee".parse().unwrap();
    write(path, "other.json", &other);
    ran(path, &format!("replay {base} other.json")).exits(2).says("of 20261122T110000.000Z-c0ffee");
    write(path, "apart.json", &records::standard(1));
    ran(path, "replay apart.json apart.json").exits(2).says("gbench-ci compare BASE HEAD");
    ran(path, "replay --control apart.json").exits(2).says("brings its own control");
}

/// `docs/images/explain.sh` draws from these records, which are kept as SEQ-E judged them. `UPDATE_FIXTURES=1` writes them
/// anew.
#[test]
fn the_kept_example_is_the_made_up_comparison_and_replays() {
    let kept = fixture("rounds");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        stories::red_by(gbench_ci::model::SequentialRuleName::SeqE).write(&kept);
    }
    let story = stories::red_by(gbench_ci::model::SequentialRuleName::SeqE);
    for (side, record) in [("base", &story.base), ("head", &story.head)] {
        let text = std::fs::read(kept.join(ID).join(side).join("results/record.json")).unwrap();
        assert_eq!(
            serde_json::from_slice::<RunRecord>(&text).unwrap(),
            *record,
            "run with UPDATE_FIXTURES=1"
        );
    }
    ran(&kept, &format!("replay {ID} --artifacts .")).exits(1).says("replayed");
}

#[test]
fn a_comparison_that_was_refused_is_explained_by_its_refusal() {
    let mut story = stories::red();
    let gbench_ci::model::Probe::Known(gpu) = &mut story.head.manifest.gpu else {
        panic!("it knows its GPU")
    };
    gpu.devices[0].model = gbench_ci::model::Probe::Known("NVIDIA A100".into());
    on(&story, "explain gemm").exits(0).says("NOT JUDGED: kernels/gemm").says("because the machines differ");
    on(&story, "replay").exits(5).says("replayed identical to");
}
