//! Guesses at every fixture: the description of a guess is a file that can be read, and reads the file that it was made of.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::*;
use crate::adapters::formats::tests::fixtures;
use crate::adapters::interface::output::OutputFiles;
use crate::adapters::tests::{damaged, damaged_copies};

/// The guess, after what every guess has to fulfil.
fn checked(name: &str, bytes: &[u8]) -> Guess {
    let beside = OutputFiles::default();
    let file = ResultFile { name, bytes, beside: &beside };
    let guess = Guess::of(&file);
    let Some(described) = &guess.described else { return guess };
    let toml = guess.toml(name).unwrap();
    let parsed = Described::parse(&toml).unwrap_or_else(|error| panic!("{name}: {error:?}\n{toml}"));
    assert_eq!(parsed, *described, "{name}\n{toml}");
    let repeats = if guess.repeats { Repeats::Samples } else { Repeats::Refuse };
    let read = read_repeated(&parsed, &file, repeats);
    assert_eq!(read.is_err(), guess.obstacle.is_some(), "{name}: {read:?}\n{toml}");
    guess
}

#[test]
fn every_fixture_with_figures_is_read_by_its_own_guess() {
    let (mut is_table, mut is_json, mut count, mut obstacles) = (false, false, 0, Vec::new());
    for fixture in fixtures().iter().filter(|fixture| !fixture.is_refused()) {
        let guess = checked(&fixture.name(), &fixture.bytes);
        count += usize::from(guess.described.is_some());
        obstacles.extend(guess.obstacle.map(|what| format!("{}: {what}", fixture.name())));
        is_table |= guess.described.is_some() && guess.form.starts_with("a table");
        is_json |= guess.described.is_some() && guess.form.starts_with("JSON");
    }
    // The obstacle of a guess that does not read its file is reported.
    assert!(is_table && is_json && obstacles.len() * 20 < count, "{count}: {obstacles:#?}");
}

fn guess(text: &str) -> Guess {
    checked("results", text.as_bytes())
}

fn role(guess: &Guess, name: &str) -> FieldRole {
    guess.fields.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("{name}")).role.clone()
}

#[test]
fn fields_have_the_part_that_their_values_and_names_show() {
    let row = |op: &str, backend: &str, ms: f64, count: u32| {
        format!(
            "{{\"op\":\"{op}\",\"backend\":\"{backend}\",\"time_ms\":{ms},\"std_ms\":0.1,\"score\":{ms},\"misses\":{count},\
             \"ok\":true,\"shape\":[2,8],\"error\":null,\"gpu\":\"H100\",\"warmup\":3,\"failed\":0,\"at\":\"2026-11-22T10:00:00Z\"}}"
        )
    };
    let rows = [row("gelu", "torch", 1.5, 7), row("gelu", "triton", 1.25, 9), row("silu", "torch", 2.5, 11)];
    let found = guess(&format!("{{\"commit\":\"0123abcd\",\"results\":[{}]}}", rows.join(",")));
    assert_eq!((found.form.as_str(), found.rows), ("JSON, objects at `$.results[*]`", 3));
    for (name, expected) in [
        ("op", FieldRole::Key),
        ("backend", FieldRole::Key),
        ("shape", FieldRole::Key),
        ("time_ms", FieldRole::Figure { main: true }),
        ("std_ms", FieldRole::Figure { main: false }),
        ("score", FieldRole::Figure { main: true }),
        // Not needed to distinguish rows.
        ("misses", FieldRole::Figure { main: true }),
        ("ok", FieldRole::Passed(vec!["true".into()])),
        ("gpu", FieldRole::Fact),
        ("warmup", FieldRole::Setting),
        ("failed", FieldRole::Zero),
        ("at", FieldRole::Moment),
        ("^commit", FieldRole::Commit),
    ] {
        assert_eq!(role(&found, name), expected, "{name}");
    }
    // Flags cannot express which rows failed.
    assert!(found.flags.is_none());
    let plain = |row: &String| {
        row.replace(",\"ok\":true", "").replace(",\"failed\":0", "").replace("\"error\":null,", "")
    };
    let found = guess(&format!("{{\"results\":[{}]}}", rows.iter().map(plain).collect::<Vec<_>>().join(",")));
    let flags = found.flags.unwrap();
    let expected = [
        ("--rows", "$.results[*]"),
        ("--parameters", "backend,op,shape"),
        ("--metric", "time_ms=time_ms:ms"),
    ];
    assert_eq!(flags, expected.map(|(flag, value)| (flag, value.to_owned())));
}

#[test]
fn what_is_around_a_row_tells_it_apart() {
    let chapter = |name: &str, first: f64, second: f64| {
        format!(
            "{{\"name\":\"{name}\",\"runs\":[{{\"name\":\"a\",\"ms\":{first}}},{{\"name\":\"b\",\"ms\":{second}}}]}}"
        )
    };
    let chapters = [chapter("one", 1.5, 2.5), chapter("two", 3.5, 4.5)];
    let found = guess(&format!("{{\"gpu\":\"A\",\"chapters\":[{}]}}", chapters.join(",")));
    assert_eq!(found.form, "JSON, objects at `$.chapters[*].runs[*]`");
    let described = found.described.unwrap();
    assert_eq!(described.parameters, ["name", "outer_name = ../../name"]);
    assert_eq!((described.facts, found.repeats), (vec!["^gpu".to_owned()], false));
}

