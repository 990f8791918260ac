//! The target of a makefile that measures without a harness.

use super::calibrating;
use super::make_rules::{MakeRule, MakeRules, plain};
use crate::discover::findings::{Discovered, Findings, leaf, literal};
use gbench_formats::adapters::{BuildStep, Harness, SourceTree};

const TARGETS: [&str; 2] = ["bench", "benchmark"];
/// Suffixes of targets that are not programs.
const NO_PROGRAMS: [&str; 12] =
    [".o", ".obj", ".a", ".so", ".ptx", ".cubin", ".hsaco", ".cu", ".hip", ".cpp", ".c", ".bc"];

/// Targets that change more than the tree, even if they compile first.
const CHANGE_MORE: [&str; 4] = ["install", "deploy", "publish", "upload"];
/// Words that start a script in several processes.
pub(super) const LAUNCHERS: [&str; 4] = ["torchrun", "mpirun", "mpiexec", "accelerate"];

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
        let are_known = !needs.is_empty() && needs.iter().all(|need| is_known(need));
        let build = ["make".to_owned()].into_iter().chain(needs.iter().map(|need| literal(need))).collect();
        findings.found.benchmarks.push(Discovered {
            name: target.into(),
            harness: has_kernels.then(|| Harness::named("kernels")).flatten(),
            command: vec!["make".into(), target.into()],
            build: (has_kernels && are_known).then_some(BuildStep::Command(build)),
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
    let rules = made.rules.iter().filter(|rule| rule.needs.iter().any(is_of_source));
    let by_need = rules.flat_map(|rule| rule.targets.iter().map(move |target| (rule, target.clone())));
    // The rule of that name may make another source's program.
    let of_other = |need: &String| leaf(need).strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
    let by_name = made.named(stem).filter(|rule| !rule.needs.iter().any(of_other));
    let by_name = by_name.map(|rule| (rule, stem.to_owned()));
    let pattern = format!("%.{extension}");
    let of_any = |rule: &&MakeRule| rule.targets == ["%"] && rule.needs.contains(&pattern);
    let by_pattern = made.rules.iter().find(of_any).map(|rule| (rule, stem.to_owned()));
    let made_of = |(rule, target): (&MakeRule, String)| {
        // The recipe may be in another rule of the target.
        let others = made.rules.iter().filter(|other| other.targets.contains(&target));
        let rules = std::iter::once(rule).chain(others).chain(by_pattern.as_ref().map(|(rule, _)| *rule));
        let lines = rules.map(|rule| rule.lines(&target)).find(|lines| !lines.is_empty())?;
        let program = match output(&lines) {
            Output::Program(program) => program,
            Output::Other => return None,
            Output::Unsaid => {
                // An error is the branch of a condition that only a shell decides, and the other one compiles.
                let compiles = |line: &String| names_compiler(line) || line.starts_with("$(error");
                let is_compiled = lines.iter().any(compiles);
                Some(target.clone()).filter(|it| is_compiled && is_program(it) && !made.is_phony(it))?
            }
        };
        Some((program, target))
    };
    let by_need = by_need.filter(|(_, target)| is_program(target) && !CHANGE_MORE.contains(&target.as_str()));
    let mut found: Vec<(String, String)> = by_need.filter_map(made_of).collect();
    if found.is_empty() {
        found.extend(by_pattern.clone().and_then(made_of).or_else(|| made_of(by_name?)));
    }
    found.sort_by_key(|(program, target)| (program != target, leaf(target) != stem));
    let (program, target) = found.into_iter().next()?;
    let arguments = made.rules.iter().flat_map(|rule| {
        let target = rule.targets.first().map_or("", String::as_str);
        rule.lines(target).into_iter().filter_map(|line| arguments(&line, &program))
    });
    let arguments = arguments.into_iter().next().unwrap_or_default();
    let place = if dir.is_empty() { Vec::new() } else { vec!["-C".to_owned(), dir.to_owned()] };
    let build = ["make".to_owned()].into_iter().chain(place).chain([target]).collect();
    Some(MadeProgram { build, program, arguments })
}

fn is_program(target: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/+-".contains(c);
    let is_here = !target.is_empty() && !target.starts_with(['/', '.', '-']) && !target.ends_with('/');
    is_here && target.chars().all(is_plain) && !NO_PROGRAMS.iter().any(|end| target.ends_with(end))
}

/// False for a word that only make knows.
fn is_known(word: &str) -> bool {
    !word.contains(['$', '(', ')', '%'])
}

/// The file that a recipe writes, by its text.
enum Output {
    Program(String),
    /// No program, or one in another folder.
    Other,
    /// Only make or the compiler knows.
    Unsaid,
}

/// By the last of its compilers' words that is a program.
fn output(lines: &[String]) -> Output {
    let written = lines.iter().filter(|line| may_compile(line)).flat_map(|line| {
        let words = line.split_whitespace().zip(line.split_whitespace().skip(1));
        words.filter(|(flag, _)| *flag == "-o").map(|(_, file)| plain(file.trim_matches(['"', '\''])))
    });
    let written: Vec<&str> = written.collect();
    // From another folder its words mean other files.
    if lines.iter().any(|line| line.starts_with("cd ")) {
        return Output::Unsaid;
    }
    let program = written.iter().rev().find(|file| is_program(file));
    match (program, written.last()) {
        (Some(program), _) => Output::Program((*program).to_owned()),
        (None, Some(file)) if is_known(file) => Output::Other,
        (None, _) => Output::Unsaid,
    }
}

/// True if a line of a recipe starts a compiler.
fn names_compiler(line: &str) -> bool {
    line.split([';', '&', '|']).any(|command| {
        let mut words = command.split_whitespace().map(|word| word.trim_matches(['@', '"', '\'']));
        let says = words.clone().next().is_some_and(|word| ["echo", "printf"].contains(&word));
        !says && words.any(is_compiler)
    })
}

fn is_compiler(word: &str) -> bool {
    let name = leaf(word).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    ["nvcc", "hipcc", "++", "clang", "gcc"].iter().any(|end| name.ends_with(end)) || name == "cc"
}

/// True unless another program than a compiler is started: the variable of a compiler may be one of the environment.
fn may_compile(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_argument = first.starts_with('-') || NO_PROGRAMS.iter().any(|end| first.ends_with(end));
    is_argument || line.contains("$(") || names_compiler(line)
}

/// The arguments of a line of a recipe that starts a program; `None`: it starts another one, or only a shell knows them.
fn arguments(line: &str, program: &str) -> Option<Vec<String>> {
    line.split([';', '&']).find_map(|command| {
        let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
        words.next().filter(|word| word.strip_prefix("./") == Some(program))?;
        let words: Vec<&str> = words.collect();
        words.iter().all(is_plain).then(|| words.into_iter().map(str::to_owned).collect())
    })
}

/// True for a word that a shell leaves as it is.
fn is_plain(word: &&str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "._/=,:+-".contains(c))
}

