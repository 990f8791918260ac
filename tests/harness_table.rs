//! The table of docs/harnesses.md is what the code says: each adapter is asked for its words, and `init` looks into a small project of each
//! harness, `fixtures/adapters/<adapter>/tree`. `UPDATE_SCHEMAS=1` writes it.

use std::path::{Path, PathBuf};

use gbench_ci::adapters::{ALL, Adapter, Amount, CaseRequest, Lists, Reads};
use gbench_ci::suite::discover::discover;

const BEGIN: &str =
    "<!-- table: the next lines are written by UPDATE_SCHEMAS=1 cargo test harness_table -->\n";
const END: &str = "<!-- end of the table -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn page() -> PathBuf {
    root().join("docs/harnesses.md")
}

/// What `init` does with the project of a harness, and the command that it writes.
fn init(adapter: &dyn Adapter) -> (&'static str, Vec<String>) {
    let tree = root().join("fixtures/adapters").join(adapter.name()).join("tree");
    assert!(tree.is_dir(), "{} is missing: a small project with {}", tree.display(), adapter.name());
    let found = discover(&tree, &|_| false);
    let names: Vec<&str> =
        found.benchmarks.iter().filter_map(|entry| Some(entry.harness?.0.name())).collect();
    assert_eq!(names.len(), found.benchmarks.len(), "{}: {found:?}", adapter.name());
    match (names.as_slice(), found.unclear.as_slice()) {
        ([one], []) if *one == adapter.name() => ("writes it", found.benchmarks[0].command.clone()),
        ([], [_]) => ("tells of it", vec!["program".to_owned()]),
        _ => panic!("{}: {found:?}", adapter.name()),
    }
}

fn row(adapter: &dyn Adapter) -> String {
    let about = adapter.about();
    let (init, command) = init(adapter);
    let ask = CaseRequest { command: &command, cases: &["a"], out: "/out", amount: Amount::LEAST };
    let yes = |does: bool| if does { "yes" } else { "no" };
    let lists = match about.lists {
        Lists::Named => "by name",
        Lists::ByRunning => "by a short run",
        Lists::No => "no",
    };
    assert_eq!(adapter.list(&ask).is_some(), about.lists != Lists::No, "{}", adapter.name());
    let reads = match about.reads {
        Reads::Samples => "samples",
        Reads::Summary => "a summary",
        Reads::Counts => "exact counts",
    };
    let tried = match about.tried {
        [] => "its documented format (`by-hand`)".to_owned(),
        versions => versions.join(", "),
    };
    let (alone, order) = (about.filters, about.orders);
    let cells = [
        format!("`{}`", adapter.name()),
        about.title.to_owned(),
        init.to_owned(),
        lists.to_owned(),
        yes(adapter.run(&ask).is_some()).to_owned(),
        reads.to_owned(),
        yes(adapter.count(&ask).is_some()).to_owned(),
        yes(alone).to_owned(),
        yes(order).to_owned(),
        tried,
    ];
    format!("| {} |\n", cells.join(" | "))
}

#[test]
fn the_table_of_harnesses_is_what_their_adapters_say() {
    let mut table = String::from(
        "| `harness` | of | `init` | cases are listed | run | read | executions are counted | one case alone | in the order asked | tried with |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut adapters: Vec<&dyn Adapter> = ALL.to_vec();
    adapters.sort_by_key(|adapter| adapter.name());
    table.extend(adapters.iter().map(|adapter| row(*adapter)));
    let text = std::fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has the mark before the table");
    let (found, after) = rest.split_once(END).expect("the page has the mark behind the table");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(page(), format!("{before}{BEGIN}\n{table}\n{END}{after}")).unwrap();
        return;
    }
    assert!(
        found.trim() == table.trim(),
        "docs/harnesses.md: the table is to be (UPDATE_SCHEMAS=1 writes it)\n\n{table}"
    );
}

#[test]
fn every_harness_has_its_notes() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (_, notes) = text.split_once(END).unwrap();
    for adapter in ALL {
        let title = format!("\n- **{}**", adapter.about().title);
        assert!(
            notes.contains(&title),
            "docs/harnesses.md has no notes for `{}`, as a line `{}`",
            adapter.name(),
            title.trim()
        );
    }
}