#[test]
fn every_form_of_rows_is_found() {
    for (text, form, rows) in [
        ("[{\"n\":1,\"ms\":2.5},{\"n\":2,\"ms\":3.5}]", "JSON, a list of objects", 2),
        ("{\"n\":1,\"ms\":2.5}\n{\"n\":2,\"ms\":NaN}\n", "JSON lines", 2),
        ("{\"a\":{\"ms\":2.5},\"b\":{\"ms\":3.5}}", "JSON, objects at `$.*`", 2),
        ("{\"runs\":{\"a b\":[{\"n\":1,\"ms\":2.5}]}}", "JSON, objects at `$.runs['a b'][*]`", 1),
        ("{\"resnet\":2.5,\"bert\":3.5}", "JSON, numbers at `$.*`", 2),
        ("{\"elapsed_ms\":2.5,\"model\":\"bert\"}", "JSON, one object", 1),
        ("name,ms\na,2.5\n", "a table with `,` between its cells", 1),
        ("name;ms\na;2.5\n", "a table with `;` between its cells", 1),
        ("name\tms\na\t2.5\n", "a table with tabs between its cells", 1),
        ("| name | ms |\n|---|---|\n| a | 2.5 |\n", "a table with `|` between its cells", 1),
        (
            "# run\n  gemm, 8: 2.5 ms\nMean TTFT (ms):   3.5\ndone\n",
            "a text with lines of a name, a number and its unit",
            2,
        ),
        ("name    ms\na     2.5\n", "a table with blanks between its cells", 1),
    ] {
        let found = guess(text);
        assert_eq!((found.form.as_str(), found.rows), (form, rows), "{text}");
        assert!(found.described.is_some() && found.obstacle.is_none(), "{text}");
    }
    for (text, form) in [
        ("", "empty"),
        ("nothing\nof a table\n", "a text"),
        ("[1, 2]", "JSON without an object"),
        ("{\"a\":", "JSON that cannot be read: EOF while parsing a value at line 1 column 5"),
    ] {
        assert_eq!(guess(text).form, form, "{text}");
    }
}

#[test]
fn what_a_row_has_instead_of_a_number_is_not_lost() {
    let found = guess("name;time (ms);speed\na;1.5;3.5\nb;OOM;4.5\nc;N/A;\nd;2.5;5.5\n");
    let described = found.described.unwrap();
    assert_eq!((described.failed_words, described.absent_words), (vec!["OOM".into()], vec!["N/A".into()]));
    let optional: Vec<bool> = described.metrics.iter().map(|metric| metric.optional).collect();
    assert_eq!(optional, [false, true]);
    assert!(found.flags.is_none());
}

#[test]
fn a_row_that_failed_is_never_measured_by_flags() {
    for (column, values, passed, zero) in [
        ("correct", ["1", "0"], Some(vec!["1"]), false),
        ("is_ok", ["1.0", "0"], Some(vec!["1", "1.0"]), false),
        ("success", ["0", "0"], Some(vec!["1"]), false),
        ("status", ["ok", "failed"], Some(vec!["ok"]), false),
        ("status", ["FAILED", "launch error"], Some(vec![]), false),
        ("exit_code", ["0", "139"], None, true),
        ("returncode", ["0", "0"], None, true),
    ] {
        let [first, second] = values;
        let text = format!("name,ms,{column}\na,1.5,{first}\nb,2.5,{second}\n");
        let found = guess(&text);
        let (described, toml) = (found.described.as_ref().unwrap(), found.toml("r.csv").unwrap());
        let expected = passed.as_ref().map(|values| values.iter().map(|value| (*value).to_owned()).collect());
        assert_eq!(described.passed.get(column), expected.as_ref(), "{text}");
        assert_eq!((described.zero.len(), described.facts.len()), (usize::from(zero), 0), "{text}");
        assert!(found.flags.is_none() && found.obstacle.is_none(), "{text}");
        assert_eq!(toml.contains("# No row of this file passed"), passed == Some(vec![]), "{toml}");
    }
    // Only the rows that failed have the field.
    let found = guess("[{\"name\":\"a\",\"ms\":1.5},{\"name\":\"b\",\"ms\":2.5,\"ok\":false}]");
    let failed = &found.described.as_ref().unwrap().failed;
    assert!(found.flags.is_none() && failed["ok"] == ["false"], "{failed:?}");
    // A rate and a count are not outcomes.
    let found = guess("name,ms,num_correct,success_rate\na,1.5,1,1.0\nb,2.5,0,1.0\n");
    assert!(found.described.unwrap().passed.is_empty() && found.flags.is_some());
}

#[test]
fn a_key_with_a_quote_is_a_step_of_a_path() {
    let found = guess("{\"a']é\": [{\"ms\": 1.5}], \"b\\\\\": 1}");
    assert_eq!((found.form.as_str(), found.rows), ("JSON, objects at `$['a\\']é'][*]`", 1));
}

#[test]
fn a_row_for_each_metric_is_a_part_of_its_case() {
    let found = guess("kernel,metric,value,unit\na,time,1.5,ms\na,memory,12.5,MB\nb,time,2.5,ms\n");
    let described = found.described.unwrap();
    assert!(described.joins);
    assert_eq!(
        (described.metrics[0].name.as_str(), described.metrics[0].unit_field.as_deref()),
        ("{metric}", Some("unit"))
    );
}

#[test]
fn rows_with_the_same_keys_are_said() {
    let found = guess("name,ms\na,1.5\na,2.5\n");
    assert!(found.repeats && found.flags.is_some());
}

#[test]
fn damaged_files_are_guessed_at_without_panic() {
    let random = &mut Pcg64::seed_from_u64(20_261_127);
    for fixture in fixtures() {
        let is_rows = fixture.bytes.starts_with(b"{")
            || fixture.bytes.starts_with(b"[")
            || fixture.file.ends_with("csv");
        for _ in 0..if is_rows { damaged_copies().div_ceil(40) } else { 2 } {
            checked(&fixture.name(), &damaged(&fixture.bytes, random));
        }
    }
}
