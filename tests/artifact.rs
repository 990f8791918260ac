//! Hostile artifacts (threat T3): nothing that a fork's pull request packs is more than a refusal.

use std::sync::OnceLock;

use gbench_ci::app::untrusted::{ALL, Contents, FILE, FILES, RATIO, read_artifact, read_folder};
use gbench_ci::compare::{Conclusion, VerdictPart, merge};
use gbench_ci::model::{Exit, Result};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::merging::{part, three_shards, write};
use crate::support::zips::{Raw, archive, deflated, stored};

fn texts(part: &VerdictPart) -> (String, String) {
    (serde_json::to_string(&part.job).unwrap(), serde_json::to_string(&part.verdict).unwrap())
}

/// A regression on one machine; worked out once.
fn good() -> VerdictPart {
    static GOOD: OnceLock<VerdictPart> = OnceLock::new();
    GOOD.get_or_init(|| part("h100", None, true)).clone()
}

/// The files of a good artifact, in the folder `c`.
fn files() -> Vec<Raw> {
    let (job, verdict) = texts(&good());
    vec![
        deflated("c/job.json", job.as_bytes()),
        deflated("c/reports/verdict.json", verdict.as_bytes()),
        stored("c/reports/verdict.md", b"# [click](http://evil)"),
    ]
}

fn read(files: &[Raw]) -> Result<Contents> {
    read_artifact("gbench-h100", &archive(files))
}

/// Panics unless the archive is refused as a usage error, for this reason.
#[track_caller]
fn refused(result: Result<Contents>, words: &str) {
    let fault = result.expect_err("it is taken");
    assert_eq!(fault.exit, Exit::Usage);
    assert!(fault.what.contains(words) && !fault.next.is_empty(), "`{words}` in: {fault}");
}

/// A good artifact and one more file, changed.
#[track_caller]
fn refused_with(change: impl Fn(&mut Raw), words: &str) {
    let mut files = files();
    let mut more = stored("c/more.txt", b"more");
    change(&mut more);
    files.push(more);
    refused(read(&files), words);
}

/// The same artifact with a verdict, or a job, that says something else.
fn changed(job: impl Fn(&mut Value), verdict: impl Fn(&mut Value)) -> Result<Contents> {
    let (job_text, verdict_text) = texts(&good());
    let mut values = [job_text, verdict_text].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    job(&mut values[0]);
    verdict(&mut values[1]);
    let [job, verdict] = values.map(|value| value.to_string());
    read(&[stored("job.json", job.as_bytes()), stored("reports/verdict.json", verdict.as_bytes())])
}

fn with_job(change: impl Fn(&mut Value)) -> Result<Contents> {
    changed(change, |_| {})
}

fn with_verdict(change: impl Fn(&mut Value)) -> Result<Contents> {
    changed(|_| {}, change)
}

#[test]
fn t3_what_a_job_leaves_is_read_from_an_archive_and_from_a_folder_alike() {
    let contents = read(&files()).unwrap();
    let expected = VerdictPart { name: "gbench-h100/c".into(), ..good() };
    assert_eq!(contents.parts, [expected]);
    assert_eq!((contents.gaps.len(), contents.merged.len()), (0, 0));
    let folder = crate::support::tempdir().unwrap();
    let root = folder.path().join("gbench-h100");
    write(&VerdictPart { name: "c".into(), ..good() }, &root);
    let of_folder = read_folder(&root).unwrap();
    assert_eq!((&of_folder.parts[0].job, &of_folder.parts[0].verdict), (&good().job, &good().verdict));
    let (merged, job) = contents.whole().unwrap();
    assert_eq!((merged.conclusion, job.unwrap().exit_code), (Conclusion::Regressed, 1));
}

