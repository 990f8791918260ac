//! `baseline` as a user and as several gates at once use it.

use std::path::Path;
use std::process::Stdio;

use gbench_ci::model::{Conditions, Outcome, RecordState, RunRecord};
use gbench_ci::store::Store;

use crate::support::cli::{Ran, command, ran, write};
use crate::support::records;

/// A record with the number of its second in its run id: a larger one is newer.
fn record(second: u32) -> RunRecord {
    records::standard(second)
}

fn save(folder: &Path, name: &str, record: &RunRecord, flags: &str) -> Ran {
    write(folder, "to-save.json", record);
    ran(folder, &format!("baseline save {name} to-save.json {flags}"))
}

#[test]
fn a_run_that_is_not_whole_is_no_baseline_unless_asked_for() {
    let folder = crate::support::tempdir().unwrap();
    let mut cut = record(1);
    cut.state = RecordState::Interrupted;
    cut.cases[0].outcome =
        Outcome::NotRun { code: None, cause: "SIGINT came".into(), advice: "run again".into() };
    let mut failed = record(2);
    records::crash(&mut failed, "kernels/gemm");
    let mut nothing = record(3);
    nothing.cases.iter_mut().for_each(|case| {
        case.outcome = Outcome::Skipped { code: None, cause: "no GPU".into(), advice: "use one".into() };
    });

    save(folder.path(), "main", &cut, "").exits(4).says("the run was cut short").says("--partial");
    save(folder.path(), "main", &failed, "").exits(4).says("only 3 of its 4 cases were measured");
    save(folder.path(), "main", &nothing, "--partial").exits(4).says("nothing in it was measured");
    ran(folder.path(), "baseline list").exits(0).says("no baseline is saved");
    save(folder.path(), "main", &cut, "--partial").exits(0).says("3 measured cases");

    let mut skipped = record(4);
    records::skip(&mut skipped, "io/read");
    save(folder.path(), "main", &skipped, "").exits(0);
}

#[test]
fn b16_a_run_of_a_busy_machine_says_so_everywhere_and_is_saved_only_where_that_is_asked_for() {
    let folder = crate::support::tempdir().unwrap();
    let (calm, mut busy) = (record(1), record(2));
    let mut disturb = |processes: usize| {
        for (index, process) in busy.cases[0].processes.iter_mut().enumerate() {
            let is_busy = index < processes;
            let other_cpu = Some(if is_busy { 1.76 } else { 0.1 });
            process.conditions = Some(Conditions { other_cpu, busy: is_busy, ..Conditions::default() });
        }
        busy.clone()
    };
    let processes = calm.cases[0].processes.len();
    let (some, most) = (disturb(processes / 2 - 1), disturb(processes - 1));
    save(folder.path(), "main", &some, "").exits(0);
    save(folder.path(), "main", &most, "").exits(4).says("kept the machine busy").says("`--busy`");
    save(folder.path(), "main", &most, "--busy").exits(0);
    let told = "while other programs left less than one core to at least half of its processes";
    ran(folder.path(), "report to-save.json").exits(0).says(told).says("others used up to 1.8 cores");
    write(folder.path(), "calm.json", &calm);
    let words = "left less than one core to 0 cases of base and 1 case of head";
    let compared = ran(folder.path(), "compare calm.json to-save.json");
    assert!(compared.says(words).code != 2);
    save(folder.path(), "main", &some, "").exits(0);
    assert!(!ran(folder.path(), "report to-save.json").out.contains("less than one core"));
}

