//! Every language interface has every call with every parameter. The parameters of a call come from
//! its serde implementation, so that no interface and no document can omit a field.

#[path = "faces/c.rs"]
mod c;
#[path = "faces/header.rs"]
mod header;
#[path = "faces/operations.rs"]
mod operations;
#[path = "faces/python.rs"]
mod python;
#[path = "faces/sources.rs"]
mod sources;

use seconder::calls::{parameters as fields, *};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A call, as declared in `src/calls/`.
struct Declared {
    route: &'static Route,
    fields: &'static [&'static str],
}

macro_rules! declared {
    ($($call:ident),* $(,)?) => {
        vec![$(Declared { route: &$call::ROUTE, fields: fields::<$call>() }),*]
    };
}

/// Every call.
fn calls() -> Vec<Declared> {
    seconder::with_every_call!(declared)
}

/// How many calls the specification has. They come first; services offer the others in practice.
const IN_DOCUMENT: usize = 13;

/// The prefix is reserved for calls of this project alone, so that no service has another call there.
#[test]
fn paths_of_the_interface_do_not_begin_like_those_of_the_project() {
    let own = |route: &&Route| route.path.starts_with("/-/");
    let places: Vec<usize> = (0..).zip(ROUTES).filter(|(_, r)| own(r)).map(|(at, _)| at).collect();
    let with_practice = IN_DOCUMENT + 3;
    assert_eq!(places, (with_practice..ROUTES.len()).collect::<Vec<_>>());
    let older = ROUTES.iter().flat_map(|route| route.older);
    assert!(older.copied().all(|path| !path.starts_with("/-/")));
}

#[test]
fn the_c_header_shows_every_parameter() {
    let header = read("include/seconder.h");
    let found = calls().into_iter().map(|call| {
        let name = call.route.name;
        (call, c_parameters(&header, name).ok_or(format!("has no `seconder_{name}(`")))
    });
    compare("include/seconder.h", "src/capi", found);
}

#[test]
fn the_list_of_calls_is_up_to_date() {
    assert!(
        read("docs/interface.md") == interface(),
        "docs/interface.md:1: is not up to date. Regenerate it with \
         `cargo test --test faces -- --ignored write_interface`"
    );
}

