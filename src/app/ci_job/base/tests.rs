use std::path::PathBuf;

use git2::{Signature, Time};
use strum::IntoEnumIterator;
use tempfile::TempDir;

use super::*;
use crate::model::Exit;

/// main: first - second - third; topic leaves it at second: topic1 - topic2; `merge` is what GitHub would test.
struct World {
    folder: TempDir,
    repository: Repository,
    first: Oid,
    second: Oid,
    third: Oid,
    topic1: Oid,
    topic2: Oid,
    merge: Oid,
}

#[derive(Clone, Copy)]
enum Past {
    Green(Oid),
    Red(Oid),
    Kept(Oid),
    None,
    Lost(NoReference),
}

const DAY: i64 = 86_400;

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path().join("clone")).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let commit = |parents: &[Oid], days: i64| {
            let author =
                Signature::new("Ada", "ada@example.org", &Time::new(now - days * DAY - 60, 0)).unwrap();
            let tree = repository.treebuilder(None).unwrap().write().unwrap();
            let tree = repository.find_tree(tree).unwrap();
            let parents: Vec<_> = parents.iter().map(|id| repository.find_commit(*id).unwrap()).collect();
            let parents: Vec<_> = parents.iter().collect();
            repository.commit(None, &author, &author, "a step", &tree, &parents).unwrap()
        };
        let first = commit(&[], 9);
        let second = commit(&[first], 3);
        let third = commit(&[second], 1);
        let topic1 = commit(&[second], 2);
        let topic2 = commit(&[topic1], 0);
        let merge = commit(&[third, topic2], 0);
        for (name, id) in [("refs/remotes/origin/main", third), ("refs/remotes/pull/42/merge", merge)] {
            repository.reference(name, id, true, "fetched").unwrap();
        }
        repository.set_head_detached(merge).unwrap();
        Self { folder, repository, first, second, third, topic1, topic2, merge }
    }

    fn job(&self, name: &str, head: Oid, base: Oid, branch: &str) -> Context {
        let fixture =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/github/events/{name}.json"));
        let text = std::fs::read_to_string(fixture).unwrap();
        let text = text
            .replace("8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923", &head.to_string())
            .replace("3b9e7c5d1f2a4068b7c6d5e4f3a29180716f5e4d", &base.to_string());
        let file = self.folder.path().join("event.json");
        std::fs::write(&file, text).unwrap();
        let is_pull = name.starts_with("pull");
        let variable = |wanted: &str| {
            let value = match wanted {
                "GITHUB_ACTIONS" => "true".to_owned(),
                "GITHUB_EVENT_NAME" => name.split('.').next().unwrap().to_owned(),
                "GITHUB_REPOSITORY" => "acme/kernels".to_owned(),
                "GITHUB_SHA" => if is_pull { self.merge } else { head }.to_string(),
                "GITHUB_REF" if is_pull => "refs/pull/42/merge".to_owned(),
                "GITHUB_REF" => format!("refs/{branch}"),
                "GITHUB_REF_NAME" => branch.split_once('/').unwrap().1.to_owned(),
                "GITHUB_EVENT_PATH" => file.to_str().unwrap().to_owned(),
                _ => return None,
            };
            Some(value)
        };
        Context::read(&variable).unwrap().unwrap()
    }

    fn choose_asking(&self, context: &Context, asked: &BaseRequest<'_>, past: Past) -> Result<BaseSelection> {
        let newest = |address: &str| {
            assert_eq!(address, "git:history");
            Ok(match past {
                Past::Green(id) => HistoryBase::Green(id.to_string()),
                Past::Red(oldest) => HistoryBase::Oldest(oldest.to_string()),
                Past::Kept(base) => HistoryBase::Retained(base.to_string()),
                Past::None => HistoryBase::Missing(NoReference::NoRun),
                Past::Lost(missing) => HistoryBase::Missing(missing),
            })
        };
        choose(self.repository.workdir().unwrap(), Some(context), asked, &newest)
    }

    fn choose(&self, context: &Context) -> BaseSelection {
        self.choose_asking(context, &BaseRequest { base: None, history: None }, Past::None).unwrap()
    }

    fn shallow(&self, at: Oid) {
        std::fs::write(self.repository.path().join("shallow"), format!("{at}\n")).unwrap();
    }
}

