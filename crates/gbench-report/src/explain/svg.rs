//! The two panels as a self-contained image.

use super::plot::{clock_span, evidence_span, fresh_steps, reach, share};
use super::sentences::{Explained, e_value, headline, side_of, slowdown};
use crate::layout::svg::Svg;
use crate::layout::width::{cut_middle, fold};
use gbench_compare::{DecisionTrace, Verdict};
use gbench_model::text::percent;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 560.0;
/// Height that the panel of the clocks adds.
const CLOCKS_HEIGHT: f64 = 140.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 690.0;
const DIFFERENCES: (f64, f64) = (112.0, 330.0);
const EVIDENCE: (f64, f64) = (384.0, 510.0);
const CLOCKS: (f64, f64) = (566.0, 646.0);

const NAME: usize = 70;
const SENTENCE: usize = 112;

const STYLE: &str = "\
.needed{stroke:var(--worse);stroke-dasharray:6 4;fill:none}.neededtext{fill:var(--worse)}\
.least{stroke:var(--soft);stroke-dasharray:1 4;fill:none}.target{stroke:var(--better);stroke-dasharray:6 4;fill:none}\
.shade{fill:var(--shade)}.band{fill:var(--band)}.zero{stroke:var(--soft);fill:none}\
.range{fill:var(--range);fill-opacity:.35}.mean{stroke:var(--range);stroke-width:2;fill:none}\
.dot{fill:var(--dot)}.disturbed{fill:var(--paper);stroke:var(--dot);stroke-width:1.5}\
.line{stroke:var(--dot);stroke-width:2;fill:none}.regressed{fill:var(--worse)}.improved,.unchanged{fill:var(--better)}\
.inconclusive{fill:var(--open)}.decided{stroke:var(--ink);fill:none}";

/// The image of one row; without panels if no rounds decided it.
pub fn render(explained: &Explained) -> String {
    let row = explained.row;
    let name = explained.name();
    let sentence = headline(explained);
    let title = format!("{name}: {} {sentence}", row.verdict.into_str());
    let clocks = explained.trace.and_then(clock_span);
    let height = HEIGHT + clocks.map_or(0.0, |_| CLOCKS_HEIGHT);
    let mut svg = Svg::new((WIDTH, height), &title, STYLE);
    svg.text("name", 20.0, 32.0, &cut_middle(&name, NAME, "…"));
    let said = format!("{}: it {sentence}", row.verdict.into_str());
    for (line, text) in fold(&said, SENTENCE).iter().take(2).enumerate() {
        svg.text(class_of(row.verdict), 20.0, 54.0 + 16.0 * line as f64, text);
    }
    match explained.trace.filter(|trace| !trace.measured_rounds.is_empty()) {
        Some(trace) => {
            differences(&mut svg, trace);
            evidence(&mut svg, trace);
            clocks.into_iter().for_each(|span| clock_panel(&mut svg, trace, span));
            rounds_axis(&mut svg, trace, clocks.is_some());
            legend(&mut svg, trace, height);
        }
        None => svg.text("soft", 20.0, 112.0, "No rounds decided this row."),
    }
    svg.into_text()
}

fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed | Verdict::Invalid | Verdict::Missing => "head regressed",
        Verdict::Improved | Verdict::Unchanged | Verdict::Mended | Verdict::Gone | Verdict::New => {
            "head unchanged"
        }
        Verdict::Inconclusive | Verdict::Broken => "head inconclusive",
    }
}

/// The middle of a round's column; the first round is 0.
fn middle(trace: &DecisionTrace, round: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * (round + 0.5) / trace.measured_rounds.len() as f64
}

/// The largest radius of a dot that does not touch its neighbours.
fn radius(trace: &DecisionTrace) -> f64 {
    ((RIGHT - LEFT) / trace.measured_rounds.len() as f64 / 2.6).clamp(1.0, 4.0)
}

