//! A man page of section 3, generated from its text in `man/*.3.in` and from the header.

use super::header::{Function, Header, Struct, name_of, read, root};
use super::prose::{argument, paragraphs};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The date of the pages. Change it when the meaning of a page changes.
pub(crate) const DATE: &str = "November 21, 2026";

/// The content of `man/NAME.3.in`.
pub(crate) struct Draft {
    pub(crate) name: String,
    /// The functions that the page documents; a `*` at the end matches any suffix.
    pub(crate) functions: Vec<String>,
    pub(crate) about: String,
    pub(crate) body: String,
}

impl Draft {
    /// All pages, sorted by name.
    pub(crate) fn all() -> Vec<Draft> {
        let files = fs::read_dir(root().join("man")).unwrap();
        let names = files.filter_map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".3.in").map(str::to_owned)
        });
        let mut drafts: Vec<Draft> = names.map(Draft::read).collect();
        drafts.sort_by(|a, b| a.name.cmp(&b.name));
        drafts
    }

    fn read(name: String) -> Draft {
        let text = read(&format!("man/{name}.3.in"));
        let (head, body) = text.split_once(".Sh ").unwrap();
        let field = |field: &str| {
            let lines = head.lines().filter_map(|line| line.strip_prefix(field));
            lines.map(str::trim).collect::<Vec<_>>().join(" ")
        };
        Draft {
            functions: field("@functions").split_whitespace().map(str::to_owned).collect(),
            about: field("@about"),
            body: format!(".Sh {body}"),
            name,
        }
    }

    /// How closely the page names a function. Patterns overlap, and the longest match wins.
    fn claim(&self, function: &str) -> usize {
        self.functions.iter().map(|pattern| claim(pattern, function)).max().unwrap_or(0)
    }

    /// The index of that pattern on the page.
    fn place(&self, function: &str) -> Option<usize> {
        let closest = self.claim(function);
        self.functions.iter().position(|pattern| claim(pattern, function) == closest)
    }
}

fn claim(pattern: &str, function: &str) -> usize {
    match pattern.strip_suffix('*') {
        Some(start) if function.starts_with(start) => start.len(),
        None if function == pattern => usize::MAX,
        _ => 0,
    }
}

/// The page that documents a function.
pub(crate) fn home<'a>(drafts: &'a [Draft], function: &str) -> &'a Draft {
    let best = drafts.iter().map(|draft| draft.claim(function)).max().unwrap_or(0);
    let mut found = drafts.iter().filter(|draft| draft.claim(function) == best);
    let first = found.next().unwrap();
    assert!(
        best > 0 && found.next().is_none(),
        "man: `{function}` must be on exactly one page: add it to `@functions` of one man/*.3.in"
    );
    first
}

/// The pages, by their paths in `man/`.
pub(crate) fn pages(header: &Header) -> Vec<(String, String)> {
    let drafts = Draft::all();
    let mut described = BTreeMap::new();
    let page = |draft| {
        let page = Page { draft, drafts: &drafts, header };
        (format!("man/{}.3", draft.name), page.text(&mut described))
    };
    drafts.iter().map(page).collect()
}

struct Page<'a> {
    draft: &'a Draft,
    drafts: &'a [Draft],
    header: &'a Header,
}

