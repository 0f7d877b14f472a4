//! Style as a test. Every complaint names a file, a line and what to do instead.

#[path = "tidy/architecture.rs"]
mod architecture;
#[path = "tidy/audit.rs"]
mod audit;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/linked.rs"]
mod linked;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/source.rs"]
mod source;

use rules::*;
use source::{Source, files, read, root, sources};
use std::fs;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

#[test]
fn files_begin_by_saying_what_they_are() {
    let bad = |file: &Source| (!file.text.starts_with("//! ")).then(|| file.path.clone());
    complain(sources().iter().filter_map(bad).map(|path| {
        format!("{path}:1: begin the file with `//!` and a sentence that says what it is")
    }));
}

#[test]
fn files_are_short() {
    let long = |file: &&Source| file.text.lines().count() > FILE_LINES;
    complain(sources().iter().filter(long).map(|file| {
        format!(
            "{}:{FILE_LINES}: has more lines than that: split it by what it is about",
            file.path
        )
    }));
}

#[test]
fn functions_are_short() {
    complain(sources().iter().filter(|file| !file.test).flat_map(|file| {
        let mut found = Functions(Vec::new());
        found.visit_file(&file.syntax());
        found.0.into_iter().filter(|(_, _, lines)| *lines > FUNCTION_LINES).map(
            |(name, line, lines)| {
                format!(
                    "{}:{line}: `{name}` has {lines} lines, and {FUNCTION_LINES} are the most: \
                     give its parts names of their own",
                    file.path
                )
            },
        )
    }));
}

#[test]
fn a_call_has_a_file_that_begins_with_its_route() {
    let mut complaints = Vec::new();
    let mut routes: Vec<String> = seconder::calls::ROUTES
        .iter()
        .map(|route| format!("`{} {}`", route.method, route.path))
        .collect();
    for file in sources().iter().filter(|file| file.path.starts_with("src/calls/")) {
        let is_call = |line: &&str| line.starts_with("impl") && line.contains(" Call for ");
        let declared = file.text.lines().filter(is_call).count();
        // A call of several routes is generic over what differs between them.
        let made =
            file.text.matches("Route::get(").count() + file.text.matches("Route::post(").count();
        let first = file.text.lines().next().unwrap_or_default().trim_start_matches("//! ");
        let (named, others) = routes.into_iter().partition::<Vec<_>, _>(|r| first.contains(r));
        routes = others;
        if declared > 1 {
            complaints.push(format!("{}:1: one file declares one call: split it", file.path));
        } else if named.len() != made || (made > 0 && named.join(" and ") != first) {
            complaints.push(format!(
                "{}:1: the line must be the route of the call that the file declares, \
                 //! `METHOD /path`, as in its `Route::get` or `Route::post`; `and` separates several",
                file.path
            ));
        }
    }
    complaints.extend(
        routes.iter().map(|route| format!("src/calls.rs:1: no file in src/calls/ begins {route}")),
    );
    complain(complaints);
}

#[test]
fn what_is_banned_is_not_called() {
    let mut complaints = Vec::new();
    for file in sources().iter().filter(|file| !file.test || file.path.starts_with("tests/")) {
        let tokens = file.tokens();
        for ban in BANS.iter().filter(|ban| file.is_in(ban.scope) && !file.is_in(ban.except)) {
            let calls = tokens.windows(ban.call.len()).filter(|window| {
                window.iter().zip(ban.call).all(|(token, wanted)| token.text == *wanted)
            });
            complaints.extend(calls.map(|call| {
                let name = ban.call.concat();
                format!("{}:{}: `{name}` is banned: {}", file.path, call[0].line, ban.instead)
            }));
        }
    }
    complain(complaints);
}

#[test]
fn layers_know_only_what_they_may() {
    let mut complaints = Vec::new();
    for file in sources().iter().filter(|file| !file.test) {
        let layers = LAYERS.iter().filter(|l| file.is_in(l.files) && !file.is_in(l.except_files));
        let paths = file.paths();
        for layer in layers {
            let bad = paths.iter().filter(|(path, _)| layer.forbids(path));
            complaints.extend(
                bad.map(|(path, line)| {
                    format!("{}:{line}: names {path}: {}", file.path, layer.why)
                }),
            );
        }
    }
    complain(complaints);
}

