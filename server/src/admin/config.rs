//! The configuration file: seconder.conf(5). Its settings are the options of `seconder serve`, by their names with
//! underscores, so there is one list of them. The settings of the database apply to other commands too.

mod draft;
mod files;
pub(crate) mod options;
mod own;
mod problems;
mod settings;
mod together;

pub(crate) use draft::Draft;
pub(crate) use problems::Problem;

use crate::Program;
use crate::admin::database::Database;
use crate::admin::input::secret::check_private;
use crate::admin::output::print;
use crate::admin::serve::options::Serve;
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand,
};
use options::{OPTION, SERVE, option, serve};
use seconder::Error;
use settings::Setting;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The command whose options have the same meanings as its options.
const DOCTOR: &str = "doctor";
/// The command that writes such a file.
const INIT: &str = "init";
/// The options that mean the same for each command that has them, besides the options of the database.
const SHARED: [&str; 2] = ["pid-file", "public-url"];
/// More than any file has: of anything larger, no more is read.
const LONGEST: u64 = 1024 * 1024;

/// The values of options, by their names without hyphens.
pub(crate) type Values = BTreeMap<String, Vec<OsString>>;

#[derive(Subcommand)]
pub(crate) enum Config {
    /// Check a configuration file, and the files that it names.
    ///
    /// It prints all that is wrong, each with its line and column, and what is accepted. Run it as the user of
    /// the service, who reads these files. No database is opened, and nothing is created.
    Check {
        /// File to check.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print a configuration file with every setting, commented out.
    ///
    /// Each is explained.
    Example,
}

pub(crate) fn run(config: Config) -> seconder::Result<()> {
    match config {
        Config::Check { file } => {
            let passed = check(&file)?;
            let condition = match passed.is_empty() {
                true => String::new(),
                false => {
                    format!(
                        " for a service to which systemd passes the credential {}",
                        passed.join(" and the credential ")
                    )
                }
            };
            print(&format!("{} is valid{condition}", file.display()))
        }
        Config::Example => print(Draft::new().text().trim_end()),
    }
}

/// Returns the options of `seconder serve` that a file sets.
///
/// # Errors
/// All errors in the file.
pub(crate) fn of(file: &Path) -> seconder::Result<Serve> {
    of_text(&text(file)?, file)
}

/// Returns the options like [`of`], for the text that a file is to have.
///
/// # Errors
/// All errors in it.
pub(crate) fn of_text(text: &str, file: &Path) -> seconder::Result<Serve> {
    let (settings, wrong) = read(text);
    complete(file, &settings, wrong)
}

/// Checks also the files that a file names. Returns the credentials that systemd has to pass besides.
///
/// # Errors
/// All errors.
fn check(file: &Path) -> seconder::Result<Vec<&'static str>> {
    let text = text(file)?;
    let (settings, mut wrong) = read(&text);
    wrong.extend(files::problems(&settings));
    wrong.extend(files::expired(&settings));
    if own::is_remote(&settings) && wrong.is_empty() {
        return Ok(Vec::new());
    }
    complete(file, &settings, wrong).map(|_| files::credentials(&settings))
}

/// Reads the settings of a text, and all errors in them.
fn read(text: &str) -> (Vec<Setting>, Vec<Problem>) {
    let (settings, mut wrong, is_whole) = settings::read(text, &serve());
    wrong.extend(misfits(&settings, is_whole, own::is_remote(&settings)));
    (settings, wrong)
}

/// Returns the errors of settings that exclude each other or lack another one. A file for a service on another machine
/// need not say how one is reached here.
fn misfits(settings: &[Setting], is_whole: bool, is_remote: bool) -> Vec<Problem> {
    let serve = together::reached(serve(), !is_remote);
    let mut wrong = together::conflicts(settings, &serve);
    if is_whole {
        wrong.extend(together::lacks(settings, &serve, |_| false));
    }
    wrong
}

