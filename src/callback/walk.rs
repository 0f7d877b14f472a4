//! Flattens a JSON body to the pairs that are signed.

use super::canonical::escape_to;
use super::spelling::{Empties, Items, Spelling};
use crate::wire::json::Scanner;
use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting. No callback of the interface is nested as deeply.
const DEPTH: usize = 64;
/// `[]`, encoded: the key of a list's items ends with it.
const ITEM: &[u8] = b"%5B%5D";

/// The decoded names and the raw values of an object.
pub(super) type Fields<'a> = Vec<(Cow<'a, str>, &'a str)>;

/// A flattened body.
pub(super) struct Flat<'a> {
    /// The pairs, joined by `&`. They are pure ASCII.
    pub(super) pairs: String,
    /// The fields of the outermost object, which must not be trusted yet.
    pub(super) fields: Fields<'a>,
    /// Set if it has an empty object or list.
    pub(super) has_empties: bool,
    /// Set if an object in a list was sorted, or was to be kept in order and is not sorted.
    pub(super) has_unsorted_items: bool,
}

/// Flattens a well-formed JSON text in one spelling. `None` if it is not an object, has a duplicate
/// field, is nested too deeply, or requires more output than `most` bytes for its keys.
pub(super) fn flatten(text: &str, spelling: Spelling, most: usize) -> Option<Flat<'_>> {
    let (key, pairs) = (Vec::with_capacity(128), Vec::with_capacity(2 * text.len()));
    let flat = Flat {
        pairs: String::new(),
        fields: Vec::with_capacity(32),
        has_empties: false,
        has_unsorted_items: false,
    };
    let mut walk = Walk { rest: Scanner(text), key, pairs, flat, spelling, depth: 0, left: most };
    text.starts_with('{').then(|| walk.object())??;
    walk.flat.pairs = String::from_utf8(walk.pairs).ok()?;
    Some(walk.flat)
}

/// Writes the pairs in one pass. It works on the text, because numbers are signed as they are
/// written, which a parsed value no longer shows.
struct Walk<'a> {
    rest: Scanner<'a>,
    /// The encoded key of the next value.
    key: Vec<u8>,
    pairs: Vec<u8>,
    /// The result. Its fields are the fields of the enclosing objects.
    flat: Flat<'a>,
    spelling: Spelling,
    depth: usize,
    /// The number of bytes that may still be written.
    left: usize,
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    EmptyObject,
    EmptyList,
    Other,
}

/// The parts of an object or a list that were written so far, which `&` separates.
struct Parts {
    start: usize,
    count: usize,
}

impl<'a> Walk<'a> {
    /// Writes the pairs of a value, separated by `&`; none for an empty object or list.
    fn value(&mut self) -> Option<Shape> {
        self.left = self.left.checked_sub(self.key.len() + 16)?;
        self.depth = (self.depth <= DEPTH).then_some(self.depth + 1)?;
        let mut shape = Shape::Other;
        match self.rest.peek()? {
            b'{' => {
                let outer = self.flat.fields.len();
                self.object()?;
                if self.flat.fields.len() == outer {
                    shape = Shape::EmptyObject;
                }
                self.flat.fields.truncate(outer);
            }
            b'[' => {
                if !self.items()? {
                    shape = Shape::EmptyList;
                }
            }
            b'"' => {
                let text = self.rest.text()?;
                self.pair();
                escape_to(&mut self.pairs, &text);
            }
            _ => {
                let scalar = self.rest.word();
                self.pair();
                if scalar != "null" {
                    escape_to(&mut self.pairs, scalar);
                }
            }
        }
        self.flat.has_empties |= shape != Shape::Other;
        self.depth -= 1;
        Some(shape)
    }

    fn pair(&mut self) {
        self.pairs.extend_from_slice(&self.key);
        self.pairs.push(b'=');
    }