fn marks(svg: &mut Svg, trace: &DecisionTrace, (top, bottom): (f64, f64)) {
    if trace.screened() > 0 {
        svg.rect("shade", (LEFT, top), (middle(trace, trace.screened() as f64 - 0.5), bottom));
    }
    let decided = trace.result.rounds;
    if decided < trace.measured_rounds.len() {
        let x = middle(trace, decided as f64 - 0.5);
        svg.line("decided", (x, top), (x, bottom));
    }
}

fn differences(svg: &mut Svg, trace: &DecisionTrace) {
    let (top, bottom) = DIFFERENCES;
    let reach = reach(trace);
    let y = |difference: f64| bottom - (bottom - top) * share(difference, -reach, reach);
    svg.text("head", 20.0, top - 12.0, "Change in each round: above zero head is worse, below it better");
    marks(svg, trace, DIFFERENCES);
    svg.rect("band", (LEFT, y(trace.target)), (RIGHT, y(-trace.target)));
    // The range after each round, clipped at the panel while few rounds do not bound it.
    let steps = || trace.steps.iter().map(|step| (middle(trace, step.rounds as f64 - 1.0), step));
    let upper = steps().map(|(x, step)| (x, y(step.mean + step.half)));
    let lower = steps().rev().map(|(x, step)| (x, y(step.mean - step.half)));
    let range: Vec<(f64, f64)> = upper.chain(lower).collect();
    let mean: Vec<(f64, f64)> = steps().map(|(x, step)| (x, y(step.mean))).collect();
    if !mean.is_empty() {
        svg.path("range", &range, "Z");
        svg.path("mean", &mean, "");
    }
    // Next to large differences, the label of a small target would overlap that of zero.
    let apart = y(0.0) - y(trace.target) > 14.0;
    for sign in [1.0, -1.0] {
        svg.line("target", (LEFT, y(sign * trace.target)), (RIGHT, y(sign * trace.target)));
        svg.line("least", (LEFT, y(sign * trace.min_effect)), (RIGHT, y(sign * trace.min_effect)));
        if apart {
            let target = slowdown(trace, sign * trace.target);
            svg.text("soft end", LEFT - 8.0, y(sign * trace.target) + 4.0, &target);
        }
    }
    svg.line("zero", (LEFT, y(0.0)), (RIGHT, y(0.0)));
    svg.text("soft end", LEFT - 8.0, y(0.0) + 4.0, "0 %");
    // The farthest round is labelled, unless that overlaps the target.
    let edge = reach / 1.08;
    if y(trace.target) - y(edge) > 16.0 {
        let farthest = trace.rounds.differences.iter().copied().find(|one| one.abs() >= edge * 0.999);
        if let Some(farthest) = farthest {
            let at = y(farthest);
            svg.line("grid", (LEFT - 4.0, at), (LEFT, at));
            svg.text("soft end", LEFT - 8.0, at + 4.0, &slowdown(trace, farthest));
        }
    }
    let figure = trace.rounds.scale.slowdown(trace.target).filter(|_| !apart);
    let target = figure.map_or_else(|| "target".to_owned(), |figure| format!("target {}", percent(figure)));
    svg.text("soft", RIGHT + 8.0, y(trace.target) + 4.0, &target);
    if y(0.0) - y(trace.target) > 20.0 {
        let least = trace.rounds.scale.slowdown(trace.min_effect).map_or(String::new(), percent);
        svg.text("soft", RIGHT + 8.0, y(0.0) + 4.0, &format!("least {least}"));
    }
    for (round, difference) in trace.rounds.differences.iter().enumerate() {
        let class = if trace.rounds.disturbed[round] { "disturbed" } else { "dot" };
        svg.dot(class, (middle(trace, round as f64), y(*difference)), radius(trace));
    }
}

