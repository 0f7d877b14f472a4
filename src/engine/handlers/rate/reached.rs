//! Counts of the limits that were reached by calls in this process, and reports of applications that make more requests
//! than their `key_rate` allows: for metrics, the log and `seconder doctor`.

use crate::Result;
use crate::engine::core::Engine;
use crate::engine::model::clock::Time;
use crate::engine::operations::completions::{self, Paused};
use crate::engine::operations::{applications as stored, budgets};
use std::collections::BTreeMap;

/// The limits that are counted from the start, because the rate of a counter misses its first value.
const LIMITS: [&str; 16] = [
    "address_hour",
    "address_wrong_hour",
    "application_day",
    "completion_min",
    "cool_down",
    "countries",
    "country_day",
    "key_rate",
    "lookup_day",
    "number_10_minutes",
    "number_day",
    "pushes_5_minutes",
    "refuse",
    "sends",
    "snooze",
    "wrong_codes",
];

/// The codes by SMS and voice to one country in the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodesOfHour {
    /// The messages that were sent.
    pub sent: u64,
    /// The codes that were used.
    pub used: u64,
    /// True if no code is sent to new numbers of the country, because too few were used.
    pub is_paused: bool,
}

impl CodesOfHour {
    /// Returns the share of messages whose code was used, in percent.
    pub fn completion(&self) -> u64 {
        (self.used * 100 / self.sent.max(1)).min(100)
    }
}

impl Engine {
    /// Returns how often calls in this process have reached each limit.
    pub fn limits_reached(&self) -> BTreeMap<&'static str, u64> {
        let mut all: BTreeMap<_, _> = LIMITS.iter().map(|limit| (*limit, 0)).collect();
        all.extend(self.shared.rates.reached.by_limit());
        all
    }

    /// Returns how many codes were used by calls in this process, by the route that has sent them.
    pub fn codes_used(&self) -> BTreeMap<String, u64> {
        self.shared.rates.reached.used()
    }

    /// Counts a code that was used.
    pub(in crate::engine) fn count_used(&self, route: &str) {
        self.shared.rates.reached.count_used(route);
    }

    /// Counts a request over `key_rate`, and reports them once a minute: to the operator, and to `seconder doctor` by
    /// a row of the database, because the rate is counted in memory.
    pub(super) fn note_over_rate(&self, now: Time) {
        self.shared.rates.reached.count("key_rate");
        let app = self.app.app_id;
        let Some(refused) = self.shared.rates.reached.over_rate(app, now) else { return };
        let (name, rate) = (&self.app.settings.name, self.app.settings.limits.key_rate);
        // The first one is reported at once, and says nothing of how many follow.
        let since = match refused {
            1 => String::new(),
            _ => format!(": {refused} were refused since the last such line"),
        };
        self.shared.events.warning(&format!(
            "application {app} ({name}) makes more than the {rate} requests a second of its key_rate{since}. If \
             they are logins, raise it: seconder limits --app {app} key_rate=N key_burst=N"
        ));
        // A report that is lost costs a line of `doctor`, and must not fail the call.
        drop(self.run(move |view| budgets::note_over_rate(view, app, refused, now)));
    }

    /// Warns the operator that codes to a country are paused.
    pub(in crate::engine) fn warn_of_pause(&self, paused: &Paused) {
        let (app, name) = (self.app.app_id, &self.app.settings.name);
        let Paused { country, sent, used } = paused;
        let seconds = self.app.settings.limits.completion_pause;
        self.shared.events.warning(&format!(
            "codes of application {app} ({name}) to new numbers of the country +{country} are paused for {seconds} s, \
             because {used} of {sent} were used. See seconder audit --app {app} --by address, and refuse the country \
             or a prefix: seconder limits --app {app} deny={country}"
        ));
    }

    /// Returns how many codes were sent to each country and used in the last hour, of all applications, and whether
    /// codes of one of them to it are paused.
    pub fn codes_of_hour(&self) -> Result<BTreeMap<u16, CodesOfHour>> {
        let now = self.now().steady;
        self.look(move |view| {
            let mut all = BTreeMap::<u16, CodesOfHour>::new();
            for app in stored::ids(view)? {
                for (country, (codes, is_paused)) in completions::of_hour(view, app, now)? {
                    let sum = all.entry(country).or_default();
                    sum.sent += u64::try_from(codes.sent).unwrap_or_default();
                    sum.used += u64::try_from(codes.used).unwrap_or_default();
                    sum.is_paused |= is_paused;
                }
            }
            Ok(all)
        })
    }

    /// Returns the applications whose requests were over `key_rate` in the last hour, and how many were.
    pub(in crate::engine) fn over_rate(&self) -> Result<Vec<(i64, u32)>> {
        let now = self.now().steady;
        self.look(move |view| {
            let mut found = Vec::new();
            for app in stored::ids(view)? {
                let refused = budgets::over_rate(view, app, now)?;
                found.extend((refused > 0).then_some((app, refused)));
            }
            Ok(found)
        })
    }
}
