//! Sentences of documentation, and names in the case of each language.

/// The text of a doc comment, as paragraphs of one line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Docs(pub(crate) Vec<String>);

impl Docs {
    /// The paragraphs of a text, which are separated by empty lines.
    pub(crate) fn parse(text: &str) -> Docs {
        let paragraphs = text.split("\n\n").map(one_line);
        Docs(paragraphs.filter(|paragraph| !paragraph.is_empty()).collect())
    }

    /// Takes the section under a heading, which ends at the next one.
    pub(crate) fn take_section(&mut self, heading: &str) -> Docs {
        let begins = |paragraph: &String| paragraph.starts_with(heading);
        let Some(at) = self.0.iter().position(begins) else { return Docs::default() };
        let mut section = self.0.split_off(at);
        let end = section.iter().skip(1).position(|paragraph| paragraph.starts_with("# "));
        if let Some(end) = end {
            self.0.extend(section.split_off(end + 1));
        }
        section[0] = section[0][heading.len()..].trim().to_owned();
        section.retain(|paragraph| !paragraph.is_empty());
        Docs(section)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a paragraph, each with its period.
pub(crate) fn sentences(paragraph: &str) -> Vec<String> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, _) in paragraph.match_indices(". ") {
        let next = paragraph[at + 2..].chars().next();
        if next.is_some_and(|c| c.is_uppercase() || c == '`' || c == '[') {
            found.push(paragraph[start..=at].to_owned());
            start = at + 2;
        }
    }
    found.push(paragraph[start..].to_owned());
    found
}

/// The description with a sentence on its form before the one on the default.
pub(crate) fn with_form(text: &str, form: &str) -> String {
    let mut all = sentences(text);
    let default = all.iter().position(|sentence| sentence.starts_with("Default: "));
    all.insert(default.unwrap_or(all.len()), form.to_owned());
    all.join(" ")
}

/// The sentence with a small first letter, to follow other words.
pub(crate) fn continued(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// `user_created` for `UserCreated`.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// `USER_CREATED` for `UserCreated`.
pub(crate) fn constant(name: &str) -> String {
    snake(name).to_uppercase()
}

/// `a, b or c`.
pub(crate) fn alternatives(names: &[String]) -> String {
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// `a, b and c`.
pub(crate) fn joined<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        words => words.concat(),
    }
}

/// A doc comment of these paragraphs, at most 100 columns wide.
pub(crate) fn doc_comment(paragraphs: &[String], indent: usize) -> String {
    let mark = format!("{}///", " ".repeat(indent));
    let mut comment = String::new();
    for (number, paragraph) in paragraphs.iter().enumerate() {
        if number > 0 {
            comment += &format!("{mark}\n");
        }
        let mut line = mark.clone();
        for word in paragraph.split(' ') {
            if line.len() + 1 + word.len() > 100 && line != mark {
                comment += &format!("{line}\n");
                line.clone_from(&mark);
            }
            line += &format!(" {word}");
        }
        comment += &format!("{line}\n");
    }
    comment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_before_capitals_and_code() {
        let all = sentences("One (interface 4.1). `None` if 1.5 e.g. is so. [`X`] too.");
        assert_eq!(all, ["One (interface 4.1).", "`None` if 1.5 e.g. is so.", "[`X`] too."]);
    }

    #[test]
    fn sections_are_taken_from_documentation() {
        let mut docs = Docs::parse("One.\n\n# Errors\nTwo.\n\nThree.\n\n# Safety\nFour.");
        assert_eq!(docs.take_section("# Errors").0, ["Two.", "Three."]);
        assert_eq!(docs.0, ["One.", "# Safety Four."]);
    }

    #[test]
    fn comments_are_wrapped() {
        let words = vec!["word"; 40].join(" ");
        let comment = doc_comment(&["One.".into(), words], 4);
        assert!(comment.starts_with("    /// One.\n    ///\n    /// word word"));
        assert!(comment.lines().count() == 5 && comment.lines().all(|line| line.len() <= 100));
    }
}
