//! The headers of a response. They are kept in a list, because there are few, and fewer are looked
//! up.

/// The headers, in their order. A name may occur several times.
#[derive(Default)]
pub(super) struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the values of the headers of this name, whose case does not matter.
    pub(super) fn all(&self, name: &'static str) -> impl Iterator<Item = &[u8]> {
        let of = self.0.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        of.map(|(_, value)| value.as_slice())
    }

    /// The first value of this name, if it is printable ASCII.
    pub(super) fn text(&self, name: &'static str) -> Option<&str> {
        let value = std::str::from_utf8(self.all(name).next()?).ok()?;
        value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')).then_some(value)
    }
}

/// Returns whether this can be the name of a header (RFC 9110, section 5.6.2).
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_matters_in_values_only() {
        let mut headers = Headers::default();
        headers.add("Retry-After", b"1 S");
        headers.add("retry-after", b"\xff");
        headers.add("Date", b"\xff");
        let all: Vec<&[u8]> = headers.all("RETRY-after").collect();
        assert_eq!(all, [b"1 S".as_slice(), b"\xff"]);
        assert_eq!((headers.text("retry-after"), headers.text("date")), (Some("1 S"), None));
        assert_eq!((headers.text("none"), headers.all("none").count()), (None, 0));
    }

    #[test]
    fn a_name_is_a_token() {
        assert!(["X-Svc-API-Key", "a", "x_y.z~"].into_iter().all(is_name));
        assert!(!["", "a b", "a:", "a\r", "a\n", "\u{e9}", "(a)"].into_iter().any(is_name));
    }
}
