//! Places of NVIDIA's libraries other than the driver's, and of its headers: the loader's path, a toolkit, Python packages.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

/// Below a toolkit or an environment of conda, for each kind of processor.
const TARGETS: [&str; 2] = ["targets/x86_64-linux", "targets/sbsa-linux"];

/// Places to try in order. `names`: of the library, the newest first; `packages`: folders below `site-packages/nvidia`.
pub(super) fn candidates(names: &[&str], packages: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut folders: Vec<PathBuf> = Vec::new();
    for home in toolkits() {
        folders.extend(["lib64", "lib"].map(|folder| home.join(folder)));
        folders.extend(TARGETS.map(|target| home.join(target).join("lib")));
    }
    let environments: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).collect();
    for environment in environments.into_iter().chain(pythons()) {
        for site in sites(&environment) {
            folders.extend(packages.iter().map(|package| site.join("nvidia").join(package)));
        }
        folders.push(environment.join("lib"));
        folders.extend(TARGETS.map(|target| environment.join(target).join("lib")));
    }
    let mut seen = BTreeSet::new();
    for folder in folders.iter().filter(|folder| folder.is_dir() && seen.insert((*folder).clone())) {
        found.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
    }
    found
}

pub(super) fn toolkits() -> impl Iterator<Item = PathBuf> {
    ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).chain(["/usr/local/cuda".into()])
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The environments of the Python on PATH, which need not be active: that of `bin/python3` itself, the one from which it was
/// made, and the user's own packages.
fn pythons() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs =
        env::split_paths(&path).flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let Some(program) = programs.find(|program| program.is_file()) else { return Vec::new() };
    let original = program.canonicalize().ok();
    let prefix = |program: &Path| Some(program.parent()?.parent()?.to_owned());
    let mut found: Vec<PathBuf> =
        [prefix(&program), original.as_deref().and_then(prefix)].into_iter().flatten().collect();
    // Where a distribution's Python keeps what pip installs.
    found.extend(found.contains(&"/usr".into()).then(|| "/usr/local".into()));
    // A benchmark may have its own HOME.
    let home = User::from_uid(Uid::current()).ok().flatten().map(|user| user.dir);
    found.extend(home.map(|home| home.join(".local")));
    found
}

/// The folders of packages in an environment.
fn sites(environment: &Path) -> Vec<PathBuf> {
    let pythons = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    let pythons = pythons.filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
    let mut sites: Vec<PathBuf> = pythons
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.path().join(name)))
        .collect();
    sites.sort();
    sites
}

/// The file of the library that an address of this process lies in.
pub(super) fn file_of(address: usize) -> Option<PathBuf> {
    file_in(&fs::read_to_string("/proc/self/maps").ok()?, address)
}

/// `7f12a000-7f12b000 r-xp 00000000 08:01 42    /usr/lib/libnvrtc.so.12.4.127`
fn file_in(maps: &str, address: usize) -> Option<PathBuf> {
    let line = maps.lines().find(|line| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let ends =
            range.map(|(first, end)| (usize::from_str_radix(first, 16), usize::from_str_radix(end, 16)));
        matches!(ends, Some((Ok(first), Ok(end))) if (first..end).contains(&address))
    })?;
    Some(PathBuf::from(&line[line.find('/')?..]))
}

/// Folders of headers such as `cuda_fp16.h` for a compiler of this major version at one of `files`: near it in a toolkit, in
/// conda's and Debian's places, in the packages of CUDA 13 and 12, and in toolkits of the same version. CUDA 13 keeps CUB and
/// `cuda/std` in a folder below.
pub(super) fn headers(files: &[&Path], major: u32) -> Vec<PathBuf> {
    const BESIDE: [&str; 8] = [
        "../include",
        "../targets/x86_64-linux/include",
        "../targets/sbsa-linux/include",
        "../../cuda_runtime/include",
        "../../cuda_crt/include",
        "../../cuda_nvcc/include",
        "../../cuda_cccl/include",
        "../../include",
    ];
    let folders = files.iter().filter_map(|file| file.parent()).filter(|folder| folder.is_absolute());
    let mut places: Vec<PathBuf> =
        folders.flat_map(|folder| BESIDE.map(|place| folder.join(place))).collect();
    let of_toolkits = toolkits().map(|home| home.join("include"));
    places.extend(of_toolkits.filter(|place| version_of(place).is_none_or(|version| version == major)));
    let mut seen = BTreeSet::new();
    places
        .into_iter()
        .flat_map(|place| [place.clone(), place.join("cccl")])
        .filter(|place| {
            ["cuda_fp16.h", "crt/mma.h", "nv/target", "cub/cub.cuh"]
                .iter()
                .any(|header| place.join(header).exists())
        })
        .filter(|place| seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())))
        .collect()
}

