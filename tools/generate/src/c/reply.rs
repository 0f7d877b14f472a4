//! Replies: opaque handles, and the functions that read them.

use super::source::Source;
use super::{C, Plan, module};
use crate::Result;
use crate::docs::{ABSENT, Translator};
use crate::model::{Field, Struct, Type};
use crate::text::{alternatives, continued, doc_comment, sentences};

/// The form in which a handle keeps a field.
#[derive(Clone, PartialEq)]
pub(crate) enum Shape {
    Flag,
    /// A flag that the service may not provide.
    MaybeFlag,
    Number,
    /// A number that the service may not provide, and whether 0 of it is written otherwise.
    MaybeNumber {
        zero: bool,
    },
    MaybeSigned,
    /// A constant of `capi::status`.
    Constant(String),
    /// A number of this type, in a handle of the C layer.
    Plain(String),
    Text,
    MaybeText,
    Texts,
    /// A struct of this name that the service may not provide.
    Item(String),
    Items(String),
    /// Structs of this name, of the module of the handle.
    Structs(String),
    /// A handle of this name that the service may not provide.
    Handle(String),
}

/// A field of a handle.
pub(crate) struct Member<'a> {
    pub(crate) field: &'a Field,
    pub(crate) shape: Shape,
    /// The expression that makes it of `reply`.
    made: String,
}

impl Member<'_> {
    /// Returns whether a function says if the service provides the value.
    pub(crate) fn is_known(&self) -> bool {
        self.shape == Shape::MaybeFlag || self.field.overrides.has(C, "known")
    }
}

/// The name of the function that reads a field, without its type.
pub(crate) fn accessor(field: &Field) -> &str {
    match field.kind {
        Type::List(_) if field.name.ends_with("entries") => "entry",
        Type::List(_) => field.name.strip_suffix('s').unwrap_or(&field.name),
        _ => &field.name,
    }
}

fn member<'a>(plan: &Plan<'_>, field: &'a Field) -> Result<Member<'a>> {
    let rust = &field.rust;
    let from = format!("reply.{rust}");
    let zero = field.overrides.has(C, "zero");
    let (shape, made) = match (&field.kind, field.kind.given()) {
        (Type::Optional(_), Type::Flag) => (Shape::MaybeFlag, from),
        (Type::Optional(_), Type::Number) => (Shape::MaybeNumber { zero }, from),
        (Type::Optional(_), Type::Signed) => (Shape::MaybeSigned, from),
        (Type::Optional(_), Type::Text) => {
            (Shape::MaybeText, format!("Text::of({from}.as_deref())"))
        }
        (Type::Optional(_), Type::Value(value)) if value.is_number() => {
            (Shape::Number, format!("{from}.map_or(0, |id| id.get())"))
        }
        (Type::Optional(_), Type::Value(value)) => {
            let text = format!("{from}.as_ref().map(|text| text.{}())", value.accessor());
            (Shape::MaybeText, format!("Text::of({text})"))
        }
        (Type::Optional(_), Type::Declared(name)) if plan.is_enum(name) => {
            (Shape::MaybeText, format!("Text::of({from}.map(|value| value.name()))"))
        }
        (Type::Optional(_), Type::Declared(name)) if plan.outputs.contains(name) => {
            (Shape::Item(name.clone()), format!("Items::new({from}.as_slice())"))
        }
        (Type::Optional(_), Type::Declared(name)) => {
            (Shape::Handle(name.clone()), format!("{from}.map(Into::into)"))
        }
        (Type::Declared(name), _) if ["i32", "u32"].contains(&name.as_str()) => {
            (Shape::Plain(name.clone()), from)
        }
        (Type::Flag, _) => (Shape::Flag, from),
        (Type::Number, _) => (Shape::Number, from),
        (Type::Text, _) => (Shape::Text, format!("Text::new(&{from})")),
        (Type::Object, _) => (Shape::Text, format!("Text::of_object(&{from})")),
        (Type::Value(value), _) if value.is_number() => (Shape::Number, format!("{from}.get()")),
        (Type::Value(value), _) => {
            (Shape::Text, format!("Text::new({from}.{}())", value.accessor()))
        }
        (Type::Declared(name), _) if plan.is_enum(name) => {
            match plan.interface.enums[name].overrides.note(C, "constant") {
                Some(function) => {
                    (Shape::Constant(function.to_owned()), format!("{function}({from})"))
                }
                None => (Shape::Text, format!("Text::new({from}.name())")),
            }
        }
        (Type::List(inner), _) => match &**inner {
            Type::Text => {
                (Shape::Texts, format!("{from}.iter().map(|text| Text::new(text)).collect()"))
            }
            Type::Value(value) if !value.is_number() => {
                let text = format!("Text::new(text.{}())", value.accessor());
                (Shape::Texts, format!("{from}.iter().map(|text| {text}).collect()"))
            }
            Type::Declared(name) if name.starts_with("seconder_") => {
                (Shape::Structs(name.clone()), from)
            }
            Type::Declared(name) => (Shape::Items(name.clone()), format!("Items::new(&{from})")),
            _ => return Err(format!("{rust}: C has no such list")),
        },
        _ => return Err(format!("{rust}: C has no such value")),
    };
    Ok(Member { field, shape, made })
}

