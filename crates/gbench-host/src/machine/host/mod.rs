//! The host's facts, read from `/proc`, `/sys` and `/etc` below a root that tests replace with their own folder.

mod cgroup;
mod cpu;
mod place;
mod root;

use gbench_model::{HostFacts, Probe};

pub(super) use cgroup::cpu_quota;
pub(super) use cpu::affinity;
pub(super) use root::Root;

/// Everything about the host. `environment` looks up a variable: containers announce themselves there.
pub(super) fn host(root: &Root, environment: &dyn Fn(&str) -> Option<String>) -> HostFacts {
    let memory_total = memory(root, "MemTotal").map(|total| match cgroup::memory_limit(root) {
        Some(limit) => limit.min(total),
        None => total,
    });
    let available = memory(root, "MemAvailable").map(|available| match &memory_total {
        Ok(total) => available.min(*total),
        Err(_) => available,
    });
    HostFacts {
        hostname: nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).into(),
        os: place::os(root).into(),
        // The release only: the build date would differ between two images of one kernel.
        kernel: root.needed("proc/sys/kernel/osrelease").into(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: cpu::model(root).into(),
        cores: cpu::cores(cpu::allowed(), cpu_quota(root)),
        last_level_cache: cpu::last_level_cache(root),
        governor: cpu::governor(root),
        memory_total: memory_total.into(),
        memory_available: available.into(),
        load: load(root).into(),
        container: Probe::Known(place::container(root, environment)),
        virtualization: Probe::Known(place::virtualization(root)),
    }
}

/// Bytes of a line of `/proc/meminfo`, which is in KiB.
fn memory(root: &Root, key: &str) -> Result<u64, String> {
    let text = root.needed("proc/meminfo")?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .and_then(|value| value.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| format!("/proc/meminfo has no {key}"))
}

fn load(root: &Root) -> Result<f64, String> {
    let text = root.needed("proc/loadavg")?;
    text.split_whitespace()
        .next()
        .and_then(|first| first.parse().ok())
        .filter(|load: &f64| load.is_finite())
        .ok_or_else(|| format!("/proc/loadavg reads `{text}`"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::machine::readings;
    use crate::machine::test_support::tree;
    use case_files::Given;

    /// The facts in these files, on a machine of eight processors; independent of the machine that runs the test.
    fn facts(files: &[(&str, &str)], environment: &[(&str, &str)]) -> Vec<String> {
        let (_folder, root) = tree(files);
        let variable = |wanted: &str| environment.iter().find(|(name, _)| *name == wanted);
        let mut facts = host(&root, &|name| variable(name).map(|(_, value)| (*value).to_owned()));
        assert!(matches!(facts.hostname, Probe::Known(_)));
        let quota = cpu_quota(&root);
        (facts.hostname, facts.architecture) = (Probe::Known("this".into()), "this".into());
        facts.cores = cpu::cores(Ok(8), quota);
        let [turbo, counters] = readings::tests::of_files(&root);
        let facts = serde_json::to_value(facts).unwrap();
        let facts = facts.as_object().unwrap().iter().map(|(name, fact)| format!("{name}: {fact}"));
        let others = [
            format!("cpu_quota: {quota:?}"),
            format!("memory_limit: {:?}", cgroup::memory_limit(&root)),
            format!("turbo: {turbo:?}"),
            format!("gpu_counters_restricted: {counters:?}"),
        ];
        facts.chain(others).collect()
    }

    /// Input: `file PATH` with its text, `PATH: text` and `$NAME=value`. Output: the facts that differ from a machine
    /// without files, or with `all` every fact.
    pub(in crate::machine) fn answer(given: &Given) -> String {
        let texts = given.paths("file");
        let text = if texts.is_empty() { given.text() } else { String::new() };
        let (variables, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('$'));
        let variables: Vec<_> = variables.iter().map(|line| line[1..].split_once('=').unwrap()).collect();
        let lines = lines.iter().map(|line| line.split_once(": ").unwrap_or((line, "")));
        let files: Vec<_> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).chain(lines).collect();
        let (found, usual) = (facts(&files, &variables), facts(&[], &[]));
        let all = given.get("all").is_some();
        let told: Vec<String> = found.into_iter().filter(|fact| all || !usual.contains(fact)).collect();
        if told.is_empty() { "nothing".into() } else { told.join("\n") }
    }
}
