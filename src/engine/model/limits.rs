//! The engine's limits and lifetimes. Sources: NIST SP 800-63B-4, RFC 4226 and 6238, and the
//! practice of services that send codes.

use crate::engine::model::lines::LineType;
use crate::model::CountryCode;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// The default number of digits of a code by SMS or voice.
pub(in crate::engine) const TOKEN_LENGTH: u8 = 7;
/// The default time for which a code remains valid.
pub(in crate::engine) const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// The maximum time for which a code of any application can remain valid.
pub(in crate::engine) const LONGEST_CODE_LIFE: Duration = Duration::from_secs(60 * 60);
/// The shortest time between two messages with codes for one action, by SMS or by voice, to one
/// user, or to one number that is being verified.
pub(in crate::engine) const COOL_DOWN: Duration = Duration::from_secs(30);
/// The number of messages with unused codes that one user, or one number that is being verified,
/// can be sent, by SMS and voice and for all actions together.
pub(in crate::engine) const SENDS: u32 = 5;
/// The default number of wrong tries that invalidate a code.
pub(in crate::engine) const TRIES: u32 = 5;
/// The number of wrong codes in a row after which a factor of a user is locked.
pub(in crate::engine) const MOST_WRONG: u32 = 100;
/// The time by which a clock that is set back may be behind a stored time. A stored time further in
/// the future was written while the clock was wrong.
pub(in crate::engine) const CLOCK_SLACK: Duration = Duration::from_secs(60);
/// The time for which the status of a number's verification can be read after its code expired.
pub(in crate::engine) const VERIFICATION_RECORD: Duration = Duration::from_secs(24 * 60 * 60);
/// The most authenticator apps that a user can be imported with: a guess is compared with each.
pub(in crate::engine) const AUTHENTICATORS: usize = 5;
/// The length of an authenticator app's secret, in bytes.
pub(in crate::engine) const SECRET_LENGTH: usize = 20;
/// The default number of digits of an authenticator app's code.
pub(in crate::engine) const AUTHENTICATOR_DIGITS: u8 = 6;
/// The default time for which an authenticator app shows a code, in seconds.
pub(in crate::engine) const AUTHENTICATOR_PERIOD: u64 = 30;
/// The default time for which an approval request remains open, in seconds.
pub(in crate::engine) const APPROVAL_LIFE: u64 = 86_400;
/// The number of approval requests of one user that can be open; a further one makes the oldest
/// expire.
pub(in crate::engine) const OPEN_APPROVALS: u32 = 5;
/// Of how many approval requests the devices of one user are notified in five minutes.
pub(in crate::engine) const PUSHES: u32 = 5;
/// The number of devices with a key that one user can have.
pub(in crate::engine) const DEVICES: usize = 5;
/// The time for which an invitation to register a device is valid, and one that was sent by SMS.
pub(in crate::engine) const INVITATION_LIFE: Duration = Duration::from_secs(10 * 60);
pub(in crate::engine) const SENT_INVITATION_LIFE: Duration = Duration::from_secs(60 * 60);
/// The time after an invitation's end for which the reason of its end is kept.
pub(in crate::engine) const INVITATION_RECORD: Duration = Duration::from_secs(24 * 60 * 60);
/// The time by which the clock of a device may differ in a signed request.
pub(in crate::engine) const DEVICE_CLOCK: Duration = Duration::from_secs(60);
/// The number of wrong numbers that deny an approval request.
pub(in crate::engine) const WRONG_NUMBERS: u32 = 2;
/// The time for which approval requests are snoozed after a user reported that one was not theirs.
pub(in crate::engine) const SNOOZE: Duration = Duration::from_secs(5 * 60);

/// The time after a response until which its callback is posted at the latest.
pub(in crate::engine) const CALLBACK_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of recovery codes in a set.
pub(in crate::engine) const RECOVERY_CODES: usize = 10;
/// The number of digits of a recovery code. No other code has as many, and no token has more.
pub(in crate::engine) const RECOVERY_LENGTH: u8 = 12;
/// The number of rounds of HMAC in the hash of a recovery code: a few milliseconds.
pub(in crate::engine) const RECOVERY_ROUNDS: u32 = 10_000;
/// The time after a code of their authenticator app for which users can create recovery codes for
/// their own account.
pub(in crate::engine) const OWN_RECOVERY: Duration = Duration::from_secs(10 * 60);

