//! KernelBench: the JSON files of `results/timing`, the times of its problems in PyTorch, in milliseconds. A problem is a
//! case; one that did not run has no statistics. <https://github.com/ScalingIntelligence/KernelBench>.

use super::interface::prelude::*;

type Levels = Entries<Entries<Value>>;

#[derive(Deserialize)]
struct Statistics {
    mean: f64,
    std: f64,
    min: f64,
    max: f64,
    num_trials: u64,
    hardware: Option<String>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "kernelbench",
    title: "KernelBench",
    versions: "`results/timing/.../baseline_time_*.json`",
    fields: "`mean`, `std`, `min`, `max`, `num_trials`, `hardware`, `device` of each problem of a level",
    direction: "times lower; the least and the most are shown",
    failures: "no `mean`, with the text of `error` as the reason; `mean` or `num_trials` of 0",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let outline = file.holds(&["\"level"]).then(|| Outline::of(file, &[], &["num_trials", "hardware"]));
    outline.flatten().is_some_and(|levels| {
        let mut problems = levels.entries().iter().flat_map(|(_, problems)| problems.entries());
        levels.entries().iter().all(|(name, _)| is_level(name))
            && problems.any(|(_, problem)| problem.has(&["mean", "num_trials", "hardware"]))
    })
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let levels: Levels = document(file)?;
    let mut run = RunReading::default();
    for (level, problems) in &levels.0 {
        if !is_level(level) {
            return Err(file.at(level.as_str(), "not a level of KernelBench"));
        }
        for (problem, value) in &problems.0 {
            let (reading, hardware) = reading(file, level, problem, value)?;
            run.readings.push(reading);
            let field = |key: &str| Some((key.to_owned(), value.get(key)?.clone()));
            run.also_of_row(field("device"));
            run.settings_of_row(field("num_trials"));
            if let Some(hardware) = hardware {
                run.facts.entry("hardware".into()).or_insert_with(|| hardware.into());
            }
        }
    }
    Ok(vec![run])
}

fn is_level(name: &str) -> bool {
    name.strip_prefix("level").is_some_and(|number| number.parse::<u32>().is_ok())
}

fn reading(
    file: &ResultFile,
    level: &str,
    problem: &str,
    value: &Value,
) -> Result<(Reading, Option<String>), ReadError> {
    let name = problem.strip_suffix(".py").unwrap_or(problem);
    let mut reading = named(name, Params::from([text_param("level", level)]));
    if value.get("mean").is_none_or(Value::is_null) {
        let error = value.get("error").unwrap_or(value);
        return Ok((reading.with_end(failed(error.as_str().unwrap_or("it has no statistics"))), None));
    }
    let found: Statistics = typed(file, &format!("{level}[\"{problem}\"]"), value)?;
    if found.mean <= 0.0 || found.num_trials == 0 {
        reading.end = failed(format!("its mean is {} ms of {} trials", found.mean, found.num_trials));
    }
    summarised(&mut reading, "time", "ms", summary(found.mean, Some(found.std), Some(found.num_trials)));
    for (name, value) in [("time_min", found.min), ("time_max", found.max)] {
        summarised(&mut reading, name, "ms", alone(value)).judged = false;
    }
    Ok((ended(reading), found.hardware))
}
