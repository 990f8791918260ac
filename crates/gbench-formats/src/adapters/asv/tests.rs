use super::super::Harness;
use super::*;
use crate::adapters::interface::adapter::Amount;
use crate::adapters::interface::check::read;
use crate::adapters::interface::output::OutputFiles;

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn run_of(words: &[&str], cases: &[&str]) -> (Vec<String>, Vec<String>) {
    let command = command(words);
    let amount = Amount { seconds: 0.5, warmup: 0.1, samples: 5 };
    let argv = Asv.run(&CaseRequest { command: &command, cases, out: "/o", amount }).unwrap().argv;
    let place = argv.iter().position(|word| word == START).unwrap();
    (argv[..place].to_vec(), argv[place + 1..].to_vec())
}

#[test]
fn asv_is_started_by_the_python_that_the_user_means() {
    for (words, start) in [
        (&["asv", "run"][..], &["python3", "-c"][..]),
        (&["asv"], &["python3", "-c"]),
        (&["uv", "run", "asv", "run"], &["uv", "run", "python3", "-c"]),
        (&["venv/bin/asv", "run"], &["venv/bin/python", "-c"]),
        (&["python3.11", "-m", "asv", "run"], &["python3.11", "-c"]),
    ] {
        assert_eq!(run_of(words, &[]).0, start, "{words:?}");
    }
    let takes = |words: &[&str]| Harness(&Asv).takes(&command(words));
    assert!(!takes(&["make", "bench"]) && !takes(&["sh", "-c", "asv run", "sh"]) && takes(Asv.example()));
    assert!(Harness(&Asv).counts());
}

#[test]
fn a_run_keeps_the_users_words_and_picks_whole_names() {
    let (_, words) =
        run_of(&["asv", "run", "--config", "b/asv.conf.json"], &["s.T.time_p(10, 'a|b')", "s.time_a"]);
    let start =
        ["/o", "run", "--python=same", "--no-pull", "--config", "b/asv.conf.json", "--record-samples"];
    assert_eq!(words[..start.len()], start);
    let picked = ["--bench", r"^s\.T\.time_p\(10, 'a\|b'\)$", "--bench", r"^s\.time_a$"];
    let place = words.iter().position(|word| word == "--bench").unwrap();
    assert_eq!(words[place..place + 4], picked);
    for attribute in
        ["rounds=1", "repeat=(1,100,0.500000)", "sample_time=0.100000000", "warmup_time=0.100000"]
    {
        let place = words.iter().position(|word| word == attribute).unwrap();
        assert_eq!(words[place - 1], "-a");
    }
}

#[test]
fn more_combinations_than_fit_into_memory_are_refused() {
    let list = format!("[{}]", vec!["\"1\""; 100].join(","));
    let params = vec![list.as_str(); 20].join(",");
    let found =
        format!(r#"{{"version":2,"s.time_a":{{"type":"time","unit":"seconds","params":[{params}]}}}}"#);
    let results =
        r#"{"version":2,"result_columns":["result","params","stats_number","samples"],"results":{}}"#;
    let beside = r#"{"asv":"0.6.6","selected":{},"attributes":{},"stderr":{}}"#;
    let files = [(FOUND, found.as_str()), (RESULTS, results), (BESIDE, beside)];
    let files = OutputFiles(files.map(|(name, text)| (name.to_owned(), text.into())).into());
    let error = read(&Asv, &HarnessOutput { stdout: b"", files: &files }).unwrap_err();
    assert_eq!(error.to_string(), "benchmarks.json: s.time_a.params: too many combinations");
}
