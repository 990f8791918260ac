//! The settings that `[defaults]` and every `[[benchmark]]` take alike. They are read once into changes, so
//! that a mistake in `[defaults]` is reported once and not once a benchmark.

use strum::IntoEnumIterator;

use super::reader::{Item, Table};
use gbench_model::{Setting, Settings, Stage, Thermal};

/// The settings of one table of the file, ready to be laid over any benchmark's settings.
#[derive(Default)]
pub(super) struct Changes(Vec<Change>);

type Change = Box<dyn Fn(&mut Settings)>;

impl Changes {
    /// Takes every key of a settings table, `deadlines` included.
    pub(super) fn read(table: &mut Table) -> Self {
        let mut changes = Self::default();
        let count = |range: std::ops::RangeInclusive<u64>| {
            move |item: &Item| item.whole(range.clone()).map(|number| number as u32)
        };
        let billion = 0..=1_000_000_000;
        changes.add(table.take("processes"), count(1..=1000), |to| &mut to.processes);
        changes.add(table.take("iterations"), count(1..=1_000_000_000), |to| &mut to.iterations);
        changes.add(table.take("warmup"), count(billion), |to| &mut to.warmup);
        changes.add(table.take("duration"), Item::seconds, |to| &mut to.duration);
        changes.add(table.take("burnin"), Item::seconds, |to| &mut to.burnin);
        changes.add(table.take("cold"), thermal, |to| &mut to.thermal);
        changes.add(table.take("deadline_multiplier"), multiplier, |to| &mut to.deadline_multiplier);
        changes.add(table.take("memory_limit"), Item::bytes, |to| &mut to.memory_limit);
        changes.add(table.take("log_limit"), Item::bytes, |to| &mut to.log_limit);
        changes.add(table.take("percentiles"), percentiles, |to| &mut to.percentiles);
        changes.threshold(table);
        changes.add(table.take("target"), Item::ratio, |to| &mut to.target);
        changes.add(table.take("min_effect"), Item::ratio, |to| &mut to.min_effect);
        changes.add(table.take("seed"), |item| item.whole(0..=u64::MAX), |to| &mut to.seed);
        changes.add(table.take("fail_on_missing"), Item::flag, |to| &mut to.fail_on_missing);
        changes.add(table.take("lockstep"), Item::flag, |to| &mut to.lockstep);
        changes.add(table.take("share"), Item::flag, |to| &mut to.share);
        changes.add(table.take("isolation"), Item::variant, |to| &mut to.isolation);
        changes.add(table.take("count"), Item::variant, |to| &mut to.count);
        changes.add(table.take("usual_slowdown"), Item::flag, |to| &mut to.usual_slowdown);
        changes.add(table.take("device"), |item| item.text().map(str::to_owned), |to| &mut to.device);
        if let Some(mut deadlines) = table.table("deadlines") {
            for stage in Stage::iter() {
                changes.add(deadlines.take(stage.into_str()), Item::deadline, move |to| {
                    to.deadlines.entry(stage).or_insert(Setting::default(0.0))
                });
            }
            deadlines.close();
        }
        changes
    }

    /// Takes `threshold` alone, which `[gate]` may hold too.
    pub(super) fn threshold(&mut self, table: &mut Table) {
        self.add(table.take("threshold"), Item::ratio, |to| &mut to.threshold);
    }

    pub(super) fn apply(&self, settings: &mut Settings) {
        self.0.iter().for_each(|change| change(settings));
    }

    fn add<'t, T: Clone + 'static>(
        &mut self,
        item: Option<Item<'t>>,
        read: impl FnOnce(&Item<'t>) -> Option<T>,
        field: impl Fn(&mut Settings) -> &mut Setting<T> + 'static,
    ) {
        let Some(item) = item else { return };
        let Some(value) = read(&item) else { return };
        let origin = item.origin();
        self.0.push(Box::new(move |settings| field(settings).set(value.clone(), origin.clone())));
    }
}

fn thermal(item: &Item) -> Option<Thermal> {
    Some(if item.flag()? { Thermal::Cold } else { Thermal::Warm })
}

fn multiplier(item: &Item) -> Option<f64> {
    let number = item.number()?;
    if number <= 0.0 || number > 1000.0 {
        let what = format!("`{}` cannot be {number}", item.key);
        return item.refuse(what, "write a number above 0 and at most 1000; 2 doubles every deadline");
    }
    Some(number)
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

    use super::super::reader::FileText;
    use super::*;
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
            Changes::read(&mut table).apply(&mut settings);
            table.close();
            assert!(page.into_fault().is_none(), "{name}");
            assert_eq!(settings.shown()[&name].origin, Origin::File("gbench.toml:2".into()), "{name}");
        }
    }
}
