//! The older generation of the interface (interface 9), translated at the edge, up and down.
//! Everything inside knows only the current one.

use serde_json::Value;

/// How the older generation words a success that the current one words with `message` and
/// `success`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As the current one.
    Same,
    /// Without either.
    Bare,
    /// `ignored` or else `success` holds the message (interface 4.2, rule 2).
    Said,
    /// `success` is the text `true` (interface 4.5).
    Text,
}

/// Reads what either generation says as the current one says it. Where the generations do not
/// differ, nothing is read into a flag: a verification's `success` is not just any text.
pub fn upgrade(shape: Shape, body: &mut Value) {
    let Value::Object(body) = body else { return };
    // The older generation told of success in a text, and of failure in `errors`.
    if shape == Shape::Same || body.contains_key("errors") || body.contains_key("error_code") {
        return;
    }
    for flag in ["ignored", "success"] {
        let Some(Value::String(said)) = body.get(flag) else { continue };
        // A sentence is what was said; a word is a flag, whatever flag it is.
        if !said.contains(' ') {
            continue;
        }
        let said = std::mem::take(&mut body[flag]);
        body.insert(flag.into(), true.into());
        body.entry("success").or_insert(true.into());
        body.entry("message").or_insert(said);
    }
}

/// Words a success of the current generation as the older one did.
pub fn downgrade(shape: Shape, body: &mut Value) {
    let Value::Object(body) = body else { return };
    match shape {
        Shape::Same => {}
        Shape::Bare => {
            body.shift_remove("message");
            body.shift_remove("success");
        }
        Shape::Said => {
            let Some(message) = body.shift_remove("message") else { return };
            let ignored = body.get("ignored") == Some(&Value::Bool(true));
            body.shift_remove("success");
            body.insert(if ignored { "ignored" } else { "success" }.into(), message);
        }
        Shape::Text => drop(body.insert("success".into(), "true".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_said_is_a_flag_and_a_message() {
        for (older, current) in [
            (json!({"success": "SMS sent"}), json!({"success": true, "message": "SMS sent"})),
            (
                json!({"ignored": "SMS is not needed"}),
                json!({"ignored": true, "success": true, "message": "SMS is not needed"}),
            ),
            (json!({"success": "false"}), json!({"success": "false"})),
            (json!({"success": "True"}), json!({"success": "True"})),
            (json!({"user": {"id": 1}}), json!({"user": {"id": 1}})),
            (json!([1]), json!([1])),
        ] {
            let mut body = older.clone();
            upgrade(Shape::Said, &mut body);
            assert_eq!(body, current, "{older}");
        }
    }

    #[test]
    fn a_text_is_no_flag_where_the_generations_do_not_differ() {
        let mut body = json!({"token": "is valid", "success": "yes"});
        upgrade(Shape::Same, &mut body);
        assert_eq!(body, json!({"token": "is valid", "success": "yes"}));
    }

    #[test]
    fn a_success_is_worded_as_it_was() {
        let down = |shape, mut body: Value| {
            downgrade(shape, &mut body);
            body
        };
        let sent = json!({"message": "SMS sent", "success": true, "cellphone": "x"});
        assert_eq!(down(Shape::Said, sent), json!({"cellphone": "x", "success": "SMS sent"}));
        let ignored = json!({"message": "Not needed", "ignored": true, "success": true});
        assert_eq!(down(Shape::Said, ignored), json!({"ignored": "Not needed"}));
        let user = json!({"user": {"id": 1}, "message": "m", "success": true});
        assert_eq!(down(Shape::Bare, user), json!({"user": {"id": 1}}));
        let gone = json!({"message": "m", "success": true});
        assert_eq!(down(Shape::Text, gone), json!({"message": "m", "success": "true"}));
    }
}
