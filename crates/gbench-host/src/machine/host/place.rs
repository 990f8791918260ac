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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::test_support::tree;

    #[test]
    fn the_system_names_itself() {
        let (_folder, root) = tree(&[("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian 13\"\n")]);
        assert_eq!(os(&root), Ok("Debian 13".into()));
        let (_folder, root) = tree(&[("usr/lib/os-release", "NAME=Alpine\n")]);
        assert_eq!(os(&root), Ok("Alpine".into()));
        assert!(os(&tree(&[]).1).is_err());
    }

    #[test]
    fn containers_are_known_by_their_marks() {
        let none = |_: &str| None;
        for (files, name) in [
            (vec![(".dockerenv", "")], "docker"),
            (vec![("run/.containerenv", "")], "podman"),
            (vec![("proc/1/cgroup", "1:cpu:/kubepods/pod1\n")], "kubernetes"),
            (vec![("proc/self/cgroup", "1:cpu:/lxc/web\n")], "lxc"),
            (vec![("proc/1/cgroup", "0::/init.scope\n")], "none"),
        ] {
            let (_folder, root) = tree(&files);
            assert_eq!(container(&root, &none), name);
        }
        let (_folder, root) = tree(&[]);
        assert_eq!(
            container(&root, &|name| (name == "container").then(|| "systemd-nspawn".into())),
            "systemd-nspawn"
        );
        let in_pod = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "10.0.0.1".into());
        assert_eq!(container(&root, &in_pod), "kubernetes");
    }

    #[test]
    fn hypervisors_are_named_as_far_as_the_machine_tells() {
        let flags = ("proc/cpuinfo", "flags\t: fpu hypervisor sse\n");
        let bare = ("proc/cpuinfo", "flags\t: fpu sse\n");
        for (files, name) in [
            (vec![flags, ("sys/class/dmi/id/sys_vendor", "QEMU\n")], "kvm"),
            (vec![flags, ("sys/class/dmi/id/product_name", "Virtual Machine\n")], "hyper-v"),
            (vec![flags], "unnamed"),
            (vec![bare, ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")], "none"),
            (vec![("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")], "amazon"),
            (vec![flags, ("proc/sys/kernel/osrelease", "5.15.0-microsoft-standard-WSL2\n")], "wsl"),
            (vec![], "none"),
        ] {
            let (_folder, root) = tree(&files);
            assert_eq!(virtualization(&root), name, "{files:?}");
        }
    }
}
