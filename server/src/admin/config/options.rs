//! The settings of a configuration file, as the options of `seconder serve`.

use crate::Program;
use clap::{Arg, Command, CommandFactory};

/// The command whose options are the settings.
pub(super) const SERVE: &str = "serve";
/// The option that names the file.
pub(super) const OPTION: &str = "config";

pub(super) fn option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// Returns the command whose options are the settings.
pub(crate) fn serve() -> Command {
    let mut program = Program::command();
    program.build();
    program.find_subcommand(SERVE).cloned().unwrap_or_default()
}

/// Returns the options that are settings, in the order of `--help`.
pub(crate) fn options(serve: &Command) -> impl Iterator<Item = &Arg> {
    // A file that names a database would otherwise be one line away from a sandbox.
    let no_settings = [OPTION, "sandbox", "help", "version"];
    serve
        .get_arguments()
        .filter(move |arg| arg.get_long().is_some_and(|long| !no_settings.contains(&long)))
}

/// Returns the name of a setting in the file.
pub(crate) fn key(arg: &Arg) -> String {
    arg.get_long().unwrap_or_default().replace('-', "_")
}
