//! Words about what the calls return, and examples, which are written by hand.

use crate::Result;
use crate::text::Docs;
use std::collections::BTreeMap;

/// The file, in reStructuredText: a section for each call and class.
pub(super) const FILE: &str = "bindings/python/examples.rst";

/// The text of a section.
#[derive(Debug)]
pub(super) struct Example {
    /// The paragraphs before the example: what a call returns.
    pub(super) returns: Docs,
    /// The lines of the example.
    pub(super) lines: Vec<String>,
}

/// The sections that no module has taken yet, by their titles.
pub(super) struct Examples(BTreeMap<String, Example>);

impl Examples {
    /// Reads the sections, whose titles are underlined with dashes.
    pub(super) fn parse(text: &str) -> Examples {
        let lines: Vec<&str> = text.lines().collect();
        let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '-');
        let titles = (1..lines.len()).filter(|at| is_rule(lines[*at])).map(|at| at - 1);
        let titles: Vec<usize> = titles.collect();
        let ends = titles.iter().skip(1).copied().chain([lines.len()]);
        let section = |(at, end): (&usize, usize)| {
            (lines[*at].to_owned(), Example::parse(&lines[at + 2..end]))
        };
        Examples(titles.iter().zip(ends).map(section).collect())
    }

    /// The section of a class, if it has one.
    pub(super) fn take(&mut self, title: &str) -> Option<Example> {
        self.0.remove(title)
    }

    /// The section of a call.
    pub(super) fn need(&mut self, title: &str) -> Result<Example> {
        self.take(title).ok_or_else(|| format!("{FILE}: has no section {title}"))
    }

    /// Fails for a section that no module has.
    pub(super) fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(title) => Err(format!("{FILE}: {title} is neither a call nor a class")),
        }
    }
}

impl Example {
    fn parse(lines: &[&str]) -> Example {
        let start = lines.iter().position(|line| line.starts_with(">>> "));
        let (words, code) = lines.split_at(start.unwrap_or(lines.len()));
        let code = code.join("\n");
        let lines = code.trim_end().lines().map(str::to_owned).collect();
        Example { returns: Docs::parse(&words.join("\n")), lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_words_and_an_example() {
        let text = "Title\n=====\n\nWords.\n\nverify\n------\n\nThe\nresult.\n\n>>> 1\n1\n\nCode\n----\n\n>>> 2\n";
        let mut examples = Examples::parse(text);
        let verify = examples.need("verify").unwrap();
        assert_eq!(
            (verify.returns.0, verify.lines),
            (vec!["The result.".into()], vec![">>> 1".to_owned(), "1".to_owned()])
        );
        assert!(examples.need("forget").is_err());
        assert!(examples.finish().unwrap_err().contains("Code"));
    }
}
