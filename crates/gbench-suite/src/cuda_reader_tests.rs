use std::path::Path;

use super::super::Suite;
use super::*;
use gbench_model::{
    Component, DType, Fill, KernelArgument, KernelCall, KernelLaunch, KernelReference, Origin, ParamValue,
};

const SAXPY: &str = "file = 'cuda/saxpy.cu'\nentry = 'saxpy'\ngrid = 'ceil_div(n, 256)'\nblock = 256\n";

/// An entry with lines before `[benchmark.cuda]`, and lines in it.
fn read_text(text: &str) -> Result<Benchmark, Vec<String>> {
    match Suite::parse(Path::new("/suite/gbench.toml"), text, &[]) {
        Ok(mut suite) => Ok(suite.benchmarks.remove(0)),
        Err(fault) => Err(fault.each().map(|fault| format!("{}: {}", fault.place, fault.what)).collect()),
    }
}

fn read(before: &str, inside: &str) -> Result<Benchmark, Vec<String>> {
    read_text(&format!(
        "[[benchmark]]\nid = 'x'\nmatrix = {{n = [1000, 4096]}}\n{before}\n[benchmark.cuda]\n{inside}"
    ))
}

/// What is wrong with an entry, without the places.
fn wrong(before: &str, inside: &str) -> Vec<String> {
    let faults = read(before, inside).unwrap_err();
    faults.iter().map(|fault| fault.split_once(": ").unwrap().1.to_owned()).collect()
}

fn call(benchmark: &Benchmark, at: usize) -> KernelCall {
    benchmark.kernel_call(&benchmark.points[at]).unwrap().unwrap()
}

#[test]
fn a_whole_entry_becomes_what_the_child_is_asked_for() {
    let arguments = "arguments = [{value = 2.5, type = 'f32'}, {input = 'f32', length = 'n'}, \
                     {inout = 'f16', length = '2 * n', fill = 1}, {output = 'f32', length = 'n'}, \
                     {input = 'i32', length = 'n', range = [0, 'n']}, {input = 'u32', length = 'n', fill = 'index'}, \
                     {value = 'n', type = 'i32'}]\n";
    let reference = "[benchmark.cuda.reference]\nentry = 'plain<{tile}>'\nblock = ['{b}', 2]\nabsolute = 0\n";
    let inside = format!(
        "{SAXPY}options = ['-DTILE={{tile}}', '--use_fast_math']\ninclude = ['include', '/opt/include']\nshared = '4 * tile'\n\
         {arguments}{}",
        reference.replace("'{b}'", "'tile'")
    );
    let text = format!(
        "[[benchmark]]\nid = 'x'\ndir = 'kernels'\nmatrix = {{n = [1000, 4096], tile = [32]}}\n\
         work = {{bytes = '8 * n', items = 'n'}}\n[benchmark.cuda]\n{inside}"
    );
    let benchmark = read_text(&text).unwrap();
    let buffer = |dtype, length, access, fill| KernelArgument::Buffer { dtype, length, access, fill };
    let expected = KernelCall {
        file: "/suite/kernels/cuda/saxpy.cu".into(),
        entry: "saxpy".into(),
        options: vec!["-DTILE=32".into(), "--use_fast_math".into()],
        include: vec!["/suite/kernels/include".into(), "/opt/include".into()],
        launch: KernelLaunch { grid: [4, 1, 1], block: [256, 1, 1], shared_bytes: 128 },
        arguments: vec![
            KernelArgument::Scalar { dtype: DType::F32, value: 2.5 },
            buffer(DType::F32, 1000, Access::Input, Fill::Uniform { low: -1.0, high: 1.0 }),
            buffer(DType::F16, 2000, Access::InputOutput, Fill::Value { value: 1.0 }),
            buffer(DType::F32, 1000, Access::Output, Fill::Value { value: 0.0 }),
            buffer(DType::I32, 1000, Access::Input, Fill::Uniform { low: 0.0, high: 1000.0 }),
            buffer(DType::U32, 1000, Access::Input, Fill::Index),
            KernelArgument::Scalar { dtype: DType::I32, value: 1000.0 },
        ],
        reference: Some(KernelReference {
            entry: "plain<32>".into(),
            launch: KernelLaunch { grid: [4, 1, 1], block: [32, 2, 1], shared_bytes: 128 },
            absolute: 0.0,
            relative: 2e-3,
        }),
        flush_l2: true,
        bytes: Some(8000.0),
        flops: None,
    };
    assert_eq!(call(&benchmark, 0), expected);
    assert_eq!(call(&benchmark, 1).launch.grid, [16, 1, 1]);
    let words = ["gbench-ci", "__micro", "cuda_kernel"];
    assert_eq!(benchmark.argv(&benchmark.points[0], &words[..2]), words);
}

