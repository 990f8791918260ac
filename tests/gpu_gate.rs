//! The gate on a card that is none, from a user's kernels to the verdict: real commits, the real compiler's machine code, computed times.
//! The file `card` of each commit says how fast its kernels are.

use gbench_ci::compare::{CodeState, RowSide, Verdict};
use gbench_ci::model::{CaseRecord, FailureKind, KernelCode, Metric, Outcome, RunRecord};

use crate::support::cli::{ended, newest};
use crate::support::gpu::StandIn;
use crate::support::kernels::{
    Gate, IGNORED, NOISE, SAXPY, SAXPY_FILE, SCALE, SCALE_FILE, SIX, SLOW_SAXPY, TWO, UNWATCHED, falsely_red,
    six, stand_in, suite,
};
use crate::support::repository::row;
use crate::support::wait::wait_until;

fn case<'a>(record: &'a RunRecord, name: &str) -> &'a CaseRecord {
    record.cases.iter().find(|case| case.id.benchmark.name() == name).unwrap()
}

fn metric<'a>(case: &'a CaseRecord, name: &str) -> &'a Metric {
    case.metrics.iter().find(|metric| metric.name == name).unwrap()
}

#[test]
fn d3_a_slower_kernel_is_red_and_named_with_what_it_takes_of_the_card() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let root = gate.repository.root();
    gate.commit(&[SAXPY_FILE, SCALE_FILE], &[("card", "kernel.saxpy=0.20 kernel.scale=0.15\n")]);
    gate.ran("init").exits(0).says("with 2 benchmarks:");
    // As it is written.
    gate.ran("run --quiet --processes 2 --warmup 2 --iterations 10").exits(0);
    let record = newest(root);
    for (name, seconds) in [("saxpy", 200e-6), ("scale", 150e-6)] {
        let median = metric(case(&record, name), "time").summary.as_ref().unwrap().median;
        assert!((median / seconds - 1.0).abs() < 0.03, "{name}: {median}");
    }

    let written = std::fs::read_to_string(root.join("gbench.toml")).unwrap();
    gate.commit(&[], &[("gbench.toml", &format!("{written}\n{UNWATCHED}")), IGNORED]);
    let slow = ("saxpy.cu", SAXPY_FILE.1, SLOW_SAXPY);
    gate.commit(&[slow, SCALE_FILE], &[("card", "kernel.saxpy=0.24 kernel.scale=0.15\n")]);
    let said = gate.compare("--order-seed 1").exits(1);
    let verdict = gate.repository.verdict();
    let (saxpy, scale) = (row(&verdict, "saxpy", "time"), row(&verdict, "scale", "time"));
    assert_eq!((saxpy.verdict, saxpy.device_code), (Verdict::Regressed, Some(CodeState::Changed)));
    assert_eq!((scale.verdict, scale.device_code), (Verdict::Unchanged, Some(CodeState::Identical)));
    assert!((saxpy.change.as_ref().unwrap().slowdown - 0.2).abs() < 0.03, "{:?}", saxpy.change);

    // What the compiler makes of it depends on the compiler; that the loop's table lies in memory and registers are spilled does not.
    let changed = verdict.device_code.iter().find(|code| code.state == CodeState::Changed).unwrap();
    let [kernel] = changed.kernels.as_slice() else { panic!("{changed:?}") };
    assert_eq!(kernel.name, "saxpy");
    let figures = |side: &Option<KernelCode>| {
        let code = side.as_ref().unwrap();
        let spilled = code.spill_store_bytes.unwrap() + code.spill_load_bytes.unwrap();
        (code.registers.unwrap(), code.frame_bytes.unwrap(), spilled)
    };
    let ((few, no_frame, none), (many, frame, spilled)) = (figures(&kernel.base), figures(&kernel.head));
    assert!(few < many && many <= 32 && frame >= 256 && spilled > 0, "{kernel:?}");
    assert_eq!((no_frame, none), (0, 0));
    let words =
        format!("saxpy: registers {few} -> {many}, frame 0 B -> {frame} B, spilled 0 B -> {spilled} B");
    assert!(saxpy.reason.contains(&format!("its device code changed: {words}")), "{}", saxpy.reason);
    said.says("1 of 2 cases regressed").says(&words).says("Device code: 1 changed, 1 identical");
    let markdown = std::fs::read_to_string(gate.repository.latest().join("reports/verdict.md")).unwrap();
    let cells =
        format!("| `saxpy` | {few} -&#62; {many} | 0 B | 0 B -&#62; {frame} B | 0 B -&#62; {spilled} B |");
    assert!(markdown.contains(&cells), "{cells} in {markdown}");
}

