//! Options of what the calls of an application do and say by default, which are stored with it.

use clap::Args;
use clap::builder::BoolishValueParser;
use seconder::Settings;
use seconder::engine::operator::AppSettings;

#[derive(Args)]
pub(crate) struct CallDefaults {
    /// What the details of the application say was booked, 1 to 64 bytes; by default the text stored in the
    /// database, or embedded in a new one.
    #[arg(long, value_name = "TEXT")]
    plan: Option<String>,
    /// Whether they say that the application has an app of its own: yes or no; by default what is stored in
    /// the database, or no in a new one.
    #[arg(long, value_name = "YES", value_parser = BoolishValueParser::new())]
    white_label: Option<bool>,
    /// Whether SMS are sent: yes or no; without them, codes can be spoken in calls; by default what is stored
    /// in the database, or yes in a new one.
    #[arg(long, value_name = "YES", value_parser = BoolishValueParser::new())]
    sms_enabled: Option<bool>,
    /// Whether users who have an app are sent codes by SMS and calls too, unless a call sets `force`: yes or
    /// no; by default what is stored in the database, or no in a new one.
    #[arg(long, value_name = "YES", value_parser = BoolishValueParser::new())]
    force_codes: Option<bool>,
    /// Picture of approval requests that have none of their own, an https: URL; '' for none; by default the
    /// one stored in the database, if any.
    #[arg(long, value_name = "URL")]
    logo: Option<String>,
    /// Number of digits of the codes of authenticator apps that are enrolled from now on, 6 to 8; by default
    /// the number stored in the database, or 6 in a new one.
    #[arg(long, value_name = "DIGITS", value_parser = clap::value_parser!(u8).range(6..=8))]
    authenticator_digits: Option<u8>,
    /// For how many seconds such an app shows a code, 1 to 3600; by default the time stored in the database,
    /// or 30 in a new one.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    authenticator_period: Option<u64>,
}

impl CallDefaults {
    /// Adds what is given to the settings of an engine.
    pub(crate) fn configure(&self, mut settings: Settings) -> Settings {
        if let Some(plan) = &self.plan {
            settings = settings.plan(plan.clone());
        }
        if let Some(own) = self.white_label {
            settings = settings.white_label(own);
        }
        if let Some(enabled) = self.sms_enabled {
            settings = settings.sms_enabled(enabled);
        }
        if let Some(force) = self.force_codes {
            settings = settings.force_codes(force);
        }
        if let Some(logo) = &self.logo {
            settings = settings.logo(logo.clone());
        }
        if let Some(digits) = self.authenticator_digits {
            settings = settings.authenticator_digits(digits);
        }
        if let Some(period) = self.authenticator_period {
            settings = settings.authenticator_period(period);
        }
        settings
    }

    /// Adds what is given to the changes of an application.
    pub(crate) fn change(&self, settings: &mut AppSettings) {
        settings.plan.clone_from(&self.plan);
        settings.white_label = self.white_label;
        settings.sms_enabled = self.sms_enabled;
        settings.force_codes = self.force_codes;
        settings.logo.clone_from(&self.logo);
        settings.authenticator_digits = self.authenticator_digits;
        settings.authenticator_period = self.authenticator_period;
    }
}