#[test]
fn it_needs_a_gpu_speaks_the_protocol_and_takes_no_turns_unless_it_is_said() {
    let benchmark = read("", SAXPY).unwrap();
    assert_eq!((benchmark.timing, benchmark.requires.gpus), (Timing::Protocol, 1));
    assert_eq!((benchmark.components.as_slice(), benchmark.points.len()), ([Component::Gpu].as_slice(), 2));
    assert!(benchmark.harness.is_none() && !benchmark.settings.lockstep.value);
    let said = "components = ['ram']\nrequires = {gpus = 2, env = ['X']}\nlockstep = true";
    let benchmark = read(said, SAXPY).unwrap();
    assert_eq!((benchmark.components, benchmark.requires.gpus), (vec![Component::Ram], 2));
    assert!(benchmark.settings.lockstep.value);
    assert_eq!(read("requires = {env = ['X']}", SAXPY).unwrap().requires.gpus, 1);
    let text = format!(
        "[defaults]\nisolation = 'shared'\nshare = true\n[[benchmark]]\nid = 'x'\nmatrix = {{n = [1]}}\n[benchmark.cuda]\n{SAXPY}"
    );
    let settings = read_text(&text).unwrap().settings;
    assert_eq!((settings.isolation.origin, settings.share.value), (Origin::Default, false));
}

#[test]
fn a_hot_case_is_another_case_than_a_cold_one_which_keeps_its_name() {
    let n = |n| ("n".to_owned(), ParamValue::Int(n));
    let hot = || (FLUSH_L2.to_owned(), ParamValue::Bool(false));
    let of = |line: &str| read("", &format!("{SAXPY}{line}")).unwrap();
    assert_eq!(of("flush_l2 = true").points, [Params::from([n(1000)]), Params::from([n(4096)])]);
    assert_eq!(of("flush_l2 = false").points[0], Params::from([n(1000), hot()]));
    let both = of("flush_l2 = [true, false]");
    let expected = [
        Params::from([n(1000)]),
        Params::from([n(1000), hot()]),
        Params::from([n(4096)]),
        Params::from([n(4096), hot()]),
    ];
    assert_eq!(both.points, expected);
    assert_eq!([0, 1].map(|at| call(&both, at).flush_l2), [true, false]);
    for line in ["flush_l2 = []", "flush_l2 = [true, true]"] {
        assert_eq!(
            wrong("", &format!("{SAXPY}{line}")),
            ["`flush_l2` names each of `true` and `false` once at most"]
        );
    }
}

