//! The spellings: the texts that a signer may have signed for the same parameters.
//!
//! The interface says how the pairs are sorted, but not how nested values become pairs. The original
//! service writes them as Rails does, and the versions of Rails differ: in the order of the fields
//! of an object in a list, and in what an empty object or list leaves behind. So a signature is
//! compared with each spelling in turn.
//!
//! This does not let an attacker change the signed parameters. A spelling decides only the order of the pairs and where
//! an additional `&` stands; which pairs there are is the same in all, except that one of them adds `key[][]=` for an
//! empty list in a list. Text cannot imitate a separator, because `&`, `=`, `[` and `]` are encoded in names and
//! values. The fields that decide (`uuid`, `status`, the user and `callback_action`) are at the top level, so their
//! keys have no brackets; only they have those keys, and a name may occur only once. Two bodies with a spelling in
//! common therefore agree on them. `tests/callbacks.rs` tries to find two that do not.
//!
//! The work that an unknown sender can cause stays bounded: there are at most [`OTHERS`] more
//! spellings, only those are tried in which the body can differ, and all together are limited to the
//! size that one may have.

use super::canonical::LONGEST;
use super::walk::{Flat, flatten};

/// The way in which a signer writes a body as pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) items: Items,
    pub(super) empties: Empties,
}

/// The order of the fields of objects in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    /// Sorted, as all other fields are: Rails before 5.2.1.
    Sorted,
    /// As in the document: Rails since 5.2.1.
    AsSent,
}

/// The pairs for an empty object or list, and for a value that contains only these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empties {
    /// An empty value is omitted.
    Omitted,
    /// As in Rails since 4.1: a field is omitted if it is empty itself. A field that becomes empty otherwise still gets
    /// the `&` that separates it from its neighbour, and an empty list in a list is `key[][]=`.
    AsRails,
    /// Everything empty still gets its `&`: Rails before 4.1.
    Blank,
}

impl Spelling {
    /// The spelling that this library signs.
    pub(super) const OWN: Spelling = Spelling { items: Items::Sorted, empties: Empties::Omitted };
}

/// The other spellings, the most usual first.
const OTHERS: [Spelling; 5] = [
    Spelling { items: Items::AsSent, empties: Empties::AsRails },
    Spelling { items: Items::Sorted, empties: Empties::AsRails },
    Spelling { items: Items::AsSent, empties: Empties::Omitted },
    Spelling { items: Items::Sorted, empties: Empties::Blank },
    Spelling { items: Items::AsSent, empties: Empties::Blank },
];

/// Returns the body in its other spellings, as far as they can differ from its own one, `flat`. They are written on
/// demand.
pub(super) fn others<'a>(text: &'a str, flat: &Flat<'_>) -> impl Iterator<Item = String> + use<'a> {
    let (empties, unsorted) = (flat.has_empties, flat.has_unsorted_items);
    let differs = move |spelling: &Spelling| match spelling.empties {
        Empties::Omitted => empties || unsorted,
        Empties::AsRails | Empties::Blank => empties,
    };
    let mut left = LONGEST.saturating_sub(flat.pairs.len());
    OTHERS.into_iter().filter(differs).map_while(move |spelling| {
        let pairs = flatten(text, spelling, left)?.pairs;
        left = left.checked_sub(pairs.len())?;
        Some(pairs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let flat = flatten(text, Spelling::OWN, LONGEST).unwrap();
        let others: Vec<String> = others(text, &flat).collect();
        [vec![flat.pairs], others].concat()
    }

    #[test]
    fn most_bodies_have_one_spelling() {
        for text in [
            r#"{"b":1,"a":{"d":[3,1,2],"c":null}}"#,
            r#"{"l":[{"a":1,"b":{"c":1,"d":2}}],"a":1}"#,
            "{}",
        ] {
            assert_eq!(all(text).len(), 1, "{text}");
        }
        assert_eq!(all(r#"{"l":[{"b":1,"a":2}]}"#).len(), 2);
    }

    #[test]
    fn an_empty_value_leaves_what_it_leaves_in_rails() {
        let body = r#"{"z":{"y":[]},"l":[{"b":[],"a":{"c":{}}},[],2],"e":{},"d":1}"#;
        let (item, list) = ("l%5B%5D=2", "l%5B%5D%5B%5D=");
        assert_eq!(
            all(body),
            [
                format!("d=1&{item}"),
                format!("&&{list}&{item}&d=1"),
                format!("&&{list}&{item}&d=1"),
                format!("d=1&{item}"),
                format!("&&&&&{item}&d=1"),
                format!("&&&&&{item}&d=1"),
            ]
        );
    }

    /// All spellings of a body from an unknown sender together are limited like one.
    #[test]
    fn all_spellings_share_one_limit() {
        let items = r#"{"b":1,"a":{}},"#.repeat(2000);
        let body = format!(r#"{{"{}":[{items}{{}}]}}"#, "k".repeat(300));
        let sizes: Vec<usize> = all(&body).iter().map(String::len).collect();
        assert!(sizes.len() > 1 && sizes.len() < 6, "{sizes:?}");
        assert!(sizes.iter().sum::<usize>() <= LONGEST, "{sizes:?}");
    }
}
