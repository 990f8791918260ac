use super::super::Action;
use super::*;
use gbench_model::ParamValue;

fn benchmark(id: &str, components: &[Component], tags: &[&str], sizes: &[i64]) -> Benchmark {
    let mut benchmark = Benchmark::new(id.parse().unwrap(), Action::Shell("true".into()), "/".into());
    benchmark.components = components.to_vec();
    benchmark.tags = tags.iter().map(|tag| tag.to_string()).collect();
    if !sizes.is_empty() {
        benchmark.points =
            sizes.iter().map(|n| Params::from([("n".to_owned(), ParamValue::Int(*n))])).collect();
    }
    benchmark
}

fn builtins() -> Vec<Benchmark> {
    vec![
        benchmark("micro/cpu_flops", &[Component::Cpu], &["quick"], &[]),
        benchmark("micro/mem_bandwidth", &[Component::Ram], &[], &[]),
        benchmark("micro/disk_io", &[Component::Storage], &[], &[]),
    ]
}

fn registry() -> Registry {
    let file = vec![
        benchmark("kernels/gemm", &[Component::Gpu], &["quick"], &[1, 2, 4]),
        benchmark("kernels/softmax", &[Component::Gpu, Component::Ram], &[], &[]),
        benchmark("llm/decode", &[Component::Gpu], &["slow"], &[2, 8]),
    ];
    Registry::new(Some(Suite::new("kernels", Source::Builtin, file)), &builtins())
}

fn ids(selection: &Selection) -> Vec<String> {
    let suite = registry().select(selection).unwrap();
    suite.benchmarks.iter().map(|benchmark| benchmark.id.to_string()).collect()
}

fn fault(selection: &Selection) -> Fault {
    registry().select(selection).unwrap_err()
}

fn globs(patterns: &[&str]) -> Selection {
    Selection { benchmarks: patterns.iter().map(|p| p.to_string()).collect(), ..Selection::default() }
}

#[test]
fn no_flag_means_the_file_and_without_a_file_the_built_in_suite() {
    assert_eq!(ids(&Selection::default()), ["kernels/gemm", "kernels/softmax", "llm/decode"]);
    let suite = Registry::new(None, &builtins()).select(&Selection::default()).unwrap();
    assert_eq!((suite.name.as_str(), suite.benchmarks.len()), ("micro", 3));
}

#[test]
fn benchmarks_keep_the_order_of_the_flags_and_run_once() {
    let selection = globs(&["llm/*", "gemm", "kernels/*", "llm/decode"]);
    assert_eq!(ids(&selection), ["llm/decode", "kernels/gemm", "kernels/softmax"]);
}

#[test]
fn built_ins_are_reached_by_their_suite_even_beside_a_file() {
    assert_eq!(ids(&globs(&["micro/*flops"])), ["micro/cpu_flops"]);
    assert_eq!(ids(&globs(&["disk_io"])), ["micro/disk_io"]);
    assert_eq!(ids(&globs(&["*"])).len(), 3);
    let micro = Selection { suites: vec!["micro".into()], ..Selection::default() };
    assert_eq!(ids(&micro).len(), 3);
}

#[test]
fn a_file_hides_a_built_in_of_the_same_id() {
    let mut registry = registry();
    let own = benchmark("micro/cpu_flops", &[], &["mine"], &[]);
    registry.file.as_mut().unwrap().benchmarks.push(own);
    let suite = registry.select(&globs(&["micro/*"])).unwrap();
    assert_eq!(suite.benchmarks.len(), 3);
    assert_eq!(suite.benchmarks[0].tags, ["mine"]);
}

#[test]
fn a_component_means_what_the_file_declares_else_what_it_has_else_the_built_ins() {
    let only = |component| Selection { components: vec![component], ..Selection::default() };
    assert_eq!(ids(&only(Component::Cpu)), ["micro/cpu_flops"]);
    assert_eq!(ids(&only(Component::Ram)), ["kernels/softmax"]);
    let mut registry = registry();
    let declared = vec!["micro/mem_bandwidth".parse().unwrap()];
    registry.file.as_mut().unwrap().components.insert(Component::Ram, declared);
    let suite = registry.select(&only(Component::Ram)).unwrap();
    assert_eq!(suite.benchmarks[0].id.as_str(), "micro/mem_bandwidth");
    assert!(fault(&only(Component::Network)).what.contains("no benchmark exercises `network`"));
}

#[test]
fn both_spellings_of_several_components_mean_the_same() {
    let mut commas = Selection::default();
    commas.add_components("ram, cpu").unwrap();
    let mut repeated = Selection::default();
    repeated.add_components("ram").unwrap();
    repeated.add_components("cpu").unwrap();
    assert_eq!(commas, repeated);
    assert_eq!(ids(&commas), ["kernels/softmax", "micro/cpu_flops"]);
    assert_eq!(Selection::default().add_components("gpus").unwrap_err().next, "write `gpu`");
}

#[test]
fn suite_and_component_together_are_an_intersection_and_an_empty_one_is_an_error() {
    let mut selection = Selection { suites: vec!["kernels".into()], ..Selection::default() };
    selection.components = vec![Component::Ram];
    assert_eq!(ids(&selection), ["kernels/softmax"]);
    selection.components = vec![Component::Network];
    let fault = fault(&selection);
    assert_eq!(fault.place.to_string(), "--component network");
    assert_eq!(fault.what, "this leaves nothing of `kernels/gemm`, `kernels/softmax`");
}