#[test]
fn d3_other_lines_comments_and_a_new_name_of_the_file_leave_the_device_code_as_it_was() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let head = format!("{UNWATCHED}threshold = \"5%\"\n");
    gate.commit(
        &[SAXPY_FILE, SCALE_FILE],
        &[("gbench.toml", &suite(&head, &TWO, "")), ("card", "kernel=0.2\n"), IGNORED],
    );
    // Renamed, with lines above and words beside; and the table of lines in the machine code's file.
    std::fs::remove_file(gate.repository.root().join("kernels/saxpy.cu")).unwrap();
    let moved = format!("// The first of them.\n\n\n{}", SAXPY.replace("if (i", "/* in range */\n    if (i"));
    let renamed = suite(&head, &[("saxpy", "axpy.cu"), ("scale", "scale.cu")], "")
        .replace("entry = \"scale\"\n", "entry = \"scale\"\noptions = [\"-lineinfo\"]\n");
    let scale = format!("\n\n{SCALE}");
    gate.commit(
        &[("axpy.cu", &["saxpy"], &moved), ("scale.cu", &["scale"], &scale)],
        &[("gbench.toml", &renamed)],
    );
    gate.compare("--order-seed 1").exits(0).says("Device code: 2 identical");
    let verdict = gate.repository.verdict();
    for name in ["saxpy", "scale"] {
        let row = row(&verdict, name, "time");
        assert_eq!(
            (row.verdict, row.device_code),
            (Verdict::Unchanged, Some(CodeState::Identical)),
            "{row:?}"
        );
    }
    assert_eq!(verdict.noise_of_identical_code.unwrap().rows, 2);
}

#[test]
fn d3_a_wrong_answer_of_the_head_is_invalid_however_fast() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let plain = SAXPY.replace("saxpy", "plain");
    let suite = suite(&format!("{UNWATCHED}threshold = \"5%\"\n"), &TWO, "")
        .replace("entry = \"saxpy\"\n", "entry = \"saxpy\"\nreference = { entry = \"plain\" }\n");
    let right = format!("{SAXPY}{plain}");
    // The last element is forgotten.
    let wrong = format!("{}{plain}", SAXPY.replace("i < n", "i < n - 1"));
    let kernels: &[&str] = &["saxpy", "plain"];
    gate.commit(
        &[("saxpy.cu", kernels, &right), SCALE_FILE],
        &[("gbench.toml", &suite), ("card", "kernel=0.2\n"), IGNORED],
    );
    gate.commit(&[("saxpy.cu", kernels, &wrong), SCALE_FILE], &[("card", "kernel=0.2 kernel.saxpy=0.15\n")]);
    gate.compare("--order-seed 1").exits(4).says("the answer is off by");
    let verdict = gate.repository.verdict();
    assert_eq!(verdict.counts[&Verdict::Invalid], 1, "{:?}", verdict.counts);
    assert_eq!(row(&verdict, "scale", "time").verdict, Verdict::Unchanged);
    assert!(matches!(case(&gate.record("head"), "saxpy").outcome, Outcome::Invalid { .. }));
    assert!(case(&gate.record("base"), "saxpy").outcome.is_measured());

    // To hold it against nothing is no way out: the error that the base knows is missing.
    gate.commit(&[], &[("gbench.toml", &suite.replace("reference = { entry = \"plain\" }\n", ""))]);
    let said = gate.ran("compare HEAD~2..HEAD --quiet --warmup 2 --iterations 10 --benchmark s/saxpy");
    said.exits(4).says("error.max_abs_error").says("measured on base, not sent on head");
}

