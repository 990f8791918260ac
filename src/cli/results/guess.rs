//! The guess at a file of no known format, and the command that would read it.

use std::io::{self, Write};
use std::path::Path;

use crate::adapters::formats::{FieldRole, Guess, GuessedField, WAY};
use crate::app::ingest::UnknownFile;
use crate::app::paths::shown;
use crate::model::text::count;
use crate::model::{is_unseen, shell_word};
use crate::report::{COLUMNS, fold_command, paragraph, table, visible};

/// Fields that are shown.
const MAX_FIELDS: usize = 12;

/// Columns of a field's name and of its example.
const MAX_NAME: usize = 26;
const MAX_EXAMPLE: usize = 14;

/// Writes at most some 25 lines of 80 columns.
pub(super) fn write(file: &UnknownFile, out: &mut impl Write) -> io::Result<()> {
    let guess = &file.guess;
    let rows = if guess.rows > 0 { format!(", {}", count(guess.rows, "row")) } else { String::new() };
    let name = visible(&shown(&file.path)).into_owned();
    let form = visible(&guess.form);
    write!(out, "{}", paragraph("", &format!("{name} seems to be {form}{rows}. Nothing was imported.")))?;
    if !guess.fields.is_empty() {
        let fields = guess.fields.iter().take(MAX_FIELDS);
        let row = |field: &GuessedField| {
            vec![cut_front(&field.name, MAX_NAME), cut(&field.example, MAX_EXAMPLE), meaning(field)]
        };
        write!(out, "\n{}", table(&["field", "for example", "seems to be"], fields.map(row)))?;
        let more = guess.fields.len().saturating_sub(MAX_FIELDS);
        if more > 0 {
            writeln!(out, "and {more} more")?;
        }
    }
    writeln!(out)?;
    if guess.described.is_none() {
        let what = "No field looks like a figure: a number that varies, or that has a unit in its name.";
        return writeln!(out, "{}", paragraph("", what).trim_end());
    }
    let name = path_word(&file.path);
    let command = guess.flags.as_ref().map(|flags| {
        let flags = flags.iter().map(|(flag, value)| format!(" {}", flag_word(flag, value)));
        format!("gbench-ci ingest {name}{}", flags.collect::<String>())
    });
    let command = command.filter(|command| is_visible(command));
    let describing = format!("gbench-ci ingest --describe rows.toml {name}");
    let lead = match &command {
        _ if !is_visible(&describing) => "No command is shown: the file's name has invisible characters.",
        Some(_) => "If it is right:",
        None => "Flags cannot express all of this; a description file can:",
    };
    write!(out, "{}", paragraph("", &format!("This is a guess. {}{lead}", remarks(guess))))?;
    if !is_visible(&describing) {
        return Ok(());
    }
    if let Some(command) = command {
        writeln!(out)?;
        for line in fold_command(&command, COLUMNS - 4) {
            writeln!(out, "    {line}")?;
        }
        writeln!(out, "\nor write a description file, which can express more, and edit it:")?;
    }
    writeln!(out)?;
    fold_command(&describing, COLUMNS - 4).iter().try_for_each(|line| writeln!(out, "    {line}"))
}

/// A path as a word of a command, never a flag.
pub(super) fn path_word(path: &Path) -> String {
    let path = shown(path);
    shell_word(&if path.starts_with('-') { format!("./{path}") } else { path })
}

/// A flag with its value, which is never read as another flag.
fn flag_word(flag: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!("{flag}{between}{}", shell_word(value))
}

/// A command with invisible characters is not what it looks like.
pub(super) fn is_visible(command: &str) -> bool {
    !command.chars().any(|c| c.is_control() || is_unseen(c))
}

/// Sentences about a guess, with a blank behind each.
fn remarks(guess: &Guess) -> String {
    let mut remarks = String::new();
    let is_open = |field: &GuessedField| {
        let is_main = field.role == (FieldRole::Figure { main: true });
        is_main && field.better.is_none() && field.unit_field.is_none()
    };
    if guess.flags.iter().flatten().any(|(_, value)| value.ends_with(WAY)) {
        remarks += "Write `lower` or `higher` instead of WAY: the names do not show which is better. ";
    } else if guess.fields.iter().any(is_open) {
        remarks += "Figures of unknown direction are not judged. ";
    }
    if guess.repeats {
        remarks += "Several rows have the same keys: add a field to `--parameters`, or add `--repeats samples` or \
                    `--repeats processes`. ";
    }
    if let Some(obstacle) = &guess.obstacle {
        remarks += &format!("It does not read the file yet: {}. ", visible(obstacle));
    }
    remarks
}

fn meaning(field: &GuessedField) -> String {
    let unit = if field.unit.is_empty() { String::new() } else { format!(" in {}", field.unit) };
    match (&field.role, field.better) {
        (FieldRole::Key, _) => "what distinguishes rows".into(),
        (FieldRole::Figure { main: true }, Some(better)) => {
            format!("figure{unit}, {} is better", better.into_str())
        }
        (FieldRole::Figure { main: true }, None) => match &field.unit_field {
            Some(name) => format!("figure in the unit of `{name}`"),
            None => format!("figure{unit}, direction unknown"),
        },
        (FieldRole::Figure { main: false }, _) => format!("figure{unit}, only shown"),
        (FieldRole::Fact, _) => "fact of the run".into(),
        (FieldRole::Setting, _) => "setting".into(),
        (FieldRole::Moment, _) => "beginning of the run".into(),
        (FieldRole::Commit, _) => "commit".into(),
        (FieldRole::Passed(_) | FieldRole::Zero, _) => "whether it passed".into(),
        (FieldRole::Error, _) => "reason of a failure".into(),
        (FieldRole::Unit, _) => "unit".into(),
        (FieldRole::Metric, _) => "name of the figure".into(),
        (FieldRole::Unknown, _) => "not used".into(),
    }
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit - 3).chain("...".chars()).collect()
}

/// The end of a path of keys says more than its beginning.
fn cut_front(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    "...".chars().chain(text.chars().skip(count + 3 - limit)).collect()
}
