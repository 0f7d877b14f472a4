//! Reads the declarations from `src/calls`.

use super::attributes::{self, Serde};
use super::{Call, Enum, Field, Interface, Overrides, Struct, Type, Value, layer, options, words};
use crate::Result;
use crate::text::Docs;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{
    Expr, ExprLit, GenericArgument, ImplItem, Item, ItemImpl, ItemType, Lit, PathArguments,
    Visibility,
};

/// Reads every call that `src/calls.rs` lists.
pub(crate) fn read(root: &Path) -> Result<Interface> {
    let text = load(root, "src/calls.rs")?;
    let mut found = Declarations::default();
    found.file("", &text)?;
    for module in modules(&text) {
        let path = format!("src/calls/{module}.rs");
        found.file(&module, &load(root, &path)?).map_err(|e| format!("{path}: {e}"))?;
    }
    found.name_aliases()?;
    let mut calls = Vec::new();
    for name in listed(&text)? {
        let missing = || format!("src/calls: no file has `impl Call for {name}`");
        let (route, reply) = found.routes.remove(&name).ok_or_else(missing)?;
        let mut declared = found.structs.remove(&name).ok_or_else(missing)?;
        let errors = declared.docs.take_section("# Errors");
        calls.push(Call { name: route, declared, errors, reply });
    }
    let (structs, enums) = (found.structs, found.enums);
    let (words, codes) = (words::read(root)?, words::codes(root)?);
    let options = options::read(root)?;
    let (records, constants) = (layer::records(root)?, layer::constants(root)?);
    Ok(Interface { calls, structs, enums, words, codes, options, records, constants })
}

pub(super) fn load(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))
}

/// The modules that `src/calls.rs` declares.
fn modules(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    names.map(str::to_owned).collect()
}

/// The calls in the order of the interface document, as the macro `with_every_call` lists them.
fn listed(text: &str) -> Result<Vec<String>> {
    let list = text.split_once("macro_rules! with_every_call {");
    let list = list.and_then(|(_, rest)| rest.split_once("$then! {")?.1.split_once('}'));
    let (list, _) = list.ok_or("src/calls.rs: has no list `with_every_call`")?;
    let names = list.split(',').map(|name| name.trim().to_owned());
    Ok(names.filter(|name| !name.is_empty()).collect())
}

#[derive(Default)]
struct Declarations {
    structs: BTreeMap<String, Struct>,
    enums: BTreeMap<String, Enum>,
    /// The name of each call's route, and of the type of its reply, by the name of its struct.
    routes: BTreeMap<String, (String, String)>,
    /// The names of routes, by the types of which a generic struct has one.
    routes_of_types: BTreeMap<String, String>,
    /// The types of the replies of generic structs, by their names.
    replies: BTreeMap<String, String>,
    aliases: Vec<Alias>,
}

/// A name for a generic struct with a type, such as `pub type RequestSms = RequestCode<BySms>`.
struct Alias {
    name: String,
    docs: Docs,
    overrides: Overrides,
    generic: String,
    argument: String,
}

