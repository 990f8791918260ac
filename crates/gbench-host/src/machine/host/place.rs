//! Where the process sits: which system, which container, which hypervisor.

use super::cpu;
use super::root::Root;

/// The name that the system gives itself.
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

/// `kubernetes`, `docker`, `podman`, `lxc`, `systemd-nspawn`, ... or `none`: by the marks that each leaves.
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
        // The convention of systemd's container interface: lxc, podman and nspawn set it.
        return environment("container").filter(|name| !name.is_empty()).unwrap_or_else(|| "none".into());
    };
    known.to_owned()
}

/// Words of the firmware's tables, of the kernel's clock sources and of WSL's kernel name, and whose they are.
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

/// The hypervisor's name, `unnamed` where the processor reports one and nothing says which, or `none`.
pub(super) fn virtualization(root: &Root) -> String {
    let kernel = root.text("proc/sys/kernel/osrelease").unwrap_or_default().to_lowercase();
    if kernel.contains("microsoft") {
        return "wsl".into();
    }
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let reported = cpu::value(&cpuinfo, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    // A server of a cloud without a hypervisor (bare metal) has the cloud's name in its tables all the same; on
    // processors that cannot report one (ARM) the tables are all there is.
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
