//! Groups of a `pyproject.toml` that `pip install .` ignores: `[dependency-groups]` of PEP 735, and those of Poetry and
//! uv. Their packages are passed to pip one by one, as only pip 25.1 and later knows `--group`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::words::{names, plain};
use crate::adapters::source::paths::below;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PackageGroup {
    /// Requirements in pip's syntax.
    pub packages: Vec<String>,
    /// Extras of the project itself that it requires.
    pub extras: BTreeSet<String>,
}

/// The first group that names a package. `project`: the folder of the file.
pub(crate) fn naming(pyproject: &Table, project: &str, package: &str) -> Option<PackageGroup> {
    standard(pyproject, package)
        .or_else(|| of_uv(pyproject, package))
        .or_else(|| of_poetry(pyproject, project, package))
}

fn table<'t>(at: &'t Table, path: &[&str]) -> Option<&'t Table> {
    path.iter().try_fold(at, |table, key| table.get(*key)?.as_table())
}

/// `-`, `_` and `.` in names of packages and groups are equal, in any case.
fn same(one: &str, other: &str) -> bool {
    plain(one).replace('.', "-") == plain(other).replace('.', "-")
}

fn standard(pyproject: &Table, package: &str) -> Option<PackageGroup> {
    let groups = pyproject.get("dependency-groups")?.as_table()?;
    let direct = |list: &Value| {
        let mut words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.any(|word| names(word, package))
    };
    let (first, _) = groups.iter().find(|(_, list)| direct(list))?;
    let mut group = PackageGroup::default();
    let mut seen = BTreeSet::new();
    collect(pyproject, groups, first, &mut seen, &mut group);
    Some(group)
}

/// Adds a group with its included groups; a recursion ends there.
fn collect(
    pyproject: &Table,
    groups: &Table,
    name: &str,
    seen: &mut BTreeSet<String>,
    group: &mut PackageGroup,
) {
    let Some((key, list)) = groups.iter().find(|(key, _)| same(key, name)) else { return };
    if !seen.insert(key.clone()) {
        return;
    }
    for entry in list.as_array().into_iter().flatten() {
        match entry {
            Value::String(requirement) => add(pyproject, requirement, group),
            Value::Table(table) => {
                if let Some(inner) = table.get("include-group").and_then(Value::as_str) {
                    collect(pyproject, groups, inner, seen, group);
                }
            }
            _ => {}
        }
    }
}

