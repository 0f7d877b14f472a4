//! Generates the C code that `misuse.c` includes: calls of every function of the header with
//! invalid arguments.

use std::collections::BTreeMap;

/// A function of the header.
pub(crate) struct Function {
    returns: String,
    pub(crate) name: String,
    parameters: Vec<Parameter>,
}

struct Parameter {
    kind: String,
    name: String,
}

/// The names of the text fields of each struct that a caller fills.
type Structs = BTreeMap<String, Vec<String>>;

impl Parameter {
    fn read(text: &str) -> Parameter {
        let at = text.rfind([' ', '*']).unwrap() + 1;
        Parameter { kind: text[..at].trim().replace("struct ", ""), name: text[at..].to_owned() }
    }

    fn is_pointer(&self) -> bool {
        self.kind.ends_with('*')
    }

    fn is_text(&self) -> bool {
        self.kind == "const char *"
    }

    /// The type that a pointer points to.
    fn of(&self) -> &str {
        self.kind.trim_start_matches("const ").trim_end_matches([' ', '*'])
    }

    /// A valid argument, as C code.
    fn valid(&self) -> String {
        match (self.name.as_str(), self.kind.as_str()) {
            ("out" | "error", kind) if kind.ends_with("**") => format!("&{}", self.name),
            ("options", "const char *") => "\"plan=annual\"".into(),
            ("service" | "totp" | "verifier" | "options" | "received" | "codes", _) => {
                self.name.clone()
            }
            ("last_step", _) => "&step".into(),
            ("logins", _) => "&login".into(),
            ("device_secret", _) => "seconder_device_secret(device)".into(),
            ("device_id", _) => "seconder_device_id(device)".into(),
            ("options_size" | "received_size" | "codes_size", _) => "size".into(),
            ("body", _) => "\"{}\"".into(),
            ("body_size", _) => "2".into(),
            ("secret", _) => "\"12345678901234567890\"".into(),
            ("secret_size", _) => "20".into(),
            ("deadline_ms", _) => "1".into(),
            ("repeats", _) => "0".into(),
            ("timeout_ms", _) => "1000".into(),
            ("converse" | "function" | "log_userdata_free", _) => "NULL".into(),
            ("unix_seconds", _) => "59".into(),
            (name, "const char *") => format!("\"{}\"", text(name)),
            (_, kind) if kind.ends_with('*') => "NULL".into(),
            _ => "1".into(),
        }
    }

    /// The argument as C code: the macros of `misuse.c` replace it in the case of that index.
    fn argument(&self, index: usize) -> String {
        let valid = self.valid();
        match (self.is_pointer(), self.is_text()) {
            (true, true) => format!("TEXT({index}, {valid})"),
            (true, false) => format!("POINTER({index}, {valid})"),
            (false, _) => valid,
        }
    }
}

/// A valid text for the parameter of this name.
fn text(name: &str) -> &str {
    match name {
        "url" => "sandbox:",
        "token" | "text" | "code" => "123456",
        "email" => "ada@example.com",
        "cellphone" | "phone_number" => "555-010-0123",
        "verification_code" => "1234",
        "kind" | "type" => "banned",
        "via" => "sms",
        "device_type" => "ios",
        "response" => "deny",
        "uri" => "otpauth://totp/a?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
        "query" => "a=b",
        "operation" => "user.list",
        "parameters" => "{}",
        "name" => "clock",
        "fault" => "latency",
        "calls" => "app_stats",
        _ => "1",
    }
}

pub(crate) fn functions(header: &str) -> Vec<Function> {
    let lines: Vec<&str> = header.lines().map(str::trim_end).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_one = line.contains("seconder_")
            && line.contains('(')
            && !line.starts_with([' ', '#', '/', '*', '}'])
            && !line.starts_with("typedef");
        if is_one {
            let end = lines[at..].iter().position(|line| line.ends_with(");")).unwrap();
            let whole: Vec<&str> = lines[at..=at + end].iter().map(|line| line.trim()).collect();
            found.push(function(&whole.join(" ")));
        }
    }
    found
}

fn function(text: &str) -> Function {
    let (before, parameters) = text.trim_end_matches(");").split_once('(').unwrap();
    let at = before.find("seconder_").unwrap();
    let at = before[at..].rfind([' ', '*']).map_or(at, |space| at + space + 1);
    let parameters = parameters.split(", ").filter(|text| *text != "void").map(Parameter::read);
    Function {
        returns: before[..at].trim().to_owned(),
        name: before[at..].to_owned(),
        parameters: parameters.collect(),
    }
}

