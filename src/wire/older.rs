//! Translates between the older generation of the interface (interface 9) and the current one, so
//! that the rest of the library deals only with the current one.

use serde_json::{Map, Value};

/// Representations of a success in the older generation, where the current one has `message` and
/// `success`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The same as in the current generation, as for push calls.
    Same,
    /// `success` is the text `true`.
    Flag,
    /// Neither field, and nothing except the objects.
    Bare,
    /// The message is in `ignored` or else in `success` (interface 4.2, rule 2).
    MessageAsFlag,
    /// `success` is the text `true`, and some services put the message there (interface 4.5).
    Text,
}

/// Converts a success of either generation to the current one. With [`Shape::Same`] and
/// [`Shape::Flag`], messages are not converted to flags: not every text in the `success` of a check
/// means success.
pub fn upgrade(shape: Shape, body: &mut Value) {
    let Value::Object(body) = body else { return };
    // The older generation reports failures in `errors`; only successes need to be converted.
    if matches!(shape, Shape::Same | Shape::Flag) || super::has_error(body) {
        return;
    }
    for flag in ["ignored", "success"] {
        let Some(Value::String(text)) = body.get(flag) else { continue };
        // A text with a space is a message; a single word, such as `false`, is a flag.
        if !text.contains(' ') {
            continue;
        }
        let message = std::mem::take(&mut body[flag]);
        body.insert(flag.into(), true.into());
        body.entry("success").or_insert(true.into());
        body.entry("message").or_insert(message);
    }
}

/// Converts a success of the current generation to the older one.
pub fn downgrade(shape: Shape, body: &mut Value) {
    let Value::Object(body) = body else { return };
    match shape {
        Shape::Same => {}
        Shape::Bare => body.retain(|_, value| value.is_object()),
        Shape::MessageAsFlag => {
            let Some(message) = body.shift_remove("message") else { return success_as_text(body) };
            let ignored = body.get("ignored") == Some(&Value::Bool(true));
            body.shift_remove("success");
            body.insert(if ignored { "ignored" } else { "success" }.into(), message);
        }
        Shape::Flag | Shape::Text => success_as_text(body),
    }
}

fn success_as_text(body: &mut Map<String, Value>) {
    if let Some(Value::Bool(flag)) = body.get("success") {
        let text = flag.to_string();
        body.insert("success".into(), text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_in_a_flag_becomes_a_flag_and_a_message() {
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
            upgrade(Shape::MessageAsFlag, &mut body);
            assert_eq!(body, current, "{older}");
        }
    }

    #[test]
    fn a_text_is_not_converted_where_the_generations_do_not_differ() {
        for shape in [Shape::Same, Shape::Flag] {
            let mut body = json!({"message": "m", "success": "no such code"});
            upgrade(shape, &mut body);
            assert_eq!(body, json!({"message": "m", "success": "no such code"}));
        }
    }

    #[test]
    fn a_success_is_converted_to_the_older_generation() {
        let down = |shape, mut body: Value| {
            downgrade(shape, &mut body);
            body
        };
        let sent = json!({"message": "SMS sent", "success": true, "cellphone": "x"});
        assert_eq!(
            down(Shape::MessageAsFlag, sent),
            json!({"cellphone": "x", "success": "SMS sent"})
        );
        let ignored = json!({"message": "Not needed", "ignored": true, "success": true});
        assert_eq!(down(Shape::MessageAsFlag, ignored), json!({"ignored": "Not needed"}));
        let user = json!({"user": {"id": 1}, "message": "m", "install_message": "sent",
            "success": true});
        assert_eq!(down(Shape::Bare, user), json!({"user": {"id": 1}}));
        let gone = json!({"message": "m", "success": true});
        assert_eq!(down(Shape::Text, gone.clone()), json!({"message": "m", "success": "true"}));
        assert_eq!(down(Shape::Flag, gone.clone()), json!({"message": "m", "success": "true"}));
        assert_eq!(down(Shape::Same, gone.clone()), gone);
        let not_checked = json!({"token": "not checked", "success": "false"});
        assert_eq!(down(Shape::Flag, not_checked.clone()), not_checked);
    }
}
