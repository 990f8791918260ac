//! gpu-burn: its output, in which one line has all reports of its progress. A GPU is a case, and each report behind the first
//! fifth is a sample: the rate since the report before. <https://github.com/wilicc/gpu-burn>.
//!
//! A line repeats the last report of each GPU that has nothing new, and has `0 (0 Gflop/s)` before its first one: a report is one
//! that changes the count `proc'd`.
//!
//! `OK` or `FAULTY` at the end is the outcome. The errors of a report count from the last summary on, so that all reports count.

use super::interface::prelude::*;

/// The clocks settle in the first percents.
const SETTLED: f64 = 20.0;

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "gpu-burn",
    title: "gpu-burn",
    versions: "what `gpu_burn` prints, to its end",
    fields: "`proc'd` with its Gflop/s, `errors`, `GPU N: OK` or `FAULTY`; names of the GPUs, `using FLOATS`, the seconds",
    reads: Reads::Samples,
    direction: "rates higher",
    failures: "`errors` other than 0; an outcome other than `OK`; no report behind the first fifth; no outcome of each GPU at \
             the end, or a report without a rate (refused)",
    recognises: |file| {
        file.any_line("proc'd: ", |line| line.contains(" Gflop/s)") && line.contains("errors: "))
            && (file.any_line("Burning for ", |line| line.starts_with("Burning for "))
                || file.any_line("(UUID: ", |line| line.starts_with("GPU 0: ")))
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let parts = || text.split(['\n', '\r']).map(str::trim);
    let mut run = RunReading::default();
    let mut params = Params::new();
    let (mut rates, mut faults): (Vec<Vec<f64>>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    let mut counts: Vec<f64> = Vec::new();
    let mut outcomes: Option<Vec<&str>> = None;
    for part in parts() {
        if let Some(seconds) = part.strip_prefix("Burning for ") {
            run = run.setting("seconds", seconds.split(' ').next());
        } else if let Some((_, using)) =
            part.strip_prefix("Initialized device").and_then(|it| it.split_once("), using "))
        {
            params.insert("precision".into(), ParamValue::Text(using.trim_end_matches('.').to_owned()));
        } else if part.starts_with("Tested ") && part.ends_with(" GPUs:") {
            outcomes = Some(Vec::new());
        } else if let Some((_, found)) = part.strip_prefix("GPU ").and_then(|rest| rest.split_once(": ")) {
            match &mut outcomes {
                Some(outcomes) => outcomes.push(found),
                None => {
                    let name = found.split(" (UUID").next().unwrap_or(found);
                    run.also_of_row([("gpu".to_owned(), Value::from(name))]);
                }
            }
        } else if let Some((percent, reports, errors)) = progress(part) {
            rates.resize(reports.len().max(rates.len()), Vec::new());
            faults.resize(rates.len(), None);
            counts.resize(rates.len(), 0.0);
            for (gpu, report) in reports.iter().enumerate() {
                let (count, rate) =
                    report.ok_or_else(|| file.at(format!("GPU {gpu}"), format!("`{part}` has no rate")))?;
                let is_new = std::mem::replace(&mut counts[gpu], count) != count && count > 0.0;
                if is_new && percent >= SETTLED {
                    rates[gpu].push(rate);
                }
            }
            for (fault, errors) in faults.iter_mut().zip(errors) {
                if errors != "0" && fault.is_none() {
                    *fault = Some(if errors.starts_with("-1") {
                        "it died".into()
                    } else {
                        format!("{errors} errors")
                    });
                }
            }
        }
    }
    let outcomes = outcomes.filter(|outcomes| outcomes.len() == rates.len() && text.ends_with('\n'));
    let outcomes = outcomes
        .ok_or_else(|| file.wrong("it is incomplete: it does not end with the outcome of each GPU"))?;
    for (gpu, ((rates, fault), outcome)) in rates.into_iter().zip(faults).zip(outcomes).enumerate() {
        let mut params = params.clone();
        params.insert("gpu".into(), ParamValue::Int(gpu as i64));
        let mut reading = named("burn", params);
        if let Some(fault) = fault.or_else(|| (outcome != "OK").then(|| format!("it is {outcome}"))) {
            fail(&mut reading, fault);
        } else if rates.is_empty() {
            fail(&mut reading, "it has no report behind the first fifth");
        }
        reading.metric("rate", "GFLOP/s", None).values = rates;
        run.readings.push(ended(reading));
    }
    Ok(vec![run])
}

/// The percent, and of each GPU the count with its rate, and the errors.
type Report<'a> = (f64, Vec<Option<(f64, f64)>>, Vec<&'a str>);

/// A report: `60.0%  proc'd: 620 (41310 Gflop/s)  - 620 (41144 Gflop/s)   errors: 0  - 0`.
fn progress(part: &str) -> Option<Report<'_>> {
    let (percent, rest) = part.split_once('%')?;
    let (reports, rest) = rest.trim().strip_prefix("proc'd:")?.split_once("errors:")?;
    let errors = rest.split("temps:").next()?;
    let rate = |report: &str| {
        let (count, rate) = report.split_once('(')?;
        Some((number(count.trim())?, number(rate.split_once(" Gflop/s")?.0)?))
    };
    let errors = errors.split(" - ").filter_map(|errors| errors.split_whitespace().next());
    Some((number(percent)?, reports.split(" - ").map(rate).collect(), errors.collect()))
}
