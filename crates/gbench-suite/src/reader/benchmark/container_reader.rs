//! Reads `container`: the image for a benchmark's processes.

use toml::de::DeValue;

use crate::benchmark::container::Container;
use crate::benchmark::definition::Benchmark;
use crate::reader::item::{Item, refuse_each};
use crate::reader::table::Table;
use gbench_model::{Component, Setting, Timing};

/// Reads `container`, after `timing`, `components` and `harness`.
pub(super) fn read_container(it: &mut Benchmark, table: &mut Table) {
    let Some(item) = table.take("container") else { return };
    let gpus = it.components.contains(&Component::Gpu).then(|| "all".to_owned());
    let Some(container) = container(&item, gpus) else { return };
    if it.timing == Timing::Process {
        let next = "let it speak the protocol, or read its results with `extract`; the start of a container \
            takes about a second";
        return item.fault("a process timed from outside would include the start of its container", next);
    }
    if matches!(it.action, crate::benchmark::launch::Action::Builtin(_)) {
        return item
            .fault("a built-in benchmark runs on the host", "remove `container`, or give a `command`");
    }
    if matches!(it.action, crate::benchmark::launch::Action::Cuda(_)) {
        return item.fault("a kernel is measured by the gate itself, on the host", "remove `container`");
    }
    if it.harness.as_ref().is_some_and(|entry| entry.harness.is_none_or(|harness| !harness.takes_folder())) {
        let next = "remove `container`; programs that print a known format, or rows for `extract`, can run in a \
            container";
        return item.fault("this harness lists its cases on the host", next);
    }
    let others = ["lockstep", "share"].into_iter().filter_map(|key| table.again(key));
    let others = others.filter(|other| other.flag() == Some(true));
    refuse_each(others, "cannot be combined with `container`", "remove one of them");
    (it.settings.lockstep, it.settings.share) = (Setting::default(false), Setting::default(false));
    it.container = Some(container);
}

/// An image, or a table with one. `gpus`: the default.
fn container(item: &Item, gpus: Option<String>) -> Option<Container> {
    if let DeValue::String(_) = item.value {
        let image = item.filled()?.to_owned();
        return Some(Container { image, runtime: None, network: false, gpus, options: Vec::new() });
    }
    let DeValue::Table(_) = item.value else {
        return item.wrong("an image such as \"ghcr.io/me/bench:1\", or {image = \"...\", network = true}");
    };
    let mut table = item.table()?;
    let image = table.need("image", "`image = \"ghcr.io/me/bench:1\"`").and_then(|image| image.filled());
    let container = Container {
        image: image.unwrap_or_default().to_owned(),
        runtime: table.take("runtime").and_then(|runtime| runtime.variant()),
        network: table.take("network").and_then(|network| network.flag()).unwrap_or(false),
        gpus: match table.take("gpus") {
            Some(given) => given.filled().filter(|text| *text != "none").map(str::to_owned),
            None => gpus,
        },
        options: table.take("options").and_then(|list| list.texts("[\"--shm-size=8g\"]")).unwrap_or_default(),
    };
    table.close();
    image.map(|_| container)
}
