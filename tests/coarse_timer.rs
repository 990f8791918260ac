//! A real program whose clock is coarse, from two commits to the verdict.

use crate::support::cli::ran;
use crate::support::git::Sandbox;

/// Is busy for as many microseconds of its own processor time as `work.h` says, so that other work does not matter, and prints ten such times in whole milliseconds: cut off, or rounded
/// to the nearest where it has an argument.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <time.h>
#include "work.h"

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int count, char **arguments) {
    (void)arguments;
    for (int i = 0; i < 10; i++) {
        long long begin = now(), end = begin;
        while (end - begin < WORK * 1000LL) end = now();
        printf("time: %lld ms\n", (end - begin + (count > 1 ? 500000 : 0)) / 1000000);
    }
    return 0;
}
"#;

const SUITE: &str = r#"
[suite]
name = "s"

[gate]
watch = false

[[benchmark]]
id = "cut-off"
command = ["./work"]
build = ["cc", "-o", "work", "work.c"]
extract = [{ metric = "time", unit = "ms", regex = 'time: ([0-9.]+)' }]

[[benchmark]]
id = "rounded"
command = ["./work", "rounded"]
build = ["cc", "-o", "work", "work.c"]
extract = [{ metric = "time", unit = "ms", regex = 'time: ([0-9.]+)' }]
"#;

#[test]
fn p5_whole_milliseconds_never_certify_five_against_five_and_a_half_and_the_verdict_says_what_helps() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[
        ("gbench.toml", SUITE),
        ("work.c", PROGRAM),
        ("work.h", "#define WORK 5000\n"),
        (".gitignore", "/work\n/artifacts\n"),
    ]);
    sandbox.commit(&[("work.h", "#define WORK 5500\n")]);
    let root = sandbox.root();
    let verdict = ran(&root, "compare HEAD~1..HEAD --rounds 12 --json verdict.json --quiet").exits(3);
    let verdict = verdict.says("steps of 1 ms").says("launches");
    assert!(!verdict.out.contains("UNCHANGED"), "{}", verdict.out);
    let text = std::fs::read_to_string(root.join("verdict.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["verdict"], "inconclusive", "{row}");
        // 10 %, whatever the digits show.
        let (low, high) = (row["change"]["low"].as_f64().unwrap(), row["change"]["high"].as_f64().unwrap());
        assert!(low < 0.095 && high > 0.105, "{row}");
    }
}