#[test]
fn secrets_do_not_derive_debug() {
    complain(sources().iter().filter(|file| !file.test).flat_map(|file| {
        let mut found = ShownSecrets(Vec::new());
        found.visit_file(&file.syntax());
        found.0.into_iter().map(|(name, line)| {
            format!(
                "{}:{line}: derive(Debug) shows `{name}`: make the field a Secret, or write Debug \
                 by hand without it",
                file.path
            )
        })
    }));
}

/// Cargo does not look for tests itself, so a file that nothing names would not run.
#[test]
fn every_file_of_tests_is_compiled() {
    let mut complaints = Vec::new();
    for (folder, manifest, programs) in [
        ("tests/", "Cargo.toml", ["tests/library.rs", "tests/capi.rs"].as_slice()),
        ("server/tests/", "server/Cargo.toml", &["server/tests/server.rs"]),
    ] {
        let named = [&[manifest], programs].concat().into_iter().map(read).collect::<String>();
        for path in files(&root().join(folder), folder) {
            let name = path.strip_prefix(folder).and_then(|name| name.strip_suffix(".rs"));
            let Some(name) = name.filter(|name| !name.contains('/')) else { continue };
            let is_named = [format!("mod {name};"), format!("name = \"{name}\"")];
            if !is_named.iter().any(|how| named.contains(how)) {
                complaints.push(format!("{path}:1: name the file in {}", programs[0]));
            }
        }
    }
    complain(complaints);
}

#[test]
fn every_crate_asks_for_documented_items_and_safe_code() {
    let workspace = read("Cargo.toml");
    let mut complaints = Vec::new();
    for lint in ["missing_docs = \"warn\"", "unsafe_code = \"deny\"", "unwrap_used = \"warn\""] {
        if !workspace.contains(lint) {
            complaints.push(format!("Cargo.toml:1: [workspace.lints] must have {lint}"));
        }
    }
    let (_, rest) = workspace.split_once("members = [").expect("a workspace");
    let folders = rest.split(']').next().unwrap_or_default().split('"').skip(1).step_by(2);
    let members = folders.map(|folder| format!("{folder}/Cargo.toml"));
    for member in members.chain(["Cargo.toml".to_owned()]) {
        let text = read(&member);
        let own = text.contains("[lints.rust]") && text.contains("missing_docs = \"warn\"");
        if !own && !text.contains("[lints]\nworkspace = true") {
            complaints.push(format!("{member}:1: add `[lints]` with `workspace = true`"));
        }
    }
    complain(complaints);
}

#[test]
fn a_login_process_loads_no_runtime_and_no_signal_handler() {
    let lock = read("Cargo.lock");
    let packages: Vec<(&str, Vec<&str>)> = lock.split("[[package]]").skip(1).map(package).collect();
    let mut reached = vec!["seconder-c", "seconder-pam"];
    let mut next = 0;
    while next < reached.len() {
        let needs = packages.iter().filter(|(name, _)| *name == reached[next]);
        let new: Vec<&str> = needs.flat_map(|(_, needs)| needs.clone()).collect();
        reached.extend(new.into_iter().filter(|name| !reached.contains(name)).collect::<Vec<_>>());
        next += 1;
    }
    let banned = ["tokio", "async-std", "smol", "mio", "signal-hook", "ctrlc", "rayon"];
    complain(banned.into_iter().filter(|name| reached.contains(name)).map(|name| {
        format!(
            "Cargo.toml:1: the library depends on {name}, which brings threads, a runtime or \
             signal handlers: keep it to server/"
        )
    }));
}

