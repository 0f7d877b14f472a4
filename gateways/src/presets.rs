//! Settings of the gateway over HTTP that are ready for the interfaces of known providers.

use super::http::{Constants, FIELDS, Http};
use super::{Field, Fields, Problem};
use seconder::model::Secret;
use seconder::remote::Dialer;
use serde_json::{Map, Value};

/// The default of a setting in whose place a value of the message stands.
const OF_TEXT: &str = "that of the text";
/// The placeholder for a URL that is missing, while the other settings are checked.
const SAMPLE_URL: &str = "https://example.com";
/// The placeholder for another setting that is missing.
const SAMPLE: &str = "sample";
/// The settings of the gateway that every preset has too.
const COMMON: [&str; 3] = ["timeout", "ca_file", "allow_http"];

/// The settings for one interface.
pub(super) struct Preset {
    pub(super) name: &'static str,
    /// Its own settings, whose values stand where `settings` has them as placeholders; `language` stands for
    /// `voice_language`. A default is the text itself, `none` for an empty one, or the default of the message.
    pub(super) own: &'static [Field],
    /// The settings of the gateway, in JSON.
    pub(super) settings: &'static str,
}

const ACCOUNT: Field = Field::required("account_sid", "a text");
const AUTH_TOKEN: Field = Field::required("auth_token", "a text").secret();

