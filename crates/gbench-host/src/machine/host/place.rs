//! Where the process runs: operating system, container, hypervisor.

use super::cpu;
use super::root::Root;

/// The operating system's name for itself.
pub(super) fn os(root: &Root) -> Result<String, String> {
    let text = root.text("etc/os-release").map_or_else(|| root.needed("usr/lib/os-release"), Ok)?;
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let value = line.strip_prefix(key)?.strip_prefix('=')?.trim().trim_matches(['"', '\'']);
            (!value.is_empty()).then(|| value.to_owned())
        })
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).ok_or_else(|| "/etc/os-release has no name".into())
}

/// `kubernetes`, `docker`, `podman`, `lxc`, `systemd-nspawn`, ... or `none`, recognised by the traces that each leaves.
pub(super) fn container(root: &Root, environment: &dyn Fn(&str) -> Option<String>) -> String {
    let groups =
        ["proc/1/cgroup", "proc/self/cgroup"].map(|file| root.text(file).unwrap_or_default()).join("\n");
    let known = if environment("KUBERNETES_SERVICE_HOST").is_some() || groups.contains("kubepods") {
        "kubernetes"
    } else if root.path("run/.containerenv").exists() || groups.contains("libpod") {
        "podman"
    } else if root.path(".dockerenv").exists() || groups.contains("docker") {
        "docker"
    } else if environment("APPTAINER_CONTAINER").or(environment("SINGULARITY_CONTAINER")).is_some() {
        "apptainer"
    } else if groups.contains("/lxc/") {
        "lxc"
    } else {
        // The convention of systemd's container interface, which lxc, podman and nspawn follow.
        return environment("container").filter(|name| !name.is_empty()).unwrap_or_else(|| "none".into());
    };
    known.to_owned()
}

/// Substrings of firmware tables, kernel clock sources and WSL's kernel name, with the hypervisor that they identify.
const HYPERVISORS: [(&str, &str); 17] = [
    ("amazon ec2", "amazon"),
    ("google compute engine", "google"),
    ("google", "google"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("parallels", "parallels"),
    ("virtual machine", "hyper-v"),
    ("hyperv", "hyper-v"),
    ("bhyve", "bhyve"),
    ("openstack", "kvm"),
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("bochs", "kvm"),
    ("xen", "xen"),
    ("firecracker", "firecracker"),
    ("apple virtualization", "apple"),
];

/// The hypervisor's name; `unnamed` if the processor reports one that nothing identifies; or `none`.
pub(super) fn virtualization(root: &Root) -> String {
    let kernel = root.text("proc/sys/kernel/osrelease").unwrap_or_default().to_lowercase();
    if kernel.contains("microsoft") {
        return "wsl".into();
    }
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let reported = cpu::value(&cpuinfo, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    // Bare-metal cloud servers have the cloud's name in their tables as well. Processors that cannot report a
    // hypervisor (ARM) have only the tables.
    if !reported && cpu::value(&cpuinfo, "flags").is_some() {
        return "none".into();
    }
    let hints: String = [
        "sys/hypervisor/type",
        "sys/class/dmi/id/product_name",
        "sys/class/dmi/id/sys_vendor",
        "sys/class/dmi/id/bios_vendor",
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
    ]
    .iter()
    .filter_map(|file| root.text(file))
    .collect::<Vec<_>>()
    .join("\n")
    .to_lowercase();
    match HYPERVISORS.iter().find(|(word, _)| hints.contains(word)) {
        Some((_, name)) => (*name).to_owned(),
        None if reported => "unnamed".into(),
        None => "none".into(),
    }
}
