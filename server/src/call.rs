//! `seconder call`: every call of the interface as a command, with its parameters as options.

use crate::commands::{invalid, print, secret};
use crate::target::Target;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use seconder::calls::*;
use seconder::engine::Engine;
use seconder::wire::{json, loose};
use seconder::{Error, Result, Service};
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;

/// Parameters that are no option, because every user of the machine sees the options of a process.
const SECRETS: [&str; 3] = ["token", "code", "verification_code"];
/// Parameters that are true or false: an option without a value is true.
const FLAGS: [&str; 3] = ["force", "new_only", "send_install_link_via_sms"];
/// Parameters that are JSON.
const JSON: [&str; 5] = ["details", "hidden_details", "logos", "data", "logins"];
/// The parameter whose fields are parameters of their own.
const USER: &str = "user";

/// The option with the id of a user.
const USER_ID: &str = "user-id";

/// A call as a command.
struct Declared {
    route: &'static Route,
    parameters: fn() -> &'static [&'static str],
    make: fn(&Service, Map<String, Value>) -> Result<Made>,
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

/// Returns the option of a parameter: a user's id is `--user-id` in each call.
fn option(parameter: &str) -> String {
    match parameter == USER_ID_ON_THE_WIRE {
        true => USER_ID.to_owned(),
        false => parameter.replace('_', "-"),
    }
}

/// Returns the parameters of a call, with the object that each is in.
fn options(call: &Declared) -> impl Iterator<Item = (Option<&'static str>, &'static str)> {
    (call.parameters)().iter().flat_map(|name| match *name {
        USER => parameters::<NewUser>().iter().map(|inner| (Some(USER), *inner)).collect(),
        other => vec![(None, other)],
    })
}

/// Returns the id of an option, which no other option of the command has.
fn id(parameter: &str) -> String {
    format!("parameter-{parameter}")
}

fn argument(parameter: &'static str) -> Arg {
    let arg = Arg::new(id(parameter));
    let name = option(parameter);
    if SECRETS.contains(&parameter) {
        let help = format!("File with the {}; - for standard input", parameter.replace('_', " "));
        return arg.long(format!("{name}-file")).value_name("FILE").help(help);
    }
    // The alias that other commands have.
    let arg = if name == USER_ID { arg.long(name).visible_alias(USER) } else { arg.long(name) };
    if FLAGS.contains(&parameter) {
        return arg.value_name("YES").num_args(0..=1).default_missing_value("true");
    }
    match JSON.contains(&parameter) {
        true => arg.value_name("JSON"),
        false => arg.value_name("VALUE").allow_hyphen_values(true),
    }
}

fn command(call: &Declared) -> Command {
    let Route { name, method, path, .. } = call.route;
    let command = Command::new(name.replace('_', "-"))
        .args(options(call).map(|(_, parameter)| argument(parameter)));
    // The options of the target replace the texts of the command, so these are set last.
    Target::augment_args(command).about(format!("{method} {path}")).long_about(None)
}

/// Returns a command that stands for all of them in the manual.
#[cfg(test)]
pub(crate) fn any() -> Command {
    let about = "Make a call of the interface, and print the reply as JSON. The name is that of the call \
                 with hyphens, such as verify or create-user, and each parameter of the call is an \
                 option with its name, and --user is --user-id too: `seconder call NAME --help` lists \
                 them, and seconder-interface(7) explains them. A code is read from a file, --token-file, or \
                 with - from standard input. A call that checks a code, a verification or a browser \
                 exits with status 1 unless it is right.";
    Target::augment_args(Command::new("NAME")).about(about).long_about(None)
}

impl Subcommand for Given {
    fn augment_subcommands(parent: Command) -> Command {
        parent
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(CALLS.iter().map(command))
    }

    fn augment_subcommands_for_update(parent: Command) -> Command {
        Given::augment_subcommands(parent)
    }

    fn has_subcommand(name: &str) -> bool {
        CALLS.iter().any(|call| call.route.name.replace('_', "-") == name)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Given, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let call = CALLS.iter().find(|call| call.route.name.replace('_', "-") == name);
        let call = call.ok_or_else(missing)?;
        let (mut fields, mut secrets) = (Map::new(), Vec::new());
        for (inside, parameter) in options(call) {
            let Some(text) = matches.get_one::<String>(&id(parameter)) else { continue };
            if SECRETS.contains(&parameter) {
                secrets.push((parameter, text.clone()));
                continue;
            }
            let value = match JSON.contains(&parameter) {
                true => json::read(text.as_bytes()).map_err(|error| {
                    let problem = match error {
                        Error::InvalidResponse { message } => message,
                        other => other.to_string(),
                    };
                    let message = format!("--{} is {problem}\n", option(parameter));
                    clap::Error::raw(clap::error::ErrorKind::InvalidValue, message)
                })?,
                false => Value::from(text.as_str()),
            };
            let place = match inside {
                Some(object) => match fields.entry(object).or_insert_with(|| Map::new().into()) {
                    Value::Object(inner) => inner,
                    _ => continue,
                },
                None => &mut fields,
            };
            place.insert(parameter.to_owned(), value);
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
pub(crate) fn run(given: Given) -> Result<ExitCode> {
    let Given { target, call, mut fields, secrets } = given;
    for (parameter, file) in secrets {
        let read = match file.as_str() {
            "-" => secret(parameter, std::io::stdin().lock())?,
            file => {
                let opened = std::fs::File::open(Path::new(file)).map_err(|error| {
                    invalid(parameter, format!("{file} cannot be read: {error}"))
                })?;
                secret(parameter, opened)?
            }
        };
        fields.insert(parameter.to_owned(), read.expose().into());
    }
    let made = (call.make)(&*target.open_to_call()?, fields)?;
    print(&made.fields.to_string())?;
    Ok(if made.is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_call_is_a_command_without_conflicts() {
        CALLS.iter().for_each(|call| command(call).debug_assert());
    }

    /// A parameter that is added has to be listed here, or in one of the lists of parameters that are not plain: a
    /// value that lets a user in must not be an option.
    #[test]
    fn every_parameter_is_known_to_be_plain_or_not() {
        const PLAIN: &str = "action action_message authenticator_id cellphone code_length country_code days device_id email label \
            locale login machine message number_digits phone_number qr_size seconds_to_expire svc_id type user_id user_ip uuid via";
        let all: BTreeSet<&str> = CALLS.iter().flat_map(options).map(|(_, name)| name).collect();
        let listed = PLAIN.split(' ').chain(SECRETS).chain(FLAGS).chain(JSON);
        assert_eq!(all, listed.collect());
    }
}