/// The text fields of each struct of the header.
fn structs(header: &str) -> Structs {
    let (mut found, mut name) = (Structs::new(), String::new());
    for line in header.lines() {
        if let Some(begun) = line.strip_prefix("typedef struct ").and_then(|l| l.strip_suffix(" {"))
        {
            name = begun.to_owned();
            found.insert(name.clone(), Vec::new());
        } else if let Some(field) = line.strip_prefix("    const char *")
            && let (Some(field), Some(fields)) = (field.strip_suffix(';'), found.get_mut(&name))
            && !field.contains(['(', '*', ' '])
        {
            fields.push(field.to_owned());
        }
    }
    found
}

/// The C code: one function for each function of the header, and a table of them.
pub(crate) fn misuses(header: &str) -> String {
    let structs = structs(header);
    let functions = functions(header);
    let mut text: String = functions.iter().map(|function| attempt(function, &structs)).collect();
    text += "static const struct attempt attempts[] = {\n";
    for function in &functions {
        text += &row(function, &structs);
    }
    text + "};\n"
}

fn attempt(function: &Function, structs: &Structs) -> String {
    let Function { returns, name, parameters } = function;
    let arguments: Vec<String> =
        parameters.iter().enumerate().map(|(index, p)| p.argument(index)).collect();
    let call = format!("{name}({})", arguments.join(", "));
    let has = |name: &str| parameters.iter().find(|p| p.name == name);
    let (mut before, mut after) = (String::new(), String::new());
    if let Some(options) = filled(function, structs) {
        let (kind, name) = (options.of(), &options.name);
        before += &format!("    size_t size = size_of(sizeof({kind}), which);\n");
        before += &format!("    {kind} *{name} = ({kind} *)filled(size, which, sizeof({kind}));\n");
        if kind == "seconder_callback" {
            before += &format!("    if (size >= sizeof *{name})\n        *{name} = callback;\n");
        }
        if kind == "seconder_offline_codes" {
            before += &format!("    if (size >= sizeof *{name})\n        *{name} = offline;\n");
        }
        // Of these options, one is required.
        if kind == "seconder_phone_verification_status_options" {
            before += &format!("    if (size >= sizeof *{name})\n        {name}->uuid = \"a\";\n");
        }
        for (index, field) in structs[kind].iter().enumerate() {
            before +=
                &format!("    if (which == BAD_FIELD + {index})\n        {name}->{field} = BAD;\n");
        }
        after += &format!("    free({name});\n");
    }
    if let Some(out) = has("out") {
        let kind = out.of();
        before += &format!("    {kind} *out = GARBAGE({kind});\n");
        after += "    CHECK((got == SECONDER_OK) == (out != NULL) || out == GARBAGE(void));\n";
        after += &format!(
            "    if (got == SECONDER_OK && out != GARBAGE(void))\n        {kind}_free(out);\n"
        );
    }
    if has("last_step").is_some() {
        before += "    uint64_t step = 0;\n";
    }
    if has("logins").is_some() {
        before += "    struct seconder_offline_login login = {1, 1};\n";
    }
    let (run, end) = match returns.as_str() {
        "void" => (format!("    {call};\n"), "    return SECONDER_OK;\n"),
        "seconder_status" => (format!("    got = {call};\n"), "    return got;\n"),
        _ => (format!("    is_nothing = !{call};\n"), "    return SECONDER_OK;\n"),
    };
    if returns == "seconder_status" {
        before += "    seconder_status got;\n";
    }
    format!(
        "static seconder_status try_{name}(int which)\n{{\n{before}    (void)which;\n{run}{after}{end}}}\n"
    )
}

/// The struct of options that a function takes.
fn filled<'a>(function: &'a Function, structs: &Structs) -> Option<&'a Parameter> {
    let mut parameters = function.parameters.iter();
    let sized = |p: &&Parameter| {
        structs.contains_key(p.of())
            && function.parameters.iter().any(|other| other.name == format!("{}_size", p.name))
    };
    parameters.find(sized)
}

fn row(function: &Function, structs: &Structs) -> String {
    let Function { returns, name, parameters } = function;
    let kind = match returns.as_str() {
        "seconder_status" if name != "seconder_error_status" => "STATUS",
        "void" => "NOTHING",
        _ => "LOOK",
    };
    let mut row = format!("    {{\"{name}\", {kind}, try_{name}, {{");
    for parameter in parameters {
        let kind = match (parameter.is_text(), parameter.is_pointer()) {
            (true, _) => 't',
            (_, true) => 'p',
            _ => 'n',
        };
        row += &format!("{{'{kind}', \"{}\"}}, ", parameter.name);
    }
    row += "{0, NULL}}, ";
    match filled(function, structs) {
        None => row += "0, NULL, {NULL}},\n",
        Some(options) => {
            row += &format!("sizeof({}), \"{}_size\", {{", options.of(), options.name);
            for field in &structs[options.of()] {
                row += &format!("\"{field}\", ");
            }
            row += "NULL}},\n";
        }
    }
    row
}
