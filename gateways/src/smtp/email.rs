//! The e-mail that a message becomes.

use super::settings::Config;
use crate::Outgoing;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, SinglePart};
use seconder::calls::Channel;

/// The sender and the recipient of an e-mail, and its text as it is transferred.
pub(super) struct Email {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) content: Vec<u8>,
}

const LONGEST_SUBJECT: usize = 200;
const TO: &str = "{{to}}";
const TO_DIGITS: &str = "{{to_digits}}";
const CODE: &str = "{{code}}";
const FROM: &str = "{{from}}";

/// Returns whether this is the template of an address.
pub(super) fn is_recipient(template: &str) -> bool {
    let is_for = |to: &str| filled(template, to).is_some_and(|address| is_address(&address));
    (template.contains(TO) || template.contains(TO_DIGITS))
        && (is_for("ada@example.com") || is_for("+15550100123"))
}

/// Returns whether this is the template of a subject.
pub(super) fn is_subject(template: &str) -> bool {
    template.chars().count() <= LONGEST_SUBJECT
        && !template.chars().any(char::is_control)
        && !template.replace(CODE, "").replace(FROM, "").contains("{{")
}

/// Returns whether this is an address without quotes and comments, which nothing can be added to.
pub(super) fn is_address(text: &str) -> bool {
    let Some((user, domain)) = text.rsplit_once('@') else { return false };
    let in_user =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte);
    let in_domain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    user.bytes().all(in_user)
        && domain.bytes().all(in_domain)
        && text.parse::<lettre::Address>().is_ok()
}

/// Returns the address for this recipient; `None` if the template needs a number, and the recipient
/// is not one.
fn filled(template: &str, to: &str) -> Option<String> {
    let digits = to.strip_prefix('+').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if digits.is_none() && template.contains(TO_DIGITS) {
        return None;
    }
    // The recipient may look like a placeholder, so the digits are first.
    Some(template.replace(TO_DIGITS, digits.unwrap_or_default()).replace(TO, to))
}

impl Email {
    /// # Errors
    /// The reason why no attempt can succeed.
    pub(super) fn new(config: &Config, message: &Outgoing<'_>) -> Result<Email, String> {
        if message.channel != Channel::Sms {
            return Err("SMTP carries texts only".to_owned());
        }
        let to = filled(&config.to, message.to).filter(|to| is_address(to));
        let to = to.ok_or("the recipient has no address by the setting `to`")?;
        let recipient: Mailbox =
            to.parse().map_err(|_| "the recipient has no address by the setting `to`")?;
        let from = sender(config, message.from);
        let mail_from = from.email.to_string();
        let id = one_line(message.id).replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let id = format!("<{id}@{}>", from.email.domain());
        // Otherwise a machine may respond that the user is away.
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mut email = Message::builder()
            .from(from)
            .to(recipient)
            .message_id(Some(id))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()));
        if let Some(subject) = &config.subject {
            // The code has no braces, so nothing is replaced twice.
            let subject = subject.replace(CODE, message.code).replace(FROM, message.from);
            email = email.subject(one_line(&subject));
        }
        let email = email.singlepart(SinglePart::plain(message.text.to_owned()));
        let email = email.map_err(|error| format!("no e-mail could be made: {error}"))?;
        Ok(Email { from: mail_from, to, content: transferred(&email.formatted()) })
    }
}

