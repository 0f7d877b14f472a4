//! Reasons of failures, for operators: one short line, without anything that must not be in a log.

use super::Outgoing;
use seconder::engine::Outcome;

const REDACTED: &str = "[redacted]";
/// The longest reason. More would fill logs with the text of a provider.
const LONGEST: usize = 200;
/// The number of digits in a row from which on they may be a phone number, also without its calling code.
const NUMBER: usize = 7;
/// Codes have 4 to 12 digits.
const CODE: usize = 4;

/// Makes a reason of an error, which may repeat the response of a provider: without the code, the text, the number and
/// these secrets, without control characters, and with 200 characters at most.
pub fn reason(wrong: &str, message: &Outgoing<'_>, secrets: &[&str]) -> String {
    let mut words: Vec<&str> = secrets.to_vec();
    words.extend([message.text, message.to, message.code]);
    let urls = [message.urls.receipt, message.urls.document];
    words.extend(urls.iter().filter_map(|url| url.rsplit('/').next()));
    // A code inside a password would otherwise be replaced first, and leave the rest readable.
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut text = wrong.to_owned();
    for word in words.into_iter().filter(|word| word.len() >= CODE) {
        let encoded = seconder::wire::form::escape(word);
        let spellings = [word.to_owned(), encoded.replace("%20", "+"), encoded];
        text = spellings.iter().fold(text, |text, spelling| text.replace(spelling, REDACTED));
    }
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    without_numbers(&text, message.code).chars().map(plain).take(LONGEST).collect()
}

/// Removes secrets from the reason of an attempt's failure.
pub(super) fn redacted(outcome: Outcome, message: &Outgoing<'_>, secrets: &[&str]) -> Outcome {
    let said = |wrong: String| reason(&wrong, message, secrets);
    match outcome {
        Outcome::Retry { after, reason } => Outcome::Retry { after, reason: said(reason) },
        Outcome::Permanent(reason) => Outcome::Permanent(said(reason)),
        Outcome::NumberRefused(reason) => Outcome::NumberRefused(said(reason)),
        Outcome::Ambiguous(reason) => Outcome::Ambiguous(said(reason)),
        sent => sent,
    }
}

/// Replaces runs of digits that may be a number or have the code in them, however they are grouped.
fn without_numbers(text: &str, code: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        left.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && !" -.()/".contains(c));
        let run = rest[..end.unwrap_or(rest.len())].trim_end_matches(|c: char| !c.is_ascii_digit());
        let digits: String = run.chars().filter(char::is_ascii_digit).collect();
        let has_code = code.len() >= CODE && digits.contains(code);
        left.push_str(if has_code || digits.len() >= NUMBER { REDACTED } else { run });
        rest = &rest[run.len()..];
    }
    left + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Urls;
    use seconder::calls::Channel;

    fn said(wrong: &str) -> String {
        let message = Outgoing {
            id: "00112233445566aa",
            to: "+15550100123",
            text: "Your code is 48151.\nDo not share it",
            language: "en",
            code: "48151",
            from: "Example",
            channel: Channel::Sms,
            urls: Urls { receipt: "https://s.example/receipts/a/b-3c4d5", document: "" },
        };
        reason(wrong, &message, &["hunter2", "p&w 1"])
    }

    #[test]
    fn a_reason_repeats_no_secret_however_it_is_written() {
        for wrong in [
            "no +15550100123 here",
            "no 15550100123 here",
            "no 555-010-0123 here",
            "no (555) 010 0123 here",
            "no 48151 here",
            "no https://s.example/receipts/a/b-3c4d5 here",
            "no b-3c4d5 here",
            "no 48 151 here",
            "no 4-8-1-5-1 here",
            "no Your code is 48151.\nDo not share it here",
            "no Your+code+is+48151.%0ADo+not+share+it here",
            "no Your%20code%20is%2048151.%0ADo%20not%20share%20it here",
            "no hunter2 here",
            "no p%26w%201 here",
            "no p&w 1 here",
        ] {
            let said = said(wrong);
            assert!(said.contains(REDACTED), "{said}");
            for secret in ["0123", "48151", "8151", "share", "hunter2", "p&w", "p%26w"] {
                assert!(!said.contains(secret), "{said}");
            }
            assert!(said.starts_with("no ") && said.ends_with(" here"), "{said}");
        }
    }

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(
            said("status 400, code 21211: \r\n bad\u{1b}[31m"),
            "status 400, code 21211:    bad [31m"
        );
        assert_eq!(said(&"ä".repeat(500)), "ä".repeat(200));
    }
}
