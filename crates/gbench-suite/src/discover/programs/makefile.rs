//! The target of a makefile that measures without a harness.

use super::calibrating;
use super::make_rules::{MakeRule, MakeRules, plain};
use crate::discover::findings::{Discovered, Findings, leaf, literal};
use gbench_formats::adapters::{BuildStep, Harness, SourceTree};

const TARGETS: [&str; 2] = ["bench", "benchmark"];
/// Ends of targets that are no programs.
const NO_PROGRAMS: [&str; 12] =
    [".o", ".obj", ".a", ".so", ".ptx", ".cubin", ".hsaco", ".cu", ".hip", ".cpp", ".c", ".bc"];

/// Adds an entry for a target `bench` or `benchmark`. True if the makefile builds the benchmarks here: their sources are then
/// not compiled one by one.
pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) -> bool {
    let Some((file, target, recipe, needs)) = benchmarks(tree) else { return false };
    if findings.claimed.contains(file) {
        return true;
    }
    let starts = calibrating::by_commands(&recipe).map(|(_, command)| command);
    let by_hand =
        format!("`command = [\"make\", \"{target}\"]` measures a target that does the same work each time");
    if let Some(command) = starts {
        let next = if findings.has_harness {
            "the harness that was found here has its own entries"
        } else {
            "give its program an entry with its `harness`"
        };
        findings.found.unclear.push(format!(
            "the target `{target}` of {file} starts `{command}`, which calibrates itself, so that its time from \
                outside is meaningless: {next}"
        ));
    } else if findings.has_harness {
        findings.found.unclear.push(format!(
            "the target `{target}` of {file} may start the harness that was found here, whose time from outside \
                is meaningless; {by_hand}"
        ));
    } else {
        // Its kernels are judged and not the start of make, where there are any.
        let has_kernels = tree.files().iter().any(|path| path.ends_with(".cu") || path.ends_with(".hip"));
        let build = ["make".to_owned()].into_iter().chain(needs.iter().map(|need| literal(need))).collect();
        findings.found.benchmarks.push(Discovered {
            name: target.into(),
            harness: has_kernels.then(|| Harness::named("kernels")).flatten(),
            command: vec!["make".into(), target.into()],
            build: (has_kernels && !needs.is_empty()).then_some(BuildStep::Command(build)),
            binaries: vec!["make".into()],
            gpu: has_kernels,
            why: format!("the makefile has a target `{target}`"),
            ..Discovered::default()
        });
    }
    true
}

/// The makefile with a target for benchmarks, the target, its recipe with those of the targets that it needs, and their names.
fn benchmarks(tree: &dyn SourceTree) -> Option<(&'static str, &'static str, String, Vec<String>)> {
    let made = MakeRules::of(tree, "")?;
    TARGETS.into_iter().find_map(|target| {
        let rule = made.named(target)?;
        let needed = rule.needs.iter().filter_map(|need| Some((made.named(need)?, need.as_str())));
        let rules = std::iter::once((rule, target)).chain(needed);
        let lines: Vec<String> = rules.flat_map(|(rule, target)| rule.lines(target)).collect();
        Some((made.file, target, lines.join("\n"), rule.needs.clone()))
    })
}

pub(super) fn has_benchmarks(tree: &dyn SourceTree) -> bool {
    benchmarks(tree).is_some()
}

/// A program that a folder's makefile builds.
pub(super) struct MadeProgram {
    /// In the root of the tree.
    pub build: Vec<String>,
    /// Relative to the folder.
    pub program: String,
    /// Those by which a recipe of the makefile starts it.
    pub arguments: Vec<String>,
}

