//! Checks that placeholders stand only where a parser of the body reads their value, regardless of
//! the value.

use super::template::{Part, Place, Template};

/// Checks a body.
///
/// # Errors
/// The error.
pub(super) fn check(template: &Template, place: Place) -> Result<(), String> {
    match place {
        Place::Json => json(template),
        Place::Xml => xml(template),
        Place::Form => form(template),
        Place::Url | Place::Header | Place::Text => Ok(()),
    }
}

/// Placeholders must stand inside strings. What surrounds them must be JSON.
fn json(template: &Template) -> Result<(), String> {
    let (mut inside, mut escaped) = (false, false);
    let mut sample = String::new();
    for part in template.parts() {
        match part {
            Part::Value(..) if !inside || escaped => {
                return Err("has a placeholder that is not inside a string".to_owned());
            }
            Part::Value(..) => sample.push('x'),
            Part::Literal(text) => {
                for c in text.chars() {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = inside,
                        '"' => inside = !inside,
                        _ => {}
                    }
                }
                sample.push_str(text);
            }
        }
    }
    let read = serde_json::from_str::<serde_json::Value>(&sample);
    read.map(drop).map_err(|_| "is not JSON".to_owned())
}

/// The part of the XML that a position in a body belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Markup {
    Text,
    Tag,
    Attribute(char),
    /// A comment, a section of CDATA or an instruction, and its end.
    Raw(&'static str),
}

/// Placeholders must stand in text, or in the value of an attribute. A parser takes nothing that is
/// escaped for these as the end of a comment, or as the name of a tag.
fn xml(template: &Template) -> Result<(), String> {
    const RAW: [(&str, &str); 4] =
        [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
    let mut markup = Markup::Text;
    // Set while a reference such as `&amp;` has begun and not ended.
    let mut reference = false;
    for part in template.parts() {
        let Part::Literal(text) = part else {
            if matches!(part, Part::Value(name, _) if name.is_markup()) && markup != Markup::Text {
                return Err("has SSML that is not in text".to_owned());
            }
            if reference || !matches!(markup, Markup::Text | Markup::Attribute(_)) {
                return Err("has a placeholder that is neither in text nor in the value of an \
                            attribute"
                    .to_owned());
            }
            continue;
        };
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let mut read = c.len_utf8();
            match (markup, c) {
                (Markup::Raw(end), _) if rest.starts_with(end) => {
                    (markup, read) = (Markup::Text, end.len());
                }
                (Markup::Raw(_), _) => {}
                (Markup::Text, '<') => {
                    let raw = RAW.iter().find(|(begin, _)| rest.starts_with(begin));
                    markup = raw.map_or(Markup::Tag, |(_, end)| Markup::Raw(end));
                    read = raw.map_or(1, |(begin, _)| begin.len());
                }
                (Markup::Tag, '>') => markup = Markup::Text,
                (Markup::Tag, '"' | '\'') => markup = Markup::Attribute(c),
                (Markup::Attribute(quote), _) if c == quote => markup = Markup::Tag,
                (Markup::Text | Markup::Attribute(_), '&') => reference = true,
                (Markup::Text | Markup::Attribute(_), ';') => reference = false,
                _ => {}
            }
            rest = &rest[read..];
        }
    }
    if markup != Markup::Text || reference {
        return Err("is not XML".to_owned());
    }
    Ok(())
}

/// Rejects a form with text around placeholders that is not encoded as it is sent.
fn form(template: &Template) -> Result<(), String> {
    let plain = |part: &Part| match part {
        Part::Literal(text) => text.bytes().all(|byte| byte.is_ascii_graphic()),
        Part::Value(..) => true,
    };
    match template.parts().iter().all(plain) {
        true => Ok(()),
        false => Err("has characters that must be percent-encoded in a form".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str, place: Place) -> Option<String> {
        check(&Template::read(body, &[]).unwrap(), place).err()
    }

    #[test]
    fn placeholders_in_json_stand_inside_strings() {
        for fine in [
            r#"{"to":"{{to}}"}"#,
            r#"["{{to}}{{code}} x"]"#,
            r#"{"{{to}}":1}"#,
            r#"{"a":"\\{{to}}\""}"#,
            "{}",
        ] {
            assert_eq!(problem(fine, Place::Json), None, "{fine}");
        }
        for bad in [
            r#"{"to":{{to}}}"#,
            r#"{"to":"\{{to}}"}"#,
            r#"{"to":"\u00{{code}}"}"#,
            r#"{{to}}"#,
            r#"{"to":"{{to}}"#,
            r#"{"a":"b",}"#,
            "",
        ] {
            assert!(problem(bad, Place::Json).is_some(), "{bad}");
        }
    }

    #[test]
    fn placeholders_in_xml_stand_in_text_and_in_attributes() {
        for fine in [
            "<m to='{{to}}' from=\"{{from}}\">{{text}}</m>",
            "<?xml version=\"1.0\"?><!DOCTYPE m><!-- > ' --><m>&amp;{{text}}<![CDATA[<]]></m>",
            "<m a='>'>{{text}}</m>",
            "<speak>{{spoken_ssml}}</speak>",
        ] {
            assert_eq!(problem(fine, Place::Xml), None, "{fine}");
        }
        for bad in [
            "<{{to}}/>",
            "<m {{to}}='a'/>",
            "<m a={{to}}/>",
            "<m><!-- {{to}} --></m>",
            "<m><![CDATA[{{to}}]]></m>",
            "<?xml {{to}}?><m/>",
            "<m>&{{to}};</m>",
            "<m a='{{spoken_ssml}}'/>",
            "<m a='{{spoken_text_ssml}}'/>",
            "<m>&#{{to}};</m>",
            "<m a='b>{{to}}",
            "<m",
        ] {
            assert!(problem(bad, Place::Xml).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_form_is_encoded_as_it_is_sent() {
        assert_eq!(problem("to={{to}}&text={{text}}&a=%20+b", Place::Form), None);
        for bad in ["to={{to}}&a=x y", "to={{to}}\n", "ä={{to}}"] {
            assert!(problem(bad, Place::Form).is_some(), "{bad}");
        }
    }
}