#[test]
fn t3_an_archive_of_the_zip_crate_and_of_a_stream_is_read() {
    let (job, verdict) = texts(&good());
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer.add_directory("c/", options).unwrap();
    for (name, text) in [("c/job.json", &job), ("c/reports/verdict.json", &verdict)] {
        writer.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    assert_eq!(read_artifact("a", &bytes).unwrap().parts.len(), 1);
    // What streams, as GitHub's own uploader does, knows sizes only behind the data.
    let mut writer = zip::ZipWriter::new_stream(Vec::new());
    writer.start_file("reports/verdict.json", options).unwrap();
    std::io::Write::write_all(&mut writer, verdict.as_bytes()).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    assert_eq!(read_artifact("a", &bytes).unwrap().parts.len(), 1);
}

#[test]
fn t3_a_job_without_a_verdict_is_a_gap() {
    let contents = read(&files()[..1]).unwrap();
    assert_eq!(contents.gaps[0].label.as_deref(), Some("h100"));
    assert!(contents.gaps[0].what.ends_with("has no verdict: nothing was measured"));
    let fault = contents.whole().unwrap_err();
    assert_eq!(fault.exit, Exit::Failed);
    let nothing = read(&[stored("readme.txt", b"hello")]).unwrap();
    assert_eq!(nothing.whole().unwrap_err().exit, Exit::Failed);
    let journal = stored("c/base/results/journal.jsonl", b"{}");
    assert!(read(&[journal]).unwrap().gaps[0].what.contains("did not come to its end"));
}

#[test]
fn t3_paths_that_leave_the_folder_are_refused() {
    let paths = [
        "../x",
        "c/../../x",
        "/etc/passwd",
        "c//x",
        "./x",
        "c\\x",
        "..\\x",
        "C:/x",
        "c/\nx",
        "c/\u{0}x",
        "//h/x",
        "..",
    ];
    for path in paths {
        refused_with(|file| file.name = path.into(), "does not write a path");
    }
    refused_with(|file| file.name = "d/".repeat(17).into_bytes(), "too deep");
    refused_with(|file| file.name = vec![b'n'; 2_000], "too long");
    refused_with(|file| file.name = Vec::new(), "does not write a path");
    refused_with(|file| file.name = b"c/\xff\xfe".to_vec(), "not UTF-8");
    refused_with(|file| file.name = b"c/job.json/x".to_vec(), "lies in what is a file itself");
}

#[test]
fn t3_links_and_special_files_are_refused() {
    for mode in [0o120_777, 0o010_644, 0o020_644, 0o060_644, 0o140_644, 0o040_755] {
        refused_with(|file| file.mode = mode, "a link or a special file");
    }
    let link = Raw { mode: 0o120_777, ..stored("c/reports/verdict.json", b"/etc/passwd") };
    refused(read(&[link]), "a link or a special file");
}

#[test]
fn t3_two_files_of_one_name_are_refused() {
    let mut files = files();
    files.push(files[1].clone());
    refused(read(&files), "two files are called `c/reports/verdict.json`");
    let (_, verdict) = texts(&good());
    let two =
        [stored("c/verdict.json", verdict.as_bytes()), stored("c/reports/verdict.json", verdict.as_bytes())];
    refused(read(&two), "speak of the same");
}

#[test]
fn t3_ten_thousand_files_are_refused_before_they_are_looked_at() {
    let many = |count: usize| -> Vec<Raw> { (0..count).map(|at| stored(&format!("f/{at}"), b"")).collect() };
    refused(read(&many(10_000)), &format!("and {FILES} are allowed"));
    assert!(read(&many(FILES)).is_ok());
}

#[test]
fn t3_bombs_are_refused_by_what_they_claim_and_by_what_they_are() {
    let zeros = vec![0; FILE as usize];
    let bomb = deflated("c/reports/verdict.json", &zeros);
    assert!(bomb.packed.len() < 100_000);
    refused(read(std::slice::from_ref(&bomb)), &format!("and {RATIO} are allowed"));
    // It claims to be small, and is not.
    let lying = Raw { size: 1_000, ..bomb.clone() };
    refused(read(&[lying]), "its size or its checksum");
    let too_large = Raw { size: FILE as u32 + 1, packed_size: FILE as u32, ..bomb.clone() };
    refused(read(&[too_large]), "bytes, and");
    // Each is allowed, all together are not.
    let claim = |at: usize| Raw {
        size: FILE as u32,
        name: format!("f/{at}").into(),
        ..deflated("x", &noise(200_000))
    };
    let all: Vec<Raw> = (0..=(ALL / FILE) as usize).map(claim).collect();
    refused(read(&all), &format!("more than {ALL} bytes"));
    assert!(read(&all[1..]).is_ok(), "what is not looked at is not unpacked");
}

/// Bytes that do not become smaller.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn t3_files_that_share_their_data_are_refused() {
    let names = ["c/a", "c/b"].map(|name| name.as_bytes().to_vec());
    let shared = Raw { name: names[0].clone(), ..stored("x", &noise(50)) };
    let again =
        Raw { name: names[1].clone(), local_name: Some(names[0].clone()), at: Some(0), ..shared.clone() };
    refused(read(&[shared.clone(), again]), "contradicts");
    let same = Raw { name: names[0].clone(), at: Some(0), ..shared.clone() };
    refused(read(&[shared.clone(), same]), "two files");
    // A header inside of another file's data.
    let inner = stored("c/b", b"inner");
    let hidden = archive(std::slice::from_ref(&inner));
    let outer = stored("c/a", &hidden);
    let at = 30 + outer.name.len() as u32;
    refused(read(&[outer, Raw { at: Some(at), ..inner }]), "overlap");
}

