//! Python projects in a tree: their places, their requirements, and a separate environment to run them.

mod groups;
mod words;

pub(crate) use self::words::names;
use super::paths::{above, below, folder, leaf};
use super::quoting::quoted_unless;
use crate::adapters::interface::source_tree::{BuildStep, SourceTree};

const ROOTS: [&str; 6] =
    ["pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt"];

/// After a build by [`environment`].
pub(crate) const PYTHON: &str = ".venv/bin/python";

/// The nearest project above a file; the tree's root if there is none.
pub(crate) fn project(tree: &dyn SourceTree, path: &str) -> String {
    let is_root = |at: &&str| ROOTS.iter().any(|name| tree.files().binary_search(&below(at, name)).is_ok());
    above(path).find(is_root).unwrap_or_default().to_owned()
}

/// Texts of a project with its requirements, and their paths from the tree.
pub(crate) fn requirements(tree: &dyn SourceTree, project: &str) -> Vec<(String, String)> {
    let said = |path: &&String| {
        let name = leaf(path);
        let list = name.contains("requirements") || folder(path).ends_with("requirements");
        let near = folder(path) == project || folder(folder(path)) == project;
        let root =
            folder(path) == project && (ROOTS.contains(&name) || name == "noxfile.py" || name == "Pipfile");
        root || near && list && (name.ends_with(".txt") || name.ends_with(".in"))
    };
    tree.files()
        .iter()
        .filter(said)
        .filter_map(|path| tree.text(path).map(|text| (path.clone(), text)))
        .collect()
}

/// Creates `.venv` in the folder `place` with the project of the folder `project`, as in this tree, and packages: a
/// separate environment for each side, so that neither imports the other's.
pub(crate) fn environment(
    tree: &dyn SourceTree,
    place: &str,
    project: &str,
    package: &str,
    more: &[String],
) -> BuildStep {
    let venv = below(place, ".venv");
    let mut words = Vec::new();
    let texts = requirements(tree, project);
    let text = |name: &str| {
        let path = below(project, name);
        texts.iter().find(|(other, _)| *other == path).map_or("", |(_, text)| text.as_str())
    };
    let pyproject: toml::Table = text("pyproject.toml").parse().unwrap_or_default();
    let group = groups::naming(&pyproject, project, package).unwrap_or_default();
    let installs = pyproject.contains_key("project")
        || pyproject.contains_key("build-system")
        || !text("setup.py").is_empty()
        || text("setup.cfg").contains("[metadata]");
    if installs {
        let path = if project.is_empty() { "." } else { project };
        let mut extras = group.extras;
        extras.extend(extra(&pyproject, package));
        let extras: Vec<String> = extras.into_iter().collect();
        let extra = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        words.push(format!("-e {}", quoted(&format!("{path}{extra}"))));
    }
    for (path, text) in &texts {
        if path.ends_with(".txt") && names(text, package) {
            words.push(format!("-r {}", quoted(path)));
        }
    }
    words.extend(group.packages.iter().map(|requirement| quoted(requirement)));
    if !group.packages.iter().any(|requirement| names(requirement, package)) {
        words.push(quoted(package));
    }
    words.extend(more.iter().map(|word| quoted(word)));
    let (python, packages) = (quoted(&format!("{venv}/bin/python")), words.join(" "));
    BuildStep::Shell(format!(
        "python3 -m venv {} && {python} -m pip install --quiet {packages}",
        quoted(&venv)
    ))
}

fn extra(pyproject: &toml::Table, package: &str) -> Option<String> {
    let groups = pyproject.get("project")?.get("optional-dependencies")?.as_table()?;
    let with = |list: &toml::Value| {
        let list = list.as_array().map_or(&[][..], Vec::as_slice);
        list.iter().any(|word| word.as_str().is_some_and(|word| names(word, package)))
    };
    groups.iter().find(|(_, list)| with(list)).map(|(name, _)| name.clone())
}

fn quoted(word: &str) -> String {
    quoted_unless(word, "-_./=+@:,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::interface::source_tree::MemoryTree;

    #[test]
    fn an_environment_installs_the_project_with_the_extra_and_the_lists_that_name_the_package() {
        let tree = MemoryTree::of([
            (
                "py/pyproject.toml",
                "[project]\nname='x'\n[project.optional-dependencies]\ndev=['ruff']\ntest=['pytest_benchmark>=4']\n",
            ),
            ("py/requirements/ci.txt", "Pytest-Benchmark==5\n"),
            ("py/requirements/docs.txt", "sphinx\n"),
        ]);
        let BuildStep::Shell(line) = environment(&tree, "py", "py", "pytest-benchmark", &["a>1".into()])
        else {
            panic!()
        };
        assert_eq!(
            line,
            "python3 -m venv py/.venv && py/.venv/bin/python -m pip install --quiet -e 'py[test]' \
             -r py/requirements/ci.txt pytest-benchmark 'a>1'"
        );
    }

    #[test]
    fn a_group_that_names_the_package_is_installed_with_it() {
        let tree = MemoryTree::of([(
            "pyproject.toml",
            "[project]\nname='x'\n[dependency-groups]\ndev=['numpy>=2','pytest-benchmark>=5','x[fast]']\n",
        )]);
        let BuildStep::Shell(line) = environment(&tree, "", "", "pytest-benchmark", &[]) else { panic!() };
        let install = line.split_once("--quiet ").unwrap().1;
        assert_eq!(install, "-e '.[fast]' 'numpy>=2' 'pytest-benchmark>=5'");
    }

    #[test]
    fn a_folder_without_a_package_installs_the_harness_alone() {
        let tree = MemoryTree::of([("tox.ini", "[tox]\n")]);
        let BuildStep::Shell(line) = environment(&tree, "", "", "pyperf", &[]) else { panic!() };
        assert_eq!(line, "python3 -m venv .venv && .venv/bin/python -m pip install --quiet pyperf");
    }

    #[test]
    fn a_package_is_named_as_a_whole_word_only() {
        assert!(names("dev = ['pytest_benchmark[histogram]>=3']", "pytest-benchmark"));
        assert!(!names("pytest-benchmarks", "pytest-benchmark"));
        assert!(!names("my-pytest-benchmark", "pytest-benchmark"));
    }

    #[test]
    fn the_nearest_project_is_that_of_a_file() {
        let tree = MemoryTree::of([("a/b/setup.py", ""), ("pyproject.toml", "")]);
        assert_eq!(project(&tree, "a/b/tests/test_x.py"), "a/b");
        assert_eq!(project(&tree, "a/test_x.py"), "");
    }
}
