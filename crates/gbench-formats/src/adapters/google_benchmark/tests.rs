use super::*;
use crate::adapters::interface::adapter::Amount;
use gbench_model::ParamValue;

#[test]
fn a_filter_that_linux_would_refuse_is_left_off() {
    let names: Vec<String> = (0..10_000).map(|number| format!("BM_something/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (command, amount) = (["./bench".to_owned()], Amount { seconds: 0.5, warmup: 0.0, samples: 5 });
    let asked = |cases: &[&str]| {
        GoogleBenchmark.run(&CaseRequest { command: &command, cases, out: "/out", amount }).unwrap().env
    };
    assert!(asked(&names).iter().all(|(name, value)| name.len() + value.len() < 128 * 1024));
    assert!(asked(&names[..1_000]).last().unwrap().1.ends_with("BM_something/999)$"));
}

#[test]
fn names_give_the_parameters_that_the_library_names() {
    let name = case_name("BM_sort<int>/n:8/64/threads:2");
    assert_eq!(name.case, "BM_sort<int>/64");
    assert_eq!(name.params.len(), 2);
    assert_eq!(name.params.get("threads"), Some(&ParamValue::Int(2)));
    for (native, case, params) in [
        ("BM/repeats:5", "BM", 0),
        (
            "BM/8/min_time:0.500/iterations:10/repeats:5/process_time/real_time/threads:2",
            "BM/8/process_time/real_time",
            1,
        ),
        ("BM/min_warmup_time:1.5/real_time", "BM/real_time", 0),
        // Not where the library puts it, or not its number.
        ("BM/repeats:5/8", "BM/8", 1),
        ("BM/repeats:few", "BM", 1),
        ("repeats:5", "repeats:5", 0),
    ] {
        let name = case_name(native);
        assert_eq!((name.native.as_str(), name.case.as_str(), name.params.len()), (native, case, params));
    }
    for plain in ["ns::fn<int, char>", "x:1", "a/\"q\" a:b:c", "a/:1", "a/b:"] {
        assert_eq!(case_name(plain), CaseName::plain(plain), "{plain}");
    }
}