/// Returns the sender. The sender of the route replaces the address, or is the name that is shown
/// with it.
fn sender(config: &Config, from: &str) -> Mailbox {
    match from.parse::<Mailbox>() {
        Ok(from) if is_address(from.email.as_ref()) => from,
        _ if from.is_empty() => config.from.clone(),
        _ => Mailbox::new(Some(one_line(from)), config.from.email.clone()),
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the content with its end. Lines that begin with a dot get another one, and all end
/// alike.
fn transferred(content: &[u8]) -> Vec<u8> {
    let mut transferred = Vec::with_capacity(content.len() + 8);
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    for line in content.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.starts_with(b".") {
            transferred.push(b'.');
        }
        // A line break of the one kind or the other, and never half of one.
        transferred.extend(line.iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }));
        transferred.extend_from_slice(b"\r\n");
    }
    transferred.extend_from_slice(b".\r\n");
    transferred
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Urls;
    use serde_json::{Value, json};

    fn config(settings: Value) -> Config {
        let mut all = json!({"host": "localhost", "tls": "none", "from": "login@example.com"});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        Config::read(all.as_object().unwrap(), &Default::default()).unwrap()
    }

    fn message<'a>(to: &'a str, from: &'a str, text: &'a str) -> Outgoing<'a> {
        let (id, code, channel) = ("00112233445566aa", "48151", Channel::Sms);
        Outgoing { id, to, text, language: "en", code, from, channel, urls: Urls::default() }
    }

    /// Returns the headers and the body.
    fn email(settings: Value, message: &Outgoing<'_>) -> (String, String) {
        let email = Email::new(&config(settings), message).unwrap();
        let text = String::from_utf8(email.content).unwrap();
        let (headers, body) = text.split_once("\r\n\r\n").unwrap();
        (headers.to_owned(), body.to_owned())
    }

    #[test]
    fn an_email_has_the_id_of_its_message() {
        let (headers, body) = email(
            json!({"subject": "{{from}}: {{code}}"}),
            &message("ada@example.com", "Example", "Your code is 48151"),
        );
        let lines: Vec<&str> = headers.split("\r\n").collect();
        for line in [
            "From: Example <login@example.com>",
            "To: ada@example.com",
            "Message-ID: <00112233445566aa@example.com>",
            "Auto-Submitted: auto-generated",
            "Subject: Example: 48151",
            "Content-Type: text/plain; charset=utf-8",
        ] {
            assert!(lines.contains(&line), "{line} in {headers}");
        }
        assert!(lines.iter().any(|line| line.starts_with("Date: ")), "{headers}");
        assert_eq!(body, "Your code is 48151\r\n.\r\n");
    }

    #[test]
    fn nothing_adds_a_header_or_a_recipient() {
        let evil = "x\r\nBcc: eve@example.net\r\n\r\nx";
        let outgoing =
            Outgoing { id: evil, code: evil, ..message("ada@example.com", evil, "hello") };
        let (headers, body) = email(json!({"subject": "{{from}} {{code}}"}), &outgoing);
        assert!(!headers.contains("\nBcc") && !headers.contains("\n\n"), "{headers}");
        assert_eq!(body, "hello\r\n.\r\n");
        for to in [
            "ada@example.com>\r\nRCPT TO:<eve@example.net",
            "ada@example.com,eve@example.net",
            "\"a\r\n\"@example.com",
            "\"a b\"@example.com",
            "<ada@example.com>",
            "ada@[127.0.0.1]",
            "ada",
            "",
        ] {
            let refused = Email::new(&config(json!({})), &message(to, "", "hello"));
            assert!(refused.err().unwrap().contains("no address"), "{to}");
        }
    }

    #[test]
    fn no_line_of_a_text_ends_the_email() {
        for text in ["a\r\n.\r\nMAIL FROM:<>", "a\n.\nb", "a\r.\rb", "."] {
            let (_, body) = email(json!({}), &message("ada@example.com", "", text));
            let end = body.find("\r\n.\r\n").unwrap();
            assert_eq!(end, body.len() - 5, "{body:?}");
            assert!(!body.replace("\r\n", "").contains(['\r', '\n']), "{body:?}");
        }
        assert_eq!(transferred(b".a\n..\r\nb"), b"..a\r\n...\r\nb\r\n.\r\n");
        assert_eq!(transferred(b"a\r\n"), b"a\r\n.\r\n");
    }

    #[test]
    fn a_number_is_reached_by_an_address() {
        let settings = json!({"to": "{{to_digits}}@sms.example.net"});
        let sms = Email::new(&config(settings.clone()), &message("+15550100123", "", "hello"));
        assert_eq!(sms.unwrap().to, "15550100123@sms.example.net");
        let other = Email::new(&config(settings), &message("ada@example.com", "", "hello"));
        assert!(other.err().unwrap().contains("no address"));
        for template in ["{{to}}", "{{to}}@sms.example.net", "0{{to_digits}}.s@example.net"] {
            assert!(is_recipient(template), "{template}");
        }
        for template in ["", "ada@example.com", "{{to_digits}}", "{{to}}, x@y.z", "{{id}}@x.z"] {
            assert!(!is_recipient(template), "{template}");
        }
    }

    #[test]
    fn a_call_is_no_email() {
        let call = Outgoing { channel: Channel::Call, ..message("ada@example.com", "", "hello") };
        assert!(Email::new(&config(json!({})), &call).err().unwrap().contains("texts only"));
    }
}
