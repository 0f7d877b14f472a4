//! Where a call goes, and how a path carries its fields.

use crate::wire::{Format, Request, form, scalar};
use serde_json::{Map, Value};

/// Where a call goes. Fields named in `{}` leave the parameters for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The call's name in every language: `create_user`, `seconder_create_user`.
    pub name: &'static str,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path behind the base URL.
    pub path: &'static str,
}

impl Route {
    pub(super) const fn get(name: &'static str, path: &'static str) -> Route {
        Route { name, method: "GET", path }
    }

    pub(super) const fn post(name: &'static str, path: &'static str) -> Route {
        Route { name, method: "POST", path }
    }

    /// The request of this call with these parameters, whether or not a service would take them.
    pub fn request(&self, format: Format, mut params: Map<String, Value>) -> Request {
        let path = self.fill(format, &mut params);
        Request { method: self.method, path, params }
    }

    /// The path with its fields, which are taken from the parameters.
    fn fill(&self, format: Format, params: &mut Map<String, Value>) -> String {
        let segment = |part: &str| match name_of(part) {
            Some("format") => format.name().to_owned(),
            Some(name) => {
                let value = params.shift_remove(name).as_ref().and_then(scalar);
                form::escape(&value.unwrap_or_default())
            }
            None => part.to_owned(),
        };
        self.path.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// The format and the fields of a path, when it is this route's.
    pub fn matches(&self, method: &str, path: &str) -> Option<(Format, Map<String, Value>)> {
        let (wanted, given) = (self.path.split('/'), path.split('/'));
        if method != self.method || wanted.clone().count() != given.clone().count() {
            return None;
        }
        let mut fields = Map::new();
        let mut format = None;
        for (want, give) in wanted.zip(given) {
            match name_of(want) {
                Some("format") => format = Format::named(give),
                Some(name) => {
                    drop(fields.insert(name.to_owned(), form::unescape(give).ok()?.into()))
                }
                None if want == give => {}
                None => return None,
            }
        }
        Some((format?, fields))
    }
}

fn name_of(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}
