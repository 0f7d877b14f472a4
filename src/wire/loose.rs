//! Deserialises calls and replies from values. Forms and XML carry every scalar as text, and
//! services have sent numbers as text and text as numbers, so either is accepted in place of the
//! other. The structs need no special attributes for that.

use serde::de::value::SeqDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};
use std::fmt;
use std::mem;

/// The prefix of fields that serde_json takes for numbers or texts of its own.
pub(crate) const RESERVED: &str = "$serde_json::private::";

/// A value that does not fit its field.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The innermost field, by its name in the interface.
    pub field: String,
    /// The reason why it is invalid.
    pub problem: String,
}

/// Deserialises a struct from an object.
///
/// # Errors
/// A [`Mismatch`] that names the first invalid field.
// Not inlined, so that all calls with one kind of reply share the code.
#[inline(never)]
pub fn read<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Mismatch> {
    T::deserialize(Loose(Value::Object(fields)))
}

/// Deserialises a struct whose fields are all optional, without the fields that do not fit: for
/// data that decides nothing and differs from service to service.
pub fn read_what_fits<T: DeserializeOwned + Default>(mut fields: Map<String, Value>) -> T {
    fields.retain(|name, value| read::<T>(Map::from_iter([(name.clone(), value.clone())])).is_ok());
    read(fields).unwrap_or_default()
}

/// Reads a field that the interface does not have. Other services may use its name for other data,
/// which is then ignored.
pub(crate) fn if_it_fits<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    #[derive(serde::Deserialize)]
    struct Said<T> {
        field: Option<T>,
    }
    let value = <Value as serde::Deserialize>::deserialize(from)?;
    let said = read::<Said<T>>(Map::from_iter([("field".to_owned(), value)]));
    Ok(said.ok().and_then(|said| said.field))
}

/// A value to read from, which is wiped when it is dropped: a mismatch can leave a code unread.
struct Loose(Value);

impl Drop for Loose {
    fn drop(&mut self) {
        super::wipe(&mut self.0);
    }
}

/// Returns whether a number is in canonical form. `+1` and `01` are other spellings of 1, and `-0` of 0;
/// they are rejected, because two readers could take them for different users.
fn is_canonical(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.starts_with('+') && (text == "0" || !digits.starts_with('0'))
}