#[test]
fn t3_an_archive_within_the_archive_is_no_artifact() {
    let mut files = files();
    files[1] = stored("c/reports/verdict.zip", &archive(&self::files()));
    let contents = read(&files).unwrap();
    assert_eq!((contents.parts.len(), contents.gaps.len()), (0, 1));
}

#[test]
fn t3_headers_that_lie_are_refused() {
    let lie = |change: &dyn Fn(&mut Raw), words: &str| {
        let mut files = files();
        change(&mut files[1]);
        refused(read(&files), words);
    };
    lie(&|file| file.size += 1, "its size or its checksum");
    lie(&|file| file.size -= 1, "its size or its checksum");
    lie(&|file| file.checksum ^= 1, "its size or its checksum");
    lie(&|file| file.packed_size -= 10, "cannot be unpacked");
    lie(
        &|file| {
            file.packed.extend(b"more");
            file.packed_size += 4;
        },
        "more behind its end",
    );
    lie(&|file| file.packed_size = u32::MAX, "bytes");
    lie(&|file| file.local_name = Some(b"c/reports/harmless".to_vec()), "contradicts");
    lie(&|file| file.at = Some(u32::MAX - 1), "does not lie in this archive");
    lie(&|file| file.at = Some(3), "contradicts");
    lie(&|file| file.flags = 1, "encrypted");
    lie(&|file| file.method = 12, "packed by method 12");
    lie(&|file| file.method = 0, "sizes contradict");
}

#[test]
fn t3_an_archive_that_is_cut_or_prolonged_anywhere_is_refused() {
    let whole = archive(&files());
    for cut in (0..whole.len()).step_by(7).chain(whole.len() - 60..whole.len()) {
        assert!(read_artifact("a", &whole[..cut]).is_err(), "cut at {cut}");
    }
    refused(read_artifact("a", &[whole.clone(), b"x".to_vec()].concat()), "not a zip archive");
    refused(read_artifact("a", &[b"x".to_vec(), whole.clone()].concat()), "directory");
    refused(read_artifact("a", b"PK"), "not a zip archive");
    let mut zip64 = whole;
    let count = zip64.len() - 14;
    zip64[count..count + 4].fill(0xff);
    refused(read_artifact("a", &zip64), "zip64");
}