impl Declarations {
    fn file(&mut self, module: &str, text: &str) -> Result<()> {
        let items = syn::parse_file(text).map_err(|e| e.to_string())?.items;
        let names = words::names(&items);
        let file = match module {
            "" => "src/calls.rs".to_owned(),
            module => format!("src/calls/{module}.rs"),
        };
        for item in items {
            match item {
                Item::Struct(item) if is_declaration(&item.vis, &item.attrs) => {
                    let name = item.ident.to_string();
                    let at = |e: String| format!("{name}: {e}");
                    let (fields, skipped) = fields(item.fields).map_err(at)?;
                    let docs = attributes::docs(&item.attrs);
                    let overrides = attributes::overrides(&item.attrs).map_err(at)?;
                    let has_default = attributes::derives(&item.attrs, "Default");
                    let (name, module) = (name.clone(), module.to_owned());
                    let found = Struct {
                        name,
                        file: file.clone(),
                        module,
                        docs,
                        fields,
                        skipped,
                        generic: None,
                        has_default,
                        overrides,
                    };
                    self.structs.insert(found.name.clone(), found);
                }
                Item::Enum(item) if is_declaration(&item.vis, &item.attrs) => {
                    let found = words::enumeration(&item, &file, &names)?;
                    self.enums.insert(found.name.clone(), found);
                }
                Item::Impl(item) => self.implementation(&item)?,
                Item::Type(item) if matches!(item.vis, Visibility::Public(_)) => {
                    self.aliases.extend(alias(&item)?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes a struct of each alias of a generic one, with the route of its type.
    fn name_aliases(&mut self) -> Result<()> {
        for Alias { name, docs, overrides, generic, argument } in self.aliases.drain(..) {
            let missing = |what: &str| format!("src/calls: {name}: {what} is missing");
            let of = self.structs.get(&generic).ok_or_else(|| missing(&generic))?;
            let route = self.routes_of_types.get(&argument);
            let route = route.ok_or_else(|| missing(&format!("the route of {argument}")))?;
            let reply = self.replies.get(&generic);
            let reply = reply.ok_or_else(|| missing(&format!("the reply of {generic}")))?;
            self.routes.insert(name.clone(), (route.clone(), reply.clone()));
            let found = Struct {
                name: name.clone(),
                docs,
                overrides,
                generic: Some(generic),
                ..of.clone()
            };
            self.structs.insert(name, found);
        }
        // Other languages have no generic struct.
        self.structs.retain(|name, _| !self.replies.contains_key(name));
        Ok(())
    }

    /// Takes the route and the reply from `impl Call for …`, and the route of a type that has one for a generic call.
    fn implementation(&mut self, item: &ItemImpl) -> Result<()> {
        let is_call = item.trait_.as_ref().is_some_and(|(_, path, _)| path.is_ident("Call"));
        let syn::Type::Path(this) = &*item.self_ty else { return Ok(()) };
        let Some(this) = this.path.segments.last() else { return Ok(()) };
        let name = this.ident.to_string();
        let is_generic = !this.arguments.is_none();
        let (mut route, mut reply) = (None, None);
        for part in &item.items {
            match part {
                ImplItem::Const(part) if part.ident == "ROUTE" => route = first_text(&part.expr),
                ImplItem::Type(part) if part.ident == "Reply" => {
                    reply = match Type::parse(&part.ty)? {
                        Type::Declared(name) => Some(name),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        match (is_call, is_generic, route, reply) {
            (true, false, Some(route), Some(reply)) => {
                self.routes.insert(name, (route, reply));
            }
            (true, true, None, Some(reply)) => drop(self.replies.insert(name, reply)),
            (true, ..) => return Err(format!("{name}: has no route with a name, or no reply")),
            (false, _, Some(route), _) => drop(self.routes_of_types.insert(name, route)),
            (false, ..) => {}
        }
        Ok(())
    }
}

/// Reads an alias of a generic struct. Any other alias is none of a declaration.
fn alias(item: &ItemType) -> Result<Option<Alias>> {
    let syn::Type::Path(path) = &*item.ty else { return Ok(None) };
    let Some(last) = path.path.segments.last() else { return Ok(None) };
    let PathArguments::AngleBracketed(list) = &last.arguments else { return Ok(None) };
    let Some(GenericArgument::Type(syn::Type::Path(argument))) = list.args.first() else {
        return Ok(None);
    };
    let Some(argument) = argument.path.get_ident() else { return Ok(None) };
    let name = item.ident.to_string();
    let docs = attributes::docs(&item.attrs);
    let overrides = attributes::overrides(&item.attrs).map_err(|e| format!("{name}: {e}"))?;
    let (generic, argument) = (last.ident.to_string(), argument.to_string());
    Ok(Some(Alias { name, docs, overrides, generic, argument }))
}

/// Returns whether an item is a public type that serde reads: a call, a reply, or a part of one.
fn is_declaration(visibility: &Visibility, attributes: &[syn::Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && attributes::derives(attributes, "Serialize")
}

/// The fields on the wire, and the names of the others.
fn fields(all: syn::Fields) -> Result<(Vec<Field>, Vec<String>)> {
    let (mut fields, mut skipped) = (Vec::new(), Vec::new());
    for one in all {
        let name = one.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let serde = attributes::serde(&one.attrs).map_err(|e| format!("{name}: {e}"))?;
        match serde.skip {
            true => skipped.push(name),
            false => fields.push(field(one, serde)?),
        }
    }
    Ok((fields, skipped))
}

pub(super) fn field(field: syn::Field, serde: Serde) -> Result<Field> {
    let Some(ident) = &field.ident else { return Err("a field has no name".to_owned()) };
    let rust = ident.to_string();
    let at = |e: String| format!("{rust}: {e}");
    let bare = rust.strip_prefix("r#").unwrap_or(&rust).to_owned();
    let kind = Type::parse(&field.ty).map_err(at)?;
    let wire = serde.rename.unwrap_or_else(|| bare.clone());
    let name = match kind.given() {
        Type::Value(Value::UserId) => bare,
        _ => wire.clone(),
    };
    let docs = attributes::docs(&field.attrs);
    let overrides = attributes::overrides(&field.attrs).map_err(at)?;
    Ok(Field { rust, name, wire, docs, kind, default: serde.default, overrides })
}

/// The first text in a chain of calls, such as the name in `Route::get("verify", …).older(…)`.
fn first_text(expression: &Expr) -> Option<String> {
    match expression {
        Expr::MethodCall(call) => first_text(&call.receiver),
        Expr::Call(call) => call.args.first().and_then(first_text),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Default;

    #[test]
    fn the_declarations_of_the_project_are_read() {
        let found = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
        let call = found.calls.first().unwrap();
        assert_eq!((call.name.as_str(), call.reply.as_str()), ("create_user", "UserCreated"));
        let names: Vec<&str> = call.declared.fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["user", "send_install_link_via_sms", "new_only"]);
        assert_eq!(call.declared.fields[1].default, Default::Yes);
        assert!(call.errors.0[0].starts_with("[`Error::Rejected`]"));
        let reply = found.get(&call.reply).unwrap();
        assert_eq!(
            (reply.fields[0].rust.as_str(), reply.fields[0].name.as_str()),
            ("user_id", "user_id")
        );
        assert_eq!((reply.fields[0].wire.as_str(), reply.has_default), ("id", false));
        assert_eq!(found.enums["Channel"].variants[1].name, "call");
        let sms = found.calls.iter().find(|call| call.name == "request_sms").unwrap();
        assert_eq!(sms.declared.generic.as_deref(), Some("RequestCode"));
        assert_eq!((sms.reply.as_str(), sms.declared.skipped[0].as_str()), ("CodeRequested", "by"));
        assert!(sms.declared.docs.0[0].starts_with("Sends a code by SMS"));
        assert!(!found.structs.contains_key("RequestCode"));
        assert_eq!(found.enums["ApprovalStatus"].default.as_deref(), Some("Unknown"));
    }
}