pub(super) const fn base(default: &'static str) -> Field {
    Field::new("base_url", "an https: URL without query", default)
}

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "twilio",
        own: &[
            ACCOUNT,
            AUTH_TOKEN,
            Field::new("messaging_service_sid", "a text", "none"),
            base("https://api.twilio.com"),
        ],
        settings: r#"{
            "url": "{{base_url}}/2010-04-01/Accounts/{{account_sid}}/Messages.json",
            "username": "{{account_sid}}",
            "password": "{{auth_token}}",
            "body": {
                "To": "{{to}}",
                "From": "{{from}}",
                "MessagingServiceSid": "{{messaging_service_sid}}",
                "Body": "{{text}}",
                "StatusCallback": "{{receipt_url}}"
            },
            "id_pointer": "/sid",
            "code_pointer": "/code",
            "number_codes": [21211, 21214, 21217, 21610, 21614],
            "reason_pointer": "/message",
            "receipt_id": "MessageSid",
            "receipt_state": "MessageStatus",
            "receipt_delivered": ["delivered", "read"],
            "receipt_failed": ["undelivered", "failed", "canceled"],
            "receipt_reason": "ErrorCode"
        }"#,
    },
    Preset {
        name: "twilio-voice",
        own: &[
            ACCOUNT,
            AUTH_TOKEN,
            Field::new("language", "a language such as en-GB", OF_TEXT),
            Field::new("twiml", "inline or fetched", "inline"),
            base("https://api.twilio.com"),
        ],
        // The user hears the message three times, to write the code down.
        settings: r#"{
            "url": "{{base_url}}/2010-04-01/Accounts/{{account_sid}}/Calls.json",
            "username": "{{account_sid}}",
            "password": "{{auth_token}}",
            "body": {
                "To": "{{to}}",
                "From": "{{from}}",
                "Twiml": "<Response><Say language=\"{{voice_language|xml}}\" loop=\"3\">{{spoken_text|xml}}</Say></Response>",
                "StatusCallback": "{{receipt_url}}"
            },
            "id_pointer": "/sid",
            "code_pointer": "/code",
            "number_codes": [13223, 13224, 21211, 21214, 21217],
            "reason_pointer": "/message",
            "receipt_id": "CallSid",
            "receipt_state": "CallStatus",
            "receipt_delivered": ["completed"],
            "receipt_failed": ["busy", "failed", "no-answer", "canceled"],
            "variants": {"twiml": {"fetched": {
                "body": {
                    "To": "{{to}}",
                    "From": "{{from}}",
                    "Url": "{{document_url}}",
                    "StatusCallback": "{{receipt_url}}"
                },
                "document": "<Response><Say language=\"{{voice_language}}\" loop=\"3\">{{spoken_text}}</Say></Response>"
            }}}
        }"#,
    },
    Preset {
        name: "vonage",
        own: &[
            Field::required("api_key", "a text"),
            Field::required("api_secret", "a text").secret(),
            base("https://rest.nexmo.com"),
        ],
        settings: r#"{
            "url": "{{base_url}}/sms/json",
            "body": {
                "api_key": "{{api_key}}",
                "api_secret": "{{api_secret}}",
                "to": "{{to_digits}}",
                "from": "{{from}}",
                "text": "{{text}}",
                "type": "{{alphabet}}",
                "client-ref": "{{id}}",
                "callback": "{{receipt_url}}"
            },
            "success_pointer": "/messages/*/status",
            "success_value": "0",
            "permanent_codes": [2, 3, 4, 6, 8, 9, 11, 12, 14, 15, 22, 23, 29, 32],
            "number_codes": [7, 33],
            "retry_codes": [1, 5, 10],
            "id_pointer": "/messages/*/message-id",
            "reason_pointer": "/messages/*/error-text",
            "receipt_id": "messageId",
            "receipt_state": "status",
            "receipt_delivered": ["delivered"],
            "receipt_failed": ["expired", "failed", "rejected"],
            "receipt_reason": "err-code"
        }"#,
    },
    Preset {
        name: "messagebird",
        own: &[
            Field::required("access_key", "a text").secret(),
            base("https://rest.messagebird.com"),
        ],
        settings: r#"{
            "url": "{{base_url}}/messages",
            "headers": {"Authorization": "AccessKey {{access_key}}", "Accept": "application/json"},
            "format": "json",
            "body": {
                "recipients": ["{{to_digits}}"],
                "originator": "{{from}}",
                "body": "{{text}}",
                "datacoding": "auto",
                "reference": "{{id}}",
                "reportUrl": "{{receipt_url}}"
            },
            "id_pointer": "/id",
            "code_pointer": "/errors/0/code",
            "number_pointer": "/errors/*/parameter",
            "number_codes": ["recipient", "recipients"],
            "reason_pointer": "/errors/*/description",
            "receipt_id": "id",
            "receipt_state": "status",
            "receipt_delivered": ["delivered"],
            "receipt_failed": ["expired", "delivery_failed"],
            "receipt_reason": "statusErrorCode"
        }"#,
    },
    Preset {
        name: "kannel",
        own: &[
            Field::required("base_url", "an https: URL without query"),
            Field::required("username", "a text"),
            Field::required("password", "a text").secret(),
        ],
        settings: r#"{
            "url": "{{base_url}}/cgi-bin/sendsms?username={{username}}&password={{password}}&from={{from}}&to={{to}}&charset=UTF-8&coding={{coding}}&text={{text}}&dlr-mask={{dlr_mask}}&dlr-url={{receipt_url}}%3Fid%3D{{id}}%26state%3D%25d",
            "method": "GET",
            "success_status": "202",
            "receipt_id": "id",
            "receipt_own_id": true,
            "receipt_state": "state",
            "receipt_delivered": ["1"],
            "receipt_failed": ["2", "16", "34", "66"]
        }"#,
    },
    Preset {
        name: "webhook",
        own: &[
            Field::required("url", "an https: URL without user and fragment"),
            Field::required("signing_key", "a text").secret(),
        ],
        settings: r#"{
            "url": "{{url}}",
            "signing_key": "{{signing_key}}",
            "format": "json",
            "body": {
                "id": "{{id}}",
                "channel": "{{channel}}",
                "to": "{{to}}",
                "from": "{{from}}",
                "text": "{{text}}",
                "code": "{{code}}",
                "receipt_url": "{{receipt_url}}"
            },
            "id_pointer": "/id",
            "number_pointer": "/code",
            "number_codes": ["number_refused"],
            "receipt_id": "/id",
            "receipt_state": "/state",
            "receipt_delivered": ["delivered"],
            "receipt_failed": ["failed"],
            "receipt_reason": "/reason"
        }"#,
    },
];

impl Preset {
    /// Returns its own settings, and the ones that every preset has.
    pub(super) fn fields(&self) -> Vec<Field> {
        let common = FIELDS.iter().filter(|field| COMMON.contains(&field.name));
        self.own.iter().chain(common).copied().collect()
    }