#[test]
fn t3_json_that_is_deep_or_huge_or_not_finite_is_refused() {
    let verdict = |text: String| read(&[deflated("verdict.json", text.as_bytes())]);
    refused(verdict("[".repeat(100_000)), "recursion limit");
    refused(verdict("{\"a\":".repeat(100_000)), "recursion limit");
    let (_, good) = texts(&good());
    for (from, to) in [("\"alpha\":0.01", "\"alpha\":NaN"), ("\"alpha\":0.01", "\"alpha\":1e999")] {
        assert!(good.contains(from));
        refused(verdict(good.replacen(from, to, 1)), "verdict.json");
    }
    refused(verdict(good.replacen("0.01", "\"0.01\"", 1)), "invalid type");
    refused(with_verdict(|value| value["sentence"] = "x".repeat(5_000).into()), "a text of 5000 bytes");
    refused(with_verdict(|value| value["warnings"] = vec!["x"; 20_001].into()), "more than 20000 entries");
    let mut bytes = good.clone().into_bytes();
    bytes[40] = 0xff;
    refused(read(&[stored("verdict.json", &bytes)]), "not UTF-8");
    refused(verdict(String::new()), "EOF");
    refused(verdict(good.clone() + &good), "trailing characters");
}

#[test]
fn t3_other_schemas_and_fields_are_refused() {
    refused(with_verdict(|value| value["schema"] = "gbench-ci/verdict/v9".into()), "its schema");
    refused(with_verdict(|value| value["surprise"] = 1.into()), "unknown field");
    refused(with_verdict(|value| value["rows"][0]["surprise"] = 1.into()), "unknown field");
    refused(with_job(|value| value["schema"] = "gbench-ci/verdict/v2".into()), "its schema");
    refused(with_job(|value| value["number"] = 7.into()), "unknown field");
    refused(with_verdict(|value| value["method"]["rule"] = "mine".into()), "its rule");
    refused(with_verdict(|value| value["method"]["alpha"] = (-0.5).into()), "not between 0 and 1");
    refused(
        with_verdict(|value| value["head"]["commit"] = "../../../x".into()),
        "one of its commits is not valid",
    );
    refused(with_verdict(|value| value["head"]["run_id"] = "../x".into()), "not a run id");
    refused(
        with_verdict(|value| value["rows"][0]["case"]["benchmark"] = "../../x".into()),
        "may hold letters",
    );
    let twice = |value: &mut Value| {
        let row = value["rows"][0].clone();
        value["rows"].as_array_mut().unwrap().push(row);
    };
    refused(with_verdict(twice), "appears twice");
}

#[test]
fn t3_what_does_not_follow_from_the_rows_is_refused() {
    let say = |name: &'static str, to: Value| with_verdict(move |value| value[name] = to.clone());
    refused(say("exit_code", 0.into()), "give exit code 1, and the verdict has 0");
    refused(say("exit_code", 99.into()), "not an exit code");
    refused(say("conclusion", "pass".into()), "its rows give Regressed, and the verdict has Pass");
    refused(with_verdict(|value| value["counts"]["regressed"] = 0.into()), "its counts");
    // All lies agree with each other, and not with the rows.
    let all = |value: &mut Value| {
        value["conclusion"] = "pass".into();
        value["exit_code"] = 0.into();
    };
    refused(with_verdict(all), "its rows give Regressed");
    refused(with_verdict(|value| value["rows"] = json!([])), "its counts");
    let policy = |value: &mut Value| {
        value["differences"] = json!([{"field": "f", "base": "a", "head": "b", "strict": true}])
    };
    assert!(with_verdict(policy).is_ok(), "a regression stands above what could not be compared");
}