#[test]
fn what_the_documents_name_is_there() {
    let mut complaints = Vec::new();
    for path in files(root(), "").into_iter().filter(|path| path.ends_with(".md")) {
        let text = read(&path);
        for (number, line) in (1..).zip(text.lines()) {
            let gone = named_tests(line).into_iter().filter(|(file, test)| {
                !fs::read_to_string(root().join(file))
                    .is_ok_and(|code| code.contains(&format!("fn {test}()")))
            });
            complaints.extend(gone.map(|(file, test)| {
                format!("{path}:{number}: {file} has no test {test}: name the one that holds it")
            }));
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let dead = links(line).filter(|link| !root().join(folder).join(link).exists());
            complaints.extend(
                dead.map(|link| format!("{path}:{number}: links to {link}, which is not there")),
            );
        }
    }
    complain(complaints);
}

#[test]
fn the_table_of_limits_is_what_the_code_says() {
    let table = read("docs/limits.md");
    let code = read("src/engine/model/limits.rs");
    let constants = (1..).zip(code.lines()).filter_map(|(number, line)| {
        let (name, value) = line.strip_prefix("pub(super) const ")?.split_once('=')?;
        let factors = value.split(|c: char| !c.is_ascii_digit() && c != '_');
        let factors = factors.filter_map(|digits| digits.replace('_', "").parse::<u64>().ok());
        Some((number, name.split(':').next()?, factors.product::<u64>()))
    });
    let absent = constants.filter(|(_, name, value)| {
        let row = format!("| `{name}` | {value} |");
        !table.lines().any(|line| line.starts_with(&row))
    });
    complain(absent.map(|(number, name, value)| {
        format!(
            "src/engine/model/limits.rs:{number}: docs/limits.md must have a row that \
             begins | `{name}` | {value} |"
        )
    }));
}

/// The program's connections trust the library's authorities.
#[test]
fn the_bundles_of_authorities_are_listed_once() {
    let mut listing = sources();
    listing.retain(|file| !file.test && file.text.contains("/etc/ssl/certs/ca-certificates.crt"));
    let found: Vec<&str> = listing.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(found, ["src/remote/trust.rs"]);
}

#[test]
fn nothing_names_a_place_on_one_machine() {
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    let mut complaints = Vec::new();
    for path in files(root(), "") {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            for place in places.iter().filter(|place| line.contains(**place)) {
                let number = number + 1;
                complaints.push(format!("{path}:{number}: names {place}: use a relative path"));
            }
        }
    }
    complain(complaints);
}

#[test]
fn paths_are_seen_however_they_are_written() {
    let text = "use crate::{calls, wire::{self, form::escape as e}}; fn f() { super::x::Y::new() }
        #[cfg(test)] mod tests { use std::net::TcpStream; } m! { std::time::Instant }";
    let file = Source { path: "src/wire/json.rs".into(), text: text.into(), test: false };
    let found: Vec<String> = file.paths().into_iter().map(|(path, _)| path).collect();
    for wanted in
        ["crate::calls", "crate::wire", "crate::wire::form::escape", "crate::wire::x::Y::new"]
    {
        assert!(found.iter().any(|path| path == wanted), "{wanted} in {found:?}");
    }
    assert!(found.iter().any(|path| path == "std::time::Instant"), "{found:?}");
    assert!(!found.iter().any(|path| path.starts_with("std::net")), "{found:?}");
}

#[test]
fn a_layer_forbids_modules_that_lead_to_what_it_forbids() {
    let layer = &LAYERS[0];
    for bad in
        ["std::net::TcpStream", "std::time", "std::time::*", "socket2::Socket", "crate::remote"]
    {
        assert!(layer.forbids(bad), "{bad}");
    }
    for fine in ["std::net::IpAddr", "std::time::Duration", "std::fmt", "socket22::x", "Instant"] {
        assert!(!layer.forbids(fine), "{fine}");
    }
}

