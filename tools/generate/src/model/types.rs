//! The types of fields.

use super::Value;
use crate::Result;
use syn::{GenericArgument, PathArguments};

/// The type of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// `bool`
    Flag,
    /// `u64`
    Number,
    /// `i64`
    Signed,
    /// `String`
    Text,
    /// `IpAddr`
    Address,
    /// `Map<String, Value>`: a JSON object.
    Object,
    /// A type of `src/model`, whose text or number has a form.
    Value(Value),
    /// A struct or an enum of `src/calls`.
    Declared(String),
    Optional(Box<Type>),
    List(Box<Type>),
}

impl Type {
    pub(super) fn parse(kind: &syn::Type) -> Result<Type> {
        let syn::Type::Path(path) = kind else { return Err("its type has no name".to_owned()) };
        let Some(last) = path.path.segments.last() else {
            return Err("its type has no name".to_owned());
        };
        let name = last.ident.to_string();
        let inner = || match &last.arguments {
            PathArguments::AngleBracketed(list) => match list.args.first() {
                Some(GenericArgument::Type(inner)) => Ok(Box::new(Type::parse(inner)?)),
                _ => Err(format!("{name} has no argument")),
            },
            _ => Err(format!("{name} has no argument")),
        };
        Ok(match name.as_str() {
            "bool" => Type::Flag,
            "u64" => Type::Number,
            "i64" => Type::Signed,
            "String" => Type::Text,
            "IpAddr" => Type::Address,
            "Map" => Type::Object,
            "Option" => Type::Optional(inner()?),
            "Vec" | "Items" => Type::List(inner()?),
            other => match Value::named(other) {
                Some(value) => Type::Value(value),
                None => Type::Declared(other.to_owned()),
            },
        })
    }

    /// The type without `Option` around it.
    pub(crate) fn given(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner,
            other => other,
        }
    }

    /// Returns whether values of the type are secret, lists of them included.
    pub(crate) fn is_secret(&self) -> bool {
        match self {
            Type::Optional(inner) | Type::List(inner) => inner.is_secret(),
            Type::Value(value) => value.is_secret(),
            _ => false,
        }
    }
}
