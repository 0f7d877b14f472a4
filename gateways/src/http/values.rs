//! The values of placeholders.

use super::template::xml;
use crate::{Outgoing, voices};
use seconder::model::Secret;
use std::borrow::Cow;

/// The name of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    To,
    ToDigits,
    From,
    Text,
    Language,
    VoiceLanguage,
    Code,
    Id,
    Channel,
    Spoken,
    SpokenText,
    Alphabet,
    Coding,
    ReceiptUrl,
    DlrMask,
    DocumentUrl,
    SpokenSsml,
    SpokenTextSsml,
    /// The value of a setting of the gateway.
    Setting(usize),
}

/// The placeholders of messages, as the documents list them.
pub(super) const NAMES: &[(&str, Name)] = &[
    ("to", Name::To),
    ("to_digits", Name::ToDigits),
    ("from", Name::From),
    ("text", Name::Text),
    ("language", Name::Language),
    ("voice_language", Name::VoiceLanguage),
    ("code", Name::Code),
    ("id", Name::Id),
    ("channel", Name::Channel),
    ("spoken", Name::Spoken),
    ("spoken_text", Name::SpokenText),
    ("alphabet", Name::Alphabet),
    ("coding", Name::Coding),
    ("receipt_url", Name::ReceiptUrl),
    ("dlr_mask", Name::DlrMask),
    ("document_url", Name::DocumentUrl),
    ("spoken_ssml", Name::SpokenSsml),
    ("spoken_text_ssml", Name::SpokenTextSsml),
];

/// The values of one message.
pub(super) struct Values<'a> {
    pub(super) message: &'a Outgoing<'a>,
    /// The values in the order of the names that the templates were read with.
    pub(super) settings: &'a [Secret],
}

impl<'a> Values<'a> {
    pub(super) fn get(&self, name: Name) -> Cow<'a, str> {
        let Outgoing { id, to, text, language, code, from, channel, urls } = *self.message;
        match name {
            Name::To => to.into(),
            Name::ToDigits => to.strip_prefix('+').unwrap_or(to).into(),
            Name::From => from.into(),
            Name::Text => text.into(),
            Name::Language => language.into(),
            Name::VoiceLanguage => voices::language(language).into(),
            Name::Code => code.into(),
            Name::Id => id.into(),
            Name::Channel => channel.name().into(),
            Name::Spoken => spoken(code).into(),
            Name::SpokenText if code.is_empty() => text.into(),
            Name::SpokenText => text.replace(code, &spoken(code)).into(),
            Name::Alphabet => if is_gsm(text) { "text" } else { "unicode" }.into(),
            Name::Coding => if is_gsm(text) { "0" } else { "2" }.into(),
            Name::ReceiptUrl => urls.receipt.into(),
            // Of Kannel: delivered, not delivered, and refused by the SMSC.
            Name::DlrMask => if urls.receipt.is_empty() { "0" } else { "19" }.into(),
            Name::DocumentUrl => urls.document.into(),
            Name::SpokenSsml => ssml(code).into(),
            Name::SpokenTextSsml if code.is_empty() => escaped(text).into(),
            Name::SpokenTextSsml => {
                let parts: Vec<String> = text.split(code).map(escaped).collect();
                parts.join(&ssml(code)).into()
            }
            Name::Setting(index) => self.settings.get(index).map_or("", Secret::expose).into(),
        }
    }
}

impl Name {
    /// Returns whether the value is XML itself, in which everything that was sent is escaped.
    pub(super) fn is_markup(self) -> bool {
        matches!(self, Name::SpokenSsml | Name::SpokenTextSsml)
    }
}

/// Returns a code in SSML, each character by itself.
fn ssml(code: &str) -> String {
    let characters: Vec<String> = code
        .chars()
        .map(|c| format!("<say-as interpret-as=\"characters\">{}</say-as>", xml(c)))
        .collect();
    characters.join("<break time=\"500ms\"/>")
}

fn escaped(text: &str) -> String {
    text.chars().map(xml).collect()
}

/// Returns a code for a voice, which would read it as one large number otherwise.
fn spoken(code: &str) -> String {
    let digits: Vec<String> = code.chars().map(String::from).collect();
    digits.join(" … ")
}

/// Returns whether an SMS can hold a text in the default alphabet of GSM (3GPP TS 23.038, 6.2.1), in which
/// more of it fits than in Unicode.
fn is_gsm(text: &str) -> bool {
    const OTHERS: &str =
        "\n\r @£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ!\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà^{}\\[~]|€";
    text.chars().all(|c| c.is_ascii_alphanumeric() || OTHERS.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_spoken_digit_by_digit() {
        assert_eq!(spoken("481"), "4 … 8 … 1");
        assert_eq!(spoken(""), "");
    }

    #[test]
    fn the_alphabet_of_gsm_is_recognised() {
        for gsm in ["Your code is 48151.\n@example.com #48151", "Ø € [~] {|}", ""] {
            assert!(is_gsm(gsm), "{gsm}");
        }
        for unicode in ["код", "ç", "“quoted”", "4 … 8", "\t", "á", "`"] {
            assert!(!is_gsm(unicode), "{unicode}");
        }
    }
}
