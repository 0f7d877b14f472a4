//! Errors in a configuration file, and their positions.

use std::fmt;
use std::ops::Range;

/// A line and a column, from 1.
pub(super) type Place = (usize, usize);

/// The beginnings of the lines of a text.
pub(super) struct Places<'a> {
    text: &'a str,
}

/// An error, and the values that are accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The position; `None` if it is about the whole file.
    pub(super) place: Option<Place>,
    pub(super) wrong: String,
}

impl<'a> Places<'a> {
    pub(super) fn of(text: &'a str) -> Places<'a> {
        Places { text }
    }

    /// Returns the position at which a part of the text begins.
    pub(super) fn place(&self, at: &Range<usize>) -> Place {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// Returns an error at a place in the text.
    pub(super) fn problem(&self, at: &Range<usize>, wrong: impl Into<String>) -> Problem {
        Problem::at(self.place(at), wrong)
    }
}

impl Problem {
    pub(super) fn at(place: Place, wrong: impl Into<String>) -> Problem {
        Problem { place: Some(place), wrong: wrong.into() }
    }

    pub(super) fn of_file(wrong: String) -> Problem {
        Problem { place: None, wrong }
    }

    /// Returns the error of all settings together. It names options, which are the settings.
    pub(super) fn of_all(error: &clap::Error) -> Problem {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // The text after that is about the command line.
        let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        Problem { place: None, wrong: words.join(" ") }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, ":{line}:{column}: {}", self.wrong),
            None => write!(f, ": {}", self.wrong),
        }
    }
}