#[test]
fn what_no_device_takes_is_a_mistake_of_the_file_at_its_place() {
    let of = |from: &str, to: &str| wrong("", &SAXPY.replace(from, to));
    let grid = "grid = 'ceil_div(n, 256)'";
    let cases = [
        (
            grid,
            "grid = 'n / 256'",
            "for `n=1000` this expression fails: it gives 3.90625, not a whole number",
        ),
        (
            grid,
            "grid = 'n - 1000'",
            "for `n=1000` this expression fails: it gives 0; it must be from 1 to 2147483647",
        ),
        (
            grid,
            "grid = ['n', 'n * n']",
            "for `n=1000` this expression fails: it gives 1000000; it must be from 1 to 65535",
        ),
        (grid, "grid = []", "`grid` has 0 axes"),
        (grid, "grid = [1, 1, 1, 1]", "`grid` has 4 axes"),
        (grid, "grid = 0", "`grid` is 0; it must be from 1 to 2147483647"),
        (grid, "grid = 1.5", "`grid` is 1.5, not a whole number"),
        (grid, "grid = 'm'", "no parameter is called `m`"),
        (grid, "grid = 'n +'", "this is no expression: "),
        (grid, "", "`[benchmark.cuda]` has no `grid`"),
        (
            "block = 256",
            "block = [32, 64]",
            "for `n=1000` `block`: 2048 threads, and a block has at most 1024",
        ),
        ("block = 256", "block = [1, 1, 65]", "`block` is 65; it must be from 1 to 64"),
        ("entry = 'saxpy'", "entry = 'saxpy('", "`saxpy(` is no kernel's name"),
        ("entry = 'saxpy'", "entry = 'f<{tile}>'", "no parameter is called `tile`"),
        ("cuda/saxpy.cu", "../saxpy.cu", "`file = \"../saxpy.cu\"` leaves the benchmark's folder"),
        ("cuda/saxpy.cu", "/saxpy.cu", "`file = \"/saxpy.cu\"` leaves the benchmark's folder"),
        ("block = 256", "block = 256\nshared = -1", "`shared` is -1; it must be from 0 to"),
        ("block = 256", "block = 256\noptions = ['saxpy.cu']", "`saxpy.cu` is no option"),
        ("block = 256", "block = 256\noptions = ['-I/x']", "`-I/x` is a folder of headers"),
        ("block = 256", "block = 256\noptions = ['-arch=sm_90']", "`-arch=sm_90` names an architecture"),
        ("block = 256", "block = 256\noptions = ['-DT={t}']", "no parameter is called `t`"),
        (grid, "grid = 'max(n, 256)'", "there is no function `max`"),
        ("block = 256", "block = 256\nthreads = 1", "`[benchmark.cuda]` has no key `threads`"),
    ];
    for (from, to, what) in cases {
        let found = of(from, to);
        assert!(found.len() == 1 && found[0].starts_with(what), "{to}: {found:?}");
    }
    let place = read("", &SAXPY.replace(grid, "grid = 'n + mm'")).unwrap_err();
    assert!(place[0].starts_with("/suite/gbench.toml:8:13: "), "{place:?}");
}

#[test]
fn an_argument_says_what_it_is() {
    let of = |argument: &str| wrong("", &format!("{SAXPY}arguments = [{argument}]"));
    let cases = [
        ("{length = 1}", "this argument does not say what it is"),
        ("{input = 'f32', output = 'f32', length = 1}", "an argument takes `input` or `output`, not both"),
        ("{input = 'f32'}", "this `input` has no `length`"),
        ("{input = 'float', length = 1}", "`input` cannot be `float`"),
        ("{input = 'f32', length = 0}", "`length` is 0; it must be from 1 to"),
        (
            "{input = 'f32', length = 1, type = 'f32'}",
            "`type` is for a `value`: `input` has the type of its elements",
        ),
        ("{value = 1}", "this argument does not say which type its `value` has"),
        ("{value = 1, type = 'i32', length = 1}", "`length` is for a buffer"),
        ("{value = 1.5, type = 'i32'}", "`value` is 1.5, not a whole number, which `i32` is"),
        (
            "{value = 'n', type = 'u8'}",
            "for `n=1000` this expression fails: it gives 1000, and `u8` goes from 0 to 255",
        ),
        ("{input = 'f32', length = 1, fill = 'ones'}", "`fill` cannot be `ones`"),
        ("{input = 'u8', length = 1, fill = 256}", "`fill` is 256, and `u8` goes from 0 to 255"),
        ("{input = 'f32', length = 1, fill = 0, range = [0, 1]}", "`range` is for random numbers"),
        (
            "{input = 'f32', length = 1, range = [1, 1]}",
            "for `n=1000` `range`: the range from 1 to 1 is empty",
        ),
        (
            "{input = 'u8', length = 1, range = [0, 'n']}",
            "for `n=1000` `range`: 999, and `u8` goes from 0 to 255",
        ),
        ("{input = 'f32', length = 1, range = [1]}", "`range` has 1 number"),
        ("{input = '{t}', length = 1}", "no parameter is called `t`"),
        ("{input = '{n}', length = 1}", "for `n=1000` `1000` is no type of an element"),
        ("{input = 'f{n}', length = 1}", "`input` cannot be `f{n}`"),
        ("{input = 'f32', lenght = 1, length = 1}", "`[[benchmark.cuda.arguments]]` has no key `lenght`"),
    ];
    for (argument, what) in cases {
        let found = of(argument);
        assert!(found.len() == 1 && found[0].starts_with(what), "{argument}: {found:?}");
    }
}

