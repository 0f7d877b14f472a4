//! Redaction of URLs in the errors of senders, which are stored and shown.

/// Returns the text without the parts of URLs other than their host and path: a user and a
/// password, and parameters, which say who approved what.
pub(in crate::engine) fn without_parameters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['?', '@']) {
        let (before, after) = rest.split_at(at);
        shown.push_str(before);
        rest = &after[1..];
        if after.starts_with('@') {
            match shown.rfind("://").map(|scheme| scheme + 3) {
                Some(start) if !shown[start..].contains(ends_authority) => shown.truncate(start),
                _ => shown.push('@'),
            }
            continue;
        }
        // A question mark at the end of a sentence stays.
        shown.push('?');
        let query = rest.find(ends_url).unwrap_or(rest.len());
        if query > 0 {
            shown.push('…');
            rest = &rest[query..];
        }
    }
    shown + rest
}

fn ends_url(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "\"'<>()[]{}`,;|\\^".contains(letter)
}

fn ends_authority(letter: char) -> bool {
    letter == '/' || ends_url(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_users_and_passwords_are_left_out() {
        for (text, shown) in [
            ("connection refused", "connection refused"),
            ("is this an http: port? Or none?", "is this an http: port? Or none?"),
            ("https://a.example/cb?x=1&y=2", "https://a.example/cb?…"),
            ("at /cb?status=approved (Caused by X)", "at /cb?… (Caused by X)"),
            ("'https://a/?x=1', 'b?y=2'", "'https://a/?…', 'b?…'"),
            ("http://ada:pass@word@a.example/cb: no", "http://a.example/cb: no"),
            ("ask ada@example.com", "ask ada@example.com"),
            ("https://a.example/@ada", "https://a.example/@ada"),
            ("https://a.example by ada@example.com", "https://a.example by ada@example.com"),
            ("?x=1?y=2", "?…"),
            ("", ""),
        ] {
            assert_eq!(without_parameters(text), shown);
        }
    }
}
