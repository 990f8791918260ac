//! The rankings of a run as bars: one panel per problem, one bar per answer, as long as its median. An image for the
//! run's artifacts.

use super::view::run::RunView;
use crate::layout::svg::Svg;
use crate::layout::width::cut_middle;
use gbench_model::text::count;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 700.0;
/// Heights of a bar with its gap, of a panel's head and of the space after it.
const ROW: f64 = 22.0;
const HEAD: f64 = 30.0;
const GAP: f64 = 14.0;
const TOP: f64 = 64.0;
const NAME: usize = 44;
const MAX_PROBLEMS: usize = 40;

const STYLE: &str = ".bar{fill:var(--range)}.best{fill:var(--better)}.whisker{stroke:var(--ink);fill:none}";

pub(super) fn bars(view: &RunView) -> Option<String> {
    let problems = &view.problems[..view.problems.len().min(MAX_PROBLEMS)];
    if problems.is_empty() {
        return None;
    }
    let rows: usize = problems.iter().map(|problem| problem.entries.len()).sum();
    let height = TOP + rows as f64 * ROW + problems.len() as f64 * (HEAD + GAP) + 28.0;
    let title = format!("{}: {}", view.record.source.suite, count(view.problems.len(), "ranking"));
    let mut svg = Svg::new((WIDTH, height), &title, STYLE);
    svg.text("name", 20.0, 32.0, &cut_middle(&title, 80, "…"));
    let mut at = TOP;
    for problem in problems {
        svg.text("head", 20.0, at + 14.0, &cut_middle(&problem.title, 110, "…"));
        at += HEAD;
        let of = |entry: usize| &view.lines[problem.entries[entry].line];
        let ends = (0..problem.entries.len())
            .filter_map(|entry| Some(of(entry).center? * (1.0 + of(entry).spread.unwrap_or(0.0))));
        let longest = ends.fold(0.0_f64, f64::max);
        let x = |value: f64| {
            LEFT + (RIGHT - LEFT) * if longest > 0.0 { (value / longest).clamp(0.0, 1.0) } else { 0.0 }
        };
        for (entry, answer) in problem.entries.iter().enumerate() {
            let line = of(entry);
            let middle = at + ROW / 2.0 - 2.0;
            svg.text("end", LEFT - 10.0, middle + 4.0, &cut_middle(&answer.name, NAME, "…"));
            let is_best = line.place.as_ref().is_some_and(|place| place.rank == 1);
            if let Some(center) = line.center {
                let class = if is_best { "best" } else { "bar" };
                svg.rect(class, (LEFT, at + 1.0), (x(center).max(LEFT + 1.0), at + ROW - 5.0));
                if let Some(spread) = line.spread.filter(|spread| *spread > 0.0) {
                    let [low, high] = [1.0 - spread, 1.0 + spread].map(|factor| x(center * factor));
                    svg.line("whisker", (low, middle), (high, middle));
                }
            }
            let place = line.place.as_ref().map_or(String::new(), |place| format!("  {}", place.text()));
            svg.text("", RIGHT + 12.0, middle + 4.0, &format!("{}{place}", line.median));
            at += ROW;
        }
        at += GAP;
    }
    let more = view.problems.len() - problems.len();
    let more =
        if more > 0 { format!(" {} are not drawn.", count(more, "further ranking")) } else { String::new() };
    let note =
        format!("Bar: the median over processes. Line: the spread between processes, to either side.{more}");
    svg.text("soft", 20.0, height - 12.0, &note);
    Some(svg.into_text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::test_support as records;

    #[test]
    fn s2_28_the_rankings_of_a_run_are_drawn_as_bars() {
        let record = records::named("contested");
        let view = RunView::new(&record);
        let svg = bars(&view).unwrap();
        let answers: usize = view.problems.iter().map(|problem| problem.entries.len()).sum();
        assert_eq!(svg.matches("class=\"bar\"").count() + svg.matches("class=\"best\"").count(), answers);
        assert!(svg.contains("class=\"best\"") && svg.contains("softmax"), "{svg}");
        assert_eq!(bars(&RunView::new(&records::named("quiet"))), None);
        // Names are untrusted.
        let mut hostile = records::named("contested");
        for case in &mut hostile.cases {
            case.id
                .params
                .insert("x".into(), gbench_model::ParamValue::Text("<script>alert(1)</script>".into()));
        }
        let svg = bars(&RunView::new(&hostile)).unwrap();
        assert!(svg.contains("&lt;script") && !svg.contains("<script"), "{svg}");
    }
}