#[test]
fn baselines_are_listed_told_apart_and_removed() {
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path();
    for (name, second) in [("main", 1), ("main", 2), ("v1.2", 3)] {
        save(path, name, &record(second), "").exits(0);
    }
    let list = ran(path, "baseline list --json").exits(0);
    let list: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    let entries: Vec<_> =
        list.as_array().unwrap().iter().map(|entry| (&entry["name"], &entry["run_id"])).collect();
    let expected = [("main", record(1)), ("main", record(2)), ("v1.2", record(3))];
    for ((name, run_id), (expected, record)) in entries.iter().zip(&expected) {
        assert_eq!((name.as_str(), run_id.as_str()), (Some(*expected), Some(record.run_id.as_str())));
    }
    assert_eq!(entries.len(), 3);

    ran(path, "baseline remove main").exits(0).says("removed `main`: 2 records");
    ran(path, "baseline remove main").exits(2).says("use one of: v1.2");
    ran(path, "baseline remove v1.2 --store dir:elsewhere").exits(2).says("save one first");
    assert!(!path.join("elsewhere").exists(), "a question makes no store");
}

#[test]
fn an_older_run_does_not_silently_take_the_newers_place() {
    let folder = crate::support::tempdir().unwrap();
    save(folder.path(), "main", &record(2), "").exits(0);
    let older = save(folder.path(), "main", &record(1), "").exits(0);
    older.says(&format!("`main` still means the newer run {}", record(2).run_id));
}

#[test]
fn a_name_keeps_as_many_records_as_the_suite_says() {
    let folder = crate::support::tempdir().unwrap();
    let suite = "[suite]\nname = 's'\n[run]\nkeep = 2\n[[benchmark]]\nid = 'a'\ncommand = ['true']\n";
    std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
    for second in 1..=4 {
        save(folder.path(), "main", &record(second), "").exits(0);
    }
    let left = Store::open("dir:.gbench", folder.path(), 2).unwrap().list();
    let left: Vec<_> = left.into_iter().map(|entry| entry.run_id).collect();
    assert_eq!(left, [record(3).run_id.to_string(), record(4).run_id.to_string()]);
}

#[test]
fn gates_that_save_at_once_lose_nothing() {
    const GATES: u32 = 8;
    const SAVES: u32 = 6;
    let folder = crate::support::tempdir().unwrap();
    std::thread::scope(|scope| {
        for gate in 0..GATES {
            let root = folder.path();
            scope.spawn(move || {
                // Each its own handle, as separate processes would have; one name shared, one each.
                let store = Store::open("dir:.gbench", root, 1000).unwrap();
                for save in 0..SAVES {
                    let record = record(gate * SAVES + save);
                    store.save(&"main".parse().unwrap(), &record).unwrap();
                    store.save(&format!("gate-{gate}").parse().unwrap(), &record).unwrap();
                }
            });
        }
    });
    let store = Store::open("dir:.gbench", folder.path(), 1000).unwrap();
    let entries = store.list();
    let of = |name: &str| entries.iter().filter(|entry| entry.name.as_str() == name).count() as u32;
    assert_eq!(of("main"), GATES * SAVES);
    assert!((0..GATES).all(|gate| of(&format!("gate-{gate}")) == SAVES));
    for entry in &entries {
        gbench_ci::store::read_record(&entry.path).unwrap();
    }
}

#[test]
fn two_gates_of_one_command_line_save_at_once() {
    let folder = crate::support::tempdir().unwrap();
    for second in 1..=2 {
        write(folder.path(), &format!("{second}.json"), &record(second));
    }
    let start = |second: u32| {
        command(folder.path(), &format!("baseline save main {second}.json"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let gates = [start(1), start(2)];
    for mut gate in gates {
        assert!(gate.wait().unwrap().success());
    }
    assert_eq!(Store::open("dir:.gbench", folder.path(), 10).unwrap().list().len(), 2);
}

#[cfg(not(feature = "bucket"))]
#[test]
fn a_build_without_buckets_names_the_one_that_has_them() {
    let folder = crate::support::tempdir().unwrap();
    for line in [
        "baseline list --store s3://bench/nightly",
        "history --store gs://bench",
        "compare a b --store az://bench/x",
    ] {
        let ran = ran(folder.path(), line).exits(2).says("this gbench-ci was built without buckets");
        ran.says("--features bucket");
    }
    ran(folder.path(), "baseline list --store s3://").exits(2).says("cannot name a bucket");
}
