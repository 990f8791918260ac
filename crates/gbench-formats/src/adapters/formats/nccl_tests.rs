//! nccl-tests: the table of `all_reduce_perf` and similar programs. The row of a size is two cases, out of place and in
//! place. <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>.
//!
//! The columns before the times differ by program and version (some lack `redop` and `root`), so they are read from the
//! header.

use super::interface::prelude::*;
use gbench_model::UnreadKind;

/// Newer versions write it before a table.
const COLLECTIVE: &str = "# Collective test starting:";

/// Ends the name of each program of the suite, by which a log without that line may name its collective.
const PROGRAM: &str = "_perf";

/// Columns of each of the two halves of a row; old versions call the last one `error`.
const HALF: usize = 4;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "nccl-tests",
    title: "nccl-tests",
    versions: "2.x with `#wrong`, and the older layout with `error`; rccl-tests, whose cycles are samples",
    fields: "`Collective test starting`, else a word such as `all_reduce_perf`; `warmup iters`, `iters`, `agg iters`, `graph`, hosts and devices; `size`, `type`, `redop`, `root`; `time`, `algbw`, `busbw`, `#wrong` of both halves; `Out of bounds values`",
    direction: "time lower; bandwidths follow from it and are shown",
    failures: "`#wrong` or `error` of 1 or more; a time of 0; no `Out of bounds values`, or values out of bounds and no row \
             that has them (refused)",
    recognises: |file| file.any_line("algbw", |line| columns(line).is_some()),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (mut keys, mut collective): (Option<Vec<&str>>, Option<&str>) = (None, None);
    let (mut cases, mut bounds): (CaseReadings, Option<bool>) = (CaseReadings::default(), None);
    let (mut devices, mut run) = (Vec::new(), RunReading::default());
    let mut programs: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    programs.retain(|word| word.ends_with(PROGRAM));
    programs.dedup();
    let program = programs.first().filter(|_| programs.len() == 1);
    let mut more = Params::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let (number, whole) = (at + 1, line.ends_with('\n'));
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = line.strip_prefix(COLLECTIVE) {
            collective = Some(name.trim());
        } else if let Some(found) = columns(line) {
            if keys.is_some() && collective.is_none() {
                return Err(file.line(number, "a second table, and nothing says what each of them measured"));
            }
            keys = Some(found);
        } else if let Some(rest) = line.strip_prefix("# Out of bounds values") {
            bounds = Some(rest.split_whitespace().any(|word| word == "OK"));
        } else if let Some((host, device)) = device(&words) {
            devices.push(device);
            run.also_of_row(host.map(|host| ("host".to_owned(), host.into())));
        } else if let Some(options) = line.strip_prefix("# nThread ") {
            more.extend(options_of(options, &mut run));
        } else if let Some((_, version)) = line.split_once("NCCL version ") {
            run = run.also("nccl", version.trim());
        } else if let Some(version) = line.strip_prefix("# nccl-tests version ") {
            run = run.also("version", version.split_whitespace().next());
        } else if words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            let Some(keys) = &keys else {
                if words.len() >= 2 * HALF
                    && words.iter().filter(|word| self::number(word).is_some()).count() > HALF
                {
                    run.unread.line(UnreadKind::Row, number, line);
                }
                continue;
            };
            // Old versions leave the column empty for programs without an operation.
            let is_short = words.len() + 1 == keys.len() + 2 * HALF && keys.contains(&"redop");
            let keys: Vec<&str> = keys.iter().copied().filter(|key| !(is_short && *key == "redop")).collect();
            if words.len() != keys.len() + 2 * HALF || !whole {
                let what = format!(
                    "a row of {} columns, and the header names {}",
                    words.len(),
                    keys.len() + 2 * HALF
                );
                return Err(file.line(number, if whole { what } else { "the row is incomplete".into() }));
            }
            let (front, halves) = words.split_at(keys.len());
            for (half, in_place) in halves.chunks(HALF).zip([false, true]) {
                // The count follows from size and type.
                let columns = keys.iter().zip(front).filter(|(key, _)| **key != "count");
                let mut params: Params =
                    columns.map(|(key, word)| ((*key).to_owned(), param(word))).collect();
                params.insert("in_place".into(), ParamValue::Bool(in_place));
                let name =
                    collective.map(|name| ("collective".to_owned(), ParamValue::Text(name.to_owned())));
                params.extend(name);
                let mut new = named("nccl-tests", params);
                if collective.is_none() {
                    new.also(program.map(|name| text_param("collective", name)));
                }
                new.also(more.clone());
                add(&mut cases, file, number, new, half)?;
            }
        }
    }
    match bounds {
        None => Err(file.wrong("`# Out of bounds values` is missing: the program did not end")),
        Some(false) if cases.readings().iter().all(|reading| reading.end == End::Measured) => {
            Err(file.wrong("values are out of bounds, in an unknown row"))
        }
        Some(_) => Ok(vec![RunReading { readings: cases.into(), ..run }.fact("devices", devices)]),
    }
}