/// The fields of a handle that C has.
pub(crate) fn members<'a>(plan: &Plan<'_>, declared: &'a Struct) -> Result<Vec<Member<'a>>> {
    let shown = declared.fields.iter().filter(|field| !field.overrides.has(C, "hidden"));
    let all = shown.map(|field| member(plan, field)).collect::<Result<Vec<_>>>();
    all.map_err(|e| format!("{}: {}: {e}", declared.path(), declared.name))
}

/// The type of a field of a handle.
fn kept(source: &mut Source, plan: &Plan<'_>, shape: &Shape) -> Result<String> {
    let text = |source: &mut Source| source.import("crate::capi::ffi", "Text");
    Ok(match shape {
        Shape::Flag => "bool".to_owned(),
        Shape::MaybeFlag => "Option<bool>".to_owned(),
        Shape::Number => "u64".to_owned(),
        Shape::MaybeNumber { .. } => "Option<u64>".to_owned(),
        Shape::MaybeSigned => "Option<i64>".to_owned(),
        Shape::Constant(function) => {
            source.import("crate::capi::status", function);
            "i32".to_owned()
        }
        Shape::Plain(kind) | Shape::Structs(kind) => {
            return Err(format!("{kind}: only a handle of the C layer keeps it"));
        }
        Shape::Text => {
            text(source);
            "Text".to_owned()
        }
        Shape::MaybeText => {
            text(source);
            "Option<Text>".to_owned()
        }
        Shape::Texts => {
            text(source);
            "Vec<Text>".to_owned()
        }
        Shape::Item(name) | Shape::Items(name) => {
            source.import("crate::capi::items", "Items");
            format!("Items<{}>", imported(source, plan, name)?)
        }
        Shape::Handle(name) => format!("Option<{}>", imported(source, plan, name)?),
    })
}

/// The name of a type in C, which the file then knows.
fn imported(source: &mut Source, plan: &Plan<'_>, name: &str) -> Result<String> {
    let declared = plan.interface.get(name)?;
    let c = plan.type_name(declared);
    source.import_generated(&module(declared), &c);
    Ok(c)
}

/// Writes the type, and how it is made of a reply.
pub(super) fn handle(source: &mut Source, plan: &Plan<'_>, declared: &Struct) -> Result<()> {
    let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
    let (name, rust) = (plan.type_name(declared), &declared.name);
    let translator = plan.translator(declared);
    let docs = translator.paragraphs(&declared.docs, &declared.overrides).map_err(at)?;
    let (mut fields, mut made) = (String::new(), String::new());
    for member in members(plan, declared)? {
        let field = &member.field.rust;
        fields += &format!("{field}: {},\n", kept(source, plan, &member.shape)?);
        made += &format!("{field}: {},\n", member.made);
    }
    if declared.overrides.has(C, "keeps") {
        fields += &format!("pub(in crate::capi) reply: {rust},\n");
        made += "reply,\n";
    }
    source.import("crate::calls", rust);
    source.add(&format!(
        "{}pub struct {name} {{\n{fields}}}\n\nimpl From<{rust}> for {name} {{\n\
         fn from(reply: {rust}) -> {name} {{\n{name} {{\n{made}}}\n}}\n}}\n",
        doc_comment(&docs, 0),
    ));
    Ok(())
}

/// Writes the functions that read a handle, and the one that frees it.
pub(super) fn accessors(source: &mut Source, plan: &Plan<'_>, declared: &Struct) -> Result<()> {
    let at = |e: String| format!("{}: {}: {e}", declared.path(), declared.name);
    let translator = plan.translator(declared);
    let mut functions =
        Functions { source, handle: plan.type_name(declared), variable: plan.short_name(declared) };
    let hand_written = format!("crate::capi::{}", declared.module);
    if declared.is_of_c() {
        functions.source.import(&hand_written, &declared.name);
    }
    for member in members(plan, declared)? {
        if let Shape::Structs(name) = &member.shape {
            functions.source.import(&hand_written, name);
        }
        functions.member(plan, &translator, &member).map_err(at)?;
    }
    match declared.overrides.note(C, "freed") {
        Some(what) => functions.free(what),
        None if plan.interface.returning(&declared.name).next().is_some() => {
            functions.free_reply(plan, declared);
        }
        None => {}
    }
    Ok(())
}