/// The maximum time for which a replaced API key can stay valid.
pub(in crate::engine) const MOST_OVERLAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The number of operators that a database can have.
pub(in crate::engine) const MOST_OPERATORS: usize = 100;
/// The maximum time for which an operator's token can be valid, if it expires.
pub(in crate::engine) const LONGEST_TOKEN_LIFE: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// The default number of days for which a browser is remembered.
pub(in crate::engine) const REMEMBERED_DAYS: u64 = 30;
/// The number of browsers of one user that are remembered; for a further one, the oldest is
/// forgotten.
pub(in crate::engine) const REMEMBERED_BROWSERS: u32 = 20;

/// The time after a code was accepted for which it can be presented to prepare logins without the
/// service.
pub(in crate::engine) const OFFLINE_PROOF: Duration = Duration::from_secs(5 * 60);
/// The default number of days for which logins without the service are prepared.
pub(in crate::engine) const OFFLINE_DAYS: u64 = 3;

/// A limit that an application can change.
struct Adjustable {
    name: &'static str,
    default: u32,
    least: u32,
    most: u32,
    of: fn(&mut Limits) -> &mut u32,
}

macro_rules! adjustable {
    ($($(#[$doc:meta])* $name:ident: $default:expr, $least:literal to $most:literal;)*) => {
        /// The limits of an application. They are stored with it, so every process that opens its
        /// database without limits has the same ones. 0 is no limit, if it is in the range.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct Limits {
            $(
                $(#[$doc])*
                #[doc = concat!("", stringify!($least), " to ", stringify!($most), ".")]
                pub $name: u32,
            )*
            /// The calling codes of the countries to which messages are sent. Empty: all.
            pub countries: Vec<u16>,
            /// The beginnings of numbers, with their calling code, to which no messages are sent. Empty: none.
            pub deny: Vec<String>,
            /// The types of lines to which no codes are sent, and whose numbers are not enrolled, as far
            /// as they are known; a landline is still called. Empty: none.
            pub refuse: Vec<LineType>,
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default,)* countries: Vec::new(), deny: Vec::new(), refuse: Vec::new() }
            }
        }

        const ADJUSTABLE: &[Adjustable] = &[$(Adjustable {
            name: stringify!($name),
            default: $default,
            least: $least,
            most: $most,
            of: |limits| &mut limits.$name,
        }),*];
    };
}

adjustable! {
    /// Seconds for which a code by SMS or voice is valid.
    code_life: CODE_LIFE.as_secs() as u32, 60 to 3600;
    /// Wrong tries after which such a code is void.
    tries: TRIES, 1 to 10;
    /// Seconds between two messages for one action by one channel.
    cool_down: COOL_DOWN.as_secs() as u32, 0 to 3600;
    /// Messages with codes that were not used, to one user or number.
    sends: SENDS, 1 to 100;
    /// Open approval requests of one user.
    open_approvals: OPEN_APPROVALS, 1 to 1000;
    /// Seconds for which approval requests are snoozed after one was reported.
    snooze: SNOOZE.as_secs() as u32, 0 to 86400;
    /// Digits of the number that users have to type on their device to approve a request, unless the call
    /// sets it: 0 for none, 2, 3 or 6.
    number_digits: 0, 0 to 6;
    /// Approval requests of which the devices of a user are notified in any five minutes; 0 is no limit.
    pushes_5_minutes: PUSHES, 0 to 100;
    /// Whether a push message shows what the user is asked, and not only which application asks: 0 or 1.
    push_shows_message: 0, 0 to 1;
    /// Messages to one number in any ten minutes.
    number_10_minutes: 5, 0 to 100;
    /// Messages to one number in any 24 hours.
    number_day: 20, 0 to 100;
    /// Messages because of calls with one `user_ip` in any hour. A /64 of IPv6 is one.
    address_hour: 10, 0 to 1000;
    /// Wrong codes in calls with one `user_ip` in any hour, of all users together. A /64 of IPv6 is one.
    address_wrong_hour: 100, 0 to 1000;
    /// Messages to numbers of one country on one day of UTC.
    country_day: 10_000, 0 to 1_000_000_000;
    /// Messages of the application on one day of UTC.
    application_day: 50_000, 0 to 1_000_000_000;
    /// Requests with the API key in a second, on each node. The default is 500 logins a second, of two requests each,
    /// and a sixteenth of what two processors verify: an application does not reach it by its users, and one that
    /// repeats requests without end leaves the node to the others.
    key_rate: 1000, 0 to 1_000_000;
    /// Requests with the API key at once, on each node.
    key_burst: 2000, 1 to 1_000_000;
    /// Percent of the codes to new users and numbers of a country, in the last hour, below which no more are sent to
    /// them; 0 is no limit, and nothing is counted. Users who have used a code by SMS or voice are not kept out. It has
    /// no value that suits every application: one may begin with thousands of new users in a minute.
    completion_min: 0, 0 to 100;
    /// Messages to new users and numbers of a country in the last hour from which on that counts.
    completion_after: 200, 10 to 1_000_000;
    /// Seconds for which no codes are sent then.
    completion_pause: 3600, 60 to 86400;
    /// Look-ups of numbers on one day of UTC, each of which a provider may charge for; 0 for none.
    lookup_day: 1000, 0 to 1_000_000_000;
    /// Days for which what a look-up has returned is used again.
    carrier_days: 30, 1 to 365;
    /// Days for which decisions can be read in the audit.
    audit_days: 400, 1 to 3650;
}

