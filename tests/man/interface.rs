//! The man page seconder-interface(7), generated from `docs/interface.md`.

use super::header::read;
use super::page::DATE;
use super::prose::{argument, paragraphs};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

pub(crate) const PATH: &str = "man/seconder-interface.7";

/// What a part of the document is rendered to.
#[derive(Default)]
struct Renderer {
    page: String,
    /// The text of the paragraph, item, heading or cell that is being read, with code in backticks.
    text: String,
    /// The cells of the first row of a table, and of the current one.
    head: Vec<String>,
    row: Vec<String>,
    /// Whether the next paragraph begins an item, or a section, rather than following text.
    fresh: bool,
}

/// The page.
pub(crate) fn page() -> String {
    let text = read("docs/interface.md");
    let mut renderer = Renderer { fresh: true, ..Renderer::default() };
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        renderer.take(event);
    }
    format!(
        ".\\\" Written from docs/interface.md by `make man`.\n\
         .Dd {DATE}\n.Dt SECONDER-INTERFACE 7\n.Os\n.Sh NAME\n.Nm seconder-interface ,\n\
         .Nm seconder-protocol\n\
         .Nd the calls of a service for the second factor of logins\n.Sh DESCRIPTION\n{}\
         .Sh SEE ALSO\n.Xr seconder 3 ,\n.Xr seconder-daemon 3 ,\n.Xr seconder 8\n",
        renderer.page
    )
}

impl Renderer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.text += &text,
            Event::Code(code) => self.text += &format!("`{code}`"),
            Event::SoftBreak => self.text.push(' '),
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(tag),
            // Comments to those who edit the document.
            Event::Html(_) => {}
            other => panic!("docs/interface.md: the man page cannot have {other:?}"),
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(first) => {
                self.paragraph();
                let kind = if first.is_some() { "-enum" } else { "-bullet" };
                self.page += &format!(".Bl {kind}\n");
            }
            Tag::Item => {
                self.page += ".It\n";
                self.fresh = true;
            }
            Tag::Table(_) => self.page += ".Bl -tag -width Ds\n",
            Tag::TableHead | Tag::TableRow => self.row.clear(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item => self.paragraph(),
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::List(_) | TagEnd::Table => self.page += ".El\n",
            TagEnd::TableCell => self.row.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead => self.head = std::mem::take(&mut self.row),
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        let gap = if std::mem::take(&mut self.fresh) { "" } else { ".Pp\n" };
        self.page += &format!("{gap}{}", paragraphs(&text));
    }

    fn heading(&mut self, level: HeadingLevel) {
        let text = std::mem::take(&mut self.text);
        self.fresh = true;
        match level {
            HeadingLevel::H1 => {}
            HeadingLevel::H2 => self.page += &format!(".Sh {}\n", text.to_uppercase()),
            _ => self.page += &format!(".Ss {text}\n"),
        }
    }

    /// A row as an item, with its first cell as the term. The terms of tables with more than two
    /// columns need the names of the columns.
    fn row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let (term, cells) = row.split_first().unwrap();
        let bare = term.replace('`', "");
        self.page += &match bare == *term {
            true => format!(".It {}\n", argument(term)),
            false => format!(".It Li {}\n", argument(&bare)),
        };
        let columns: Vec<&str> = self.head[1..].iter().map(String::as_str).collect();
        let described = matches!(columns[..], [_] | [_, "meaning" | "body"]);
        let text = |(cell, name): (&String, &str)| match described {
            true => cell.clone(),
            false => format!("{name}: {cell}"),
        };
        let filled = cells.iter().zip(columns).filter(|(cell, _)| !cell.is_empty());
        let text: Vec<String> = filled.map(text).collect();
        self.page += &paragraphs(&text.join(if described { ": " } else { "; " }));
        self.fresh = false;
    }
}
