//! The stand-in itself: its functions against `cuda.h`, its work, its clock and its faults.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{built, compare_with_header, compiler, done, here, library, twins, twins_of_kernels};
use crate::support::tools;

/// The program of `drive.cpp` and the twins of `drive.cu`; `None` without a C++ compiler.
fn driver() -> Option<&'static (PathBuf, PathBuf)> {
    static BUILT: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let build = || {
        if compiler().arg("--version").output().is_err() {
            tools::goes_without("there is no C++ compiler");
            return None;
        }
        let library = library("");
        let folder = built("fake_cuda_drive", &[&here()], &library.display().to_string(), |folder| {
            let mut command = compiler();
            command.arg("-std=c++17").arg(here().join("drive.cpp")).arg("-o").arg(folder.join("drive"));
            done(command.arg(&library)).unwrap();
            twins(&[&here().join("drive.cu")], &folder.join("drive.so")).unwrap();
        });
        Some((folder.join("drive"), folder.join("drive.so")))
    };
    BUILT.get_or_init(build).as_ref()
}

/// What the program prints in a case under some settings, with whether it was content.
fn drive(case: &str, settings: &str, file: Option<&Path>) -> Option<(String, bool)> {
    let (program, twins) = driver()?;
    let mut command = Command::new(program);
    command.arg(case).arg(here().join("drive.sm_90.cubin"));
    command.env("LD_LIBRARY_PATH", library("").parent().unwrap()).env("FAKE_CUDA_TWINS", twins);
    command.env("FAKE_CUDA", settings).env_remove("FAKE_CUDA_FILE").env_remove("CUDA_VISIBLE_DEVICES");
    if let Some(file) = file {
        command.env("FAKE_CUDA_FILE", file);
    }
    let output = command.output().unwrap();
    Some((String::from_utf8(output.stdout).unwrap(), output.status.success()))
}

#[test]
fn every_function_has_the_parameters_of_the_driver_s_header() {
    let Some(home) = tools::cuda() else { return };
    if driver().is_none() {
        return;
    }
    let said = compare_with_header(&home.join("include")).unwrap();
    assert_eq!(said, "63 functions compared, 0 differ\n");
}

#[test]
fn work_is_done_when_it_is_waited_for_and_its_answers_are_the_kernels() {
    for settings in ["", "clock=virtual run=settled"] {
        let Some((said, content)) = drive("results", settings, None) else { return };
        assert!(content, "{settings}: {said}");
    }
}

#[test]
fn the_virtual_clock_is_exact_and_shows_launches_only_without_a_spin_kernel() {
    let Some((said, content)) = drive("times", "clock=virtual kernel.co*=0.1 kernel=0.01", None) else {
        return;
    };
    let expected = "0.104000\n0.100000 1980 MHz\n0.500000 1980 MHz\n0.100000 1980 MHz, went on by itself\n";
    assert_eq!((said.as_str(), content), (expected, true));
}

#[test]
fn a_file_of_the_tree_changes_times_and_a_stretch_is_throttled() {
    let folder = crate::support::tempdir().unwrap();
    let file = folder.path().join("side");
    std::fs::write(&file, "# slower here\nkernel.copy=0.206\n").unwrap();
    // Kernels 6 to 13 are those of the third sample, with its stamps and its spin kernel.
    let settings = "clock=virtual kernel=0.2 launch_us=0 throttle=1.5@6-13";
    let Some((said, _)) = drive("times", settings, Some(&file)) else { return };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["0.206000", "0.206000 1980 MHz"], "{said}");
    // Five kernels at two thirds of the clock.
    assert_eq!(lines[2], "1.545000 1320 MHz", "{said}");
}

#[test]
fn noise_is_the_same_for_the_same_process_of_a_count() {
    let folder = crate::support::tempdir().unwrap();
    let settings = |name: &str| {
        format!(
            "clock=virtual noise=0.005 process_noise=0.01 seed=3 counter={}",
            folder.path().join(name).display()
        )
    };
    let Some(first) = drive("times", &settings("a"), None) else { return };
    let second = drive("times", &settings("a"), None).unwrap();
    assert_ne!(first.0, second.0);
    assert_eq!(first.0, drive("times", &settings("b"), None).unwrap().0);
    assert_eq!(second.0, drive("times", &settings("b"), None).unwrap().0);
}