impl Page<'_> {
    fn text(&self, described: &mut BTreeMap<String, String>) -> String {
        let mut text = format!(
            ".\\\" Written from include/seconder.h and man/{0}.3.in by `make man`.\n\
             .Dd {DATE}\n.Dt {1} 3\n.Os\n{2}{3}",
            self.draft.name,
            self.draft.name.to_uppercase(),
            self.name(),
            self.synopsis()
        );
        for line in self.draft.body.lines() {
            match line {
                "@describe" => text += &self.describe(described),
                "@conventions" => text += &conventions(&self.header.opening),
                "@constants" => text += &constants(self.header),
                "@pages" => text += &self.contents(),
                "@returns" => text += RETURNS,
                _ => text += &format!("{line}\n"),
            }
        }
        text + &self.see_also()
    }

    /// The page's functions in the order of `@functions`, and within a pattern in that of the
    /// header, which has a call before the functions that read its reply.
    fn functions(&self) -> Vec<&Function> {
        let here = |function: &&Function| home(self.drafts, &function.name).name == self.draft.name;
        let mut found: Vec<&Function> = self.header.functions.iter().filter(here).collect();
        found.sort_by_key(|function| self.draft.place(&function.name));
        found
    }

    fn name(&self) -> String {
        let mut names: Vec<&str> = self.functions().iter().map(|f| f.name.as_str()).collect();
        names.retain(|name| *name != self.draft.name);
        names.insert(0, &self.draft.name);
        let lines: Vec<String> = names.iter().map(|name| format!(".Nm {name}")).collect();
        format!(".Sh NAME\n{}\n.Nd {}\n", lines.join(" ,\n"), self.draft.about)
    }

    fn synopsis(&self) -> String {
        let mut text = ".Sh LIBRARY\nSeconder (libseconder, \\-lseconder)\n\
                        .Sh SYNOPSIS\n.In seconder.h\n"
            .to_owned();
        for function in self.functions() {
            text += &format!(".Ft {}\n", argument(&function.returns));
            text += &format!(".Fo {}\n", function.name);
            let parameters = function.parameters.iter();
            let lines = parameters.map(|parameter| format!(".Fa {}\n", argument(parameter)));
            text += &match function.parameters.is_empty() {
                true => ".Fa void\n".to_owned(),
                false => lines.collect(),
            };
            text += ".Fc\n";
        }
        text
    }

    /// Each function, then each struct and function type that no earlier page describes, and the pages of the others.
    /// `described` has the pages of those that earlier pages describe.
    fn describe(&self, described: &mut BTreeMap<String, String>) -> String {
        let mut text = String::new();
        let mut referred = BTreeSet::new();
        for function in self.functions() {
            text += &format!(".Ss {}()\n{}", function.name, paragraphs(&function.about));
        }
        let mut mentioned: Vec<String> = Vec::new();
        for function in self.functions() {
            mentioned.push(function.returns.clone());
            mentioned.extend(function.parameters.iter().cloned());
        }
        let mut at = 0;
        while at < mentioned.len() {
            let place = mentioned[at].clone();
            at += 1;
            for word in place.split(|c: char| !c.is_alphanumeric() && c != '_') {
                if let Some(page) = described.get(word) {
                    referred.extend(
                        (*page != self.draft.name).then(|| (word.to_owned(), page.clone())),
                    );
                } else if let Some(found) = self.header.structs.iter().find(|s| s.name == word) {
                    described.insert(word.into(), self.draft.name.clone());
                    mentioned.extend(found.fields.iter().map(|(field, _)| field.clone()));
                    text += &structure(found);
                } else if let Some(found) = self.header.types.iter().find(|t| t.name == word)
                    && found.declaration.contains("(*")
                {
                    described.insert(word.into(), self.draft.name.clone());
                    let declaration = &found.declaration;
                    text +=
                        &format!(".Ss {word}\n.Bd -literal -offset indent\n{declaration}\n.Ed\n");
                    text += &format!(".Pp\n{}", paragraphs(&found.about));
                    mentioned.push(declaration.replace(&format!("(*{word})"), ""));
                }
            }
        }
        for (name, page) in referred {
            text += &format!(".Pp\n.Vt {name}\nis described in\n.Xr {page} 3 .\n");
        }
        text
    }

    fn contents(&self) -> String {
        let others = self.drafts.iter().filter(|draft| draft.name != self.draft.name);
        let line = |draft: &Draft| format!(".It Xr {} 3\n{}\n", draft.name, draft.about);
        format!(
            ".Bl -tag -width seconder_application(3) -compact\n{}\
             .It Xr seconder-interface 7\nthe calls, their parameters and replies, which these pages cite by section\n.El\n",
            others.map(line).collect::<String>()
        )
    }

    fn see_also(&self) -> String {
        let others = self.drafts.iter().filter(|draft| draft.name != self.draft.name);
        let mut lines: Vec<String> = others.map(|draft| format!(".Xr {} 3", draft.name)).collect();
        lines.extend([".Xr seconder-interface 7".into(), ".Xr seconder 8".into()]);
        format!(".Sh SEE ALSO\n{}\n", lines.join(" ,\n"))
    }
}

const RETURNS: &str = ".Sh RETURN VALUES\nA function that returns a\n.Vt seconder_status\nreturns\n\
    .Dv SECONDER_OK\non success.\nAny other value is a failure.\nThe values are listed in\n\
    .Xr seconder 3 ,\nand\n.Xr seconder_error 3\ndescribes how to read an error.\n";

fn structure(found: &Struct) -> String {
    let mut text = format!(".Ss struct {}\n{}", found.name, paragraphs(&found.about));
    text += ".Bl -tag -width Ds\n";
    for (field, about) in &found.fields {
        let name = name_of(field);
        let kind = field.strip_suffix(name).unwrap_or_default().trim();
        text += &format!(".It Vt {} Fa {name}\n{}", argument(kind), paragraphs(about));
    }
    text + ".El\n"
}

fn constants(header: &Header) -> String {
    let shown = header.constants.iter().filter(|constant| !constant.about.is_empty());
    let item = |constant: &super::header::Constant| {
        format!(".It Dv {} No = {}\n{}", constant.name, constant.value, paragraphs(&constant.about))
    };
    format!(".Bl -tag -width Ds\n{}.El\n", shown.map(item).collect::<String>())
}

/// The table at the top of the header: a term, a gap, and its description.
fn conventions(opening: &str) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in opening.lines() {
        let (word, rest) = line.split_at_checked(12).unwrap_or((line, ""));
        match word.trim() {
            "" => {
                if let Some(row) = rows.last_mut().filter(|_| !rest.is_empty()) {
                    row.1 += &format!("\n{rest}");
                }
            }
            term if word.ends_with("  ") => rows.push((term.into(), rest.into())),
            _ => {}
        }
    }
    assert!(rows.len() > 5, "the header does not start with its table");
    let item = |(term, text): &(String, String)| format!(".It {term}\n{}", paragraphs(text));
    format!(".Bl -tag -width Ds\n{}.El\n", rows.iter().map(item).collect::<String>())
}