/// Writes functions that take one handle.
struct Functions<'a> {
    source: &'a mut Source,
    handle: String,
    variable: String,
}

impl Functions<'_> {
    fn add(&mut self, docs: &str, name: &str, more: &str, returns: &str, read: &str) {
        let Functions { handle, variable, .. } = self;
        let docs = doc_comment(&[docs.to_owned()], 0);
        let text = format!(
            "{docs}#[unsafe(no_mangle)]\npub extern \"C\" fn {handle}_{name}(\n\
             {variable}: Option<&{handle}>,{more}\n) -> {returns} {{\n\
             read_handle({variable}, |reply| {read})\n}}\n"
        );
        self.source.import("crate::capi::ffi", "read_handle");
        if returns == "*const c_char" {
            self.source.import("std::ffi", "c_char");
        }
        self.source.add(&text);
    }

    fn member(
        &mut self,
        plan: &Plan<'_>,
        translator: &Translator<'_>,
        member: &Member<'_>,
    ) -> Result<()> {
        let Member { field, shape, .. } = member;
        let (name, rust) = (accessor(field), &field.rust);
        let documented = translator.field(field, ABSENT)?;
        let has_words = translator.own_words(&field.overrides).is_some();
        let docs = match has_words {
            true => documented,
            false => describe(plan, member, &documented),
        };
        let absent = match shape {
            Shape::MaybeFlag => "False",
            Shape::Number | Shape::MaybeNumber { .. } | Shape::MaybeSigned => "0",
            _ => "NULL",
        };
        let docs = match shape {
            Shape::Text => format!("{docs} NULL only for a NULL argument."),
            _ if has_words => docs,
            _ if member.is_known() => {
                known_docs(&docs, absent, &format!("{}_{name}_known()", self.handle))
            }
            _ if matches!(field.kind, Type::Optional(_)) => absent_docs(&docs, field, absent),
            _ => docs,
        };
        self.function(plan, member, &docs)?;
        if member.is_known() {
            let docs = format!(
                "Returns whether the service provides the value of {}_{name}().",
                self.handle
            );
            self.add(
                &docs,
                &format!("{name}_known"),
                "",
                "bool",
                &format!("reply.{rust}.is_some()"),
            );
        }
        Ok(())
    }

    fn function(&mut self, plan: &Plan<'_>, member: &Member<'_>, docs: &str) -> Result<()> {
        let Member { field, shape, .. } = member;
        let (name, rust) = (accessor(field), &field.rust);
        match shape {
            Shape::Flag => self.add(docs, name, "", "bool", &format!("reply.{rust}")),
            Shape::MaybeFlag => {
                self.add(docs, name, "", "bool", &format!("reply.{rust} == Some(true)"));
            }
            Shape::Number => self.add(docs, name, "", "u64", &format!("reply.{rust}")),
            Shape::MaybeNumber { zero: true } => {
                self.source.import("crate::capi::status", "of_seconds");
                self.add(docs, name, "", "i64", &format!("of_seconds(reply.{rust})"));
            }
            Shape::MaybeNumber { zero: false } => {
                self.add(docs, name, "", "u64", &format!("reply.{rust}.unwrap_or_default()"));
            }
            Shape::MaybeSigned => {
                self.add(docs, name, "", "i64", &format!("reply.{rust}.unwrap_or_default()"));
            }
            Shape::Constant(_) => self.add(docs, name, "", "i32", &format!("reply.{rust}")),
            Shape::Plain(kind) => self.add(docs, name, "", kind, &format!("reply.{rust}")),
            Shape::Text => {
                self.add(docs, name, "", "*const c_char", &format!("reply.{rust}.as_ptr()"));
            }
            Shape::MaybeText => {
                self.source.import("crate::capi::ffi", "pointer");
                self.add(docs, name, "", "*const c_char", &format!("pointer(&reply.{rust})"));
            }
            Shape::Item(inner) => {
                let returns = format!("*const {}", imported(self.source, plan, inner)?);
                self.add(docs, name, "", &returns, &format!("reply.{rust}.get(0)"));
            }
            Shape::Handle(inner) => {
                let returns = format!("*const {}", imported(self.source, plan, inner)?);
                self.source.import("std", "ptr");
                let read = format!("reply.{rust}.as_ref().map_or(ptr::null(), ptr::from_ref)");
                self.add(docs, name, "", &returns, &read);
            }
            Shape::Items(inner) => {
                let returns = format!("*const {}", imported(self.source, plan, inner)?);
                self.list(docs, field, &returns, &format!("reply.{rust}.get(index)"));
            }
            Shape::Structs(inner) => {
                let returns = format!("*const {inner}");
                self.list(docs, field, &returns, &format!("reply.{rust}.get(index)"));
            }
            Shape::Texts => {
                self.source.import("std", "ptr");
                let read = format!("reply.{rust}.get(index).map_or(ptr::null(), Text::as_ptr)");
                self.list(docs, field, "*const c_char", &read);
            }
        }
        Ok(())
    }

    /// The number of values in a list, and one of them.
    fn list(&mut self, docs: &str, field: &Field, returns: &str, read: &str) {
        let (name, rust) = (accessor(field), &field.rust);
        let count = format!("The number of values that {}_{name}() returns.", self.handle);
        self.add(&count, &format!("{name}_count"), "", "usize", &format!("reply.{rust}.len()"));
        self.add(docs, name, "\nindex: usize,", returns, read);
    }

    fn free_reply(&mut self, plan: &Plan<'_>, declared: &Struct) {
        let calls = plan.interface.returning(&declared.name);
        let mut calls: Vec<String> =
            calls.map(|call| format!("seconder_{}()", call.name)).collect();
        let more = declared.overrides.note(C, "returned_by").unwrap_or_default();
        calls.extend(more.split_whitespace().map(|name| format!("{name}()")));
        let of = match calls.len() {
            0..=3 => alternatives(&calls),
            _ => format!("{} and similar calls", calls[0]),
        };
        let secret = |field: &Field| field.kind.is_secret() && !field.overrides.has(C, "hidden");
        let wipes = match declared.fields.iter().any(secret) {
            true => ", and wipes it",
            false => "",
        };
        self.free(&format!("the reply of {of}{wipes}"));
    }

    fn free(&mut self, what: &str) {
        let Functions { handle, variable, .. } = self;
        let docs = doc_comment(&[format!("Frees {what}. NULL is fine.")], 0);
        let text = format!(
            "{docs}#[unsafe(no_mangle)]\npub extern \"C\" fn {handle}_free(\
             {variable}: Option<Box<{handle}>>) {{\nfree({variable});\n}}\n"
        );
        self.source.import("crate::capi::ffi", "free");
        self.source.add(&text);
    }
}