impl Limits {
    /// Returns the country if its used codes are counted, for `completion_min`.
    pub(in crate::engine) fn counted(&self, country: u16) -> Option<u16> {
        (self.completion_min > 0).then_some(country)
    }

    /// Changes some limits: `name=value`, separated by spaces or commas. `countries` is a list of
    /// calling codes, such as `1+44`, or `all`; `refuse` is a list of types of lines, such as
    /// `landline+disposable`, or `none`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that no limit has, and a value that is not in its range.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let pairs = text.split([',', ' ', '\n', '\t']).filter(|pair| !pair.is_empty());
        for pair in pairs {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Error::invalid_argument("limits", "must be name=value, such as number_day=20")
            })?;
            self.set_one(name, value)?;
        }
        Ok(())
    }

    fn set_one(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "countries" => {
                self.countries = countries(value)?;
                return Ok(());
            }
            "deny" => {
                self.deny = deny(value)?;
                return Ok(());
            }
            "refuse" => {
                self.refuse = refuse(value)?;
                return Ok(());
            }
            _ => {}
        }
        let Some(limit) = ADJUSTABLE.iter().find(|limit| limit.name == name) else {
            let names: Vec<_> = ADJUSTABLE.iter().map(|limit| limit.name).collect();
            let names = names.join(", ");
            let reason =
                format!("has an unknown name: must be one of {names}, countries, deny, refuse");
            return Err(Error::invalid_argument("limits", reason));
        };
        if name == "number_digits" && !["0", "2", "3", "6"].contains(&value) {
            let reason = "has an invalid number_digits: must be 0, 2, 3 or 6";
            return Err(Error::invalid_argument("limits", reason));
        }
        let number = value.parse().ok().filter(|_| value.bytes().all(|byte| byte.is_ascii_digit()));
        match number.filter(|number| (limit.least..=limit.most).contains(number)) {
            Some(number) => *(limit.of)(self) = number,
            None => {
                let Adjustable { name, least, most, .. } = limit;
                let reason = format!("has an invalid {name}: must be {least} to {most}");
                return Err(Error::invalid_argument("limits", reason));
            }
        }
        Ok(())
    }

    /// Returns the names, defaults and ranges of the limits that are numbers: the least and the
    /// most.
    pub fn ranges() -> impl Iterator<Item = (&'static str, u32, u32, u32)> {
        ADJUSTABLE.iter().map(|limit| (limit.name, limit.default, limit.least, limit.most))
    }

    /// Returns whether messages are sent to this number of this country.
    pub(in crate::engine) fn allows(&self, country: u16, number: &str) -> bool {
        let is_denied = |prefix: &String| number.trim_start_matches('+').starts_with(prefix);
        (self.countries.is_empty() || self.countries.contains(&country))
            && !self.deny.iter().any(is_denied)
    }

    /// Returns the limits that are not the default, as they are stored.
    pub(in crate::engine) fn stored(&self) -> String {
        let mut own = self.clone();
        let changed = ADJUSTABLE.iter().filter_map(|limit| {
            let value = *(limit.of)(&mut own);
            (value != limit.default).then(|| format!("{}={value}", limit.name))
        });
        let mut changed: Vec<_> = changed.collect();
        if !self.countries.is_empty() {
            changed.push(format!("countries={}", joined(&self.countries)));
        }
        if !self.deny.is_empty() {
            changed.push(format!("deny={}", joined(&self.deny)));
        }
        if !self.refuse.is_empty() {
            changed.push(format!("refuse={}", joined(&self.refuse)));
        }
        changed.join(" ")
    }
}

