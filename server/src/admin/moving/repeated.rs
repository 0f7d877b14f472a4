//! Fields that are in a line of JSON twice. The parser takes the last one, which may not be the one that was meant.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Returns the name of a field that an object of this text has twice, at any depth; `None` also if it is no JSON.
pub(super) fn name(text: &[u8]) -> Option<String> {
    let mut found = None;
    let mut from = serde_json::Deserializer::from_slice(text);
    let _ = Checked(&mut found).deserialize(&mut from);
    found
}

/// The destination of the name.
struct Checked<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Checked<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                *self.0 = Some(name);
                return Err(A::Error::custom("a field is there twice"));
            }
            names.insert(name);
            map.next_value_seed(Checked(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Checked(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_there_twice_is_found_at_any_depth() {
        for (text, expected) in [
            (r#"{"id":1,"id":2}"#, Some("id")),
            (r#"{"id":1,"\u0069d":2}"#, Some("id")),
            (r#"{"devices":[{"id":1},{"id":2,"id":3}]}"#, Some("id")),
            (r#"{"id":1,"devices":[{"id":1.5,"a":null,"b":[true,"x",-1]}]}"#, None),
            (r#"{"id":1,"#, None),
            ("", None),
        ] {
            assert_eq!(name(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }
}