/// The documentation of a field, with what its type says in C.
fn describe(plan: &Plan<'_>, member: &Member<'_>, documented: &str) -> String {
    let more = match member.shape {
        Shape::Texts | Shape::Items(_) | Shape::Structs(_) => {
            " Returns the one at `index`, owned by the handle; NULL if `index` is out of range."
        }
        Shape::Item(_) | Shape::Handle(_) => " Owned by the handle.",
        _ => "",
    };
    described(plan, member, documented, more)
}

/// The documentation of a field, with what its type says in every language, and more sentences.
pub(crate) fn described(
    plan: &Plan<'_>,
    member: &Member<'_>,
    documented: &str,
    more: &str,
) -> String {
    let documented = match documented.strip_prefix("True if ") {
        Some(rest) => format!("Returns whether {rest}"),
        None => documented.to_owned(),
    };
    let values = match (&member.shape, member.field.kind.given()) {
        (Shape::Text | Shape::MaybeText, Type::Declared(name)) => {
            format!(" {}", variants(plan, name))
        }
        (Shape::Text, Type::Object) => " A JSON object as text, \"{}\" if it is empty.".to_owned(),
        _ => String::new(),
    };
    // The sentence on an absent value comes last.
    let all = sentences(&documented);
    let at = all.iter().position(|one| one.starts_with(ABSENT)).unwrap_or(all.len());
    let (before, after) = all.split_at(at);
    let after = after.iter().map(|one| format!(" {one}")).collect::<String>();
    format!("{}{values}{more}{after}", before.join(" "))
}

/// The names of an enum with their meanings: `"sent": it was sent; "failed": it was not.`
fn variants(plan: &Plan<'_>, name: &str) -> String {
    let each = plan.interface.enums[name].variants.iter().map(|variant| {
        let meaning = sentences(&variant.docs.0.join(" ")).remove(0);
        format!("\"{}\": {}", variant.name, continued(meaning.trim_end_matches('.')))
    });
    each.collect::<Vec<_>>().join("; ") + "."
}

/// The documentation of a value that may be absent, unless it says so itself.
pub(super) fn absent_docs(documented: &str, field: &Field, absent: &str) -> String {
    let says = field.docs.0.iter().any(|paragraph| paragraph.contains(ABSENT));
    match says {
        true => documented.replace(ABSENT, absent),
        false => format!("{documented} {absent} if the service does not provide it."),
    }
}

/// The documentation of a value that may be absent, where a function says whether it is.
fn known_docs(documented: &str, absent: &str, known: &str) -> String {
    let documented = match documented.contains(ABSENT) {
        true => documented.replacen(ABSENT, &format!("{absent} also"), 1),
        false => format!("{documented} {absent} also if the service does not say."),
    };
    format!("{documented} {known} says whether it does.")
}