/// All of them, as they can be set.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut own = self.clone();
        for limit in ADJUSTABLE {
            write!(f, "{}={} ", limit.name, (limit.of)(&mut own))?;
        }
        match self.countries.as_slice() {
            [] => f.write_str("countries=all")?,
            some => write!(f, "countries={}", joined(some))?,
        }
        match self.deny.as_slice() {
            [] => f.write_str(" deny=none")?,
            some => write!(f, " deny={}", joined(some))?,
        }
        match self.refuse.as_slice() {
            [] => f.write_str(" refuse=none"),
            some => write!(f, " refuse={}", joined(some)),
        }
    }
}

fn joined(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}

fn deny(value: &str) -> Result<Vec<String>> {
    if value == "none" {
        return Ok(Vec::new());
    }
    let is_prefix = |text: &&str| {
        (1..=15).contains(&text.len())
            && !text.starts_with('0')
            && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let prefix = |text| Some(text).filter(is_prefix).map(str::to_owned);
    let prefixes: Option<Vec<String>> = value.split('+').map(prefix).collect();
    let mut prefixes = prefixes.ok_or_else(|| {
        let reason = "has an invalid deny: must be calling codes, or longer beginnings of numbers, such as \
                      882+1876, or none";
        Error::invalid_argument("limits", reason)
    })?;
    prefixes.sort_unstable();
    prefixes.dedup();
    Ok(prefixes)
}

/// Codes are sent to mobile phones, so they cannot be refused.
fn refuse(value: &str) -> Result<Vec<LineType>> {
    if value == "none" {
        return Ok(Vec::new());
    }
    let kind = |name: &str| name.parse().ok().filter(|kind| *kind != LineType::Mobile);
    let kinds: Option<Vec<LineType>> = value.split('+').map(kind).collect();
    let mut kinds = kinds.ok_or_else(|| {
        let reason = "has an invalid refuse: must be landline, voip, disposable, several of them \
                      joined by +, or none";
        Error::invalid_argument("limits", reason)
    })?;
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds)
}

fn countries(value: &str) -> Result<Vec<u16>> {
    if value == "all" {
        return Ok(Vec::new());
    }
    let code = |code: &str| code.parse::<CountryCode>().map(CountryCode::get);
    let mut codes: Vec<u16> = value.split('+').map(code).collect::<Result<_>>().map_err(|_| {
        Error::invalid_argument("limits", "has invalid countries: must be like 1+44, or all")
    })?;
    codes.sort_unstable();
    codes.dedup();
    Ok(codes)
}

/// Returns the address, or for IPv6 the network of it that one customer has.
pub(in crate::engine) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// The limits that a sandbox does not have.
pub(in crate::engine) struct Caps {
    pub(in crate::engine) cool_down: Duration,
    pub(in crate::engine) sends: u32,
    pub(in crate::engine) open_approvals: u32,
    pub(in crate::engine) snooze: Duration,
    pub(in crate::engine) pushes: u32,
    pub(in crate::engine) devices: usize,
}

impl Caps {
    pub(in crate::engine) const NONE: Caps = Caps {
        cool_down: Duration::ZERO,
        sends: u32::MAX,
        open_approvals: u32::MAX,
        snooze: Duration::ZERO,
        pushes: 0,
        devices: usize::MAX,
    };

    pub(in crate::engine) fn of(limits: &Limits) -> Caps {
        Caps {
            cool_down: Duration::from_secs(limits.cool_down.into()),
            sends: limits.sends,
            open_approvals: limits.open_approvals,
            snooze: Duration::from_secs(limits.snooze.into()),
            pushes: limits.pushes_5_minutes,
            devices: DEVICES,
        }
    }
}

/// Returns the time that a user must wait after this many consecutive wrong codes: not at all after
/// the first three, then 2, 4, 8 … 60 seconds, and 15 minutes from the tenth on.
pub(in crate::engine) fn delay(wrong_in_a_row: u32) -> Duration {
    match wrong_in_a_row {
        0..=3 => Duration::ZERO,
        4..=8 => Duration::from_secs(1 << (wrong_in_a_row - 3)),
        9 => Duration::from_secs(60),
        _ => Duration::from_secs(15 * 60),
    }
}

#[cfg(test)]
mod tests;