fn complete(file: &Path, settings: &[Setting], wrong: Vec<Problem>) -> seconder::Result<Serve> {
    if !wrong.is_empty() {
        return Err(invalid(file, wrong));
    }
    let arguments = ["seconder", SERVE].map(OsString::from).into_iter();
    let arguments = arguments.chain(settings.iter().flat_map(Setting::arguments));
    match Program::try_parse_from(arguments).map(|program| program.command) {
        Ok(crate::Command::Serve(serve)) => Ok(*serve),
        Ok(_) => Err(invalid(file, Vec::new())),
        Err(error) => Err(invalid(file, vec![Problem::of_all(&error)])),
    }
}

/// Reads the command of a process, with the settings of the file that its options name, or else of the user's own file
/// or of the file of this machine's service. An option on the command line overrides the setting of that name, and the
/// settings that it cannot be used with.
///
/// # Errors
/// All errors in the file; an error of the command line is returned inside.
pub(crate) fn command() -> seconder::Result<Result<Program, clap::Error>> {
    arguments().map(Program::try_parse_from)
}

/// Reads the options of `seconder serve` as this process would be started with them now, and their values as text: the
/// file may have changed since it was.
///
/// # Errors
/// All errors in the file.
pub(crate) fn serve_again() -> seconder::Result<(Serve, Values)> {
    let unusable = |error: &clap::Error| Error::InvalidArgument {
        parameter: OPTION.into(),
        reason: Problem::of_all(error).to_string().trim_start_matches(": ").to_owned().into(),
    };
    let program = Program::command().try_get_matches_from(arguments()?);
    let program = program.map_err(|error| unusable(&error))?;
    let matches = program.subcommand_matches(SERVE).unwrap_or(&program);
    let serve = Serve::from_arg_matches(matches).map_err(|error| unusable(&error))?;
    let values = options::options(&options::serve())
        .map(|arg| {
            let given = matches.try_get_raw(arg.get_id().as_str()).ok().flatten();
            let given = given.into_iter().flatten().map(OsString::from);
            (arg.get_long().unwrap_or_default().to_owned(), given.collect())
        })
        .collect();
    Ok((serve, values))
}

/// Returns the command line of this process, with the settings of its file: see [`command`].
fn arguments() -> seconder::Result<Vec<OsString>> {
    let given: Vec<OsString> = std::env::args_os().collect();
    // Errors in the options are reported by the second reading: the file may complete them.
    let read_once = Program::command().ignore_errors(true).try_get_matches_from(&given);
    let Some((words, leaf, matches)) = read_once.as_ref().ok().and_then(innermost) else {
        return Ok(given);
    };
    // For `seconder init`, the option names the file to write.
    let Some(named) =
        matches.try_get_one::<PathBuf>(OPTION).ok().filter(|_| leaf.get_name() != INIT)
    else {
        return Ok(given);
    };
    let own = match named {
        None if own::is_for(&words) && works_remotely(&leaf, matches) => own::file()?,
        _ => None,
    };
    let system = match (named, &own) {
        (None, None) if own::is_of_service(&words) && opens_default(&leaf, matches) => {
            own::of_system()?
        }
        _ => None,
    };
    let Some(file) = named.or(own.as_ref()).or(system.as_ref()) else { return Ok(given) };
    let text = text(file)?;
    let (mut settings, mut wrong, is_whole) = settings::read(&text, &serve());
    if own.is_some() {
        wrong.extend(misfits(&settings, is_whole, true));
        wrong.extend(own::lacks_service(&settings));
    }
    // Other commands may have options of the same names with other meanings.
    let shared = Database::augment_args(Command::new(""));
    let takes_all = [SERVE, DOCTOR].contains(&leaf.get_name());
    let is_shared = |name: &str| option(&shared, name).is_some() || SHARED.contains(&name);
    settings.retain(|setting| {
        (takes_all || is_shared(&setting.name)) && applies(setting, &leaf, matches)
    });
    let is_given = |name: &str| option(&leaf, name).is_some_and(|arg| is_given(arg, matches));
    if leaf.get_name() == SERVE && !is_given("sandbox") {
        wrong.extend(together::conflicts(&settings, &leaf));
        if is_whole {
            wrong.extend(together::lacks(&settings, &leaf, is_given));
        }
        // Otherwise the first file that cannot be used would hide the others.
        wrong.extend(files::problems(&settings));
    }
    if !wrong.is_empty() {
        return Err(invalid(file, wrong));
    }
    let arguments = settings.iter().flat_map(Setting::arguments);
    let (words, options) = given.split_at(given.len().min(1 + words.len()));
    let all = words.iter().cloned().chain(arguments).chain(options.iter().cloned());
    Ok(all.collect())
}