#[test]
fn keys_that_other_ways_to_run_have_are_told() {
    let cases = [
        ("harness = 'criterion'", "`harness` has no meaning beside `cuda`"),
        ("timing = 'process'", "`timing` has no meaning beside `cuda`"),
        ("extract = [{metric = 'm', regex = '(x)'}]", "`extract` has no meaning beside `cuda`"),
        ("cases = ['x']", "`cases` has no meaning beside `cuda`"),
        ("isolation = 'shared'", "`isolation` is for the cases of a harness"),
        ("count = 'auto'", "`count` is for the cases of a harness"),
        ("share = true", "a process measures one kernel at one point"),
        ("container = 'image'", "a kernel is measured by the gate itself, on the host"),
        ("command = ['x']", "a benchmark takes `command` or `cuda`, not both"),
        ("work = {flops = 'm'}", "no parameter is called `m`"),
    ];
    for (line, what) in cases {
        assert_eq!(wrong(line, SAXPY), [what], "{line}");
    }
    let reference = "[benchmark.cuda.reference]\nentry = 'plain'";
    let nothing = "`reference` has nothing to hold: no argument is an `output` or `inout`";
    assert_eq!(wrong("", &format!("{SAXPY}{reference}")), [nothing]);
    let output = "arguments = [{output = 'f32', length = 'n'}]\n";
    assert_eq!(wrong("", &format!("{SAXPY}{output}{reference}\nrelative = -1")), ["`relative` cannot be -1"]);
    assert_eq!(
        wrong("", &format!("{SAXPY}{output}[benchmark.cuda.reference]")),
        ["`[benchmark.cuda.reference]` has no `entry`"]
    );
}

/// The advice on the first thing that is wrong with an entry.
fn advice(inside: &str) -> String {
    let text = format!("[[benchmark]]\nid = 'x'\nmatrix = {{n = [1000, 4096]}}\n[benchmark.cuda]\n{inside}");
    Suite::parse(Path::new("/suite/gbench.toml"), &text, &[]).unwrap_err().next
}

#[test]
fn advice_fits_what_is_wrong() {
    let argument = |argument: &str| advice(&format!("{SAXPY}arguments = [{argument}]"));
    let of = |from: &str, to: &str| advice(&SAXPY.replace(from, to));
    let cases = [
        (of("block = 256", "block = 2048"), "write a number of threads: 256, or [16, 16]"),
        (of("block = 256", "block = [32, 64]"), "write fewer threads, and more blocks in `grid`"),
        (argument("{value = 'n', type = 'u8'}"), "write a number that `u8` holds, or another `type`"),
        (
            argument("{input = 'f32', length = 0}"),
            "write its number of elements, at least 1: `length = \"n\"`",
        ),
        (
            argument("{input = 'f32', length = 1, fill = 'ones'}"),
            "use one of `random`, `zero`, `index`, or a number: `fill = 1`",
        ),
        (
            of("grid = 'ceil_div(n, 256)'", "grid = 'max(n, 256)'"),
            "use `+ - * / // % **`; the one function is `ceil_div(a, b)`; the greater of two numbers is `n if n > 256 else 256`",
        ),
    ];
    for (found, next) in cases {
        assert_eq!(found, next);
    }
    let greater = SAXPY.replace("'ceil_div(n, 256)'", "'n if n > 2000 else 2000'");
    assert_eq!(call(&read("", &greater).unwrap(), 0).launch.grid, [2000, 1, 1]);
}

#[test]
fn a_bad_fill_is_the_only_fault_although_a_reference_needs_what_it_fills() {
    let arguments =
        "arguments = [{output = 'f32', length = 1, fill = 'ones'}]\nreference = {entry = 'plain'}";
    assert_eq!(wrong("", &format!("{SAXPY}{arguments}")), ["`fill` cannot be `ones`"]);
}

