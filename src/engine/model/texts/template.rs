//! Parsing and validation of templates.

use super::kind::Kind;
use super::languages;

/// The maximum length of a template, in characters: two messages of 160.
pub(super) const LONGEST: usize = 320;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// The name between `{{` and `}}`.
    Placeholder(&'a str),
    /// A rest with `{{` and without `}}`.
    Unclosed(&'a str),
}

pub(super) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        let Some(end) = from.find("}}") else {
            pieces.push(Piece::Unclosed(from));
            return pieces;
        };
        pieces.push(Piece::Placeholder(from[2..end].trim()));
        rest = &from[end + 2..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// Returns the placeholders of a kind, the required ones first, and how many those are.
fn placeholders(kind: Kind) -> (&'static [&'static str], usize) {
    match kind {
        Kind::Sms | Kind::Call => (&["code", "app", "validity", "minutes"], 1),
        Kind::SmsAction | Kind::CallAction => {
            (&["code", "action", "app", "validity", "minutes"], 2)
        }
        Kind::Install => (&["link", "app"], 1),
    }
}

/// Returns all that is wrong with a template for this kind and language.
pub(super) fn problems(template: &str, kind: Kind, language: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let length = template.chars().count();
    if length == 0 || length > LONGEST {
        problems.push(format!("has {length} characters, not 1 to {LONGEST}"));
    }
    if template.chars().any(|c| c.is_control() && c != '\n') {
        problems.push("has control characters other than line feeds".to_owned());
    }
    if template.chars().any(is_direction) {
        let why =
            "has characters that set the direction of text, which are inserted where they belong";
        problems.push(why.to_owned());
    }
    let pieces = pieces(template);
    let (known, required) = placeholders(kind);
    for piece in &pieces {
        match piece {
            Piece::Placeholder(name) if !known.contains(name) => problems.push(format!(
                "has the unknown placeholder {{{{{}}}}}: {kind} may have {}",
                shown(name),
                known.iter().map(|name| format!("{{{{{name}}}}}")).collect::<Vec<_>>().join(", "),
            )),
            Piece::Unclosed(_) => problems.push("has {{ without }} after it".to_owned()),
            _ => {}
        }
    }
    for name in &known[..required] {
        match pieces.iter().filter(|piece| **piece == Piece::Placeholder(name)).count() {
            1 => {}
            0 => problems.push(format!("lacks {{{{{name}}}}}")),
            _ => problems.push(format!("has {{{{{name}}}}} more than once")),
        }
    }
    if pieces.contains(&Piece::Placeholder("validity")) && languages::of(language).is_none() {
        problems.push(format!(
            "has {{{{validity}}}}, for which there are no words in {language}: write {{{{minutes}}}}, \
             which is a number"
        ));
    }
    if is_code_in_link(&pieces) {
        problems.push(
            "has {{code}} in a link, or next to characters that may make one of it: put it between \
             spaces"
                .to_owned(),
        );
    }
    problems
}

/// Returns whether the word in which the code stands may be a link, which phones open at a touch, and whose
/// host then learns the code. The text that another placeholder inserts there is not known. The line that
/// browsers read is added by itself.
fn is_code_in_link(pieces: &[Piece<'_>]) -> bool {
    let Some(at) = pieces.iter().position(|piece| *piece == Piece::Placeholder("code")) else {
        return false;
    };
    let text = |piece: Option<&Piece<'_>>| match piece {
        Some(Piece::Text(text)) => Some((*text).to_owned()),
        Some(_) => None,
        None => Some(" ".to_owned()),
    };
    let (before, after) =
        (text(at.checked_sub(1).and_then(|at| pieces.get(at))), text(pieces.get(at + 1)));
    let (Some(before), Some(after)) = (before, after) else { return true };
    // In scripts without spaces between words, the script ends a word, but not a link that began
    // before.
    let is_end = |c: char| c.is_whitespace() || c >= '\u{2e80}';
    let word = before.rfind(char::is_whitespace).map_or(&*before, |at| &before[at..]);
    let first = match word.contains(['/', '@']) || word.contains("www.") {
        true => before.rfind(char::is_whitespace),
        false => before.rfind(is_end),
    };
    let last = after.find(is_end);
    // Without an end, the word goes on in another placeholder.
    if first.is_none() && at > 1 || last.is_none() && at + 2 < pieces.len() {
        return true;
    }
    let before = first.map_or(&*before, |first| &before[first..]);
    let after = last.map_or(&*after, |last| &after[..last]);
    let suspicious = |c: char| "/\\?=&#@%".contains(c);
    let scheme = before.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != ':');
    let scheme = scheme.to_ascii_lowercase();
    let has_scheme =
        ["http:", "https:", "tel:", "sms:", "mailto:"].iter().any(|s| scheme.contains(s));
    let is_host = |text: &str| {
        let mut letters = text.chars().zip(text.chars().skip(1));
        letters.any(|(one, next)| one == '.' && next.is_alphanumeric())
    };
    let dotted = is_host(after) || is_host(before) || before.ends_with('.');
    before.contains(suspicious) || after.contains(suspicious) || has_scheme || dotted
}

/// Returns whether a character sets the direction of the text after it.
pub(super) fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a name in an error, cut if it is long.
pub(super) fn shown(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    name.chars().take(40).map(plain).collect()
}
