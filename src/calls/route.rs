//! Routes of calls, and the fields in their paths.

use crate::wire::{Format, Generation, Request, form, scalar, wipe};
use serde_json::{Map, Value};
use std::fmt;

/// Stands for a field in a path that is not percent-encoded UTF-8.
const UNREADABLE: &str = "\u{fffd}";

/// The method and path of a call. Fields named in `{}` leave the parameters for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The call's name in every language: `create_user`, `seconder_create_user`.
    pub name: &'static str,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path after the base URL.
    pub path: &'static str,
    /// The paths of the older generation, where they differ. A client takes the first; a service
    /// accepts all of them, always.
    pub older: &'static [&'static str],
}

impl Route {
    pub(super) const fn get(name: &'static str, path: &'static str) -> Route {
        Route { name, method: "GET", path, older: &[] }
    }

    pub(super) const fn post(name: &'static str, path: &'static str) -> Route {
        Route { name, method: "POST", path, older: &[] }
    }

    pub(super) const fn older(self, older: &'static [&'static str]) -> Route {
        Route { older, ..self }
    }

    /// The request for this call with these parameters, whether or not a service would accept them.
    pub fn request(
        &self,
        format: Format,
        generation: Generation,
        mut params: Map<String, Value>,
    ) -> Request {
        let path = match generation {
            Generation::Older => self.older.first().unwrap_or(&self.path),
            Generation::Current => self.path,
        };
        let path = fill(path, format, &mut params);
        Request { method: self.method, path, params, generation }
    }

    /// Reads the fields of a path; `None` if it is not one of this route's. The method does not matter.
    pub fn read(&self, path: &str) -> Option<InPath> {
        let older = || self.older.iter().find_map(|older| read(older, path));
        read(self.path, path).or_else(older)
    }
}

/// The contents of a path. Its fields are wiped when it is dropped, because one may be a token.
#[derive(Clone, PartialEq)]
pub struct InPath {
    /// The format of the reply.
    pub format: Format,
    /// The fields in the path.
    pub fields: Map<String, Value>,
}

impl InPath {
    /// Takes the fields, for a reader that wipes them.
    pub(super) fn take_fields(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.fields)
    }
}

impl Drop for InPath {
    fn drop(&mut self) {
        self.fields.values_mut().for_each(wipe);
    }
}

impl fmt::Debug for InPath {
    /// Leaves the fields out: one of them may be a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPath").field("format", &self.format).finish_non_exhaustive()
    }
}

/// A path with its fields, which are taken from the parameters.
fn fill(path: &str, format: Format, params: &mut Map<String, Value>) -> String {
    let segment = |part: &str| match name_of(part) {
        Some("format") => format.name().to_owned(),
        Some(name) => {
            let value = params.shift_remove(name).as_ref().and_then(scalar);
            form::escape(&value.unwrap_or_default())
        }
        None => part.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn read(template: &str, path: &str) -> Option<InPath> {
    let (wanted, given) = (template.split('/'), path.split('/'));
    if wanted.clone().count() != given.clone().count() {
        return None;
    }
    let mut in_path = InPath { format: Format::default(), fields: Map::new() };
    for (want, give) in wanted.zip(given) {
        match name_of(want) {
            Some("format") => in_path.format = Format::named(give)?,
            Some(name) => {
                // A value that cannot be decoded becomes a text that fits no field, so that the call replies.
                let value = form::unescape(give).unwrap_or_else(|_| UNREADABLE.to_owned());
                in_path.fields.insert(name.to_owned(), value.into());
            }
            None if want == give => {}
            None => return None,
        }
    }
    Some(in_path)
}

fn name_of(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}