#[test]
fn options_that_make_no_code_to_load_or_write_files_are_refused() {
    let refused = [
        ("-rdc=true", "leaves code that has to be linked"),
        ("--relocatable-device-code=true", "leaves code that has to be linked"),
        ("-dc", "leaves code that has to be linked"),
        ("--device-c", "leaves code that has to be linked"),
        ("-dlto", "makes no machine code"),
        ("--dlink-time-opt", "makes no machine code"),
        ("-lto", "makes no machine code"),
        ("--time=t.csv", "reads or writes a file beside the source"),
        ("--fdevice-time-trace=t.json", "reads or writes a file beside the source"),
        ("--pch-dir=x", "reads or writes a file beside the source"),
        ("--create-pch=x", "reads or writes a file beside the source"),
        ("--use-pch=x", "reads or writes a file beside the source"),
    ];
    for (option, what) in refused {
        let found = wrong("", &format!("{SAXPY}options = ['{option}']"));
        assert_eq!(found, [format!("`{option}` {what}")]);
    }
    let taken = "options = ['-DTILE=4', '--use_fast_math', '-default-device', '--device-debug', '-include=a.h', '--std=c++17']";
    assert!(read("", &format!("{SAXPY}{taken}")).is_ok());
    // A value of a parameter makes no other option of it.
    let of = |value: &str| {
        read_text(&format!(
            "[[benchmark]]\nid = 'x'\nmatrix = {{n = [1000], o = ['-DA', '{value}']}}\n[benchmark.cuda]\n{SAXPY}options = ['{{o}}']"
        ))
    };
    assert!(of("--maxrregcount=64").is_ok());
    let faults = of("-dc").unwrap_err();
    assert!(
        faults.len() == 1
            && faults[0].ends_with("for `n=1000,o=-dc` `-dc` leaves code that has to be linked"),
        "{faults:?}"
    );
}

#[test]
fn a_parameter_names_the_type_of_elements() {
    let text = |types: &str, rest: &str| {
        format!(
            "[[benchmark]]\nid = 'x'\nmatrix = {{n = [1000], t = [{types}]}}\n[benchmark.cuda]\n\
             {SAXPY}arguments = [{{input = '{{t}}', length = 'n'}}, {{output = '{{t}}', length = 'n'}}, \
             {{value = {rest}, type = '{{t}}'}}]\nreference = {{entry = 'plain', relative = 1e-3}}"
        )
    };
    let benchmark = read_text(&text("'f16', 'i32'", "2")).unwrap();
    let buffer = |dtype, access, fill| KernelArgument::Buffer { dtype, length: 1000, access, fill };
    let calls = [0, 1].map(|at| call(&benchmark, at));
    let zero = Fill::Value { value: 0.0 };
    for (call, dtype, (low, high), absolute) in
        [(&calls[0], DType::F16, (-1.0, 1.0), 2e-3), (&calls[1], DType::I32, (0.0, 100.0), 0.0)]
    {
        let random = Fill::Uniform { low, high };
        let expected = [
            buffer(dtype, Access::Input, random),
            buffer(dtype, Access::Output, zero),
            KernelArgument::Scalar { dtype, value: 2.0 },
        ];
        assert_eq!(call.arguments, expected);
        let reference = call.reference.as_ref().unwrap();
        assert_eq!((reference.absolute, reference.relative), (absolute, 1e-3));
    }
    let cases = [
        (text("'f16', 'half'", "2"), "for `n=1000,t=half` `half` is no type of an element"),
        (text("'f16', 'u8'", "300"), "for `n=1000,t=u8` `value` is 300, and `u8` goes from 0 to 255"),
    ];
    for (text, what) in cases {
        let faults = read_text(&text).unwrap_err();
        assert!(faults.iter().all(|fault| fault.ends_with(what)), "{faults:?}");
    }
    let json = serde_json::to_value(benchmark.cuda().unwrap()).unwrap();
    assert_eq!(json["arguments"][0]["dtype"], "{t}");
}