#[test]
fn q4_a_kernel_that_computes_something_else_is_no_improvement() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let suite = suite(&format!("{UNWATCHED}threshold = \"5%\"\n"), &TWO, "");
    gate.commit(&[SAXPY_FILE, SCALE_FILE], &[("gbench.toml", &suite), ("card", "kernel=0.2\n"), IGNORED]);
    // Faster, because it forgets to add.
    let wrong = SAXPY.replace(" + y[i]", "");
    assert_ne!(wrong, SAXPY);
    let faster = ("card", "kernel=0.2 kernel.saxpy=0.15\n");
    gate.commit(&[("saxpy.cu", SAXPY_FILE.1, &wrong), SCALE_FILE], &[faster]);
    gate.compare("--order-seed 1").exits(4).says("computes something else than base").says("reference");
    let verdict = gate.repository.verdict();
    assert_eq!([Verdict::Invalid, Verdict::Improved].map(|it| verdict.counts[&it]), [1, 0]);
    assert_eq!(row(&verdict, "scale", "time").verdict, Verdict::Unchanged);
    let of_base = case(&gate.record("base"), "saxpy").answer.clone();
    assert!(of_base.len() == 3 && of_base.values().all(|output| !output.varies), "{of_base:?}");

    // A reference of head alone decides nothing, since head could bring one that is as wrong.
    let plain = wrong.replace("saxpy", "plain");
    let own_check =
        suite.replace("entry = \"saxpy\"\n", "entry = \"saxpy\"\nreference = { entry = \"plain\" }\n");
    let checked = format!("{wrong}{plain}");
    let files = [("gbench.toml", own_check.as_str()), faster];
    gate.commit(&[("saxpy.cu", &["saxpy", "plain"], &checked)], &files);
    let compare = "--quiet --warmup 2 --iterations 10 --benchmark s/saxpy";
    gate.ran(&format!("compare HEAD~2..HEAD {compare}")).exits(4).says("computes something else than base");

    // What the advice says: base has one, too.
    let right = format!("{SAXPY}{}", SAXPY.replace("saxpy", "plain"));
    gate.commit(&[("saxpy.cu", &["saxpy", "plain"], &right)], &[("card", "kernel=0.2\n")]);
    gate.commit(&[("saxpy.cu", &["saxpy", "plain"], &checked)], &[faster]);
    gate.ran(&format!("compare HEAD~1..HEAD {compare}")).exits(0);
    assert_eq!(row(&gate.repository.verdict(), "saxpy", "time").verdict, Verdict::Improved);
}

#[test]
fn q4_a_kernel_that_writes_past_its_buffer_is_invalid() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let suite = suite(UNWATCHED, &TWO, "");
    let beyond = SAXPY.replace("if (i < n)", "if (i == n - 1) y[n] = x[i];\n    if (i < n)");
    assert_ne!(beyond, SAXPY);
    gate.commit(
        &[("saxpy.cu", SAXPY_FILE.1, &beyond), SCALE_FILE],
        &[("gbench.toml", &suite), ("card", "kernel=0.2\n"), IGNORED],
    );
    gate.ran("run --quiet --processes 1 --warmup 2 --iterations 10")
        .exits(4)
        .says("past the end of the buffer");
    let record = newest(gate.repository.root());
    assert!(matches!(case(&record, "saxpy").outcome, Outcome::Invalid { .. }));
    assert!(case(&record, "scale").outcome.is_measured());
}

#[test]
fn q4_constants_that_nothing_sets_are_refused_and_the_suite_file_can_set_them() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let weighted = format!(
        "namespace own {{ __constant__ float w[4]; }}\n__constant__ float given[2] = {{1.0f, 2.0f}};\n{}",
        SAXPY.replace("a * x[i]", "own::w[i & 3] * given[i & 1] * a * x[i]")
    );
    let plain = suite(UNWATCHED, &TWO, "");
    let commit = |suite: &str| {
        let sources = [("saxpy.cu", SAXPY_FILE.1, weighted.as_str()), SCALE_FILE];
        gate.commit(&sources, &[("gbench.toml", suite), ("card", "kernel=0.2\n"), IGNORED]);
        gate.ran("run --quiet --processes 1 --warmup 2 --iterations 10 --benchmark s/saxpy")
    };
    commit(&plain).exits(4).says("reads `own::w`, which nothing sets").says("data = { NAME");
    let with =
        |data: &str| plain.replace("entry = \"saxpy\"\n", &format!("entry = \"saxpy\"\ndata = {data}\n"));
    commit(&with("{ 'own::w' = { input = 'f32', length = 3 } }"))
        .exits(4)
        .says("has 12 bytes")
        .says("has 16");
    commit(&with("{ 'own::v' = { input = 'f32', length = 4 } }")).exits(4).says("no variable `own::v`");
    commit(&with("{ 'own::w' = { output = 'f32', length = 4 } }")).exits(2).says("is not an `input`");

    // Each process has them, and the answer is what they make of it.
    let answer = |fill: &str| {
        commit(&with(&format!("{{ 'own::w' = {{ input = 'f32', length = 4, fill = {fill} }} }}"))).exits(0);
        case(&newest(gate.repository.root()), "saxpy").answer["output 1"].values.clone()
    };
    let (ones, index) = (answer("1.0"), answer("'index'"));
    assert_ne!(ones, index);
    assert!(ones.iter().flatten().any(|value| *value != 0.0), "{ones:?}");
}