#[test]
#[ignore = "writes docs/interface.md"]
fn write_interface() {
    let path = root().join("docs/interface.md");
    fs::write(&path, interface()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

#[test]
fn parameters_are_parsed_from_c_and_python() {
    let header = "struct seconder_f_options {\n    /* One; two. */\n    bool force;\n    const struct \
        seconder_logo *logos;\n    size_t logos_count;\n};\nSECONDER_MUST_USE seconder_status \
        seconder_f(const struct seconder_service *service,\n uint64_t user_id, const struct \
        seconder_f_options *options, size_t options_size, struct seconder_error **error);";
    let found = c_parameters(header, "f").unwrap_or_default();
    assert_eq!(found, names(&["force", "logos", "user_id"]));
    let stub = "    def f(\n        self,\n        type: Literal[\"a\", \"b\"],\n        *,\n        \
        data: Mapping[str, Any] | None = None,\n    ) -> Done:\n    def g(self, x=(1, 2)): pass";
    assert_eq!(python_parameters(stub, "f").unwrap_or_default(), names(&["type", "data"]));
    assert_eq!(python_parameters(stub, "g").unwrap_or_default(), names(&["x"]));
    assert_eq!(python_parameters(stub, "h"), None);
}

/// Reports the parameters that a language interface lacks or has in excess.
fn compare(
    file: &str,
    place: &str,
    found: impl Iterator<Item = (Declared, Result<BTreeSet<String>, String>)>,
) {
    let complaint = |(call, found): (Declared, Result<BTreeSet<String>, String>)| {
        let found = match found {
            Ok(found) => found,
            Err(missing) => return Some(format!("{file}:1: {missing}: add it in {place}")),
        };
        let wanted = names(&flat(&call).collect::<Vec<_>>());
        let list = |what: &str, names: Vec<&String>| match names.is_empty() {
            true => String::new(),
            false => format!(" {what} {names:?}"),
        };
        (found != wanted).then(|| {
            format!(
                "{file}:1: `{}`{}{}: make it agree in {place}",
                call.route.name,
                list("lacks", wanted.difference(&found).collect()),
                list("has what the call lacks:", found.difference(&wanted).collect()),
            )
        })
    };
    let complaints: Vec<String> = found.filter_map(complaint).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Those that only read are retried, so each list of them must have the same calls.
#[test]
fn the_lists_of_calls_that_only_read_are_complete() {
    let reads = ROUTES.iter().zip(REPEATABLE).filter(|(_, repeatable)| *repeatable);
    let wanted: BTreeSet<&str> = reads.map(|(route, _)| route.name).collect();
    for (file, begin, end) in [
        ("src/remote.rs", "Calls that change nothing:", "#[default]"),
        ("src/capi/status.rs", "Calls that change nothing are retried:", "pub const"),
        ("docs/interface.md", "a call that only reads (", ")"),
    ] {
        let text = read(file);
        let list = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
        let words = list.expect(file).0.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        let names = words.map(|word| word.strip_prefix("seconder_").unwrap_or(word));
        let found: BTreeSet<&str> =
            names.filter(|name| ROUTES.iter().any(|route| route.name == *name)).collect();
        assert_eq!(found, wanted, "{file}");
    }
}

/// The arguments of a C function except service, options, out and error, and the fields of its
/// options. A list is a pointer and a count, which are one parameter.
fn c_parameters(header: &str, name: &str) -> Option<BTreeSet<String>> {
    let header = without_comments(header);
    let (_, rest) = header.split_once(&format!("seconder_{name}("))?;
    let (arguments, _) = rest.split_once(");")?;
    let last_word = |part: &str| {
        let word = part.trim().rsplit([' ', '*', '\n']).next().unwrap_or_default();
        word.to_owned()
    };
    // Calls may share a struct of options.
    let of = arguments.split_once(" *options").map(|(before, _)| last_word(before));
    let options = of
        .and_then(|of| header.split_once(&format!("struct {of} {{")))
        .and_then(|(_, rest)| rest.split_once('}'))
        .map_or("", |(fields, _)| fields);
    let all: BTreeSet<String> =
        arguments.split(',').chain(options.split(';')).map(last_word).collect();
    let ours = ["", "service", "options", "options_size", "out", "error"];
    let is_count = |name: &str| name.strip_suffix("_count").is_some_and(|list| all.contains(list));
    let is_parameter = |name: &&String| !ours.contains(&name.as_str()) && !is_count(name);
    Some(all.iter().filter(is_parameter).cloned().collect())
}

fn without_comments(header: &str) -> String {
    let mut parts = header.split("/*");
    let code = parts.next().unwrap_or_default().to_owned();
    parts.fold(code, |code, part| code + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// The parameters of `def name(self, …)`, without their annotations and defaults.
fn python_parameters(module: &str, name: &str) -> Option<BTreeSet<String>> {
    let (_, rest) = module.split_once(&format!("def {name}("))?;
    let (mut depth, mut parameters) = (0, vec![String::new()]);
    for c in rest.chars() {
        match c {
            ')' if depth == 0 => break,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => parameters.push(String::new()),
            _ => {}
        }
        if let Some(last) = parameters.last_mut() {
            last.push(c);
        }
    }
    let name = |part: &String| {
        let part = part.trim_matches([',', ' ', '\n']);
        part.split([':', '=']).next().unwrap_or_default().trim().to_owned()
    };
    let ours = ["", "self", "*", "/"];
    Some(parameters.iter().map(name).filter(|name| !ours.contains(&name.as_str())).collect())
}

/// The text of docs/interface.md, with the table of all calls as it should be.
fn interface() -> String {
    let text = read("docs/interface.md");
    let (begin, end) = ("<!-- calls -->\n", "<!-- end of calls -->\n");
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{begin}{}{end}{after}", table())
}

fn table() -> String {
    let mut text =
        String::from("| call | method | path | parameters | section |\n|---|---|---|---|---|\n");
    for (number, call) in (1..).zip(calls()) {
        let parameters: Vec<String> = on_the_wire(&call).map(|name| format!("`{name}`")).collect();
        let Route { name, method, path, .. } = call.route;
        let parameters = parameters.join(", ");
        text += &format!("| `{name}` | {method} | `{path}` | {parameters} | 4.{number} |\n");
    }
    text
}

fn on_the_wire(call: &Declared) -> impl Iterator<Item = String> {
    call.fields.iter().flat_map(|field| match *field {
        // A client sends the last one for a user without a number, and no language has it.
        "user" => {
            let fields = fields::<NewUser>().iter().chain(&["without_phone"]);
            fields.map(|inner| format!("user[{inner}]")).collect()
        }
        other => vec![other.to_owned()],
    })
}

/// The fields as the language interfaces have them: each field of `user` is a separate parameter.
fn flat(call: &Declared) -> impl Iterator<Item = &'static str> {
    call.fields
        .iter()
        .flat_map(|field| match field {
            &"user" => fields::<NewUser>(),
            other => std::slice::from_ref(other),
        })
        .copied()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| in_the_api(name)).collect()
}

/// The name that every API has for a field on the wire: a user's id is `user_id` in all of them.
fn in_the_api(field: &str) -> String {
    match field {
        USER_ID_ON_THE_WIRE => "user_id".to_owned(),
        other => other.to_owned(),
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}
