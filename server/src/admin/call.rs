//! `seconder call`: the calls of the interface that have no command of their own, with their parameters as options.

use crate::admin::database::target::Target;
use crate::admin::input::secret::secret_at;
use crate::admin::output::exit::Exit;
use crate::admin::output::print;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use seconder::calls::*;
use seconder::engine::Engine;
use seconder::wire::{json, loose};
use seconder::{Error, Result, Service};
use serde_json::{Map, Value};
use std::path::Path;

/// The calls for which people have commands, which do more than the call: they know login names, for example.
const OWN_COMMANDS: [(&str, &str); 16] = [
    ("create_user", "user create"),
    ("delete_user", "user delete"),
    ("user_status", "user show"),
    ("find_user", "user show"),
    ("devices", "user show"),
    ("set_login", "user set-login"),
    ("set_number", "user set-number"),
    ("remove_login", "user remove-login"),
    ("create_recovery_codes", "user recovery-codes"),
    ("remove_authenticator", "user remove-factor"),
    ("remove_device", "user remove-factor"),
    ("invite_device", "user invite-device"),
    ("unlock_user", "user unlock"),
    ("forget", "user forget-browsers"),
    ("enrol_authenticator", "enrol"),
    ("confirm_authenticator", "enrol"),
];
/// Parameters that are no option, because every user of the machine sees the options of a process.
const SECRETS: [&str; 2] = ["token", "verification_code"];
/// Parameters that are true or false: an option without a value is true.
const FLAGS: [&str; 1] = ["force"];
/// Parameters that are JSON.
const JSON: [&str; 5] = ["details", "hidden_details", "logos", "data", "logins"];
/// The option with the id of a user, as all commands have it.
const USER: &str = "user";
/// The argument with the name of the call.
const NAME: &str = "call";

/// A call that can be made.
struct Declared {
    route: &'static Route,
    parameters: fn() -> &'static [&'static str],
    make: fn(&Service, Map<String, Value>) -> Result<Made>,
}

impl Declared {
    fn name(&self) -> String {
        self.route.name.replace('_', "-")
    }

    /// Returns the command that stands for the call, if there is one.
    fn own_command(&self) -> Option<&'static str> {
        OWN_COMMANDS.iter().find(|(name, _)| *name == self.route.name).map(|(_, command)| *command)
    }
}

/// The fields of a reply, and whether it lets a user in, if that was asked.
struct Made {
    fields: Value,
    is_right: bool,
}

macro_rules! declared {
    ($($call:ident),* $(,)?) => {
        const CALLS: &[Declared] = &[$(Declared {
            route: &$call::ROUTE,
            parameters: parameters::<$call>,
            make: make::<$call>,
        }),*];
    };
}

seconder::with_every_call!(declared);

fn make<C: Call>(service: &Service, fields: Map<String, Value>) -> Result<Made>
where
    Engine: Handle<C>,
{
    let call: C = loose::read(fields).map_err(|mut mismatch| {
        mismatch.field = option(&mismatch.field);
        Error::from(mismatch)
    })?;
    let reply = service.handle(&call)?;
    let verified = C::verification(&reply).is_none_or(|reply| reply.verdict == Verdict::Right);
    let recognised = C::recognition(&reply).is_none_or(|found| found == Recognition::Recognised);
    Ok(Made { fields: C::write(&reply).body, is_right: verified && recognised })
}

/// A call, with the arguments that were given.
pub(crate) struct Given {
    target: Target,
    call: &'static Declared,
    fields: Map<String, Value>,
    /// The parameters to read from files, and these.
    secrets: Vec<(&'static str, String)>,
}

/// Returns the option of a parameter.
fn option(parameter: &str) -> String {
    match parameter {
        USER_ID_ON_THE_WIRE | "user_id" => USER.to_owned(),
        secret if SECRETS.contains(&secret) => format!("{}-file", secret.replace('_', "-")),
        other => other.replace('_', "-"),
    }
}

/// Returns the calls of this command.
fn calls() -> impl Iterator<Item = &'static Declared> {
    CALLS.iter().filter(|call| call.own_command().is_none())
}

/// Returns the id of an option, which no other option of the command has.
fn id(option: &str) -> String {
    format!("parameter-{option}")
}

fn argument(parameter: &'static str, names: &[String]) -> Arg {
    let option = option(parameter);
    let arg = Arg::new(id(&option)).help_heading("Parameters");
    let names = match names.len() == calls().count() {
        true => "all".to_owned(),
        false => names.join(", "),
    };
    let (arg, help) = if SECRETS.contains(&parameter) {
        let what = parameter.replace('_', " ");
        (arg.value_name("FILE"), format!("File with the {what}, or - for standard input. "))
    } else if option == USER {
        (arg.value_name("ID"), "Id of the user. ".to_owned())
    } else if FLAGS.contains(&parameter) {
        let arg = arg.value_name("YES").num_args(0..=1).default_missing_value("true");
        (arg, String::new())
    } else if JSON.contains(&parameter) {
        (arg.value_name("JSON"), String::new())
    } else {
        (arg.value_name("VALUE").allow_hyphen_values(true), String::new())
    };
    arg.long(option).help(format!("{help}For {names}"))
}