#[test]
fn b35_a_kernel_on_most_of_the_memory_is_held_against_its_reference() {
    let Some(stand_in) = stand_in() else { return };
    // Two buffers of 16 MiB, and twice two of the flush of 4 MiB.
    let gate = Gate::new(&stand_in, "total=48M");
    let plain = SAXPY.replace("saxpy", "plain");
    let suite = suite(UNWATCHED, &TWO[..1], "processes = 1")
        .replace("[4096]", "[4194304]")
        .replace("entry = \"saxpy\"\n", "entry = \"saxpy\"\nreference = { entry = \"plain\" }\n");
    let right = format!("{SAXPY}{plain}");
    let card = ("card", "kernel=0.2\n");
    gate.commit(&[("saxpy.cu", &["saxpy", "plain"], &right)], &[("gbench.toml", &suite), card]);
    gate.ran("run --quiet --warmup 1 --iterations 2").exits(0);
    let record = crate::support::cli::newest(gate.repository.root());
    let saxpy = case(&record, "saxpy");
    assert!(saxpy.outcome.is_measured(), "{:?}", saxpy.outcome);
    assert!(saxpy.metrics.iter().any(|metric| metric.name == "error.max_abs_error"), "{saxpy:?}");
}

#[test]
fn two_kernels_take_turns_on_one_card() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let suite = suite(UNWATCHED, &TWO[..1], "lockstep = true\nwork = { bytes = \"12 * n\" }");
    gate.commit(&[SAXPY_FILE], &[("gbench.toml", &suite), ("card", "kernel.saxpy=0.20\n"), IGNORED]);
    gate.commit(&[], &[("card", "kernel.saxpy=0.22\n")]);
    gate.compare("--order-seed 1 --interleave lockstep").exits(1).says("1 of 1 case regressed");
    let verdict = gate.repository.verdict();
    let row = row(&verdict, "saxpy", "time");
    assert!(row.reason.contains("of the card's memory bandwidth (base "), "{row:?}");
    for side in ["base", "head"] {
        let record = gate.record(side);
        let case = case(&record, "saxpy");
        assert!(case.processes.iter().all(|process| process.lockstep), "{side}: {case:?}");
        let times = metric(case, "time");
        assert!(times.processes.iter().all(|process| process.values.len() == 10), "{side}: {times:?}");
        assert!(case.warnings.is_empty(), "{:?}", case.warnings);
    }
}

/// A comparison of one kernel that did not change, with a rule of its own.
fn unchanged(stand_in: &StandIn, rule: &str, each: &str, head_card: &str) -> Gate {
    let gate = Gate::new(stand_in, NOISE);
    let suite = suite(rule, &TWO[..1], each);
    gate.commit(&[SAXPY_FILE], &[("gbench.toml", &suite), ("card", "kernel.saxpy=0.20\n"), IGNORED]);
    gate.commit(&[], &[("card", head_card), ("note", "nothing of the kernel\n")]);
    gate
}

