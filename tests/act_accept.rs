//! Accepting under `act`: the generated workflow, the real action and the real binary, from a comment to what GitHub holds in the end.

use serde_json::{Value, json};

use crate::act_whole::{Kernels, RESULT, report};
use crate::support::act::{Played, repository};
use crate::support::fake_github::FakeGithub;

/// The event of a comment on pull request 7. What else it says is a lie: GitHub is asked.
fn commented(comment: u64, text: &str) -> Value {
    json!({
        "action": "created",
        "issue": {"number": 7, "pull_request": {"url": "https://api.github.com/repos/acme/kernels/pulls/7"}},
        "comment": {"id": comment, "body": text, "user": {"login": "root", "type": "User"}},
        "repository": repository(),
    })
}

pub fn accept(kernels: &mut Kernels, fake: &FakeGithub, login: &str, text: &str) -> Played {
    let comment = fake.comment(7, login, text);
    kernels.stage.token = fake.actions_token(&["pull_requests", "checks", "actions"]);
    kernels.stage.set("GITHUB_RUN_ID", "950");
    kernels.stage.play("gbench-accept.yml", "issue_comment", &commented(comment, text))
}

fn conclusion(kernels: &Kernels, fake: &FakeGithub) -> Option<String> {
    let checks = fake.checks(&kernels.head);
    checks.into_iter().find(|check| check.name == "gbench-ci").and_then(|check| check.conclusion)
}

#[test]
fn a_writers_comment_turns_the_check_green_and_nobody_elses_does() {
    for flags in ["--runner self-hosted,gpu", "--runner self-hosted,gpu --shards 3"] {
        let Some(mut kernels) = Kernels::new(flags) else { return };
        kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(1);
        let zip = kernels.zip(RESULT);
        let fake = FakeGithub::start();
        fake.repository("acme/kernels");
        fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");
        fake.collaborator("maria", "write");
        fake.collaborator("rico", "read");
        report(&mut kernels, &fake, "completed", "acme/kernels", Some(&zip)).is(0);
        assert_eq!(conclusion(&kernels, &fake).as_deref(), Some("failure"));

        let text = "/gbench accept s/c1 -- $(touch pwned)`touch pwned` \"; touch pwned; '";
        accept(&mut kernels, &fake, "rico", text).is(0).keeps_silent_about("pwned)");
        assert_eq!(conclusion(&kernels, &fake).as_deref(), Some("failure"));
        let before = fake.requests().len();
        accept(&mut kernels, &fake, "maria", "this is slower").is(0);
        assert_eq!(fake.requests().len(), before, "no job is started");
        // Attack A7: each command of a stranger would cost a job and some requests.
        let mut stranger = commented(fake.comment(7, "mallory", text), text);
        stranger["comment"]["author_association"] = json!("NONE");
        kernels.stage.play("gbench-accept.yml", "issue_comment", &stranger).is(0);
        assert_eq!(fake.requests().len(), before, "a stranger starts no job");

        accept(&mut kernels, &fake, "maria", text).is(0);
        assert_eq!(conclusion(&kernels, &fake).as_deref(), Some("success"));
        assert_eq!(kernels.stage.sh("find . -name 'pwned*' | wc -l"), "0");
        accept(&mut kernels, &fake, "maria", "/gbench revoke s/c1").is(0);
        assert_eq!(conclusion(&kernels, &fake).as_deref(), Some("failure"));
    }
}
