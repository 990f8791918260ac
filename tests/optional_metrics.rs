//! A metric that the suite file calls optional may be absent: the case stands, and the record says what was not there.

use gbench_ci::compare::{Policy, SideInput, Verdict, compare};
use gbench_ci::model::{MetricDeclaration, Outcome, RunRecord};

use crate::support::cli::{newest, ran};
use crate::support::folder_with;
use crate::support::records::{case_of, standard};

fn protocol(lines: &str, rule: &str) -> tempfile::TempDir {
    let folder = folder_with(&format!(
        "[suite]\nname = 's'\n[[benchmark]]\nid = 'x'\nprocesses = 2\ntiming = 'protocol'\n\
         command = ['sh', 'emit.sh']\n{rule}"
    ));
    let script = format!("cat > \"$GBENCH_EVENTS\" <<'END'\n{lines}\n{{\"event\":\"end\"}}\nEND\n");
    std::fs::write(folder.path().join("emit.sh"), script).unwrap();
    folder
}

const TIME: &str = r#"{"event":"samples","metric":"time","values":[1.0,1.1,1.2],"unit":"s"}"#;
const OPTIONAL: &str = "[benchmark.metrics.energy]\noptional = true\n";

#[test]
fn n22_an_optional_metric_without_a_number_fails_no_case_and_the_record_says_so() {
    let none = r#"{"event":"sample","metric":"energy","value":null,"unit":"J"}"#;
    let some = r#"{"event":"samples","metric":"energy","values":[3.0,null,5.0],"unit":"J"}"#;
    for (said, values) in [(none, vec![]), (some, vec![3.0, 5.0]), ("", vec![])] {
        let folder = protocol(&format!("{TIME}\n{said}"), OPTIONAL);
        ran(folder.path(), "run --quiet").exits(0).says("`energy`").says("absent");
        let record = newest(folder.path());
        let case = &record.cases[0];
        assert_eq!(case.outcome, Outcome::Measured);
        assert!(case.processes.iter().all(|process| process.absent == ["energy"]));
        let energy = case.metrics.iter().find(|metric| metric.name == "energy");
        let found: Vec<f64> =
            energy.into_iter().flat_map(|metric| metric.processes[0].values.clone()).collect();
        assert_eq!(found, values, "{said}");
    }
    // Without the word it is as before: a number that is none is no measurement.
    let folder = protocol(&format!("{TIME}\n{none}"), "");
    ran(folder.path(), "run --quiet").exits(4).says("not a finite number");
}

#[test]
fn n22_a_case_that_gave_nothing_at_all_is_no_measurement_however_optional() {
    let folder = protocol("", OPTIONAL);
    ran(folder.path(), "run --quiet").exits(4).says("sent no sample");
}

#[test]
fn n22_an_optional_metric_may_be_absent_from_what_is_extracted() {
    let suite = |rule: &str| {
        folder_with(&format!(
            "[suite]\nname = 's'\n[[benchmark]]\nid = 'x'\nprocesses = 2\ntiming = 'stdout'\n\
             shell = \"echo '{{\\\"ms\\\": 5, \\\"joule\\\": null}}'\"\n\
             [[benchmark.extract]]\nmetric = 'time'\nunit = 'ms'\njson = '$.ms'\n\
             [[benchmark.extract]]\nmetric = 'energy'\nunit = 'J'\njson = '$.joule'\n\
             [[benchmark.extract]]\nmetric = 'power'\nunit = 'W'\njson = '$.watt'\n{rule}"
        ))
    };
    let folder = suite("[benchmark.metrics.'{energy,power}']\noptional = true\n");
    ran(folder.path(), "run --quiet").exits(0);
    let case = newest(folder.path()).cases.remove(0);
    assert_eq!(case.processes[0].absent, ["energy", "power"]);
    assert_eq!(case.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(), ["time"]);
    ran(suite("").path(), "run --quiet").exits(4).says("not a finite number");
}

#[test]
fn n22_an_optional_metric_of_one_side_is_a_warning_and_no_gap() {
    let (mut base, head) = (standard(1), standard(2));
    let case = case_of(&mut base, "kernels/gemm");
    let mut energy = case.metrics[0].clone();
    (energy.name, energy.unit) = ("energy".into(), "J".into());
    case.metrics.push(energy);
    let policy = Policy { sessions: 0, ..Policy::default() };
    let judged = |base: &RunRecord, head: &RunRecord| {
        let side = |record, name: &str| SideInput { record, name: name.into() };
        compare(&side(base, "base"), &side(head, "head"), &policy).unwrap()
    };
    let missing = |document: &gbench_ci::compare::VerdictDocument| {
        document.rows.iter().filter(|row| row.metric == "energy" && row.verdict == Verdict::Missing).count()
    };
    assert_eq!(missing(&judged(&base, &head)), 1, "a metric that must be there is missed");
    let optional = MetricDeclaration { optional: Some(true), ..Default::default() };
    case_of(&mut base, "kernels/gemm").declared.insert("energy".into(), optional);
    let document = judged(&base, &head);
    assert_eq!((missing(&document), document.exit_code), (0, 0), "{}", document.sentence);
    let said =
        document.warnings.iter().any(|warning| warning.contains("energy") && warning.contains("optional"));
    assert!(said, "{:?}", document.warnings);
}