/// Returns the command that was given, with its options, and the words that name it.
fn innermost(matches: &ArgMatches) -> Option<(Vec<String>, Command, &ArgMatches)> {
    let (mut command, mut matches, mut words) = (Program::command(), matches, Vec::new());
    command.build();
    while let Some((name, inner)) = matches.subcommand() {
        command = command.find_subcommand(name)?.clone();
        matches = inner;
        words.push(name.to_owned());
    }
    Some((words, command, matches))
}

/// Returns whether a command has this setting, and no option of the command line replaces it.
fn applies(setting: &Setting, command: &Command, given: &ArgMatches) -> bool {
    let Some(arg) = option(command, &setting.name) else { return false };
    if is_given(arg, given) {
        return matches!(arg.get_action(), ArgAction::Append);
    }
    is_free(arg, command, given)
}

/// Returns whether an option conflicts with none of the command line.
fn is_free(arg: &Arg, command: &Command, given: &ArgMatches) -> bool {
    let conflicts = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let mut others = command.get_arguments().filter(|other| is_given(other, given));
    !others.any(|other| conflicts(arg, other) || conflicts(other, arg))
}

/// Returns whether a command can be carried out on another machine, and the command line does not say where it is.
fn works_remotely(command: &Command, given: &ArgMatches) -> bool {
    let service = option(command, own::SERVICE);
    service.is_some_and(|arg| !is_given(arg, given) && is_free(arg, command, given))
}

/// Returns whether a command opens a database, or asks a running service, and the command line does not say which.
fn opens_default(command: &Command, given: &ArgMatches) -> bool {
    let has = |name| option(command, name).is_some();
    let is_free = |name| option(command, name).is_none_or(|arg| !is_given(arg, given));
    match has("database") {
        true => ["database", "sandbox", "url", own::SERVICE].into_iter().all(is_free),
        false => has("pid-file") && is_free("pid-file"),
    }
}

/// Returns whether an option is on the command line.
fn is_given(arg: &Arg, matches: &ArgMatches) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

fn text(file: &Path) -> seconder::Result<String> {
    own::check(file)?;
    let of_file = |wrong| invalid(file, vec![Problem::of_file(wrong)]);
    let unread = |error| of_file(format!("cannot be read: {error}"));
    let opened = std::fs::File::open(file).map_err(unread)?;
    if own::is(file) {
        // It may be another file than a moment ago.
        check_private(OPTION, file, &opened.metadata().map_err(unread)?)?;
    }
    checked_text(opened).map_err(of_file)
}

fn checked_text(opened: std::fs::File) -> Result<String, String> {
    #[cfg(unix)]
    refuse_what_others_can_write(&opened)?;
    let mut bytes = Vec::new();
    opened
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > LONGEST {
        return Err("is larger than 1 MiB, so it is no configuration file".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is not a text in UTF-8".to_owned())
}

/// Rejects a file that others can write, because its writer decides where codes are sent.
#[cfg(unix)]
fn refuse_what_others_can_write(file: &std::fs::File) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if metadata.is_file() && metadata.permissions().mode() & 0o002 != 0 {
        return Err("can be written by every user of this machine: chmod o-w".to_owned());
    }
    Ok(())
}

fn invalid(file: &Path, mut problems: Vec<Problem>) -> Error {
    problems.sort_by_key(|problem| problem.place);
    let lines = problems.iter().map(|problem| format!("\n  {}{problem}", file.display()));
    let (parameter, list) = (OPTION.into(), lines.collect::<String>());
    Error::InvalidArgument { parameter, reason: format!("is invalid:{list}").into() }
}
