//! Sorts short lists.

/// Sorts a short list by a key; items with one key keep their order. Item by item, because the standard
/// library's sort is 5 kB of code for each kind of items.
pub(crate) fn in_order<T, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut sorted: Vec<T> = Vec::new();
    for item in items {
        let place = sorted.partition_point(|other| key(other) <= key(&item));
        sorted.insert(place, item);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn items_with_one_key_keep_their_order() {
        let words = ["three", "a", "four", "to", "b", ""];
        assert_eq!(in_order(words, |word| word.len()), ["", "a", "b", "to", "four", "three"]);
    }
}