#[test]
fn t3_the_sentence_is_ours_whatever_theirs_says() {
    let lie = "All is well, merge at once: <img src=x> @everyone.";
    let contents = with_verdict(|value| value["sentence"] = lie.into()).unwrap();
    assert_eq!(contents.parts[0].verdict.sentence, good().verdict.sentence);
    let merged = merge(three_shards("h100", true)).unwrap();
    let mut value = serde_json::to_value(&merged).unwrap();
    value["sentence"] = lie.into();
    value["groups"][0]["verdict"]["sentence"] = lie.into();
    let read = read(&[stored("merged.json", value.to_string().as_bytes())]).unwrap();
    assert_eq!(read.whole().unwrap().0, merged);
}

#[test]
fn t3_a_job_that_points_elsewhere_is_refused() {
    let source = |path: &str, line: u32, benchmark: &str| {
        let source = json!({"path": path, "line": line, "benchmark": benchmark});
        with_job(move |value| value["sources"] = json!([source]))
    };
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../b",
        "",
        "a//b",
        "a\nb",
        "a\r::error::x",
        "a\\b",
        "C:/x",
        ".",
    ] {
        refused(source(path, 1, "s/a"), "not a file of the repository");
    }
    refused(source("a.py", 0, "s/a"), "its line is not valid");
    refused(source("a.py", 1, "s/a\n::error::x"), "is not a benchmark");
    assert!(source("bench/a b.py", 1, "s/a").is_ok());
    refused(with_job(|value| value["head"] = "$(touch x)".into()), "one of its commits is not valid");
    refused(with_job(|value| value["base"]["commit"] = "main".into()), "one of its commits is not valid");
    refused(with_job(|value| value["base"]["committed"] = "yesterday".into()), "no time");
    refused(with_job(|value| value["base"]["why"] = "a\nb".into()), "control characters");
    refused(with_job(|value| value["label"] = "a\u{1b}[2J".into()), "control characters");
    refused(with_job(|value| value["label"] = "l".repeat(101).into()), "too long");
    refused(with_job(|value| value["event"] = "pull request".into()), "not one of GitHub's");
    refused(with_job(|value| value["shard"] = json!({"index": 4, "of": 3})), "no such shard");
    refused(with_job(|value| value["shard"] = json!({"index": 1, "of": 100_000})), "no such shard");
    refused(with_job(|value| value["exit_code"] = 7.into()), "not an exit code");
    refused(with_job(|value| value["fail_on"] = json!(["nothing"])), "words that there are not");
}

#[test]
fn t3_a_merged_document_must_follow_from_its_groups() {
    let mut parts = three_shards("h100", true);
    parts.extend(three_shards("a100", false));
    let merged = serde_json::to_value(merge(parts).unwrap()).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut value = merged.clone();
        change(&mut value);
        read(&[stored("merged.json", value.to_string().as_bytes())])
    };
    assert!(with(&|_| {}).is_ok());
    refused(with(&|value| value["exit_code"] = 0.into()), "its groups give Regressed");
    refused(with(&|value| value["conclusion"] = "pass".into()), "its groups give Regressed");
    refused(with(&|value| value["counts"]["unchanged"] = 1.into()), "its counts");
    refused(with(&|value| value["groups"] = json!([])), "no group");
    refused(with(&|value| value["groups"][1]["label"] = "a100".into()), "two of its groups");
    refused(with(&|value| value["groups"][1]["verdict"]["exit_code"] = 0.into()), "of its group `h100`");
    let red_for_nothing = |value: &mut Value| {
        value["groups"][0]["verdict"]["exit_code"] = 4.into();
        value["groups"][0]["verdict"]["conclusion"] = "failed".into();
    };
    refused(with(&red_for_nothing), "of its group `a100`");
}

#[test]
fn t3_a_merged_document_beside_more_severe_parts_is_refused() {
    let green = serde_json::to_string(&merge(three_shards("h100", false)).unwrap()).unwrap();
    let mut all = files();
    all.push(stored("merged/merged.json", green.as_bytes()));
    let fault = read(&all).unwrap().whole().unwrap_err();
    assert!(fault.what.contains("less severe than its part"), "{fault}");
    let two = [stored("a/merged.json", green.as_bytes()), stored("b/merged.json", green.as_bytes())];
    assert!(read(&two).unwrap().whole().unwrap_err().what.contains("both have a merged verdict"));
    let gap = [files()[0].clone(), stored("merged/merged.json", green.as_bytes())];
    assert!(read(&gap).unwrap().whole().unwrap_err().what.contains("the merged verdict does not show it"));
}

