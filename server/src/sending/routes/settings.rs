//! The settings that every route has, whichever its gateway.

use seconder::calls::Channel;
use seconder::model::Secret;
use seconder_gateways::{Field, Fields, Problem};
use serde_json::{Map, Value};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// The values that `channels` accepts.
const CHANNELS: [(&str, Channel); 2] = [("sms", Channel::Sms), ("call", Channel::Call)];
/// The longest time of an attempt in seconds, if its gateway is not known.
const TIMEOUT: u64 = 60;

/// The settings of routes.
pub const FIELDS: &[Field] = &[
    Field::new("priority", "a number, 0 (asked first) to 1000", "100"),
    Field::new("weight", "a number, 1 to 100", "1"),
    Field::new("channels", "a list of sms and call", "[\"sms\"]"),
    Field::new("countries", "a list of prefixes such as \"+1\" or \"+4479\"", "all"),
    Field::new("rate", "a number of messages a second, 0 (no limit) to 1000", "0"),
    Field::new("workers", "a number of messages at once, 1 to 32", "4"),
    Field::new("from", "a text of at most 64 characters", "none"),
    Field::new("receipt_secret", "16 to 64 letters, digits, - and _", "a new one").secret(),
];

/// The settings that decide which messages take a route.
#[derive(Clone)]
pub(crate) struct RouteSettings {
    pub(crate) priority: u64,
    pub(crate) weight: u64,
    channels: Vec<Channel>,
    /// The prefixes of countries; empty for all.
    countries: Vec<String>,
    pub(crate) rate: u32,
    pub(crate) workers: usize,
    pub(crate) from: String,
    /// The secret of a provider that reports to this route.
    pub(crate) receipt_secret: Option<Secret>,
    pub(crate) timeout: Duration,
}

impl RouteSettings {
    /// Returns a random number by which routes of one priority are sorted: a route of twice the weight is first twice
    /// as often. It protects nothing, so the randomness of hash maps is good enough.
    pub(super) fn draw(&self) -> f64 {
        let bits = RandomState::new().build_hasher().finish() >> 11;
        // More than 0 and at most 1, so that the logarithm is finite.
        let uniform = (bits as f64 + 1.0) / (1_u64 << 53) as f64;
        -uniform.ln() / self.weight as f64
    }

    /// Reads the settings of a route, and returns the settings of its gateway apart. Errors in them are added to the
    /// problems.
    pub(crate) fn read(
        settings: &Map<String, Value>,
        problems: &mut Vec<Problem>,
    ) -> (RouteSettings, Map<String, Value>) {
        let name = settings.get("gateway").and_then(Value::as_str).unwrap_or_default();
        let theirs = seconder_gateways::fields(name).unwrap_or_default();
        let has = |fields: &[Field], name: &str| fields.iter().any(|field| field.name == name);
        let is_own = |name: &str| has(FIELDS, name) && !has(&theirs, name);
        let (own, rest): (Map<_, _>, Map<_, _>) = settings
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .partition(|(name, _)| is_own(name));
        let mut fields = Fields::new(&own, FIELDS);
        let default = theirs.iter().find(|field| field.name == "timeout");
        let default = default.and_then(|field| field.default.parse().ok()).unwrap_or(TIMEOUT);
        let timeout = rest.get("timeout").and_then(Value::as_u64).unwrap_or(default);
        let read = RouteSettings {
            priority: fields.number("priority", 0..=1000, 100),
            weight: fields.number("weight", 1..=100, 1),
            channels: channels(&mut fields),
            countries: countries(&mut fields),
            rate: u32::try_from(fields.number("rate", 0..=1000, 0)).unwrap_or(0),
            workers: usize::try_from(fields.number("workers", 1..=32, 4)).unwrap_or(4),
            from: from(&mut fields),
            receipt_secret: receipt_secret(&mut fields),
            timeout: Duration::from_secs(timeout.min(60)),
        };
        problems.extend(fields.finish().err().unwrap_or_default());
        (read, rest)
    }

    /// Returns whether it takes messages to this number.
    pub(crate) fn takes(&self, to: &str, via: Channel) -> bool {
        let is_there = |prefix: &String| to.starts_with(prefix.as_str());
        self.channels.contains(&via)
            && (self.countries.is_empty() || self.countries.iter().any(is_there))
    }
}

