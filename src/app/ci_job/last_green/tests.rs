use super::*;

fn run(commit: &str, shard: &str, is_green: bool) -> RunSummary {
    let started = Started::Schedule;
    RunSummary { commit: commit.into(), base: None, shard: shard.parse().ok(), cut: None, is_green, started }
}

fn against(base: &str, run: RunSummary) -> RunSummary {
    RunSummary { base: Some(base.into()), ..run }
}

const WHOLE: Looked = Looked { warnings: Vec::new(), unreadable: 0, cut_short: false, is_there: true };

fn seen(runs: &[RunSummary], looked: &Looked) -> HistoryBase {
    let mut statuses = ShardStatuses::default();
    let _ = runs.iter().try_for_each(|run| statuses.add(run));
    statuses.reference(looked)
}

/// Runs newest first: commit, shard, whether it was green; what they were judged against is not known.
fn of(runs: &[(&str, &str, bool)]) -> HistoryBase {
    let runs: Vec<RunSummary> = runs.iter().map(|(id, shard, green)| run(id, shard, *green)).collect();
    seen(&runs, &WHOLE)
}

fn green(id: &str) -> HistoryBase {
    HistoryBase::Green(id.into())
}

fn oldest(id: &str) -> HistoryBase {
    HistoryBase::Oldest(id.into())
}

#[test]
fn the_newest_green_commit_is_the_reference_and_without_one_the_oldest() {
    assert_eq!(of(&[]), HistoryBase::Missing(NoReference::NoRun));
    assert_eq!(of(&[("c", "", true), ("b", "", true)]), green("c"));
    assert_eq!(of(&[("c", "", false), ("b", "", true), ("a", "", true)]), green("b"));
    assert_eq!(of(&[("c", "", false), ("b", "", false), ("a", "", false)]), oldest("a"));
}

#[test]
fn of_a_commit_that_was_measured_again_the_newest_run_counts() {
    assert_eq!(of(&[("b", "", true), ("b", "", false), ("a", "", true)]), green("b"));
    assert_eq!(of(&[("b", "", false), ("b", "", true), ("a", "", true)]), green("a"));
}

#[test]
fn a_commit_is_green_when_each_of_its_shards_is() {
    let night = |id, two| [(id, "3/3", true), (id, "2/3", two), (id, "1/3", true)];
    assert_eq!(of(&night("b", true)), green("b"));
    assert_eq!(of(&[night("b", false), night("a", true)].concat()), green("a"));
    // One that left nothing is not green, whatever comes of the others.
    assert_eq!(of(&[("b", "3/3", true), ("b", "1/3", true), ("a", "", true)]), green("a"));
    // The second was measured again.
    assert_eq!(of(&[&[("b", "2/3", true)], &night("b", false)[..]].concat()), green("b"));
    assert_eq!(of(&[&[("b", "2/3", false)], &night("b", true)[..]].concat()), oldest("b"));
}

#[test]
fn a_commit_is_cut_as_its_newest_run_was() {
    // Halves and thirds make no whole.
    let mixed = [("b", "1/2", true), ("b", "2/3", true), ("b", "3/3", true), ("b", "1/3", true)];
    assert_eq!(of(&mixed), oldest("b"));
    assert_eq!(of(&[("b", "2/2", true), ("b", "1/2", true), ("b", "", false)]), green("b"));
    assert_eq!(of(&[("b", "", false), ("b", "2/2", true), ("b", "1/2", true)]), oldest("b"));
}

#[test]
fn n15_the_reference_of_red_nights_outlives_the_run_that_made_it_green() {
    let kept = HistoryBase::Retained("g".into());
    let nights = [against("g", run("d", "", false)), against("g", run("c", "", false))];
    assert_eq!(seen(&nights, &WHOLE), kept);
    // However little of the history is left to read.
    assert_eq!(seen(&nights, &Looked { unreadable: 9, cut_short: true, ..WHOLE }), kept);
    // Shards of the newest night that are green make no commit green.
    let shards = [against("g", run("d", "2/2", true)), against("g", run("d", "1/2", false))];
    assert_eq!(seen(&shards, &WHOLE), kept);
    // A night that had nothing to go by says nothing about the reference.
    let blind = against("d", run("d", "", false));
    assert_eq!(seen(&[blind.clone(), nights[1].clone()], &WHOLE), kept);
    assert_eq!(seen(&[blind], &WHOLE), oldest("d"));
}

#[test]
fn n15_a_push_and_a_commit_that_was_compared_with_itself_make_nothing_green() {
    let push = |base: &str, commit: &str| RunSummary {
        started: Started::Push,
        ..against(base, run(commit, "", true))
    };
    // The slow commit `s` is red; a push on top of it is as fast as its parent.
    let runs = [push("s", "t"), against("g", run("s", "", false)), against("f", run("g", "", true))];
    assert_eq!(seen(&runs, &WHOLE), HistoryBase::Retained("g".into()));
    assert_eq!(seen(&[push("a", "b"), push("z", "a")], &WHOLE), oldest("a"));
    // As an older version left it that had lost its history.
    let lie = against("s", run("s", "", true));
    assert_eq!(seen(&[lie.clone(), runs[1].clone()], &WHOLE), HistoryBase::Retained("g".into()));
    assert_eq!(seen(&[lie], &WHOLE), oldest("s"));
    // Who starts it by hand, or publishes it by hand, accepts it.
    for started in [Started::Other, Started::Nowhere] {
        let accepted = RunSummary { started, ..against("s", run("s", "", true)) };
        assert_eq!(seen(&[accepted, runs[1].clone()], &WHOLE), green("s"));
    }
    // Outside of a job nothing is judged by the history.
    let outside = RunSummary { started: Started::Nowhere, ..against("s", run("t", "", true)) };
    assert_eq!(seen(&[outside, runs[1].clone()], &WHOLE), HistoryBase::Retained("g".into()));
}

#[test]
fn n15_what_was_not_seen_is_never_taken_for_what_is_not_there() {
    let missing = |looked: &Looked, runs: &[RunSummary]| match seen(runs, looked) {
        HistoryBase::Missing(missing) => missing,
        found => panic!("{found:?}"),
    };
    let red = [run("b", "", false)];
    for runs in [&red[..], &[]] {
        assert_eq!(missing(&Looked { cut_short: true, ..WHOLE }, runs), NoReference::TooFar);
        assert_eq!(missing(&Looked { unreadable: 1, ..WHOLE }, runs), NoReference::Unreadable);
    }
    assert_eq!(missing(&Looked { is_there: false, ..WHOLE }, &[]), NoReference::NoBranch);
    // An older green one is a reference also where something newer cannot be read: more is seen then, not less.
    assert_eq!(seen(&[run("a", "", true)], &Looked { unreadable: 1, ..WHOLE }), green("a"));
}

/// With a new plan every night a number stands for other cases.
#[test]
fn shards_of_another_cut_say_nothing_about_a_commit() {
    let run = |shard: &str, cut: &str, is_green: bool| RunSummary {
        cut: Some(cut.into()),
        ..run("c", shard, is_green)
    };
    let [first, lost] = [run("2/2", "b2", true), run("1/2", "b2", true)];
    let earlier = [run("2/2", "a1", false), run("1/2", "a1", true)];
    let only_new = [std::slice::from_ref(&first), &earlier[..]].concat();
    assert_eq!(seen(&only_new, &WHOLE), oldest("c"));
    assert_eq!(seen(&[first, lost], &WHOLE), green("c"));
}