#[test]
fn d2_a_card_that_hardware_slows_down_on_both_sides_decides_nothing() {
    let Some(stand_in) = stand_in() else { return };
    let hot = stand_in.with_nvml("count=1 reasons=0x48");
    let same = "kernel.saxpy=0.20\n";
    let gate = unchanged(&hot, "[gate]\nrounds = 4\ncontrols = 0\n", "threshold = \"5%\"", same);
    let said = gate.compare("--order-seed 1").exits(3).says("Nothing could be decided");
    said.says("hardware held a GPU's clocks down on both sides in 4 of 4 rounds");
    let verdict = gate.repository.verdict();
    let found = row(&verdict, "saxpy", "time");
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert_eq!(found.base.as_ref().unwrap().throttled["hw_thermal_slowdown"], 4);
    // Each process tried three times, and kept what it gave up.
    let record = gate.record("head");
    let given_up = metric(case(&record, "saxpy"), "throttled_time");
    assert!(given_up.processes.iter().all(|process| process.values.len() == 20), "{given_up:?}");

    // Not even what is slower by a third; in turns nobody tries again.
    let slower = "kernel.saxpy=0.26\n";
    let gate = unchanged(&hot, "[gate]\nrounds = 16\ncontrols = 0\n", "lockstep = true", slower);
    let said = gate.compare("--order-seed 1 --interleave lockstep").exits(3);
    said.says("hardware held a GPU's clocks down on both sides in 16 of 16 rounds");
    assert_eq!(row(&gate.repository.verdict(), "saxpy", "time").verdict, Verdict::Inconclusive);
}

#[test]
fn d2_a_card_that_slows_down_on_one_side_is_a_disturbance_and_no_regression() {
    let Some(stand_in) = stand_in() else { return };
    // A sample is six kernels, and four come before the measured ones: the card is slower from the fourth of these on.
    let slower = "kernel.saxpy=0.20 throttle=1.3@43-1000000\n";
    let gate = unchanged(&stand_in, "[gate]\nrounds = 16\ncontrols = 0\n", "lockstep = true", slower);
    let said = gate.compare("--order-seed 1 --interleave lockstep").exits(3);
    said.says("one side met a busy machine, or a throttled GPU, in 16 of 16 rounds").says("(clock_drop)");
    let verdict = gate.repository.verdict();
    let row = row(&verdict, "saxpy", "time");
    assert_eq!(row.verdict, Verdict::Inconclusive);
    let throttled =
        |side: &Option<RowSide>| side.as_ref().unwrap().throttled.get("clock_drop").copied().unwrap_or(0);
    assert_eq!((throttled(&row.base), throttled(&row.head)), (0, 16));
}

#[test]
fn a_card_that_is_slow_from_the_first_kernel_on_is_known_by_its_clock() {
    let Some(stand_in) = stand_in() else { return };
    // Nothing says why, and nothing within the head's processes tells: it is the other side's clock that does.
    let slower = "kernel.saxpy=0.20 throttle=1.3@1-1000000\n";
    let gate = unchanged(&stand_in, "[gate]\nrounds = 16\ncontrols = 0\n", "", slower);
    gate.compare("--order-seed 1").exits(3).says("one side met a busy machine, or a throttled GPU");
    assert_eq!(row(&gate.repository.verdict(), "saxpy", "time").verdict, Verdict::Inconclusive);
}

#[test]
fn d2_a_card_that_is_lost_during_a_comparison_costs_the_case_that_it_hits() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let suite = suite(&format!("{UNWATCHED}controls = 0\nthreshold = \"5%\"\n"), &TWO, "").replace(
        "[benchmark.cuda]\nfile = \"kernels/saxpy.cu\"",
        "env = { FAKE_CUDA_FILE = \"falls\" }\n\n[benchmark.cuda]\nfile = \"kernels/saxpy.cu\"",
    );
    gate.commit(&[SAXPY_FILE, SCALE_FILE], &[("gbench.toml", &suite), ("card", "kernel=0.2\n"), IGNORED]);
    gate.commit(&[], &[("note", "nothing of the kernels\n")]);
    let root = gate.repository.root().to_owned();
    // Once the first round is measured, the card is gone from the 200th call of each process of that case.
    let saboteur = std::thread::spawn(move || {
        let measured = || std::fs::metadata(root.join(".git/gpu/processes")).map_or(0, |file| file.len());
        wait_until("the first round is measured", || measured() >= 4);
        std::fs::write(root.join(".gbench/trees/head/falls"), "lost@200\n").unwrap();
    });
    let said = gate.compare("--order-seed 1").exits(4);
    saboteur.join().unwrap();
    said.says("CUDA_ERROR_UNKNOWN").says("s/saxpy");
    let head = gate.record("head");
    let Outcome::Failed { kind: FailureKind::Error, cause, .. } = &case(&head, "saxpy").outcome else {
        panic!("{:?}", case(&head, "saxpy").outcome)
    };
    assert!(cause.contains("CUDA_ERROR_UNKNOWN"), "{cause}");
    let verdict = gate.repository.verdict();
    assert_eq!(verdict.counts[&Verdict::Invalid], 1, "{:?}", verdict.counts);
    assert_eq!(row(&verdict, "scale", "time").verdict, Verdict::Unchanged);
}