fn said(chosen: &BaseSelection, base: Oid, head: Oid, why: &str) {
    assert_eq!(chosen.choice.why, why);
    assert_eq!(chosen.range(), format!("{base}..{head}"));
    assert_eq!(chosen.choice.commit, Some(base.to_string()));
    assert!(chosen.choice.committed.as_ref().unwrap().ends_with('Z'));
}

#[test]
fn a_pull_request_is_judged_against_its_merge_base_and_never_the_merge_commit() {
    let world = World::new();
    for name in ["pull_request.opened", "pull_request.synchronize"] {
        // GitHub's word about the base is of an older day than the checkout, or of the same.
        for told in [world.first, world.second, world.third] {
            let chosen = world.choose(&world.job(name, world.topic2, told, "pull/42"));
            said(&chosen, world.second, world.topic2, "the merge base of main and this branch, 3 days old");
        }
    }
}

#[test]
fn a_base_branch_that_was_not_fetched_is_known_by_its_commit() {
    let world = World::new();
    world.repository.find_reference("refs/remotes/origin/main").unwrap().delete().unwrap();
    let chosen = world.choose(&world.job("pull_request.opened", world.topic2, world.third, "pull/42"));
    said(&chosen, world.second, world.topic2, "the merge base of main and this branch, 3 days old");
}

#[test]
fn a_push_is_judged_against_what_was_there_before() {
    let world = World::new();
    let chosen = world.choose(&world.job("push", world.third, world.first, "heads/main"));
    said(&chosen, world.first, world.third, "what the branch was before this push, 9 days old");
}

#[test]
fn the_first_push_of_a_branch_is_judged_against_where_it_left_the_default_one() {
    let world = World::new();
    let chosen = world.choose(&world.job("push.new_branch", world.topic2, world.first, "heads/faster-gemm"));
    said(&chosen, world.second, world.topic2, "the merge base of main and this branch, 3 days old");
    // A tag on the default branch has left it nowhere.
    let tagged = world.choose(&world.job("push.tag", world.third, world.first, "tags/v1.0"));
    said(&tagged, world.second, world.third, "the parent of this commit, 3 days old");
    let root = world.choose(&world.job("push.new_branch", world.first, world.third, "heads/main"));
    let why = "the commit itself, so that this shows noise alone: it has no parent, 9 days old";
    said(&root, world.first, world.first, why);
}

#[test]
fn a_forced_push_whose_old_commit_is_gone_says_so() {
    let world = World::new();
    let context = world.job("push.forced", world.topic1, world.second, "heads/topic");
    let why = "the merge base of main and this branch; the commit before this push is gone, 3 days old";
    said(&world.choose(&context), world.second, world.topic1, why);
    world.shallow(world.second);
    let fault =
        world.choose_asking(&context, &BaseRequest { base: None, history: None }, Past::None).err().unwrap();
    assert!(fault.next.contains("fetch-depth"), "{fault}");
}

#[test]
fn a_merge_group_is_judged_against_what_it_was_put_on() {
    let world = World::new();
    let chosen =
        world.choose(&world.job("merge_group", world.merge, world.third, "heads/gh-readonly-queue/x"));
    said(&chosen, world.third, world.merge, "what the merge group was put on, 24 hours old");
}

