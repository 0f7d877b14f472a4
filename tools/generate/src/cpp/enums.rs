//! Enums of the constants of C, for lines of the template such as `@enum Repeats of SECONDER_REPEATS_ or standard@`:
//! the last word is the value for `SECONDER_DEFAULT`. Constants of a type have it in place of the beginning.

use crate::Result;
use crate::model::Constant;
use crate::text::doc_comment;
use std::collections::BTreeMap;

/// Every enum of the template.
pub(super) struct Enums<'a>(Vec<Enum<'a>>);

struct Enum<'a> {
    place: &'a str,
    name: &'a str,
    /// The beginning of its constants.
    prefix: &'a str,
    /// The name of `SECONDER_DEFAULT`.
    default: Option<&'a str>,
    values: Vec<(String, &'a Constant)>,
}

impl<'a> Enums<'a> {
    pub(super) fn read(template: &'a str, constants: &'a [Constant]) -> Result<Enums<'a>> {
        let places = template.lines().filter_map(|line| line.strip_prefix('@')?.strip_suffix('@'));
        let enums = places.filter(|place| place.starts_with("enum "));
        Ok(Enums(enums.map(|place| Enum::read(place, constants)).collect::<Result<_>>()?))
    }

    /// The text of each enum, by its place.
    pub(super) fn parts(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|one| (one.place.to_owned(), self.written(one))).collect()
    }

    fn written(&self, one: &Enum<'_>) -> String {
        let mut text = format!("enum class {} : std::int32_t {{\n", one.name);
        if let Some(default) = one.default {
            text += &format!("    {default} = SECONDER_DEFAULT,\n");
        }
        for (value, Constant { name, docs, .. }) in &one.values {
            let docs = [self.name_in(&docs.0.join(" "))];
            text += &format!("{}    {value} = {name},\n", doc_comment(&docs, 4));
        }
        text + "};\n"
    }

    /// The text with values of enums in place of the constants of C.
    pub(super) fn name_in(&self, text: &str) -> String {
        let (mut named, mut rest) = (String::new(), text);
        while let Some(at) = rest.find("SECONDER_") {
            let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            let end = rest[at..].find(|c| !is_part(c)).map_or(rest.len(), |length| at + length);
            let (before, constant) = rest[..end].split_at(at);
            named += before;
            rest = &rest[end..];
            match (self.find(constant), self.0.iter().find(|one| one.prefix == constant)) {
                (Some(name), _) => named += &name,
                // All of them: `SECONDER_STAGE_...`.
                (None, Some(one)) => {
                    named += one.name;
                    rest = rest.strip_prefix("...").unwrap_or(rest);
                }
                (None, None) => named += constant,
            }
        }
        named + rest
    }

    fn find(&self, constant: &str) -> Option<String> {
        self.0.iter().find_map(|one| {
            let (value, _) = one.values.iter().find(|(_, known)| known.name == constant)?;
            Some(format!("{}::{value}", one.name))
        })
    }
}

impl<'a> Enum<'a> {
    fn read(place: &'a str, constants: &'a [Constant]) -> Result<Enum<'a>> {
        let words: Vec<&str> = place.split(' ').collect();
        let (name, prefix, default) = match words.as_slice() {
            ["enum", name, "of", prefix] => (*name, *prefix, None),
            ["enum", name, "of", prefix, "or", default] => (*name, *prefix, Some(*default)),
            _ => return Err(format!("{place}: says of no constants")),
        };
        let value = |constant: &'a Constant| {
            let start = match prefix {
                "seconder_status" => constant.is_status.then_some("SECONDER_"),
                prefix => Some(prefix),
            };
            Some((constant.name.strip_prefix(start?)?.to_lowercase(), constant))
        };
        let values: Vec<_> = constants.iter().filter_map(value).collect();
        match values.is_empty() {
            true => Err(format!("{place}: there are no such constants")),
            false => Ok(Enum { place, name, prefix, default, values }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Docs;

    #[test]
    fn constants_are_values_of_the_enum_that_has_their_beginning() {
        let constant = |name: &str, docs: &str, is_status| Constant {
            name: name.to_owned(),
            docs: Docs::parse(docs),
            is_status,
        };
        let constants = [
            constant("SECONDER_OK", "Good.", true),
            constant("SECONDER_REPEATS_ALL", "SECONDER_OK, SECONDER_NO.", false),
        ];
        let template =
            "@enum Status of seconder_status@\n@enum Repeats of SECONDER_REPEATS_ or usual@\n";
        let enums = Enums::read(template, &constants).unwrap();
        assert_eq!(
            enums.parts()["enum Repeats of SECONDER_REPEATS_ or usual"],
            "enum class Repeats : std::int32_t {\n    usual = SECONDER_DEFAULT,\n    \
             /// Status::ok, SECONDER_NO.\n    all = SECONDER_REPEATS_ALL,\n};\n"
        );
        assert_eq!(enums.name_in("one of SECONDER_REPEATS_..."), "one of Repeats");
        assert!(Enums::read("@enum Stage of SECONDER_STAGE_@", &constants).is_err());
    }
}
