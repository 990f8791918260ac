//! The flags that the command line has, for commands that refuse some of them.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Flattened as the first field of a command's arguments: clap takes values out of the matches as it fills the later fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenFlags(Vec<String>);

impl GivenFlags {
    /// `flag`: with its dashes. An argument must be called as its flag is.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|given| given == flag)
    }
}

impl FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given = matches.ids().map(|id| id.as_str()).filter(|id| typed(id));
        Ok(Self(given.map(|id| format!("--{}", id.replace('_', "-"))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