#[test]
fn a_scheduled_run_is_judged_against_what_its_history_says_and_tells_which() {
    let world = World::new();
    for name in ["schedule", "workflow_dispatch"] {
        let context = world.job(name, world.third, world.first, "heads/main");
        let history = BaseRequest { base: None, history: Some("git:history") };
        let ask = |past| world.choose_asking(&context, &history, past).unwrap();
        let itself = "the commit itself, so that this shows noise alone";
        for (past, base, why, missing) in [
            (Past::Green(world.first), world.first, "the newest green commit of the history, 9 days old".into(), None),
            (
                Past::Green(world.third),
                world.third,
                "the newest green commit of the history, which is this one: already judged green, 24 hours old".into(),
                None,
            ),
            (
                Past::Red(world.first),
                world.first,
                "the commit of the oldest run in the history, because no run of main is green yet, 9 days old".into(),
                None,
            ),
            (
                Past::Red(world.third),
                world.third,
                format!(
                    "{itself}: no run of main in the history is green yet, and the oldest is of this commit, 24 hours old"
                ),
                Some(NoReference::OwnCommit),
            ),
            (
                Past::Kept(world.first),
                world.first,
                "what the newest run of main in the history was judged against, because that run is not green, 9 days old"
                    .into(),
                None,
            ),
            (
                Past::Kept(world.third),
                world.third,
                "what the newest run of main in the history was judged against, because that run is not green, which is \
                 this commit, 24 hours old"
                    .into(),
                None,
            ),
            (
                Past::None,
                world.third,
                format!("{itself}: the history has no run of main yet, or no more, 24 hours old"),
                Some(NoReference::NoRun),
            ),
        ] {
            let chosen = ask(past);
            said(&chosen, base, world.third, &why);
            assert_eq!((chosen.missing, chosen.choice.by_hand), (missing, false), "{why}");
        }
        for missing in NoReference::iter().filter(|missing| *missing != NoReference::NoRun) {
            let chosen = ask(Past::Lost(missing));
            let why = format!("{itself}: {}, 24 hours old", missing.words());
            said(&chosen, world.third, world.third, &why);
            assert_eq!(chosen.missing, Some(missing));
        }
        let alone = world.choose(&context);
        said(
            &alone,
            world.third,
            world.third,
            &format!("{itself}: no `--history` says what was green before, 24 hours old"),
        );
        assert_eq!(alone.missing, Some(NoReference::NoHistoryNamed));
        // Who asks for the commit itself accepts it, and knows what it shows.
        let commit = world.third.to_string();
        let accepts = BaseRequest { base: Some(&commit), ..history };
        let accepted = world.choose_asking(&context, &accepts, Past::Green(world.first)).unwrap();
        said(
            &accepted,
            world.third,
            world.third,
            &format!("{commit}, as asked for by `--base`, 24 hours old"),
        );
        assert!(accepted.choice.by_hand && accepted.missing.is_none());
    }
}

#[test]
fn who_names_a_base_gets_its_merge_base() {
    let world = World::new();
    let context = world.job("pull_request.opened", world.topic2, world.third, "pull/42");
    let ask = |base: &str| {
        world.choose_asking(&context, &BaseRequest { base: Some(base), history: None }, Past::None)
    };
    let why = "the merge base of main, as asked for by `--base`, and this branch, 3 days old";
    said(&ask("main").unwrap(), world.second, world.topic2, why);
    let name = world.first.to_string();
    let why = format!("{name}, as asked for by `--base`, 9 days old");
    said(&ask(&name).unwrap(), world.first, world.topic2, &why);
    for wrong in ["", " ", "main..topic"] {
        assert_eq!(ask(wrong).err().unwrap().exit, Exit::Usage, "{wrong}");
    }
    let fault = ask("release-1").err().unwrap();
    assert!(
        fault.next.contains("fetch-depth: 0") && fault.place.to_string().contains("release-1"),
        "{fault}"
    );
}

#[test]
fn a_commit_that_this_clone_does_not_hold_is_a_matter_of_the_fetch_depth() {
    let world = World::new();
    let gone = Oid::from_str("8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923").unwrap();
    let fails = |context: &Context, past: Past| {
        let asked = BaseRequest { base: None, history: Some("git:history") };
        let fault = world.choose_asking(context, &asked, past).err().unwrap();
        assert!(fault.next.contains("fetch-depth"), "{fault}");
        assert_eq!(fault.exit, Exit::Usage);
        fault.place.to_string()
    };
    let head = fails(&world.job("pull_request.opened", gone, world.third, "pull/42"), Past::None);
    assert_eq!(head, "the commit that is judged (8c1f0a2e5b)");
    fails(&world.job("merge_group", world.merge, gone, "heads/x"), Past::None);
    fails(&world.job("schedule", world.third, world.first, "heads/main"), Past::Green(gone));
    fails(&world.job("schedule", world.third, world.first, "heads/main"), Past::Red(gone));
    world.shallow(world.third);
    world.repository.find_reference("refs/remotes/origin/main").unwrap().delete().unwrap();
    fails(&world.job("push", world.third, gone, "heads/main"), Past::None);
    fails(&world.job("pull_request.opened", world.topic2, gone, "pull/42"), Past::None);
}

#[test]
fn ages_are_said_in_the_unit_that_fits() {
    let at = |minutes: u64| age(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(minutes * 60));
    assert_eq!([at(0), at(1), at(59)], ["less than a minute old", "1 minute old", "59 minutes old"]);
    assert_eq!([at(60), at(47 * 60), at(48 * 60)], ["1 hour old", "47 hours old", "2 days old"]);
    assert_eq!(age(UNIX_EPOCH + Duration::from_secs(9), UNIX_EPOCH), "less than a minute old");
}