#[test]
fn unknown_names_are_errors_that_list_near_ones() {
    assert_eq!(fault(&globs(&["gem"])).next, "write `kernels/gemm`");
    assert!(fault(&globs(&["zebra"])).next.starts_with("use one of `kernels/gemm`"));
    let suite = Selection { suites: vec!["kernel".into()], ..Selection::default() };
    assert_eq!(fault(&suite).next, "write `kernels`");
    let tag = Selection { tags: vec!["quik".into()], ..Selection::default() };
    assert_eq!(fault(&tag).next, "write `quick`");
    let exclude = Selection { exclude: vec!["softmx".into()], ..Selection::default() };
    assert_eq!(fault(&exclude).next, "write `kernels/softmax`");
    assert!(fault(&globs(&["[a"])).what.starts_with("this is no glob"));
}

#[test]
fn tags_and_exclusions_narrow_what_is_named() {
    let tagged = Selection { tags: vec!["quick".into(), "slow".into()], ..Selection::default() };
    assert_eq!(ids(&tagged), ["kernels/gemm", "llm/decode"]);
    let excluded = Selection { exclude: vec!["kernels/*".into()], ..Selection::default() };
    assert_eq!(ids(&excluded), ["llm/decode"]);
    let all = Selection { exclude: vec!["*".into()], ..Selection::default() };
    assert!(fault(&all).what.contains("leaves nothing"));
}

#[test]
fn a_parameter_keeps_the_cases_that_have_one_of_its_values() {
    let mut selection = Selection::default();
    selection.add_param("n=1,8").unwrap();
    let suite = registry().select(&selection).unwrap();
    let cases: Vec<_> = suite.benchmarks.iter().map(|b| (b.id.name(), b.points.len())).collect();
    assert_eq!(cases, [("gemm", 1), ("decode", 1)]);
    let wrong = |text: &str| {
        let mut selection = Selection::default();
        selection.add_param(text).map(|()| fault(&selection)).unwrap_or_else(|fault| fault)
    };
    assert_eq!(wrong("m=1").next, "write `n`");
    assert_eq!(wrong("n=3").next, "use one of `1`, `2`, `4`, `8`");
    assert_eq!(wrong("n").next, "write `--param n=32,64`");
    assert_eq!(wrong("n=").next, "write `--param n=32,64`");
}

#[test]
fn a_value_with_a_comma_is_taken_whole_or_with_an_escape() {
    let name = |text: &str| Params::from([("case".to_owned(), ParamValue::Text(text.into()))]);
    let mut registry = registry();
    let file = registry.file.as_mut().unwrap();
    file.benchmarks[0].points = ["BM_t<int,8>", "BM_t<int, 9>", "BM_u"].map(name).to_vec();
    let left = |texts: &[&str]| {
        let mut selection = globs(&["kernels/gemm"]);
        texts.iter().for_each(|text| selection.add_param(text).unwrap());
        registry.select(&selection).map(|suite| suite.benchmarks[0].points.len()).map_err(|fault| fault.what)
    };
    assert_eq!(left(&["case=BM_t<int,8>"]), Ok(1));
    assert_eq!(left(&["case=BM_t<int, 9>"]), Ok(1));
    assert_eq!(left(&["case=BM_t<int\\,8>,BM_u"]), Ok(2));
    assert_eq!(left(&["case=BM_t<int,8>", "case=BM_u"]), Ok(2));
    // Repeated and separated by commas mean the same where no value has a comma.
    for (together, apart) in [("n=1,2", ["n=1", "n=2"]), ("n=4, 1", ["n=4", "n=1"])] {
        let points = |texts: &[&str]| {
            let mut selection = Selection::default();
            texts.iter().for_each(|text| selection.add_param(text).unwrap());
            let suite = self::registry().select(&selection).unwrap();
            suite.benchmarks.iter().flat_map(|it| it.points.clone()).collect::<Vec<_>>()
        };
        assert_eq!(points(&[together]), points(&apart));
    }
    assert!(left(&["case=BM_t<int,7>"]).unwrap_err().contains("never `BM_t<int`"));
}

#[test]
fn a_number_is_compared_as_a_number() {
    assert!(ParamValue::Float(0.5).is_written("0.50"));
    assert!(ParamValue::Int(8).is_written("8"));
    assert!(!ParamValue::Text("8".into()).is_written("8.0"));
    assert!(ParamValue::Bool(true).is_written("true"));
}

#[test]
fn n22_a_name_given_to_the_wrong_flag_is_told_the_right_one() {
    let next = |selection: &Selection| fault(selection).next;
    assert_eq!(next(&globs(&["kernels"])), "`kernels` is a suite: write `--suite kernels`");
    assert_eq!(next(&globs(&["micro"])), "`micro` is a suite: write `--suite micro`");
    assert_eq!(next(&globs(&["gpu"])), "`gpu` is a component: write `--component gpu`");
    assert_eq!(next(&globs(&["slow"])), "`slow` is a tag: write `--tag slow`");
    let suite = |name: &str| Selection { suites: vec![name.to_owned()], ..Selection::default() };
    assert_eq!(next(&suite("decode")), "`decode` is a benchmark: write `--benchmark decode`");
    let exclude = |name: &str| Selection { exclude: vec![name.to_owned()], ..Selection::default() };
    assert_eq!(next(&exclude("llm")), "`llm` is a suite: write `--exclude 'llm/*'`");
}
