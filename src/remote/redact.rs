//! Removes the secrets of a call from the errors about it. Services repeat parts of a request when
//! they reject it, and errors end up in logs.

use super::Credential;
use crate::Error;
use crate::error::Rejection;
use crate::in_order::in_order;
use crate::wire::{Request, form, is_operation, scalar, wipe};
use serde_json::Value;
use std::cmp::Reverse;
use zeroize::{Zeroize, Zeroizing};

const REDACTED: &str = "[redacted]";
/// Codes have 4 to 12 digits, and phone numbers about as many.
const SHORTEST: usize = 4;
/// An error code has five digits, which may also be the digits of a user's id.
const LONGER: usize = 6;

/// The API key and every code and number of a call, the longest first: a number inside the key
/// would otherwise be replaced first and leave the rest of the key readable.
pub(super) struct Redactor(Vec<Zeroizing<String>>);

impl Redactor {
    pub(super) fn new(request: &Request, credential: &Credential) -> Redactor {
        let credential = match credential {
            #[cfg(feature = "unix")]
            Credential::Process => None,
            Credential::Key(key) => Some(key.expose()),
            #[cfg(feature = "https")]
            Credential::Operator(token, _) => Some(token.expose()),
        };
        if is_operation(&request.path) {
            // The parameters of an operation are repeated to the operator, as they are on the machine of the service.
            return Redactor(credential.map(|key| key.to_owned().into()).into_iter().collect());
        }
        let in_path = request.path.split('/').map(str::to_owned);
        let in_params = request.params.values().filter_map(scalar);
        let words = in_path.chain(in_params).map(Zeroizing::new).filter(|word| is_code(word));
        // A token of a browser has letters too.
        let token = request.params.get("token").and_then(scalar).map(Zeroizing::new);
        let words = words.chain(token.filter(|token| token.len() >= LONGER));
        let key = credential.map(|key| [key.to_owned(), form::escape(key)]);
        let key = key.into_iter().flatten().map(Zeroizing::new);
        Redactor(in_order(words.chain(key), |word| Reverse(word.len())))
    }

    /// Redacts every text of a rejection's body.
    pub(super) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => redact(text, &self.0),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                // The kind of the error is decided by the code, which is redacted after that.
                let texts = fields.iter_mut().filter(|(name, _)| *name != "error_code");
                texts.for_each(|(_, text)| self.redact_value(text));
            }
            _ => {}
        }
    }

    /// Redacts an error of any status, in every field that may repeat a secret.
    pub(super) fn redact_error(&self, mut error: Error) -> Error {
        match &mut error {
            Error::Rejected(no) => self.redact_rejection(no),
            Error::Unauthorized { message, code } => {
                redact(message, &self.0);
                self.redact_code(code);
            }
            // The code is one that the library knows.
            Error::TokenWrong { message, .. } => redact(message, &self.0),
            Error::RateLimited { message, code, limit, .. } => {
                redact(message, &self.0);
                self.redact_code(code);
                self.redact_code(limit);
            }
            Error::Unavailable { message, .. } | Error::InvalidResponse { message } => {
                redact(message, &self.0)
            }
            _ => {}
        }
        error
    }

    fn redact_code(&self, code: &mut Option<String>) {
        let longer = self.0.iter().filter(|word| word.len() >= LONGER);
        code.iter_mut().for_each(|code| redact(code, longer.clone()));
    }

    fn redact_rejection(&self, no: &mut Rejection) {
        redact(&mut no.message, &self.0);
        self.redact_code(&mut no.code);
        for (mut name, mut text) in std::mem::take(&mut no.fields) {
            redact(&mut name, &self.0);
            redact(&mut text, &self.0);
            no.fields.insert(name, text);
        }
    }
}

fn redact<'a>(text: &mut String, words: impl IntoIterator<Item = &'a Zeroizing<String>>) {
    for word in words {
        if text.contains(word.as_str()) {
            let redacted = text.replace(word.as_str(), REDACTED);
            std::mem::replace(text, redacted).zeroize();
        }
    }
}

/// A request that is wiped when it is dropped.
pub(super) struct Wiped(pub(super) Request);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.path.zeroize();
        self.0.params.values_mut().for_each(wipe);
    }
}

fn is_code(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Verify, request};
    use crate::wire::{Format, Generation};
    use serde_json::json;

    #[test]
    fn a_request_is_wiped() {
        let call = Verify::new(12.try_into().unwrap(), "7654321".parse().unwrap());
        let mut request = request(&call, Format::Json, Generation::Current);
        request.params.insert("a".into(), json!({"b": ["text", 1]}));
        request.params.values_mut().for_each(wipe);
        assert_eq!(request.params["a"], json!({"b": ["", 1]}));
    }

    #[test]
    fn a_rejection_repeats_no_secret() {
        let call = Verify::new(12.try_into().unwrap(), "7654321".parse().unwrap());
        let request = request(&call, Format::Json, Generation::Current);
        let mut body = json!({"message": "no 7654321 with the-key", "error_code": "60020",
            "errors": {"message": ["7654321"], "token": "is invalid"}, "token": "is invalid"});
        Redactor::new(&request, &Credential::Key("the-key".parse().unwrap()))
            .redact_value(&mut body);
        let wanted = json!({"message": "no [redacted] with [redacted]", "error_code": "60020",
            "errors": {"message": ["[redacted]"], "token": "is invalid"}, "token": "is invalid"});
        assert_eq!(body, wanted);
    }

    #[test]
    fn an_error_repeats_no_secret_wherever_it_stands() {
        let call = Verify::new(60020.try_into().unwrap(), "7654321".parse().unwrap());
        let request = request(&call, Format::Json, Generation::Older);
        // The user's number is a part of the key.
        let words = Redactor::new(&request, &Credential::Key("key+600200".parse().unwrap()));
        let fields = [("7654321", "key+600200"), ("errors", "60020")];
        let rejection = |code: &str| {
            Error::Rejected(Box::new(Rejection {
                status: 200,
                code: Some(code.to_owned()),
                message: "?api_key=key%2B600200".to_owned(),
                fields: fields.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            }))
        };
        let shown = words.redact_error(rejection("key+600200")).to_string();
        let wanted = "?api_key=[redacted] (status 200, code [redacted]; [redacted] [redacted]; \
            errors [redacted])";
        assert!(shown.contains(wanted), "{shown}");
        let shown = words.redact_error(rejection("60020")).to_string();
        assert!(shown.contains("code 60020"), "{shown}");
        let (message, code) = ("no key+600200".to_owned(), Some("key+600200".to_owned()));
        let limit = code.clone();
        let limited = Error::RateLimited { message, retry_after: None, code, limit };
        let limited = words.redact_error(limited);
        assert_eq!((limited.code(), limited.limit()), (Some(REDACTED), Some(REDACTED)));
        assert_eq!(limited.to_string(), "no [redacted]. Try again later");
        let wrong = |message: &str| Error::TokenWrong {
            parameter: "verification_code".into(),
            message: message.to_owned(),
            code: "60022".to_owned(),
        };
        assert_eq!(words.redact_error(wrong("not 7654321")), wrong("not [redacted]"));
        let error = words.redact_error(Error::invalid_response("it redirects to 7654321.example"));
        assert_eq!(error, Error::invalid_response("it redirects to [redacted].example"));
    }
}
