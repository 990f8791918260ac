//! Prints what is read from a suite file: every field that differs from a default benchmark.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Action, Benchmark, Gate, LauncherOptions, MetricRule, ProfileOptions, Suite};
use case_files::Given;
use gbench_model::{Exit, Fault, KernelCall, MetricDeclaration, ParamValue, Params, Settings, Timing};

/// Lines of the fields whose values differ. It names all fields of the type, so that a new one cannot be forgotten.
macro_rules! differing {
    ($text:ident, $it:expr, $fresh:expr, $kind:ident { $($field:ident)* }) => {{
        let $kind { $($field: _),* } = $it;
        $(if $it.$field != $fresh.$field {
            $text += &format!("{}: {:?}\n", stringify!($field), $it.$field);
        })*
    }};
}

pub(crate) use differing;

/// Members of the micro suite: `mem` has parameters and a metric rule, `bare` has neither.
fn members() -> [Benchmark; 2] {
    let member = |name: &str| {
        let action = Action::Builtin(name.into());
        let mut member =
            Benchmark::new(format!("micro/{name}").parse().unwrap(), action, "/elsewhere".into());
        member.timing = Timing::Protocol;
        member
    };
    let mut mem = member("mem");
    mem.env.insert("A".into(), "member".into());
    mem.points = [1, 2, 3].map(|n| Params::from([("n".into(), ParamValue::Int(n))])).to_vec();
    let declaration = MetricDeclaration { threshold: Some(0.2), ..Default::default() };
    mem.metrics = vec![MetricRule { glob: "*".into(), case: None, unit: None, declaration }];
    [mem, member("bare")]
}

/// Of `suite`, a text; `declarations`, lines of a metric and a case of the first benchmark.
pub(super) fn suite(given: &Given) -> String {
    let text = given.get("suite").expect("a suite");
    let suite = match Suite::parse(Path::new("/suite/gbench.toml"), &text, &members()) {
        Ok(suite) => suite,
        Err(fault) => return fault_text(&fault),
    };
    let mut text = String::new();
    let fresh = Suite::new("suite", suite.source.clone(), Vec::new());
    differing!(text, suite.gate, fresh.gate, Gate {
        alpha alpha_improved rounds budget controls interleaving sandbox writable watch lock_sm_clock lock_memory_clock power_limit inconclusive_fails
        failed_fails broken_fails sessions paths match_key
    });
    differing!(text, suite.launcher, fresh.launcher, LauncherOptions { kind shards options queue_wait });
    differing!(text, suite.profile, fresh.profile, ProfileOptions { profilers metrics trace nsys_flags ncu_flags });
    for benchmark in &suite.benchmarks {
        text += &benchmark_text(benchmark);
    }
    for line in given.get("declarations").iter().flat_map(|text| text.lines()) {
        let (metric, case) = line.split_once(' ').unwrap();
        let (unit, declaration) = suite.benchmarks[0].declaration(metric, case);
        let (mut said, fresh) = (String::new(), MetricDeclaration::default());
        differing!(said, declaration, fresh, MetricDeclaration {
            better threshold target min_effect margin gate exact absolute optional
        });
        writeln!(text, "{line}: unit {unit:?}, {}", said.trim_end().replace('\n', ", ")).unwrap();
    }
    text
}

pub(super) fn fault_text(fault: &Fault) -> String {
    let text = |fault: &Fault| {
        let exit = if fault.exit == Exit::Usage { String::new() } else { format!(", exit {:?}", fault.exit) };
        format!("error at {}: {}\n  {}{exit}\n", fault.place, fault.what, fault.next)
    };
    fault.each().map(text).collect()
}

fn benchmark_text(benchmark: &Benchmark) -> String {
    let mut text = format!("{} at {}\n", benchmark.id, benchmark.declared);
    let mut fresh =
        Benchmark::new(benchmark.id.clone(), Action::Command(vec!["true".into()]), "/suite".into());
    // Printed below, point by point and setting by setting.
    fresh.declared = benchmark.declared.clone();
    (fresh.points, fresh.settings) = (benchmark.points.clone(), benchmark.settings.clone());
    if let Some(entry) = benchmark.cuda() {
        fresh.action = benchmark.action.clone();
        writeln!(text, "cuda: {}", serde_json::to_string(entry).unwrap()).unwrap();
    }
    differing!(text, benchmark, fresh, Benchmark {
        id declared description components kind tags group load renamed_from action dir env keep_env build device_code container
        requires timing work extract harness metrics pairs points excluded settings sandbox
    });
    text += &settings_text(&benchmark.settings);
    for point in &benchmark.points {
        let params: Vec<String> = point.iter().map(|(name, value)| format!(" {name}={value:?}")).collect();
        writeln!(text, "point{}", params.concat()).unwrap();
        let work = benchmark.work_of(point).unwrap();
        if !work.is_empty() {
            writeln!(text, "  work {work:?}").unwrap();
        }
        if let Some(call) = benchmark.kernel_call(point) {
            writeln!(text, "  starts {:?}", benchmark.argv(point, &["gbench-ci", "__micro"])).unwrap();
            text += &call_text(&call.unwrap());
        }
    }
    text
}

/// Those that are not the default.
pub(super) fn settings_text(settings: &Settings) -> String {
    let usual = Settings::default().shown();
    let differing = settings.shown().into_iter().filter(|(name, shown)| *shown != usual[name]);
    differing.map(|(name, shown)| format!("{name}: {} of {}\n", shown.value, shown.origin)).collect()
}

fn call_text(call: &KernelCall) -> String {
    let mut text = String::new();
    for (name, value) in serde_json::to_value(call).unwrap().as_object().unwrap() {
        match value.as_array().filter(|_| name == "arguments") {
            Some(arguments) => {
                text.extend(arguments.iter().map(|argument| format!("  argument {argument}\n")));
            }
            None => writeln!(text, "  {name} {value}").unwrap(),
        }
    }
    text
}