#[test]
fn t3_a_folder_is_read_without_following_any_link() {
    let folder = crate::support::tempdir().unwrap();
    let root = folder.path().join("parts");
    let place = write(&good(), &root);
    assert!(read_folder(&root).is_ok());
    let verdict = place.join("reports/verdict.json");
    std::fs::rename(&verdict, folder.path().join("elsewhere.json")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere.json"), &verdict).unwrap();
    refused(read_folder(&root), "a link, a special file");
    std::fs::remove_file(&verdict).unwrap();
    std::os::unix::fs::symlink("/", place.join("all")).unwrap();
    refused(read_folder(&root), "a link, a special file");
    std::fs::remove_file(place.join("all")).unwrap();
    nix::unistd::mkfifo(&verdict, nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(read_folder(&root), "a link, a special file");
    std::fs::remove_file(&verdict).unwrap();
    std::fs::File::create(&verdict).unwrap().set_len(FILE + 1).unwrap();
    refused(read_folder(&root), "not a regular file of at most");
}

#[test]
fn t3_logs_of_a_run_are_not_counted_and_other_folders_are() {
    let folder = crate::support::tempdir().unwrap();
    let place = write(&good(), folder.path());
    let logs = place.join("base/logs");
    std::fs::create_dir_all(&logs).unwrap();
    (0..=FILES).for_each(|at| std::fs::write(logs.join(format!("{at}.txt")), "").unwrap());
    refused(read_folder(folder.path()), "more than 2000 files");
    std::fs::create_dir_all(place.join("base/results")).unwrap();
    assert_eq!(read_folder(folder.path()).unwrap().parts.len(), 1);
}

/// Where and how an archive is damaged.
fn damage() -> impl Strategy<Value = Vec<(usize, u8)>> {
    proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn t3_a_damaged_archive_gives_at_most_what_it_held(damage in damage()) {
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let mut bytes = WHOLE.get_or_init(|| archive(&files())).clone();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        // Never a panic; and what is taken is what a good verdict says: the checksum stands before anything else.
        if let Ok(contents) = read_artifact("gbench-h100", &bytes) {
            for part in &contents.parts {
                prop_assert_eq!(&part.verdict, &good().verdict);
            }
        }
    }

    #[test]
    fn t3_a_damaged_directory_gives_at_most_what_it_held(damage in damage()) {
        // Most of an archive is data: here only its structure is damaged.
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let mut bytes = WHOLE.get_or_init(|| archive(&files())).clone();
        let directory = 22 + ["c/job.json", "c/reports/verdict.json", "c/reports/verdict.md"].map(|name| 46 + name.len()).iter().sum::<usize>();
        let start = bytes.len() - directory;
        for (at, byte) in damage {
            bytes[start + at % directory] = byte;
        }
        if let Ok(contents) = read_artifact("gbench-h100", &bytes) {
            prop_assert!(contents.parts.iter().all(|part| part.verdict == good().verdict));
        }
    }

    #[test]
    fn t3_any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read_artifact("a", &bytes).is_err());
    }

    #[test]
    fn t3_a_damaged_document_is_refused_or_still_follows_from_its_rows(damage in damage()) {
        static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
        let mut bytes = TEXT.get_or_init(|| texts(&good()).1.into_bytes()).clone();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte % 95 + 32;
        }
        if let Ok(contents) = read(&[stored("verdict.json", &bytes)]) {
            let verdict = &contents.parts[0].verdict;
            prop_assert_eq!(gbench_ci::compare::check_consistency(verdict), Ok(()));
        }
    }
}
