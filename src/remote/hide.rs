//! What a service repeats of a call when it refuses it ends up in errors and logs, so the secrets of
//! the call are taken out before.

use crate::model::Secret;
use crate::wire::{Request, scalar};
use serde_json::Value;

const HIDDEN: &str = "(hidden)";
/// Codes have 4 to 12 digits, phone numbers as many.
const SHORTEST: usize = 4;

/// Takes the API key, the code and the numbers of a call out of the texts of a refusal.
pub(super) fn secrets(body: &mut Value, request: &Request, api_key: &Secret) {
    let in_path = request.path.split('/').map(str::to_owned);
    let in_params = request.params.values().filter_map(scalar);
    let mut words: Vec<String> = in_path.chain(in_params).filter(|word| is_code(word)).collect();
    words.push(api_key.expose().to_owned());
    hide(body, &words);
}

fn is_code(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn hide(value: &mut Value, words: &[String]) {
    match value {
        Value::String(text) => {
            for word in words {
                if text.contains(word.as_str()) {
                    *text = text.replace(word.as_str(), HIDDEN);
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