/// The major version of a folder of headers, by its `cuda.h`.
fn version_of(include: &Path) -> Option<u32> {
    let text = fs::read(include.join("cuda.h")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, number) = text.split_once("#define CUDA_VERSION ")?;
    Some(number.lines().next()?.trim().parse::<u32>().ok()? / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, file: &str) -> PathBuf {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    }

    #[test]
    fn b33_a_library_of_the_loader_is_known_by_its_place_in_memory() {
        let maps = "00400000-00500000 r-xp 00000000 08:01 1    /bin/gbench-ci\n\
                    7f00a000-7f00b000 r-xp 00000000 08:01 2    /opt/cuda 12/lib/libnvrtc.so.12\n\
                    7f00c000-7f00d000 rw-p 00000000 00:00 0 \n";
        assert_eq!(file_in(maps, 0x7f00_a010).unwrap(), Path::new("/opt/cuda 12/lib/libnvrtc.so.12"));
        assert_eq!((file_in(maps, 0x7f00_b000), file_in(maps, 0x7f00_c000)), (None, None));
        assert!(file_of(file_of as *const () as usize).unwrap().is_absolute());
    }

    #[test]
    fn b33_headers_are_found_in_every_layout() {
        for (library, header, place) in [
            ("cuda/lib64/libnvrtc.so.12", "cuda/include/cuda_fp16.h", "cuda/include"),
            (
                "nvidia/cu13/lib/libnvrtc.so.13",
                "nvidia/cu13/include/cccl/nv/target",
                "nvidia/cu13/include/cccl",
            ),
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "nvidia/cuda_cccl/include/nv/target",
                "nvidia/cuda_cccl/include",
            ),
            (
                "conda/lib/libnvrtc.so.12",
                "conda/targets/x86_64-linux/include/cuda_fp16.h",
                "conda/targets/x86_64-linux/include",
            ),
            ("usr/lib/x86_64-linux-gnu/libnvrtc.so.12", "usr/include/cuda_fp16.h", "usr/include"),
        ] {
            let root = tempfile::tempdir().unwrap();
            let library = write(root.path(), library);
            write(root.path(), header);
            let found = headers(&[&library], 12);
            let wanted = root.path().join(place).canonicalize().unwrap();
            assert!(
                found.iter().any(|folder| folder.canonicalize().unwrap() == wanted),
                "{place}: {found:?}"
            );
        }
    }

    #[test]
    fn b33_headers_of_another_version_are_not_those_of_the_compiler() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(version_of(root.path()), None);
        std::fs::write(root.path().join("cuda.h"), "/* */\n#define CUDA_VERSION 13050\n").unwrap();
        assert_eq!(version_of(root.path()), Some(13));
    }

    #[test]
    fn b33_packages_are_found_in_every_python_of_an_environment() {
        let root = tempfile::tempdir().unwrap();
        for site in
            ["lib/python3.9/site-packages/a", "lib/python3.12/dist-packages/a", "lib/tcl/site-packages/a"]
        {
            write(root.path(), site);
        }
        let found: Vec<_> = sites(root.path()).into_iter().filter(|site| site.is_dir()).collect();
        let expected = ["lib/python3.12/dist-packages", "lib/python3.9/site-packages"]
            .map(|site| root.path().join(site));
        assert_eq!(found, expected);
    }
}
