//! The job against the policy. Whatever no line of the policy allows is refused.

use super::job::GuardedJob;
use super::policy::GuardPolicy;
use super::policy::NEVER_ALLOWED;
use gbench_model::Result;

/// Why a job does not run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRefusal {
    /// A sentence without a period; names in it are escaped.
    pub what: String,
    /// In the imperative.
    pub next: String,
}

/// Asks GitHub whether a maintainer's label lets a fork's pull request run. Inner `Err`: why not.
pub type Ask<'a> = dyn Fn(&GuardedJob, &str) -> Result<Result<(), String>> + 'a;

/// `Ok`: it may run. GitHub is asked last, and only about a fork that nothing else keeps out.
///
/// Errors: GitHub could not be asked.
pub fn decide(policy: &GuardPolicy, job: &GuardedJob, ask: &Ask<'_>) -> Result<Result<(), JobRefusal>> {
    if let Some(refusal) = refused_by_file(policy, job) {
        return Ok(Err(refusal));
    }
    let Some(pull) = job.context.pull_request.as_ref().filter(|_| job.context.is_fork()) else {
        // A fork's run that is about no pull request cannot be judged by one's label.
        return Ok(if job.context.is_fork() {
            Err(refusal("this job is about a fork's run", "measure forks on a hosted runner"))
        } else {
            Ok(())
        });
    };
    let from = match &pull.head_repository {
        Some(slug) => format!("the fork {slug}"),
        None => "a fork that is gone".into(),
    };
    let whose =
        format!("pull request #{} comes from {from}, whose code does not run on this machine", pull.number);
    let Some(forks) = &policy.forks else {
        let next = "read it and push its branch to the repository; or name a label in `[forks]` of the machine's policy";
        return Ok(Err(refusal(&whose, next)));
    };
    let label = forks.label.escape_debug();
    Ok(ask(job, &forks.label)?.map_err(|why| {
        let next = format!(
            "read all of it, its workflow files too, then put the label `{label}` on it and run the job again"
        );
        refusal(&format!("{whose}: {why}"), &next)
    }))
}

fn refused_by_file(policy: &GuardPolicy, job: &GuardedJob) -> Option<JobRefusal> {
    let context = &job.context;
    let next = |list: &str| format!("the administrator of the machine can add it to `{list}` of its policy");
    let slug = &context.slug;
    if !policy.has_repository(slug) {
        return Some(refusal(
            &format!("the repository {slug} may not use this machine"),
            &next("repositories"),
        ));
    }
    let event = context.event.as_ref();
    if !policy.events.iter().any(|allowed| allowed == event) {
        let what = format!("the event `{}` may not use this machine", event.escape_debug());
        let advice = if NEVER_ALLOWED.contains(&context.event) {
            "measure on `pull_request`: this event has the repository's secrets, and no policy allows it"
                .into()
        } else {
            next("events")
        };
        return Some(refusal(&what, &advice));
    }
    let (of, file) = &job.workflow;
    if of != slug || !policy.workflows.contains(file) {
        let file = file.escape_debug();
        let what = format!("the workflow `{file}` of {of} may not use this machine");
        return Some(refusal(&what, &next("workflows")));
    }
    match &job.branch {
        Some(branch) if policy.has_branch(branch) => None,
        Some(branch) => {
            let what = format!("the branch `{}` may not use this machine", branch.escape_debug());
            Some(refusal(&what, &next("branches")))
        }
        None => Some(refusal(
            "the job is about no branch, and this machine runs those of branches alone",
            "start it on a branch",
        )),
    }
}

fn refusal(what: &str, next: &str) -> JobRefusal {
    JobRefusal { what: what.into(), next: next.into() }
}
