use super::*;
use crate::adapters::detect::MemoryTree;
use crate::adapters::{Amount, OutputFiles, list, read};

fn read_entry(entry: &str) -> Result<Vec<Reading>, ReadError> {
    let files = OutputFiles([(FILE.to_owned(), format!("[{entry}]").into_bytes())].into());
    read(&Jmh, &HarnessOutput { stdout: b"", files: &files })
}

fn entry(mode: &str, metric: &str) -> String {
    format!(r#"{{"jmhVersion":"1.37","benchmark":"a.B.c","mode":"{mode}","primaryMetric":{{{metric}}}}}"#)
}

#[test]
fn a_case_is_asked_for_by_its_whole_name_and_its_parameters() {
    let command = ["java", "-jar", "b.jar"].map(str::to_owned);
    let amount = Amount { seconds: 0.3, warmup: 0.0, samples: 3 };
    let ask = CaseRequest {
        command: &command,
        cases: &["a.B.c | k=x y | n=8", "a.B.c | k=x y | n=64"],
        out: "/out",
        amount,
    };
    let words = Jmh.run(&ask).unwrap().argv.split_off(3);
    assert_eq!(
        words,
        [
            "-rf",
            "json",
            "-rff",
            "/out/jmh.json",
            "-o",
            "/out/jmh.txt",
            "-f",
            "1",
            "-i",
            "3",
            "-r",
            "100ms",
            "-wi",
            "0",
            "-w",
            "1ms",
            r"^a\.B\.c$",
            "-p",
            "k=x y",
            "-p",
            "n=8,64"
        ]
    );
}

#[test]
fn a_list_with_parameters_has_all_their_combinations() {
    let text = "Benchmarks: \na.B.c\n  param \"n\" = {8, 64}\n  param \"k\" = {x}\na.B.d\n";
    let files = OutputFiles::default();
    let cases = list(&Jmh, &HarnessOutput { stdout: text.as_bytes(), files: &files }).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.native.as_str()).collect();
    assert_eq!(names, ["a.B.c | k=x | n=8", "a.B.c | k=x | n=64", "a.B.d"]);
    assert_eq!((cases[0].case.as_str(), &cases[0].params["n"]), ("a.B.c", &ParamValue::Int(8)));
    let bad = list(&Jmh, &HarnessOutput { stdout: b"Benchmarks: \n  param \"n\" = {8}\n", files: &files });
    assert_eq!(bad.unwrap_err().to_string(), "stdout:2: it is no parameter of a benchmark");
}

#[test]
fn each_mode_has_its_units_and_a_histogram_its_median() {
    let metric = |mode, text: &str| read_entry(&entry(mode, text)).unwrap().remove(0).metrics.remove(0);
    let thrpt = metric("thrpt", r#""scoreUnit":"ops/ms","rawData":[[1,2],[3]]"#);
    assert_eq!(
        (thrpt.name.as_str(), thrpt.better, &thrpt.values[..]),
        ("throughput", Some(Better::Higher), &[1.0, 2.0, 3.0][..])
    );
    let ss = metric("ss", r#""scoreUnit":"us/op","scoreError":"NaN","rawData":[[5]]"#);
    assert_eq!((ss.name.as_str(), ss.unit.as_str()), ("time", "us"));
    let sample = metric(
        "sample",
        r#""scoreUnit":"ns/op","scorePercentiles":{"50.0":4},"rawDataHistogram":[[[[4,2],[9,1]]]]"#,
    );
    assert_eq!(sample.summary, Some(SummaryReading { value: 4.0, stddev: None, count: Some(3) }));
}

#[test]
fn what_cannot_be_understood_is_refused() {
    for (text, why) in [
        (
            entry("avgt", r#""scoreUnit":"ops/s","rawData":[[1]]"#),
            "primaryMetric.scoreUnit: `ops/s` is no unit of the mode `avgt`",
        ),
        (entry("avgt", r#""scoreUnit":"ns/op""#), "primaryMetric.rawData: it is missing"),
        (
            entry("sample", r#""scoreUnit":"ns/op","rawDataHistogram":[]"#),
            "scorePercentiles: it has no number at 50.0",
        ),
        (entry("avgt", r#""scoreUnit":"ns/op","rawData":[["NaN"]]"#), "expected f64"),
        (entry("avgt", r#""scoreUnit":"ns/op","rawData":[[]]"#), "`time` has no value"),
        (
            entry("avgt", r#""scoreUnit":"ns/op","rawData":[[1]]"#).replace("1.37", "2.0"),
            "only version 1 is known",
        ),
    ] {
        let error = read_entry(&text).unwrap_err().to_string();
        assert!(error.ends_with(why), "{error}");
    }
    let two = entry("avgt", r#""scoreUnit":"ns/op","rawData":[[1]]"#);
    assert!(read_entry(&format!("{two},{two}")).unwrap_err().to_string().ends_with("it stands there twice"));
}

#[test]
fn a_jar_of_benchmarks_is_found_and_others_told_about() {
    let pom = "<artifactId>jmh-core</artifactId> <artifactId>maven-shade-plugin</artifactId> <finalName>benchmarks</finalName>";
    let tree = MemoryTree::of([
        ("pom.xml", "<modules><module>bench</module></modules><dependencyManagement>jmh-core"),
        ("bench/pom.xml", pom),
        ("g/build.gradle", "plugins { id 'me.champeau.jmh' version '0.7' }"),
    ]);
    let detected = Jmh.detect(&tree);
    assert_eq!((detected.found.len(), detected.found[0].dir.as_str()), (1, "bench"));
    let build = "mvn -q -B -DskipTests -pl bench -am package".split(' ').map(str::to_owned).collect();
    assert_eq!(detected.found[0].build, Some(BuildStep::Command(build)));
    assert_eq!(detected.unclear.len(), 1);
    assert!(detected.unclear[0].starts_with("g/build.gradle uses JMH"));
}

#[test]
fn it_is_recognised_by_its_class_or_its_list_of_benchmarks() {
    let command = ["java".to_owned(), "org.openjdk.jmh.Main".into()];
    assert!(Jmh.recognises(&Program { command: &command, bytes: b"" }));
    assert!(Jmh.recognises(&Program { command: &command[..1], bytes: b"PK..META-INF/BenchmarkList.." }));
    assert!(!Jmh.recognises(&Program { command: &command[..1], bytes: b"PK" }));
}
