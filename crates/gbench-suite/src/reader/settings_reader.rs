//! The settings of `[defaults]` and of every `[[benchmark]]`.

use std::ops::RangeInclusive;

use strum::IntoEnumIterator;

use super::item::{Item, set};
use super::table::Table;
use gbench_model::{Setting, Settings, Stage, Thermal};

pub(crate) fn take(to: &mut Settings, table: &mut Table) {
    let count = |range: RangeInclusive<u32>| move |item: &Item| item.number_of(range.clone());
    set(&mut to.processes, table.take("processes"), count(1..=1000));
    set(&mut to.iterations, table.take("iterations"), count(1..=1_000_000_000));
    set(&mut to.warmup, table.take("warmup"), count(0..=1_000_000_000));
    set(&mut to.duration, table.take("duration"), Item::seconds);
    set(&mut to.burnin, table.take("burnin"), Item::seconds);
    set(&mut to.thermal, table.take("cold"), thermal);
    set(&mut to.deadline_multiplier, table.take("deadline_multiplier"), multiplier);
    set(&mut to.memory_limit, table.take("memory_limit"), Item::bytes);
    set(&mut to.log_limit, table.take("log_limit"), Item::bytes);
    set(&mut to.percentiles, table.take("percentiles"), percentiles);
    set(&mut to.threshold, table.take("threshold"), Item::ratio);
    set(&mut to.target, table.take("target"), Item::ratio);
    set(&mut to.min_effect, table.take("min_effect"), Item::ratio);
    set(&mut to.seed, table.take("seed"), |item| item.whole(0..=u64::MAX));
    set(&mut to.fail_on_missing, table.take("fail_on_missing"), Item::flag);
    set(&mut to.lockstep, table.take("lockstep"), Item::flag);
    set(&mut to.share, table.take("share"), Item::flag);
    set(&mut to.isolation, table.take("isolation"), Item::variant);
    set(&mut to.count, table.take("count"), Item::variant);
    set(&mut to.usual_slowdown, table.take("usual_slowdown"), Item::flag);
    set(&mut to.device, table.take("device"), |item| item.text().map(str::to_owned));
    if let Some(mut deadlines) = table.table("deadlines") {
        for stage in Stage::iter() {
            let deadline = to.deadlines.entry(stage).or_insert(Setting::default(0.0));
            set(deadline, deadlines.take(stage.into_str()), Item::deadline);
        }
        deadlines.close();
    }
}

fn thermal(item: &Item) -> Option<Thermal> {
    Some(if item.flag()? { Thermal::Cold } else { Thermal::Warm })
}

fn multiplier(item: &Item) -> Option<f64> {
    let next = "write a number above 0 and at most 1000; 2 doubles every deadline";
    item.number_that(|number| number > 0.0 && number <= 1000.0, next)
}

fn percentiles(item: &Item) -> Option<Vec<f64>> {
    let mut values = Vec::new();
    for member in item.list("a list of percentages, such as [99.9]")? {
        match member.number() {
            Some(percent) if (0.0..=100.0).contains(&percent) => values.push(percent),
            Some(percent) => {
                member.fault(format!("{percent} is not a percentile"), "write a number from 0 to 100")
            }
            None => {}
        }
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toml::de::DeTable;

    use super::*;
    use crate::reader::file_text::FileText;
    use gbench_model::Origin;

    #[test]
    fn every_setting_that_is_shown_can_be_set_by_the_name_it_is_shown_under() {
        for (name, shown) in Settings::default().shown() {
            let value = match name.as_str() {
                "threshold" | "target" | "min_effect" => "0.1".to_owned(),
                "deadline_multiplier" => "2".to_owned(),
                _ => shown.value.to_string(),
            };
            let text = format!("\n{name} = {value}");
            let page = FileText::new(Path::new("gbench.toml"), text.as_str().into());
            let tree = DeTable::parse(&text).unwrap();
            let (mut table, mut settings) = (Table::root(&page, tree.get_ref()), Settings::default());
            take(&mut settings, &mut table);
            table.close();
            assert!(page.into_fault().is_none(), "{name}");
            assert_eq!(settings.shown()[&name].origin, Origin::File("gbench.toml:2".into()), "{name}");
        }
    }
}