    /// Opens the gateway with these settings. The dialer makes its connections.
    pub(super) fn open(
        &self,
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Http, Vec<Problem>> {
        let known = self.fields();
        let mut fields = Fields::new(settings, &known);
        let values: Vec<(&'static str, String)> =
            self.own.iter().map(|field| (field.name, own_value(&mut fields, field))).collect();
        if self.own.iter().any(|field| field.name == "twiml") {
            fields.one_of("twiml", &["inline", "fetched"]);
        }
        let mut expanded = self.expanded(&values);
        for name in COMMON {
            if let Some(value) = fields.value(name) {
                expanded.insert(name.to_owned(), value.clone());
            }
        }
        let is_inserted = |name: &str| matches!(name, "base_url" | "url" | "signing_key");
        let constants = values.into_iter().filter_map(|(name, value)| match name {
            "language" => (value != OF_TEXT).then_some(("voice_language", value)),
            name => (!is_inserted(name)).then_some((name, value)),
        });
        let (names, values) = constants.map(|(name, value)| (name, Secret::new(value))).unzip();
        let http = Http::with_constants(&expanded, Constants { names, values }, dialer);
        match (fields.finish(), http) {
            (Ok(()), Ok(http)) => Ok(http),
            (own, http) => {
                let mut problems = own.err().unwrap_or_default();
                problems.extend(
                    http.err().unwrap_or_default().into_iter().map(|problem| self.of_own(problem)),
                );
                Err(problems)
            }
        }
    }

    /// Returns the settings of the gateway, with the URL and the credentials in their places.
    fn expanded(&self, values: &[(&'static str, String)]) -> Map<String, Value> {
        let mut expanded: Map<String, Value> =
            serde_json::from_str(self.settings).unwrap_or_default();
        // A value of one of its own settings may change other settings.
        if let Some(Value::Object(variants)) = expanded.remove("variants") {
            for (own, value) in values {
                if let Some(Value::Object(more)) = variants.get(*own).and_then(|by| by.get(value)) {
                    expanded.extend(more.clone());
                }
            }
        }
        for name in ["url", "username", "password", "signing_key"] {
            let Some(Value::String(text)) = expanded.get_mut(name) else { continue };
            // A URL stays a template from its first placeholder on, whose values are escaped.
            let own = values.iter().find_map(|(own, value)| {
                let rest = text.strip_prefix(&format!("{{{{{own}}}}}"))?;
                let value = if *own == "base_url" { value.trim_end_matches('/') } else { value };
                Some(format!("{value}{rest}"))
            });
            *text = own.unwrap_or_default();
        }
        expanded
    }

    /// Returns a problem of the gateway, under the name of the preset's setting whose value it is about.
    fn of_own(&self, problem: Problem) -> Problem {
        let settings: Map<String, Value> = serde_json::from_str(self.settings).unwrap_or_default();
        let text = settings.get(&problem.field).and_then(Value::as_str).unwrap_or_default();
        let is_of = |field: &&Field| text.starts_with(&format!("{{{{{}}}}}", field.name));
        match self.own.iter().find(is_of) {
            Some(own) => {
                Problem { field: own.name.to_owned(), accepted: own.accepted.to_owned(), ..problem }
            }
            None => problem,
        }
    }
}

/// Reads the value of a setting, its default, or a sample if it is required and missing.
fn own_value(fields: &mut Fields<'_>, field: &Field) -> String {
    let given = match field.default {
        "" => fields.required_text(field.name),
        _ => fields.text(field.name),
    };
    let has_query = |text: &str| text.contains(['?', '#']);
    if field.name == "base_url" && given.is_some_and(has_query) {
        fields.problem(field.name, "has a query or a fragment");
        return SAMPLE_URL.to_owned();
    }
    match (given, field.default) {
        (Some(text), _) => text.to_owned(),
        (None, "") if matches!(field.name, "base_url" | "url") => SAMPLE_URL.to_owned(),
        (None, "") => SAMPLE.to_owned(),
        (None, "none") => String::new(),
        (None, default) => default.to_owned(),
    }
}