impl Loose {
    /// Reads a whole number, from a text or by `number` from any other value.
    fn whole<T: std::str::FromStr>(
        &self,
        number: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, Mismatch> {
        let found = match self.0.as_str() {
            Some(text) if is_canonical(text) => text.parse().ok(),
            Some(_) => None,
            None => number(&self.0),
        };
        found.ok_or_else(|| mismatch("must be a whole number".into()))
    }
}

impl<'de> Deserializer<'de> for Loose {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Mismatch> {
        match &mut self.0 {
            Value::Object(fields) => visitor.visit_map(Fields::of(mem::take(fields))),
            Value::Array(items) => {
                let items: Vec<Loose> = mem::take(items).into_iter().map(Loose).collect();
                visitor.visit_seq(SeqDeserializer::new(items.into_iter()))
            }
            Value::String(text) => visitor.visit_string(mem::take(text)),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Null => visitor.visit_unit(),
            Value::Number(number) => {
                let as_float = number.as_f64().filter(|float| {
                    Number::from_f64(*float).is_some_and(|as_float| as_float == *number)
                });
                match (number.as_u64(), number.as_i64(), as_float) {
                    (Some(whole), ..) => visitor.visit_u64(whole),
                    (_, Some(whole), _) => visitor.visit_i64(whole),
                    (.., Some(float)) => visitor.visit_f64(float),
                    // More digits than these have: only a `Number` can hold it.
                    _ => (&*number)
                        .deserialize_any(visitor)
                        .map_err(|_| mismatch("has more digits than are understood".into())),
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let flag = match &self.0 {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => flag(text),
            Value::Number(number) => flag(&number.to_string()),
            _ => None,
        };
        visitor.visit_bool(flag.ok_or_else(|| mismatch("must be true or false".into()))?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_u64(self.whole(Value::as_u64)?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_i64(self.whole(Value::as_i64)?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let number = match &self.0 {
            Value::String(text) => text.parse().ok().and_then(|number: Number| number.as_f64()),
            other => other.as_f64(),
        };
        visitor.visit_f64(number.ok_or_else(|| mismatch("must be a number".into()))?)
    }

    fn deserialize_string<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Mismatch> {
        match &mut self.0 {
            // Moved and not copied, so that a type that wipes its text wipes the only copy.
            Value::String(text) => visitor.visit_string(mem::take(text)),
            other => match super::scalar(other) {
                Some(text) => visitor.visit_string(text),
                None => Err(mismatch("must be text".into())),
            },
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match &self.0 {
            Value::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => Err(mismatch("must be text".into())),
        }
    }

    /// A null field of a struct is treated as absent.
    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match &mut self.0 {
            Value::Object(fields) => visitor.visit_map(Fields {
                without_nulls: true,
                rest: mem::take(fields).into_iter(),
                next: None,
            }),
            _ => Err(mismatch("must be an object".into())),
        }
    }

    /// Forms with empty keys or the keys `0`, `1` and so on are parsed as lists, so a list is also
    /// accepted as a map with its indices as keys.
    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Mismatch> {
        match &mut self.0 {
            Value::Array(items) => {
                let keys = (0..).map(|index: usize| index.to_string());
                let fields = keys.zip(mem::take(items)).collect();
                Loose(Value::Object(fields)).deserialize_any(visitor)
            }
            // An empty object in XML.
            Value::String(text) if text.trim().is_empty() => {
                visitor.visit_map(Fields::of(Map::new()))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier
    }
}

/// Reads the flags that clients and services write, in any case.
fn flag(text: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (is_one_of(["true", "1", "yes"]), is_one_of(["false", "0", "no"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

impl IntoDeserializer<'_, Mismatch> for Loose {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// The fields of an object. A mismatch inside a field is given the field's name.
struct Fields {
    rest: serde_json::map::IntoIter,
    next: Option<(String, Value)>,
    without_nulls: bool,
}

impl Fields {
    fn of(fields: Map<String, Value>) -> Fields {
        Fields { rest: fields.into_iter(), next: None, without_nulls: false }
    }
}

impl Drop for Fields {
    /// Wipes the values that were not read, because reading stopped at a mismatch.
    fn drop(&mut self) {
        let next = self.next.take();
        self.rest.by_ref().chain(next).for_each(|(_, mut value)| super::wipe(&mut value));
    }
}

impl<'de> de::MapAccess<'de> for Fields {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Mismatch> {
        let without_nulls = self.without_nulls;
        self.next = self.rest.find(|(_, value)| !without_nulls || !value.is_null());
        let Some((name, _)) = &self.next else { return Ok(None) };
        if name.starts_with(RESERVED) {
            return Err(mismatch("has a name that is reserved".into()));
        }
        seed.deserialize(name.as_str().into_deserializer()).map(Some)
    }

    /// Not inlined, so that all fields of one type share the code, which keeps the library small.
    #[inline(never)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mismatch> {
        let (name, value) = self.next.take().ok_or_else(|| mismatch("has no value".into()))?;
        seed.deserialize(Loose(value)).map_err(|inner| inner.in_field(name))
    }
}

impl Mismatch {
    fn in_field(self, name: String) -> Mismatch {
        match self.field.is_empty() {
            true => Mismatch { field: name, ..self },
            false => self,
        }
    }
}

fn mismatch(problem: String) -> Mismatch {
    Mismatch { field: String::new(), problem }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(problem: T) -> Mismatch {
        mismatch(problem.to_string())
    }

    /// The message does not include the given value, which may be a secret.
    fn invalid_type(_given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Mismatch {
        mismatch(match expected.to_string().as_str() {
            "a map" => "must be an object".into(),
            "a sequence" => "must be a list".into(),
            expected => format!("must be {expected}"),
        })
    }

    fn invalid_value(given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Mismatch {
        Mismatch::invalid_type(given, expected)
    }

    fn unknown_variant(_variant: &str, known: &'static [&'static str]) -> Mismatch {
        mismatch(match known {
            [known @ .., last] if !known.is_empty() => {
                format!("must be {} or {last}", known.join(", "))
            }
            _ => format!("must be {}", known.concat()),
        })
    }

    fn missing_field(field: &'static str) -> Mismatch {
        Mismatch { field: field.into(), problem: "is required".into() }
    }
}

#[cfg(test)]
mod tests;
