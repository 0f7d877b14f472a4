//! The options that are settings of an application, from the library's list of them.

use crate::invalid;
use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use seconder::engine::operator::AppSettings;
use seconder::engine::{APP_SETTINGS, AppSetting, SettingKind};
use seconder::{Error, Result};

/// The name of the application, which commands have an option of their own for.
const NAME: &str = "application_name";

/// The settings that are given, except the name of the application.
pub(crate) struct AppOptions {
    settings: AppSettings,
    /// The file with the texts of messages. Empty for none.
    texts: Option<String>,
}

impl AppOptions {
    /// Returns the settings, with the texts that the file has.
    pub(crate) fn settings(&self) -> Result<AppSettings> {
        let mut settings = self.settings.clone();
        settings.texts = self.texts.as_deref().map(texts).transpose()?;
        Ok(settings)
    }
}

/// The texts in a file; none for an empty name.
fn texts(file: &str) -> Result<String> {
    if file.is_empty() {
        return Ok(String::new());
    }
    std::fs::read_to_string(file)
        .map_err(|error| invalid("texts", format!("{file} cannot be read: {error}")))
}

/// The option of a setting, without its hyphens. A limit is given by each option.
fn option_name(setting: &AppSetting) -> String {
    match setting.kind {
        SettingKind::Limits => "limit".to_owned(),
        _ => setting.name.replace('_', "-"),
    }
}

/// The setting that has this option.
pub(crate) fn of_option(option: &str) -> Option<&'static AppSetting> {
    APP_SETTINGS.iter().find(|setting| option_name(setting) == option)
}

fn listed() -> impl Iterator<Item = &'static AppSetting> {
    APP_SETTINGS.iter().filter(|setting| setting.name != NAME)
}

fn argument(setting: &'static AppSetting) -> Arg {
    let mut help = setting.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    match setting.kind {
        SettingKind::Texts => help += " The option names the file that has them.",
        SettingKind::Limits => help += " The option may be given several times.",
        _ => {}
    }
    let help = help.trim_end_matches('.').to_owned();
    let arg =
        Arg::new(setting.name).long(option_name(setting)).value_name(setting.value).help(help);
    match setting.kind {
        SettingKind::YesNo => arg.value_parser(BoolishValueParser::new()),
        SettingKind::Number(least, most) => {
            arg.value_parser(value_parser!(u64).range(least..=most))
        }
        SettingKind::Choice(_) => arg.value_parser(|text: &str| -> Result<String> {
            AppSettings::default().set(setting.name, text)?;
            Ok(text.to_owned())
        }),
        SettingKind::Limits => arg.action(ArgAction::Append),
        _ => arg,
    }
}

impl Args for AppOptions {
    fn augment_args(command: Command) -> Command {
        listed().fold(command, |command, setting| command.arg(argument(setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        AppOptions::augment_args(command)
    }
}

impl FromArgMatches for AppOptions {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<AppOptions, clap::Error> {
        let mut options = AppOptions { settings: AppSettings::default(), texts: None };
        for setting in listed() {
            let all = || matches.get_many::<String>(setting.name).into_iter().flatten().cloned();
            let given: Vec<String> = match setting.kind {
                SettingKind::YesNo => matches
                    .get_one(setting.name)
                    .map(|is_set| if *is_set { "yes" } else { "no" }.to_owned())
                    .into_iter()
                    .collect(),
                SettingKind::Number(..) => matches
                    .get_one::<u64>(setting.name)
                    .map(ToString::to_string)
                    .into_iter()
                    .collect(),
                SettingKind::Texts => {
                    options.texts = all().next();
                    continue;
                }
                _ => all().collect(),
            };
            for text in given {
                options.settings.set(setting.name, &text).map_err(rejected)?;
            }
        }
        Ok(options)
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = AppOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

fn rejected(error: Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, error)
}