fn evidence(svg: &mut Svg, trace: &DecisionTrace) {
    let (top, bottom) = EVIDENCE;
    let (side, needed) = side_of(trace);
    let title = format!("Evidence for {} (e-value, logarithmic)", side.into_str());
    svg.text("head", 20.0, top - 12.0, &title);
    marks(svg, trace, EVIDENCE);
    if fresh_steps(trace).next().is_none() {
        let text = "The screen decided: no evidence was gathered.";
        svg.text("soft mid", (LEFT + RIGHT) / 2.0, (top + bottom) / 2.0, text);
        return;
    }
    let (low, high) = evidence_span(fresh_steps(trace).map(|step| side.log10(step)), needed);
    let y = |log10: f64| bottom - (bottom - top) * share(log10, low, high);
    let whole = (low.ceil() as i32)..=(high.floor() as i32);
    for power in whole.filter(|power| (f64::from(*power) - needed).abs() > 0.35) {
        let at = y(f64::from(power));
        svg.line("grid", (LEFT, at), (RIGHT, at));
        if (high - low) < 9.0 || power % 3 == 0 {
            svg.text("soft end", LEFT - 8.0, at + 4.0, &power_of_ten(power));
        }
    }
    svg.line("needed", (LEFT, y(needed)), (RIGHT, y(needed)));
    svg.text("neededtext", RIGHT + 8.0, y(needed) + 4.0, &format!("needed {}", e_value(needed)));
    svg.line("zero", (LEFT, y(0.0)), (RIGHT, y(0.0)));
    svg.text("soft", RIGHT + 8.0, y(0.0) + 4.0, "even odds");
    let start = (middle(trace, trace.screened() as f64 - 0.5), y(0.0));
    let points =
        fresh_steps(trace).map(|step| (middle(trace, step.rounds as f64 - 1.0), y(side.log10(step))));
    let points: Vec<(f64, f64)> = std::iter::once(start).chain(points).collect();
    svg.path("line", &points, "");
    points[1..].iter().for_each(|point| svg.dot("dot", *point, radius(trace)));
}

fn power_of_ten(power: i32) -> String {
    match power {
        0..=4 => 10_i32.pow(power as u32).to_string(),
        -3..=-1 => format!("{}", 10_f64.powi(power)),
        power => format!("10^{power}"),
    }
}

/// The GPU's clock in each round, a ring for base and a dot for head.
fn clock_panel(svg: &mut Svg, trace: &DecisionTrace, (low, high): (f64, f64)) {
    let (top, bottom) = CLOCKS;
    let y = |clock: f64| bottom - (bottom - top) * share(clock, low, high);
    svg.text("head", 20.0, top - 12.0, "Clock of the GPU in each round (ring: base, dot: head)");
    for level in [low, high] {
        svg.line("grid", (LEFT, y(level)), (RIGHT, y(level)));
        svg.text("soft end", LEFT - 8.0, y(level) + 4.0, &format!("{level:.0}"));
    }
    svg.text("soft", RIGHT + 8.0, y(high) + 4.0, "MHz");
    for (round, turn) in trace.measured_rounds.iter().enumerate() {
        for (clock, class) in turn.clocks.into_iter().zip(["disturbed", "dot"]) {
            let x = middle(trace, round as f64);
            clock.into_iter().for_each(|clock| svg.dot(class, (x, y(clock)), radius(trace)));
        }
    }
}

fn rounds_axis(svg: &mut Svg, trace: &DecisionTrace, clocks: bool) {
    let rounds = trace.measured_rounds.len();
    let step = [1, 2, 5, 10, 20, 50, 100].into_iter().find(|step| rounds / step <= 14).unwrap_or(200);
    let panels = [Some(DIFFERENCES), Some(EVIDENCE), clocks.then_some(CLOCKS)];
    for (_, bottom) in panels.into_iter().flatten() {
        for round in (1..=rounds).filter(|round| *round == 1 || round % step == 0) {
            svg.text("soft mid", middle(trace, round as f64 - 1.0), bottom + 16.0, &round.to_string());
        }
        svg.text("soft", RIGHT + 8.0, bottom + 16.0, "round");
    }
}

/// The legend, at the bottom of an image of this height.
fn legend(svg: &mut Svg, trace: &DecisionTrace, height: f64) {
    let screen = trace.screened();
    let shaded = match screen {
        0 => String::new(),
        _ => format!("Shaded: the screen of {screen} rounds. "),
    };
    let note = format!(
        "{shaded}Green band: the target. Blue band: where the change may lie, as known after each round."
    );
    svg.text("soft", 20.0, height - 12.0, &note);
}
