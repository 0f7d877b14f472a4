//! Providers of look-ups of numbers: any with an interface over HTTP, and presets for known ones.

use super::http::{Facts, HttpLookup, lookup_fields, timed};
use super::presets::{Preset, base};
use super::{Field, Fields, Problem, fields};
use seconder::remote::Dialer;
use serde_json::{Map, Value};

/// The settings for one interface.
struct LookupPreset {
    /// The settings of the request.
    request: Preset,
    /// The places of the facts in a response, in JSON.
    answer: &'static str,
}

const PRESETS: &[LookupPreset] = &[
    LookupPreset {
        request: Preset {
            name: "twilio",
            own: &[
                Field::required("account_sid", "a text"),
                Field::required("auth_token", "a text").secret(),
                base("https://lookups.twilio.com"),
            ],
            settings: r#"{
                "url": "{{base_url}}/v2/PhoneNumbers/{{to}}?Fields=line_type_intelligence",
                "method": "GET",
                "username": "{{account_sid}}",
                "password": "{{auth_token}}",
                "code_pointer": "/code",
                "reason_pointer": "/message"
            }"#,
        },
        answer: r#"{
            "carrier_pointer": "/line_type_intelligence/carrier_name",
            "type_pointer": "/line_type_intelligence/type"
        }"#,
    },
    LookupPreset {
        request: Preset {
            name: "vonage",
            own: &[
                Field::required("api_key", "a text"),
                Field::required("api_secret", "a text").secret(),
                base("https://api.nexmo.com"),
            ],
            settings: r#"{
                "url": "{{base_url}}/ni/standard/json?number={{to_digits}}",
                "method": "GET",
                "username": "{{api_key}}",
                "password": "{{api_secret}}",
                "success_pointer": "/status",
                "success_value": "0",
                "reason_pointer": "/status_message"
            }"#,
        },
        // The statuses of Vonage if it knows nothing of a number: it is not valid, or nothing was
        // found.
        answer: r#"{
            "rejected_codes": [3, 5, 43, 44, 45],
            "carrier_pointer": "/current_carrier/name",
            "type_pointer": "/current_carrier/network_type",
            "ported_pointer": "/ported"
        }"#,
    },
];

/// Returns the names of the providers, which are the values of the setting `gateway`.
pub fn lookup_names() -> Vec<&'static str> {
    let presets = PRESETS.iter().map(|preset| preset.request.name);
    std::iter::once("http").chain(presets).collect()
}

/// Returns the settings of a provider of look-ups; `None` if no provider has this name.
pub fn lookup_settings(gateway: &str) -> Option<Vec<Field>> {
    match gateway {
        "http" => Some(lookup_fields()),
        name => PRESETS.iter().find(|preset| preset.request.name == name).map(LookupPreset::fields),
    }
}

/// Makes the provider of look-ups that the setting `gateway` names. The dialer makes its connections.
///
/// # Errors
/// All errors in the settings.
pub fn open_lookup(
    settings: &Map<String, Value>,
    dialer: &Dialer,
) -> Result<HttpLookup, Vec<Problem>> {
    let name = settings.get("gateway").and_then(Value::as_str);
    let preset = PRESETS.iter().find(|preset| Some(preset.request.name) == name);
    match (name, preset) {
        (Some("http"), _) => HttpLookup::from_settings(settings, dialer),
        (_, Some(preset)) => preset.open(settings, dialer),
        (name, None) => Err(vec![Problem {
            field: "gateway".to_owned(),
            wrong: match name {
                Some(name) => format!("is {}", fields::shown(name)),
                None => "is missing, or not a text".to_owned(),
            },
            accepted: lookup_names().join(", "),
        }]),
    }
}

impl LookupPreset {
    fn fields(&self) -> Vec<Field> {
        let of_lookups = lookup_fields();
        let same = |field: Field| of_lookups.iter().find(|own| own.name == field.name).copied();
        let own = |field: Field| same(field).filter(|_| field.name == "timeout").unwrap_or(field);
        self.request.fields().into_iter().map(own).collect()
    }

    fn open(
        &self,
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<HttpLookup, Vec<Problem>> {
        let mut problems = Vec::new();
        let http = self.request.open(&timed(settings, &mut problems), dialer);
        let answer: Map<String, Value> = serde_json::from_str(self.answer).unwrap_or_default();
        let known = lookup_fields();
        let answer = Facts::read(&mut Fields::new(&answer, &known));
        match (http, answer) {
            (Ok(http), Some(answer)) if problems.is_empty() => Ok(HttpLookup::new(http, answer)),
            (http, _) => {
                problems.extend(http.err().unwrap_or_default());
                Err(problems)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(settings: &Value) -> Vec<String> {
        let found = open_lookup(settings.as_object().unwrap(), &Dialer::default())
            .err()
            .unwrap_or_default();
        found.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn presets_are_complete() {
        for (preset, own) in [
            ("twilio", json!({"account_sid": "AC1", "auth_token": "secret"})),
            ("vonage", json!({"api_key": "key", "api_secret": "secret"})),
        ] {
            let mut settings = own.as_object().unwrap().clone();
            settings.insert("gateway".to_owned(), preset.into());
            // A system may have its authorities at no usual path.
            settings.insert("base_url".to_owned(), "http://127.0.0.1:1".into());
            assert_eq!(problems(&settings.clone().into()), [""; 0], "{preset}");
            settings.insert("timeout".to_owned(), 60.into());
            settings.insert("auth_tokn".to_owned(), "x".into());
            settings.remove("base_url");
            settings.insert("base_url".to_owned(), "ftp://127.0.0.1".into());
            let found = problems(&settings.into());
            assert_eq!(found.len(), 3, "{found:?}");
            assert!(found[0].contains("timeout is 60; accepted: seconds, 1 to 4"), "{found:?}");
            assert!(
                found.iter().any(|found| found.starts_with("base_url is neither")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn all_that_is_wrong_is_reported_at_once() {
        let found = problems(&json!({"gateway": "http", "url": "http://127.0.0.1/{{to}}/{{code}}",
            "method": "PUSH", "timeout": 11, "types": {"cellular": "phone"}, "unknown_status": "4",
            "id_pointer": "/id", "carier_pointer": "/carrier"}));
        let fields: Vec<&str> =
            found.iter().filter_map(|problem| problem.split(' ').next()).collect();
        let expected = [
            "timeout",
            "unknown_status",
            "types",
            "type_pointer",
            "url",
            "`id_pointer`",
            "`carier_pointer`",
            "method",
        ];
        assert_eq!(fields, expected, "{found:?}");
        assert!(found[4].contains("`{{code}}`"), "{found:?}");
        assert!(found[6].ends_with("accepted: carrier_pointer"), "{found:?}");
        assert_eq!(problems(&json!({})).len(), 1);
        let found = problems(&json!({"gateway": "smpp"}));
        assert_eq!(found, ["gateway is `smpp`; accepted: http, twilio, vonage"]);
    }
}