/// Returns the texts of a list, if each is accepted.
fn list<T>(
    fields: &mut Fields<'_>,
    name: &'static str,
    accept: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    let value = fields.value(name)?;
    let texts = value.as_array().into_iter().flatten().map(|item| item.as_str().and_then(&accept));
    let accepted: Option<Vec<T>> = texts.collect();
    match accepted.filter(|accepted| !accepted.is_empty()) {
        Some(accepted) => Some(accepted),
        None => {
            let shown: String = value.to_string().chars().take(80).collect();
            fields.problem(name, format!("is {shown}"));
            None
        }
    }
}

fn channels(fields: &mut Fields<'_>) -> Vec<Channel> {
    let accept = |text: &str| CHANNELS.iter().find(|(name, _)| *name == text).map(|(_, via)| *via);
    list(fields, "channels", accept).unwrap_or_else(|| vec![Channel::Sms])
}

fn countries(fields: &mut Fields<'_>) -> Vec<String> {
    let accept = |text: &str| {
        let digits = text.strip_prefix('+')?;
        let is_prefix = (1..=15).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        is_prefix.then(|| text.to_owned())
    };
    list(fields, "countries", accept).unwrap_or_default()
}

fn from(fields: &mut Fields<'_>) -> String {
    let text = fields.text("from").unwrap_or_default().to_owned();
    if text.chars().count() > 64 || text.chars().any(char::is_control) {
        fields.problem("from", "is too long, or has control characters");
        return String::new();
    }
    text
}

fn receipt_secret(fields: &mut Fields<'_>) -> Option<Secret> {
    let secret = fields.secret("receipt_secret")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let text = secret.expose();
    if !(16..=64).contains(&text.len()) || !text.bytes().all(is_plain) {
        fields.problem("receipt_secret", "is too short or too long, or has other characters");
        return None;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: Value) -> (RouteSettings, Map<String, Value>, Vec<String>) {
        let mut problems = Vec::new();
        let (read, rest) = RouteSettings::read(settings.as_object().unwrap(), &mut problems);
        (read, rest, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_route_takes_the_channels_and_countries_that_are_set() {
        let (route, rest, problems) = read(json!({"gateway": "http", "url": "x", "timeout": 7,
            "channels": ["call"], "countries": ["+1", "+4479"], "workers": 2}));
        assert_eq!(problems, [""; 0]);
        assert_eq!(Value::from(rest), json!({"gateway": "http", "url": "x", "timeout": 7}));
        assert_eq!((route.workers, route.timeout), (2, Duration::from_secs(7)));
        assert!(route.takes("+15550100123", Channel::Call));
        assert!(!route.takes("+15550100123", Channel::Sms));
        assert!(route.takes("+447911123456", Channel::Call));
        assert!(!route.takes("+441632960123", Channel::Call));
        let (route, ..) = read(json!({"gateway": "http"}));
        assert!(route.takes("+441632960123", Channel::Sms));
    }

    /// Otherwise its attempts would outlive their leases, and be made twice.
    #[test]
    fn the_timeout_of_a_route_is_that_of_its_gateway() {
        for name in seconder_gateways::names() {
            let (route, ..) = read(json!({ "gateway": name }));
            let fields = seconder_gateways::fields(name).unwrap();
            let field = fields.iter().find(|field| field.name == "timeout").unwrap();
            assert_eq!(route.timeout.as_secs().to_string(), field.default, "{name}");
        }
        let (route, ..) = read(json!({ "gateway": "smtp", "timeout": 7 }));
        assert_eq!(route.timeout, Duration::from_secs(7));
    }

    #[test]
    fn all_that_is_wrong_is_reported() {
        let (.., problems) = read(json!({"gateway": "http", "channels": ["sms", "fax"],
            "countries": ["0044"], "weight": 0, "workers": "many", "from": "a\nb", "rate": 1001}));
        let fields: Vec<&str> =
            problems.iter().filter_map(|problem| problem.split(' ').next()).collect();
        assert_eq!(fields, ["weight", "channels", "countries", "rate", "workers", "from"]);
        assert!(problems[1].contains(r#"["sms","fax"]; accepted: a list of sms and call"#));
    }
}