#[test]
fn d2_six_kernels_are_green_where_nothing_changed_and_red_where_one_is_3_percent_slower() {
    let Some(stand_in) = stand_in() else { return };
    let same = six(&stand_in, 1, None);
    same.compare("--order-seed 1").exits(0);
    assert_eq!(falsely_red(&same.repository.verdict(), None), 0);
    let slower = six(&stand_in, 1, Some((2, 1.03)));
    slower.compare("--order-seed 1").exits(1);
    let verdict = slower.repository.verdict();
    assert_eq!(row(&verdict, SIX[2].0, "time").verdict, Verdict::Regressed);
    assert_eq!(falsely_red(&verdict, Some(2)), 0);
}

/// Reads the bytes of FP8, FP4 and a flag, and sets imaginary parts.
const BYTES: &str = r#"
extern "C" __global__ void bytes(const unsigned char* eight, const unsigned char* four, float* z, bool* flags, bool on, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    flags[i] = on && eight[i] == 0x38 && four[i / 2] == 0x22;
    z[2 * i + 1] = z[2 * i] - 2.0f;
}
extern "C" __global__ void plain(const unsigned char* eight, const unsigned char* four, float* z, bool* flags, bool on, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) flags[i] = true;
}
"#;

#[test]
fn elements_of_eight_and_four_bits_complex_numbers_and_flags_are_arguments() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    let suite = |four: u32, flops: &str| {
        format!(
            "[suite]\nname = \"s\"\n{UNWATCHED}[[benchmark]]\nid = \"bytes\"\nwork = {{ flops = {flops} }}\n[benchmark.cuda]\n\
             file = \"kernels/bytes.cu\"\nentry = \"bytes\"\ngrid = 16\nblock = 256\nmultiplies = \"f8e4m3\"\n\
             reference = {{ entry = \"plain\" }}\narguments = [\n\
             {{ input = \"f8e4m3\", length = 4096, fill = 1 }}, {{ input = \"f4e2m1\", length = 4096, fill = {four} }},\n\
             {{ inout = \"c64\", length = 4096, fill = 2 }}, {{ output = \"bool\", length = 4096 }},\n\
             {{ value = 1, type = \"bool\" }}, {{ value = 4096, type = \"i32\" }},\n]\n"
        )
    };
    let measured = |suite: &str, code: i32| {
        gate.commit(&[("bytes.cu", &["bytes", "plain"], BYTES)], &[("gbench.toml", suite), IGNORED]);
        gate.ran("run --quiet --processes 1 --warmup 2 --iterations 5").exits(code)
    };
    measured(&suite(1, "4096"), 0);
    let record = newest(gate.repository.root());
    assert!(record.cases[0].outcome.is_measured());
    // Twice as much as in half precision, on the card of the stand-in.
    let peak = record.cases[0].metadata["peak_flops_rate"].as_f64().unwrap();
    assert!((1.9e15..2.3e15).contains(&peak), "{peak}");
    // Another number in the packed elements, and more operations than the card can do.
    measured(&suite(2, "4096"), 4).says("invalid");
    measured(&suite(1, "1e18"), 4).says("floating-point operations");
}

#[test]
fn a_compiler_that_is_found_missing_once_the_process_runs_fails_the_case_where_the_suite_says_so() {
    let Some(stand_in) = stand_in() else { return };
    let gate = Gate::new(&stand_in, NOISE);
    for (line, state) in [("", "skipped"), ("fail_on_missing = true", "failed")] {
        let text = suite(UNWATCHED, &[("saxpy", "saxpy.cu")], line);
        gate.commit(&[SAXPY_FILE], &[("gbench.toml", &text), IGNORED]);
        let mut command = gate.stand_in.command(gate.repository.root(), "run --processes 1");
        command.env("GBENCH_NVRTC", "/no/such/library");
        ended(command).exits(5).says(state).says("let GBENCH_NVRTC name another library, or unset it");
    }
}