/// Returns the options of all calls, each with the calls that have it.
fn options() -> Vec<(&'static str, Vec<String>)> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for call in calls() {
        for parameter in (call.parameters)() {
            match found.iter_mut().find(|(known, _)| option(known) == option(parameter)) {
                Some((_, names)) => names.push(call.name()),
                None => found.push((parameter, vec![call.name()])),
            }
        }
    }
    found
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        let listed = |call: &Declared| {
            let Route { method, path, .. } = call.route;
            let help = format!("{method} {path}");
            PossibleValue::new(call.name()).help(help).hide(call.own_command().is_some())
        };
        let name = Arg::new(NAME)
            .value_name("NAME")
            .required(true)
            .value_parser(PossibleValuesParser::new(CALLS.iter().map(listed)))
            .help("Call to make");
        let command = command.arg(name);
        let options = options();
        let command = options
            .iter()
            .fold(command, |command, (parameter, names)| command.arg(argument(parameter, names)));
        Target::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args(command)
    }
}

/// Rejects options that the call does not have.
fn check(call: &Declared, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
    let own: Vec<String> = (call.parameters)().iter().map(|name| option(name)).collect();
    let known = options();
    let mut given = known.iter().map(|(parameter, _)| option(parameter));
    let is_wrong = |name: &String| !own.contains(name) && matches.contains_id(&id(name));
    match given.find(is_wrong) {
        Some(name) => {
            let own: Vec<_> = own.iter().map(|name| format!("--{name}")).collect();
            let takes = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            let call = call.name();
            let message = format!("--{name} is no parameter of {call}, which has {takes}");
            Err(clap::Error::raw(ErrorKind::UnknownArgument, message))
        }
        None => Ok(()),
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Given, clap::Error> {
        let name = matches.get_one::<String>(NAME);
        let call = name.and_then(|name| CALLS.iter().find(|call| call.name() == *name));
        let call = call.ok_or_else(|| clap::Error::new(ErrorKind::MissingRequiredArgument))?;
        if let Some(command) = call.own_command() {
            let message = format!("{} is a command of its own: seconder {command}", call.name());
            return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
        }
        check(call, matches)?;
        let (mut fields, mut secrets) = (Map::new(), Vec::new());
        for parameter in (call.parameters)() {
            let option = option(parameter);
            let Some(text) = matches.get_one::<String>(&id(&option)) else { continue };
            if SECRETS.contains(parameter) {
                secrets.push((*parameter, text.clone()));
                continue;
            }
            let value = match JSON.contains(parameter) {
                true => json::read(text.as_bytes()).map_err(|error| {
                    let problem = match error {
                        Error::InvalidResponse { message } => message,
                        other => other.to_string(),
                    };
                    let message = format!("--{option} is {problem}");
                    clap::Error::raw(ErrorKind::InvalidValue, message)
                })?,
                false => Value::from(text.as_str()),
            };
            fields.insert((*parameter).to_owned(), value);
        }
        Ok(Given { target: Target::from_arg_matches(matches)?, call, fields, secrets })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Makes a call. The status says whether it succeeded, and where something was checked, that it is right.
pub(crate) fn run(given: Given) -> Result<Exit> {
    let Given { target, call, mut fields, secrets } = given;
    for (parameter, file) in secrets {
        let read = secret_at(parameter, Path::new(&file))?;
        fields.insert(parameter.to_owned(), read.expose().into());
    }
    let made = (call.make)(&*target.open_to_call()?, fields)?;
    print(&made.fields.to_string())?;
    Ok(made.is_right.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn the_options_of_the_calls_do_not_conflict() {
        Given::augment_args(Command::new("call")).debug_assert();
    }

    #[test]
    fn a_call_without_a_name_here_has_a_command() {
        let mut program = crate::Program::command();
        program.build();
        for (name, command) in OWN_COMMANDS {
            assert!(CALLS.iter().any(|call| call.route.name == name), "{name}");
            let found = command
                .split(' ')
                .try_fold(&program, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "{command}");
        }
    }

    /// A parameter that is added has to be listed here, or in one of the lists of parameters that are not plain: a
    /// value that lets a user in must not be an option.
    #[test]
    fn every_parameter_is_known_to_be_plain_or_not() {
        const PLAIN: &str = "action action_message authenticator_id code_length country_code days locale machine message \
            number_digits phone_number seconds_to_expire svc_id type user_id user_ip uuid via";
        let all: BTreeSet<&str> = calls().flat_map(|call| (call.parameters)()).copied().collect();
        let listed = PLAIN.split(' ').chain(SECRETS).chain(FLAGS).chain(JSON);
        assert_eq!(all, listed.collect());
    }
}