/// Adds a requirement. A requirement on the project itself is not a package of an index, but extras of the tree's
/// installation.
fn add(pyproject: &Table, requirement: &str, group: &mut PackageGroup) {
    let requirement = requirement.trim();
    let end = requirement.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let (name, rest) = requirement.split_at(end.unwrap_or(requirement.len()));
    let own = table(pyproject, &["project"]).and_then(|project| project.get("name")).and_then(Value::as_str);
    if !own.is_some_and(|own| same(own, name)) {
        // A word that begins with a dash is not a requirement: pip would take it for a flag.
        if !name.is_empty()
            && !name.starts_with('-')
            && !group.packages.iter().any(|other| other == requirement)
        {
            group.packages.push(requirement.to_owned());
        }
        return;
    }
    let extras =
        rest.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or_default();
    group.extras.extend(extras.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
}

/// uv's `dev-dependencies` before the standard.
fn of_uv(pyproject: &Table, package: &str) -> Option<PackageGroup> {
    let list = table(pyproject, &["tool", "uv"])?.get("dev-dependencies")?.as_array()?;
    let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    if !words.iter().any(|word| names(word, package)) {
        return None;
    }
    let mut group = PackageGroup::default();
    words.iter().for_each(|word| add(pyproject, word, &mut group));
    Some(group)
}

fn of_poetry(pyproject: &Table, project: &str, package: &str) -> Option<PackageGroup> {
    let poetry = table(pyproject, &["tool", "poetry"])?;
    let groups = table(poetry, &["group"]).into_iter().flatten();
    let groups = groups.filter_map(|(_, group)| group.as_table()?.get("dependencies")?.as_table());
    let old = table(poetry, &["dev-dependencies"]);
    let list = groups.chain(old).find(|list| list.keys().any(|name| same(name, package)))?;
    let mut packages = Vec::new();
    for (name, wanted) in list.iter().filter(|(name, _)| *name != "python") {
        // Several tables require different versions, depending on their markers.
        let each = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
        packages.extend(each.iter().filter_map(|wanted| of_one(name, wanted, project)));
    }
    Some(PackageGroup { packages, extras: BTreeSet::new() })
}

fn of_one(name: &str, wanted: &Value, project: &str) -> Option<String> {
    let Some(table) = wanted.as_table() else {
        return Some(format!("{name}{}", versions(wanted.as_str().unwrap_or("*"))));
    };
    let text = |key: &str| table.get(key).and_then(Value::as_str);
    let extras = table.get("extras").and_then(Value::as_array);
    let extras: Vec<&str> = extras.into_iter().flatten().filter_map(Value::as_str).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let named = if let Some(path) = text("path") {
        return Some(format!("./{}{extras}", below(project, path)));
    } else if let Some(url) = text("git") {
        let at = ["rev", "tag", "branch"].iter().find_map(|key| text(key));
        format!("{name}{extras} @ git+{url}{}", at.map_or_else(String::new, |at| format!("@{at}")))
    } else if let Some(url) = text("url") {
        format!("{name}{extras} @ {url}")
    } else {
        format!("{name}{extras}{}", versions(text("version").unwrap_or("*")))
    };
    let mut markers: Vec<String> = text("markers").into_iter().map(|marker| format!("({marker})")).collect();
    let python = clauses(text("python").unwrap_or("*")).unwrap_or_default();
    markers.extend(
        python.iter().map(|(operator, version)| format!("python_full_version {operator} \"{version}\"")),
    );
    Some(if markers.is_empty() { named } else { format!("{named} ; {}", markers.join(" and ")) })
}

/// A constraint of Poetry in pip's syntax; empty if pip has no such constraint.
fn versions(constraint: &str) -> String {
    let clauses = clauses(constraint).unwrap_or_default();
    clauses.iter().map(|(operator, version)| format!("{operator}{version}")).collect::<Vec<_>>().join(",")
}

/// `^1.2` is `>=1.2` and `<2`, `~1.2.3` is `>=1.2.3` and `<1.3`. `None`: several versions, or an invalid one.
fn clauses(constraint: &str) -> Option<Vec<(String, String)>> {
    let mut clauses = Vec::new();
    for part in constraint.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "*") {
        let at = part.find(|c: char| !"^~=<>!".contains(c)).unwrap_or(part.len());
        let (operator, version) = (&part[..at], part[at..].trim());
        let known = |c: char| c.is_ascii_alphanumeric() || ".*+!-".contains(c);
        if version.is_empty() || !version.chars().all(known) {
            return None;
        }
        let numbers: Vec<u64> = version.split('.').map_while(|number| number.parse().ok()).collect();
        // The part after which everything may change.
        let fixed = match operator {
            "^" => numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len().saturating_sub(1)),
            "~" => usize::from(numbers.len() > 1),
            "" => {
                clauses.push(("==".into(), version.to_owned()));
                continue;
            }
            operator => {
                // Poetry has two more words than pip.
                let operator = match operator {
                    "=" => "==",
                    "<>" => "!=",
                    other => other,
                };
                clauses.push((operator.to_owned(), version.to_owned()));
                continue;
            }
        };
        let next = numbers.get(fixed)?.checked_add(1)?;
        let above = numbers[..fixed].iter().copied().chain([next]).map(|number| number.to_string());
        clauses.push((">=".into(), version.to_owned()));
        clauses.push(("<".into(), above.collect::<Vec<_>>().join(".")));
    }
    Some(clauses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(pyproject: &str) -> Vec<String> {
        naming(&pyproject.parse().unwrap(), "py", "pytest-benchmark")
            .map_or_else(Vec::new, |group| group.packages)
    }

    #[test]
    fn a_standard_group_is_followed_into_those_that_it_includes() {
        let text = "[project]\nname = \"My.App\"\n[dependency-groups]\ndocs = [\"sphinx\"]\n\
                    dev = [\"pytest-benchmark>=5\", {include-group = \"Type_Checks\"}, \"my-app[fast, cli]\", \"-e x\"]\n\
                    type-checks = [\"mypy ; python_version > '3.9'\", {include-group = \"dev\"}, {include-group = \"none\"}]\n";
        assert_eq!(packages(text), ["pytest-benchmark>=5", "mypy ; python_version > '3.9'"]);
        let group = naming(&text.parse().unwrap(), "", "pytest-benchmark").unwrap();
        assert_eq!(group.extras, BTreeSet::from(["cli".to_owned(), "fast".to_owned()]));
        assert_eq!(naming(&text.parse().unwrap(), "", "pyperf"), None);
    }

    #[test]
    fn groups_of_poetry_are_said_in_the_words_of_pip() {
        let text = "[tool.poetry.group.docs.dependencies]\nsphinx = \"*\"\n[tool.poetry.group.dev.dependencies]\npython = \"^3.9\"\n\
                    pytest-benchmark = \"^5.0.1\"\na = {version = \"~1.2\", extras = [\"x\"], markers = \"os_name == 'posix'\"}\n\
                    b = {path = \"../b\"}\nc = {git = \"https://x/c\", tag = \"v1\"}\nd = [{version = \"1.0\", python = \"<3.9\"}, {version = \"2.*\", python = \"^3.9\"}]\n\
                    e = \"^1 || ^2\"\n";
        let expected = [
            "a[x]>=1.2,<1.3 ; (os_name == 'posix')",
            "./py/../b",
            "c @ git+https://x/c@v1",
            "d==1.0 ; python_full_version < \"3.9\"",
            "d==2.* ; python_full_version >= \"3.9\" and python_full_version < \"4\"",
            "e",
            "pytest-benchmark>=5.0.1,<6",
        ];
        assert_eq!(packages(text), expected);
        assert_eq!(
            packages("[tool.poetry.dev-dependencies]\npytest_benchmark = \"4\"\n"),
            ["pytest_benchmark==4"]
        );
        assert_eq!(
            packages("[tool.uv]\ndev-dependencies = [\"pytest-benchmark\", \"x<2\"]\n"),
            ["pytest-benchmark", "x<2"]
        );
    }

    #[test]
    fn constraints_mean_what_they_mean_to_poetry() {
        for (constraint, expected) in [
            ("^1.2.3", ">=1.2.3,<2"),
            ("^0.2.3", ">=0.2.3,<0.3"),
            ("^0.0.3", ">=0.0.3,<0.0.4"),
            ("^0.0", ">=0.0,<0.1"),
            ("^0", ">=0,<1"),
            ("~1.2.3", ">=1.2.3,<1.3"),
            ("~1", ">=1,<2"),
            (">= 1.2, <3", ">=1.2,<3"),
            ("!=1.5", "!=1.5"),
            ("*", ""),
            ("", ""),
            ("^x", ""),
            ("^", ""),
            ("^18446744073709551615", ""),
        ] {
            assert_eq!(versions(constraint), expected, "{constraint}");
        }
    }

    #[test]
    fn what_is_no_group_gives_nothing() {
        for text in [
            "dependency-groups = 1",
            "[dependency-groups]\na = 1\nb = [1, {x = 1}]",
            "[tool]\npoetry = 1",
            "[tool.poetry]\ngroup = []",
        ] {
            assert_eq!(packages(text), [""; 0], "{text}");
        }
    }
}