#[test]
fn the_words_are_those_of_the_field() {
    let mut complaints = Vec::new();
    for path in files(root(), "") {
        let theirs = OTHER_WORDS.iter().any(|place| path.starts_with(place));
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        if theirs {
            continue;
        }
        // The path counts as a line before the first.
        let text = format!("{path}\n{text}");
        for (line, number) in text.lines().zip(0..) {
            let names = line.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c));
            let old =
                names.flat_map(|name| OTHER_NAMES.iter().filter(move |(old, _)| *old == name));
            complaints.extend(old.map(|(old, new)| format!("{path}:{number}: `{old}` is {new}")));
        }
        let words = words(&text);
        for (phrase, instead) in WORDS {
            let uses = words.windows(phrase.len()).filter(|window| {
                window.iter().zip(*phrase).all(|((word, _), old)| word.eq_ignore_ascii_case(old))
            });
            complaints.extend(uses.map(|window| {
                format!("{path}:{}: says `{}`: {instead}", window[0].1, phrase.join(" "))
            }));
        }
    }
    complain(complaints);
}

#[test]
fn the_names_are_those_of_the_field() {
    let mut complaints = Vec::new();
    for file in sources() {
        let tokens = file.tokens();
        for (old, new) in NAMES {
            let uses = tokens.iter().filter(|token| token.text == *old);
            complaints.extend(
                uses.map(|token| format!("{}:{}: `{old}` is {new}", file.path, token.line)),
            );
        }
    }
    complain(complaints);
}

/// The words of a text with their lines; what stands between them, such as the marks of comments,
/// does not count.
fn words(text: &str) -> Vec<(&str, usize)> {
    let lines = (0..).zip(text.lines());
    let words = lines.flat_map(|(number, line)| {
        line.split(|c: char| !c.is_alphanumeric()).map(move |word| (word, number))
    });
    words.filter(|(word, _)| !word.is_empty()).collect()
}

/// The functions of a file outside its tests, with their first line and their length.
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn add(&mut self, name: &syn::Ident, whole: &impl Spanned) {
        let (start, end) = (name.span().start().line, whole.span().end().line);
        self.0.push((name.to_string(), start, end - start + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident, item);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident, item);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add(&item.sig.ident, item);
        visit::visit_trait_item_fn(self, item);
    }
}

/// Fields that hold a secret as plain text in a struct that derives `Debug`.
struct ShownSecrets(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for ShownSecrets {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let derives_debug = item.attrs.iter().any(|attribute| {
            matches!(&attribute.meta, syn::Meta::List(list)
                if list.path.is_ident("derive") && list.tokens.to_string().contains("Debug"))
        });
        for field in item.fields.iter().filter(|_| derives_debug) {
            let Some(name) = &field.ident else { continue };
            let text = name.to_string();
            let excused = NO_SECRET.contains(&(item.ident.to_string().as_str(), text.as_str()));
            if SECRET_FIELDS.contains(&text.as_str()) && !excused && !is_hidden(&field.ty) {
                self.0.push((format!("{}.{text}", item.ident), name.span().start().line));
            }
        }
    }
}

fn is_hidden(kind: &syn::Type) -> bool {
    struct Names(bool);
    impl<'ast> Visit<'ast> for Names {
        fn visit_ident(&mut self, name: &'ast syn::Ident) {
            self.0 |= HIDDEN_TYPES.iter().any(|hidden| name == hidden);
        }
    }
    let mut names = Names(false);
    names.visit_type(kind);
    names.0
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        matches!(&attribute.meta, syn::Meta::List(list)
            if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
    })
}

/// `tests/tidy.rs` and `files_are_short` for `` `tests/tidy.rs::files_are_short` `` in a line.
fn named_tests(line: &str) -> Vec<(String, &str)> {
    let quoted = line.split('`').skip(1).step_by(2);
    let pairs = quoted.filter_map(|text| text.split_once(".rs::"));
    pairs.map(|(file, test)| (format!("{file}.rs"), test)).collect()
}

/// The relative links of a line of Markdown.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://"))
}

/// The name of a package of the lock file, and the names of what it needs.
fn package(text: &str) -> (&str, Vec<&str>) {
    let (head, needs) = text.split_once("dependencies = [").unwrap_or((text, ""));
    let name = head.split('"').nth(1).unwrap_or_default();
    let needs = needs.lines().take_while(|line| !line.starts_with(']'));
    (name, needs.filter_map(|line| line.split(['"', ' ']).find(|word| !word.is_empty())).collect())
}

fn complain(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
