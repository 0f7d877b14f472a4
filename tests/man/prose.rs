//! The comments of the header as the text of a man page.

const CLOSING: &[char] = &['.', ',', ';', ':', ')', '?', '!'];
const WIDTH: usize = 76;

/// Converts the paragraphs of a comment to mdoc. Each sentence starts on a new line, as mdoc
/// requires.
pub(crate) fn paragraphs(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(paragraph).collect();
    paragraphs.join(".Pp\n")
}

fn paragraph(text: &str) -> String {
    // The top of the header has a page of its own.
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = joined.replace("at the top of the header", "in seconder(3)");
    let mut page = Page::default();
    for chunk in chunks(&text) {
        page.add(&chunk);
    }
    page.end_line();
    page.text
}

/// Splits a text into words, keeping text in backticks together.
fn chunks(text: &str) -> Vec<String> {
    let (mut found, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        quoted ^= c == '`';
        match c.is_whitespace() && !quoted {
            true => found.push(String::new()),
            false if c.is_whitespace() => found.last_mut().unwrap().push(' '),
            false => found.last_mut().unwrap().push(c),
        }
    }
    found.retain(|chunk| !chunk.is_empty());
    found
}

#[derive(Default)]
struct Page {
    text: String,
    line: String,
}

impl Page {
    fn add(&mut self, chunk: &str) {
        let inner = chunk.trim_start_matches('(');
        let opening = &chunk[..chunk.len() - inner.len()];
        let core = inner.trim_end_matches(CLOSING);
        let core = match inner[core.len()..].starts_with(')') && core.ends_with('(') {
            true => &inner[..core.len() + 1],
            false => core,
        };
        let closing = &inner[core.len()..];
        match marked(core) {
            Some(marked) => {
                self.end_line();
                let spaced = |marks: &str, mark: &dyn Fn(char) -> String| {
                    marks.chars().map(mark).collect::<String>()
                };
                let opening = spaced(opening, &|mark| format!(" {mark}"));
                let closing = spaced(closing, &|mark| format!(" {mark}"));
                let (name, value) = marked;
                self.text += &format!(".{name}{opening} {}{closing}\n", argument(&value));
            }
            None => self.word(chunk),
        }
    }

    fn word(&mut self, word: &str) {
        if !self.line.is_empty() && self.line.len() + 1 + word.len() > WIDTH {
            self.end_line();
        }
        let word = escaped(word);
        match self.line.is_empty() {
            true if word.starts_with(['.', '\'']) => self.line = format!("\\&{word}"),
            true => self.line = word.clone(),
            false => self.line += &format!(" {word}"),
        }
        if word.trim_end_matches(['"', ')']).ends_with(['.', '?', '!']) {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.text += &std::mem::take(&mut self.line);
            self.text.push('\n');
        }
    }
}

/// The macro for a name of the interface, and the name without its markup.
fn marked(word: &str) -> Option<(&'static str, String)> {
    let is = |class: fn(char) -> bool, text: &str| {
        !text.is_empty() && text.chars().all(|l| class(l) || l == '_' || l.is_ascii_digit())
    };
    let lower = |text: &str| is(|c| c.is_ascii_lowercase(), text);
    if let Some(code) = word.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return Some((if lower(code) { "Fa" } else { "Ql" }, code.into()));
    }
    if let Some(name) = word.strip_suffix("()") {
        return lower(name).then(|| ("Fn", name.into()));
    }
    let is_constant = word.starts_with("SECONDER_") && is(|l| l.is_ascii_uppercase(), word);
    if word == "NULL" || is_constant && !word.ends_with('_') {
        return Some(("Dv", word.into()));
    }
    (word.starts_with("seconder_") && lower(word)).then(|| ("Vt", word.into()))
}

/// One argument of a macro.
pub(crate) fn argument(text: &str) -> String {
    let mut text = escaped(text).replace('"', "\\(dq");
    if text.ends_with(CLOSING) {
        text += "\\&";
    }
    let quoted = text.contains(' ') || text.len() == 1 && !text.chars().all(char::is_alphanumeric);
    if quoted || text.is_empty() { format!("\"{text}\"") } else { text }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e")
}
