//! What a service repeats of a call when it refuses it ends up in errors and logs, so the secrets of
//! the call are taken out before.

use crate::model::Secret;
use crate::wire::{Request, scalar};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

const HIDDEN: &str = "(hidden)";
/// Codes have 4 to 12 digits, phone numbers as many.
const SHORTEST: usize = 4;

/// Takes the API key, the code and the numbers of a call out of the texts of a refusal.
pub(super) fn secrets(body: &mut Value, request: &Request, api_key: &Secret) {
    let in_path = request.path.split('/').map(str::to_owned);
    let in_params = request.params.values().filter_map(scalar);
    let words = in_path.chain(in_params).map(Zeroizing::new).filter(|word| is_code(word));
    let mut words: Vec<_> = words.collect();
    words.push(Zeroizing::new(api_key.expose().to_owned()));
    hide(body, &words);
}

/// A request that is wiped when it goes.
pub(super) struct Wiped(pub(super) Request);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.path.zeroize();
        self.0.params.values_mut().for_each(wipe);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        _ => {}
    }
}

fn is_code(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn hide(value: &mut Value, words: &[Zeroizing<String>]) {
    match value {
        Value::String(text) => {
            for word in words {
                if text.contains(word.as_str()) {
                    let hidden = text.replace(word.as_str(), HIDDEN);
                    std::mem::replace(text, hidden).zeroize();
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, words)),
        Value::Object(fields) => {
            // A code that decides must stay readable: it never is one of the call's own words.
            let texts = fields.iter_mut().filter(|(name, _)| *name != "error_code");
            texts.for_each(|(_, text)| hide(text, words));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Verify, request};
    use crate::wire::{Format, Generation};
    use serde_json::json;

    #[test]
    fn a_request_is_wiped() {
        let call = Verify::new("7654321".parse().unwrap(), 12.try_into().unwrap());
        let mut request = request(&call, Format::Json, Generation::Current);
        request.params.insert("a".into(), json!({"b": ["text", 1]}));
        request.params.values_mut().for_each(wipe);
        assert_eq!(request.params["a"], json!({"b": ["", 1]}));
    }

    #[test]
    fn a_refusal_repeats_no_secret() {
        let call = Verify::new("7654321".parse().unwrap(), 12.try_into().unwrap());
        let request = request(&call, Format::Json, Generation::Current);
        let mut body = json!({"message": "no 7654321 with the-key", "error_code": "60020",
            "errors": {"message": ["7654321"], "token": "is invalid"}, "token": "is invalid"});
        secrets(&mut body, &request, &Secret::new("the-key"));
        let wanted = json!({"message": "no (hidden) with (hidden)", "error_code": "60020",
            "errors": {"message": ["(hidden)"], "token": "is invalid"}, "token": "is invalid"});
        assert_eq!(body, wanted);
    }
}
