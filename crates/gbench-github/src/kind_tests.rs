//! The kinds of this crate's cases: a folder of fixtures each.

use std::fmt::Debug;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::api::address::encoded;
use crate::api::identity::User;
use crate::guard::policy::GuardPolicy;
use crate::posts::marker::Marker;
use crate::runner::commands::{Level, annotation, data, line, property};

use crate::runner::context_tests;
use crate::{ApiError, Endpoint, Identity, Sha, Slug, Token, guard, history};
use case_files::{Answer, Given, walk};
use gbench_model::Fault;

const KINDS: [(&str, Answer); 4] =
    [("contexts", context_tests::answer), ("markers", marker), ("policies", policy), ("words", word)];

#[test]
fn every_case_is_answered_as_its_file_says() {
    walk(env!("CARGO_MANIFEST_DIR"), KINDS, 230);
}

fn ask<A: DeserializeOwned, R: Debug>(arguments: &str, function: impl FnOnce(A) -> R) -> String {
    format!("{:?}", function(serde_json::from_str(arguments).unwrap()))
}

fn word(given: &Given) -> String {
    let (function, it) = (given.get("of").unwrap(), &given.text());
    match function.trim_end() {
        "annotation" => {
            ask(it, |(level, path, at, title, message): (String, Option<String>, _, String, String)| {
                let level = if level == "error" { Level::Error } else { Level::Notice };
                annotation(level, path.as_deref(), at, &title, &message)
            })
        }
        "data" => ask(it, |text: String| data(&text)),
        "encoded" => ask(it, |text: String| encoded(&text)),
        "endpoint" => {
            ask(it, |[api, server]: [Option<String>; 2]| Endpoint::new(api.as_deref(), server.as_deref()))
        }
        "line" => ask(it, |text: String| line(&text)),
        "property" => ask(it, |text: String| property(&text)),
        "refused" => ask(it, |(request, status, wanted): (String, _, _)| {
            let request = request.into();
            let message = "Resource not accessible by integration".into();
            let Fault { next, exit, .. } = ApiError::Refused { request, status, message, wanted }.into();
            (next, exit)
        }),
        "same_slug" => ask(it, |[one, other]: [String; 2]| one.parse::<Slug>() == other.parse()),
        "sha" => {
            ask(it, |text: String| text.parse().map(|sha: Sha| (sha.to_string(), sha.short().to_owned())))
        }
        "slug" => ask(it, |text: String| text.parse().map(|slug: Slug| slug.to_string())),
        "token" => ask(it, |text: String| Token::new(&text).map(|it| format!("{it} {it:?} {:?}", Some(&it)))),
        "wrote" => ask(it, |(identity, login, kind): (Option<String>, _, _)| {
            identity.map_or(Identity::Actions, Identity::Login).wrote(&User { login, kind })
        }),
        function @ ("queued_for" | "workflow_of") => guard::job::tests::word(function, it),
        function => history::word_tests::word(function, it),
    }
}

fn marker(given: &Given) -> String {
    format!("{:?}", Marker::find(&given.text()))
}

/// Of `policy`, a text: whether it allows a `branch` or a `repository`, or else what it is.
fn policy(given: &Given) -> String {
    let policy = match GuardPolicy::parse(Path::new("guard.toml"), &given.get("policy").unwrap()) {
        Ok(policy) => policy,
        Err(Fault { place, what, next, .. }) => return format!("{place}: {what}; {next}"),
    };
    let (branch, repository) = (given.get("branch"), given.get("repository"));
    let branch = branch.map(|branch| policy.has_branch(branch.trim_end()));
    let repository = repository.map(|slug| policy.has_repository(&slug.trim_end().parse().unwrap()));
    branch.or(repository).map_or(format!("{policy:?}"), |allowed| allowed.to_string())
}