#[test]
fn each_fault_comes_where_the_settings_put_it() {
    let line = |settings: &str| drive("calls", settings, None).map(|(said, _)| said);
    let Some(usual) = line("") else { return };
    assert!(!usual.replace("=0", "").contains('='), "{usual}");
    let cases: &[(&str, &str, &str)] = &[
        ("cuMemAlloc_v2=!2@2", "alloc=0 alloc=2 stream=0", "sync=0 elapsed=0 elapsed=0 alloc=0"),
        // A launch that fails is heard of when the host waits, and then everything fails but what gives things back.
        (
            "cuLaunchKernel=!700@3*",
            "launch=0 launch=0 launch=0 launch=0 record=0",
            "sync=700 elapsed=700 elapsed=700 alloc=700 get=0 destroy=0 sync=700 release=0",
        ),
        ("cuLaunchKernel=!1@3", "launch=0 launch=0 launch=1 launch=0", "sync=0 elapsed=0"),
        ("cuInit=!100", "init=100 count=3 (-1)", "alloc=3"),
        ("count=0", "init=0 count=0 (0) retain=101", "alloc=201"),
        ("cuEventElapsedTime=!999@2*", "sync=0 elapsed=0 elapsed=999 alloc=0", "sync=0 release=0"),
        ("lost@15", "launch=0 launch=0 launch=999 launch=999", "sync=999 elapsed=999"),
        ("sm=80", "load=209", "alloc=0"),
        // The cubin is of CUDA 13.
        ("driver=12080", "load=200", "alloc=0"),
        ("driver=12080 newer=209", "load=209", "alloc=0"),
        ("driver=12080 newer=loads", "load=0", "alloc=0"),
        ("total=512", "alloc=0 alloc=2", "sync=0"),
    ];
    for (settings, one, other) in cases {
        let said = line(settings).unwrap();
        assert!(said.contains(one) && said.contains(other), "{settings}: {said}");
    }
}

#[test]
fn ptx_of_a_newer_toolkit_or_of_another_card_is_refused_as_such() {
    for (driver, expected) in [
        ("driver=13000", "9.0=0 8.4=0 7.8=0 "),
        ("driver=12040", "9.0=222 8.4=0 7.8=0 "),
        ("driver=12020", "9.0=222 8.4=222 7.8=0 "),
        ("driver=11080", "9.0=222 8.4=222 7.8=0 "),
        ("driver=13000 jit=none", "9.0=221 8.4=221 7.8=221 "),
        ("driver=13000 sm=70", "9.0=218 8.4=218 7.8=218 "),
    ] {
        let Some((said, _)) = drive("ptx", driver, None) else { return };
        assert_eq!(said, expected, "{driver}");
    }
}

#[test]
fn a_user_s_file_gets_twins_without_naming_them() {
    if driver().is_none() {
        return;
    }
    let folder = crate::support::tempdir().unwrap();
    let (source, out) = (folder.path().join("user.cu"), folder.path().join("user.so"));
    let text = "extern \"C\" __global__ void plain(float *p) { p[threadIdx.x] = 1.0f; }\n\
                template <class T> __global__ void filled(T *p, T v) { p[threadIdx.x] = v; }\n";
    std::fs::write(&source, text).unwrap();
    let kernels = [("plain", "plain"), ("_Z6filledIfEvPT_S0_", "filled<float>")];
    let library = std::fs::read(twins_of_kernels(&source, &kernels, &[], &out).unwrap()).unwrap();
    for (symbol, _) in kernels {
        let exported = format!("gb_cpu_{symbol}\0");
        assert!(library.windows(exported.len()).any(|bytes| bytes == exported.as_bytes()), "{symbol}");
    }
}