    /// Writes the pairs of an object, and sorts them when all are finished.
    fn object(&mut self) -> Option<()> {
        let (mut written, mut parts) = (self.parts(), Vec::with_capacity(16));
        let outer_fields = self.flat.fields.len();
        self.rest.take(1)?;
        while self.rest.item(b'}')? {
            let name = self.rest.name()?;
            let (outer, from) = (self.key.len(), self.begin(&written));
            match self.depth {
                0 => escape_to(&mut self.key, &name),
                _ => {
                    self.key.extend_from_slice(b"%5B");
                    escape_to(&mut self.key, &name);
                    self.key.extend_from_slice(b"%5D");
                }
            }
            let value = self.rest.0;
            let shape = self.value()?;
            let raw = &value[..value.len() - self.rest.0.len()];
            self.flat.fields.push((name, raw));
            self.key.truncate(outer);
            let stays = match self.spelling.empties {
                Empties::Omitted => false,
                Empties::AsRails => shape == Shape::Other,
                Empties::Blank => true,
            };
            if self.end(&mut written, from, stays) {
                parts.push(from..self.pairs.len());
            }
        }
        self.sort(written.start, parts);
        are_unique(&self.flat.fields[outer_fields..]).then_some(())
    }

    /// Writes the pairs of a list, in the order of the document. Returns `Some(true)` if it has any
    /// items.
    fn items(&mut self) -> Option<bool> {
        let (mut written, outer) = (self.parts(), self.key.len());
        let (mut any, as_rails) = (false, self.spelling.empties == Empties::AsRails);
        self.key.extend_from_slice(ITEM);
        self.rest.take(1)?;
        while self.rest.item(b']')? {
            any = true;
            let from = self.begin(&written);
            if self.value()? == Shape::EmptyList && as_rails {
                self.key.extend_from_slice(ITEM);
                self.pair();
                self.key.truncate(outer + ITEM.len());
            }
            self.end(&mut written, from, self.spelling.empties != Empties::Omitted);
        }
        self.key.truncate(outer);
        Some(any)
    }

    fn parts(&self) -> Parts {
        Parts { start: self.pairs.len(), count: 0 }
    }

    /// Writes `&` unless the next part is the first one, and returns where that part begins.
    fn begin(&mut self, parts: &Parts) -> usize {
        if parts.count > 0 {
            self.pairs.push(b'&');
        }
        self.pairs.len()
    }

    /// Returns whether the part from `from` on remains: it is not empty, or `stays` although it is. If not,
    /// removes the `&` before it.
    fn end(&mut self, parts: &mut Parts, from: usize, stays: bool) -> bool {
        let remains = stays || self.pairs.len() > from;
        match remains {
            true => parts.count += 1,
            false => self.pairs.truncate(from - usize::from(parts.count > 0)),
        }
        remains
    }

    /// Sorts the finished parts of an object, unless the spelling keeps the order in lists.
    fn sort(&mut self, start: usize, mut parts: Vec<Range<usize>>) {
        let pairs = &self.pairs;
        if parts.is_sorted_by_key(|part| &pairs[part.clone()]) {
            return;
        }
        if self.key.windows(ITEM.len()).any(|part| part == ITEM) {
            self.flat.has_unsorted_items = true;
            if self.spelling.items == Items::AsSent {
                return;
            }
        }
        parts.sort_unstable_by_key(|part| &pairs[part.clone()]);
        let mut sorted = Vec::with_capacity(pairs.len() - start);
        for (count, part) in parts.into_iter().enumerate() {
            if count > 0 {
                sorted.push(b'&');
            }
            sorted.extend_from_slice(&pairs[part]);
        }
        self.pairs.truncate(start);
        self.pairs.append(&mut sorted);
    }
}

/// Returns whether all names differ. Most objects are so small that comparing all pairs is fastest.
fn are_unique(fields: &[(Cow<'_, str>, &str)]) -> bool {
    if fields.len() > 32 {
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        return names.is_sorted_by(|one, next| one != next);
    }
    let earlier = |at: usize, name: &str| fields[..at].iter().any(|(other, _)| *other == name);
    !fields.iter().enumerate().any(|(at, (name, _))| earlier(at, name))
}