/// The program of a source, which a rule makes of it, of its object, or of any source of its kind. `None`: no makefile is known
/// to build it.
pub(super) fn builds(tree: &dyn SourceTree, dir: &str, file: &str) -> Option<MadeProgram> {
    let made = MakeRules::of(tree, dir)?;
    let (stem, extension) = file.rsplit_once('.')?;
    let objects = [".o", ".obj"].map(|end| format!("{stem}{end}"));
    let is_of_source = |need: &String| need == file || objects.iter().any(|object| leaf(need) == object);
    let is_program = |target: &str| {
        let unknown = target.contains(['$', '%', '(']) || target.starts_with(['/', '.']) || target.is_empty();
        !unknown && !NO_PROGRAMS.iter().any(|end| target.ends_with(end))
    };
    let rules = made.rules.iter().filter(|rule| rule.needs.iter().any(is_of_source));
    let by_need = rules.flat_map(|rule| rule.targets.iter().map(move |target| (rule, target.clone())));
    // The rule of that name may make another source's program.
    let of_other = |need: &String| leaf(need).strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
    let by_name = made.named(stem).filter(|rule| !rule.needs.iter().any(of_other));
    let by_name = by_name.map(|rule| (rule, stem.to_owned()));
    let pattern = format!("%.{extension}");
    let of_any = |rule: &&MakeRule| rule.targets == ["%"] && rule.needs.contains(&pattern);
    let by_pattern = made.rules.iter().find(of_any).map(|rule| (rule, stem.to_owned()));
    let mut found: Vec<(&MakeRule, String)> = by_need.filter(|(_, target)| is_program(target)).collect();
    if found.is_empty() {
        found.extend(by_pattern.or(by_name));
    }
    // A rule without a file writes what its recipe says.
    let program_of = |rule: &MakeRule, target: &str| {
        let of_target = Some(target.to_owned()).filter(|target| !made.is_phony(target));
        output(rule, target).or(of_target).filter(|program| is_program(program))
    };
    found.retain(|(rule, target)| program_of(rule, target).is_some());
    found.sort_by_key(|(rule, target)| (output(rule, target).as_ref() != Some(target), leaf(target) != stem));
    let (rule, target) = found.into_iter().next()?;
    let program = program_of(rule, &target)?;
    let arguments = made.rules.iter().flat_map(|rule| {
        let target = rule.targets.first().map_or("", String::as_str);
        rule.lines(target).into_iter().filter_map(|line| arguments(&line, &program))
    });
    let arguments = arguments.into_iter().next().unwrap_or_default();
    let place = if dir.is_empty() { Vec::new() } else { vec!["-C".to_owned(), dir.to_owned()] };
    let build = ["make".to_owned()].into_iter().chain(place).chain([target]).collect();
    Some(MadeProgram { build, program, arguments })
}

/// The file that a rule's recipe says it writes.
fn output(rule: &MakeRule, target: &str) -> Option<String> {
    let lines = rule.lines(target);
    let written = lines.iter().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "-o");
        words.nth(1).map(plain)
    });
    written.filter(|file| !file.contains('$')).map(str::to_owned)
}

/// The arguments of a line of a recipe that starts a program; `None`: it starts another one, or only a shell knows them.
fn arguments(line: &str, program: &str) -> Option<Vec<String>> {
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "._/=,:+-".contains(c));
    line.split([';', '&']).find_map(|command| {
        let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
        words.next().filter(|word| word.strip_prefix("./") == Some(program))?;
        let words: Vec<&str> = words.collect();
        words.iter().all(is_plain).then(|| words.into_iter().map(str::to_owned).collect())
    })
}

/// How a folder's makefile starts a script.
pub(super) struct MadeScript {
    /// In the root of the tree.
    pub build: Vec<String>,
    /// The line of the recipe.
    pub line: String,
}

/// `None`: no recipe of the folder's makefile starts it.
pub(super) fn starts(tree: &dyn SourceTree, dir: &str, script: &str) -> Option<MadeScript> {
    let made = MakeRules::of(tree, dir).filter(|_| !dir.is_empty())?;
    let lines =
        made.rules.iter().flat_map(|rule| rule.lines(rule.targets.first().map_or("", String::as_str)));
    let line = lines.into_iter().find(|line| line.split_whitespace().any(|word| plain(word) == script))?;
    Some(MadeScript { build: ["make", "-C", dir].map(str::to_owned).into(), line })
}
