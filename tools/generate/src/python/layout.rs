//! Source of Python, laid out as ruff formats it.

/// The longest line, as in `pyproject.toml`.
const WIDTH: usize = 100;

/// A list in brackets, between what precedes and follows it: on one line if it fits, otherwise on a
/// line of its own, otherwise with a line for each part.
pub(super) fn bracketed(indent: usize, before: &str, parts: &[String], after: &str) -> String {
    let pad = " ".repeat(indent);
    let close = match before.chars().last() {
        Some('{') => "}",
        Some('[') => "]",
        _ => ")",
    };
    let list = parts.join(", ");
    let one = format!("{pad}{before}{list}{close}{after}\n");
    if fits(one.trim_end()) {
        return one;
    }
    let inner = format!("{pad}    {list}");
    if fits(&inner) {
        return format!("{pad}{before}\n{inner}\n{pad}{close}{after}\n");
    }
    let lines: String = parts.iter().map(|part| format!("{pad}    {part},\n")).collect();
    format!("{pad}{before}\n{lines}{pad}{close}{after}\n")
}

pub(super) fn fits(line: &str) -> bool {
    width(line) <= WIDTH
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The words of a text in lines, of which the first begins with `first` and the others with `indent`
/// spaces.
pub(super) fn wrapped(text: &str, first: &str, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
    for word in text.split(' ') {
        let is_empty = line.ends_with(' ') || line.ends_with("\"\"\"") || line.is_empty();
        if !is_empty && width(&line) + 1 + width(word) > WIDTH {
            lines += &format!("{line}\n");
            line = " ".repeat(indent);
        } else if !is_empty {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}

/// A docstring: paragraphs, and sections of them.
pub(super) struct Docstring {
    indent: usize,
    text: String,
    has_more: bool,
}

impl Docstring {
    pub(super) fn new(indent: usize, paragraphs: &[String]) -> Docstring {
        let pad = " ".repeat(indent);
        let mut text = String::new();
        for (number, paragraph) in paragraphs.iter().enumerate() {
            match number {
                0 => text += &wrapped(paragraph, &format!("{pad}\"\"\""), indent),
                _ => text += &format!("\n{}", wrapped(paragraph, &pad, indent)),
            }
        }
        Docstring { indent, text, has_more: paragraphs.len() > 1 }
    }

    fn title(&mut self, title: &str) {
        self.text += &format!("\n{}{title}:\n", " ".repeat(self.indent));
        self.has_more = true;
    }

    /// Adds a section of names with their descriptions, unless there are none.
    pub(super) fn list(&mut self, title: &str, items: &[(String, String)]) {
        if items.is_empty() {
            return;
        }
        self.title(title);
        let pad = " ".repeat(self.indent + 4);
        for (name, text) in items {
            self.text += &wrapped(text, &format!("{pad}{name}: "), self.indent + 8);
        }
    }

    /// Adds a section of paragraphs.
    pub(super) fn section(&mut self, title: &str, paragraphs: &[String]) {
        self.title(title);
        let pad = " ".repeat(self.indent + 4);
        let wrapped: Vec<String> =
            paragraphs.iter().map(|text| wrapped(text, &pad, self.indent + 4)).collect();
        self.text += &wrapped.join("\n");
    }

    /// Adds the lines of an example under a title, or after the paragraphs.
    pub(super) fn example(&mut self, title: Option<&str>, lines: &[String]) {
        let indent = match title {
            Some(title) => {
                self.title(title);
                self.indent + 4
            }
            None => {
                self.text += "\n";
                self.indent
            }
        };
        for line in lines {
            self.text += format!("{}{line}", " ".repeat(indent)).trim_end();
            self.text += "\n";
        }
        self.has_more = true;
    }

    pub(super) fn finish(self) -> String {
        let (text, pad) = (self.text.trim_end(), " ".repeat(self.indent));
        let last = text.lines().last().unwrap_or_default();
        if self.has_more {
            return format!("{text}\n{pad}\"\"\"\n");
        }
        match text.rsplit_once(' ') {
            Some((text, word)) if !fits(&format!("{last}\"\"\"")) => {
                format!("{text}\n{pad}{word}\"\"\"\n")
            }
            _ => format!("{text}\"\"\"\n"),
        }
    }
}

/// A docstring of these paragraphs alone.
pub(super) fn docstring(indent: usize, paragraphs: &[String]) -> String {
    Docstring::new(indent, paragraphs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_broken_where_they_do_not_fit() {
        let parts = |count: usize| vec!["a_parameter".to_owned(); count];
        let line = |count| bracketed(4, "call(", &parts(count), " -> X:");
        assert_eq!(line(1), "    call(a_parameter) -> X:\n");
        assert_eq!(line(7).lines().count(), 3);
        assert_eq!(line(8).lines().count(), 10);
        assert!(line(8).ends_with("        a_parameter,\n    ) -> X:\n"));
    }

    #[test]
    fn docstrings_end_on_their_last_line_if_they_have_one_paragraph() {
        let words = vec!["word"; 30].join(" ");
        let text = docstring(4, std::slice::from_ref(&words));
        assert_eq!((text.lines().count(), text.ends_with("word\"\"\"\n")), (2, true));
        let text = docstring(0, &[format!("{} end", vec!["word"; 19].join(" "))]);
        assert!(text.ends_with("word\nend\"\"\"\n"));
        let text = docstring(0, &["One.".into(), words]);
        assert!(text.starts_with("\"\"\"One.\n\nword") && text.ends_with("word\n\"\"\"\n"));
    }

    #[test]
    fn sections_follow_the_paragraphs() {
        let mut made = Docstring::new(0, &["One.".into()]);
        made.list("Args", &[("a".into(), "The first.".into())]);
        made.list("Raises", &[]);
        made.example(Some("Example"), &[">>> 1".into(), "1".into()]);
        let wanted =
            "\"\"\"One.\n\nArgs:\n    a: The first.\n\nExample:\n    >>> 1\n    1\n\"\"\"\n";
        assert_eq!(made.finish(), wanted);
    }
}