/// How a folder's makefile starts a script.
pub(super) struct MadeScript {
    /// In the root of the tree; empty: the script needs nothing that is built.
    pub build: Vec<String>,
    /// The line of the recipe.
    pub line: String,
    pub arguments: Vec<String>,
}

/// `None`: no recipe of the folder's makefile starts it.
pub(super) fn starts(tree: &dyn SourceTree, dir: &str, script: &str) -> Option<MadeScript> {
    let made = MakeRules::of(tree, dir).filter(|_| !dir.is_empty())?;
    let (at, line, arguments) = made.rules.iter().enumerate().find_map(|(at, rule)| {
        let lines = rule.lines(rule.targets.first().map_or("", String::as_str));
        lines.into_iter().find_map(|line| {
            let arguments = script_arguments(&line, script)?;
            Some((at, line, arguments))
        })
    })?;
    let needs = &made.rules[at].needs;
    let mut build = ["make", "-C", dir].map(str::to_owned).to_vec();
    if needs.iter().all(|need| is_known(need)) {
        build.extend(needs.iter().cloned());
    }
    // Its default goal makes what only make can name.
    if needs.is_empty() || build.len() == 3 && at == 0 {
        build.clear();
    }
    Some(MadeScript { build, line, arguments })
}

/// Those that follow a script that Python or a launcher of Python starts.
fn script_arguments(line: &str, script: &str) -> Option<Vec<String>> {
    line.split([';', '&', '|']).find_map(|command| {
        let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
        words.next().filter(|word| leaf(word).starts_with("python") || LAUNCHERS.contains(&leaf(word)))?;
        words.find(|word| plain(word) == script)?;
        let words: Vec<&str> = words.take_while(|word| !word.contains('>')).collect();
        let are_known = words.iter().all(is_plain);
        Some(words.into_iter().filter(|_| are_known).map(str::to_owned).collect())
    })
}