/// The names of the columns before the first `time`, if the line is the header.
fn columns(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.strip_prefix('#')?.split_whitespace().collect();
    let first = words.iter().position(|word| *word == "time")?;
    let (keys, halves) = words.split_at(first);
    let half = ["time", "algbw", "busbw"];
    let fits = |half_words: &[&str]| {
        let last = half_words.strip_prefix(&half);
        last.is_some_and(|last| [["#wrong"], ["error"]].iter().any(|name| last == name))
    };
    let is_header = keys.starts_with(&["size", "count"]) && halves.len() == 2 * HALF;
    (is_header && halves.chunks(HALF).all(fits)).then(|| keys.to_vec())
}

/// The options of a run: how often it measures; and, where they are not the usual ones, how many operations are one, and whether
/// they are a graph.
fn options_of(options: &str, run: &mut RunReading) -> Params {
    let words: Vec<&str> = options.split_whitespace().collect();
    let value = |before: &str, key: &str| {
        let place =
            words.windows(2).position(|pair| pair[1] == key && (before.is_empty() || pair[0] == before))?;
        words.get(place + 2)?.parse::<i64>().ok()
    };
    let step = words.iter().find(|word| word.contains('(')).copied().unwrap_or_default();
    // The plain number follows that of the warm-up.
    let warmup = value("warmup", "iters:");
    let plain =
        warmup.and_then(|count| value(&count.to_string(), "iters:")).or_else(|| value(step, "iters:"));
    let settings = [("warmup_iters", warmup), ("iters", plain), ("validation", value("", "validation:"))];
    run.settings_of_row(settings.into_iter().filter_map(|(name, count)| Some((name.into(), count?.into()))));
    let first = words.first().and_then(|count| count.parse::<i64>().ok());
    let facts = [("threads", first), ("gpus_of_thread", value("", "nGpus"))];
    run.also_of_row(facts.into_iter().filter_map(|(name, count)| Some((name.into(), count?.into()))));
    let unusual = [("agg_iters", value("agg", "iters:"), 1), ("graph", value("", "graph:"), 0)];
    let unusual = unusual.into_iter().filter_map(|(name, count, usual)| {
        Some((name.to_owned(), ParamValue::Int(count.filter(|count| *count != usual)?)))
    });
    unusual.collect()
}

/// Host and name of `#   Rank  0 Pid 112424 on host device  0 [0x00] NVIDIA A100`, or with a group before the process.
fn device<'a>(words: &[&'a str]) -> Option<(Option<&'a str>, String)> {
    let is_rank = words.starts_with(&["#", "Rank"]);
    let bus = words.iter().position(|word| word.starts_with('[') && word.ends_with(']'))?;
    let name = words.get(bus + 1..).filter(|name| is_rank && !name.is_empty())?;
    let on = words.iter().position(|word| *word == "on");
    Some((on.and_then(|on| words.get(on + 1)).copied(), name.join(" ")))
}

/// Adds half a row. A size that was measured twice, as for sizes below an element, is one case with two values.
fn add(
    cases: &mut CaseReadings,
    file: &ResultFile,
    line: usize,
    new: Reading,
    half: &[&str],
) -> Result<(), ReadError> {
    let names = ["time", "algbw", "busbw"];
    let mut values = [0.0; 3];
    for (value, (name, word)) in values.iter_mut().zip(names.iter().zip(half)) {
        *value = number(word)
            .ok_or_else(|| file.line(line, format!("`{word}` under `{name}` is not a number")))?;
    }
    let wrong = half[3];
    // Old versions have `error`, a difference; new versions have `#wrong`, a number of elements. `N/A` means unchecked.
    let wrong_values = match wrong {
        "N/A" => None,
        text => Some(
            number(text)
                .ok_or_else(|| file.line(line, format!("`{text}` is not a valid number of errors")))?,
        ),
    };
    let reading = cases.of(new);
    // The old column contains rounding differences, far below one.
    if wrong_values.is_some_and(|wrong| wrong >= 1.0 || !wrong.is_finite()) {
        reading.end = failed(format!("{wrong} values are wrong"));
    }
    if values[0] <= 0.0 {
        reading.end = failed(format!("it took {} us, which is not a valid time", half[0]));
    }
    let checked = if wrong_values.is_some() { "yes" } else { "no" };
    reading.metadata.insert("checked".into(), checked.into());
    for ((name, unit), value) in names.into_iter().zip(["us", "GB/s", "GB/s"]).zip(values) {
        measured(reading, name, unit, value).judged = name == "time";
    }
    Ok(())
}
