//! What the C layer declares itself: handles, with values that functions of C and C++ read, and constants.

use super::read::load;
use super::{Constant, Struct, Type, attributes, read};
use crate::Result;
use std::fs;
use std::path::Path;
use syn::{Attribute, Item, ItemStruct, Visibility};

/// The folder of the C layer.
const LAYER: &str = "src/capi";

/// The files that declare constants.
const CONSTANTS: [&str; 3] =
    ["src/capi/status.rs", "bindings/c/src/prompt.rs", "bindings/c/src/login.rs"];

/// The first constant that is no status.
const AFTER_STATUSES: &str = "SECONDER_STAGE_NONE";

/// The handles whose fields have documentation, or which are freed by a generated function: a field without
/// documentation is not read by a function, or by one that is written by hand.
pub(super) fn records(root: &Path) -> Result<Vec<Struct>> {
    let mut records = Vec::new();
    for file in files(root, LAYER)? {
        for item in items(root, &file)? {
            if let Item::Struct(item) = item
                && is_handle(&item)
            {
                let name = item.ident.to_string();
                records.extend(record(item, &file).map_err(|e| format!("{file}: {name}: {e}"))?);
            }
        }
    }
    Ok(records)
}

/// Returns whether C sees the name of the struct alone.
fn is_handle(item: &ItemStruct) -> bool {
    let is_shown = |attribute: &Attribute| attribute.path().is_ident("repr");
    let is_public = matches!(item.vis, Visibility::Public(_));
    is_public
        && item.fields.iter().all(|field| field.ident.is_some())
        && !item.attrs.iter().any(is_shown)
}

fn record(item: ItemStruct, file: &str) -> Result<Option<Struct>> {
    let name = item.ident.to_string();
    let overrides = attributes::overrides(&item.attrs)?;
    let documented =
        item.fields.into_iter().filter(|one| !attributes::docs(&one.attrs).0.is_empty());
    let fields = documented.map(|one| {
        let serde = attributes::serde(&one.attrs)?;
        let mut field = read::field(one, serde)?;
        field.kind = of_c(field.kind);
        Ok(field)
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.is_empty() && overrides.note("c", "freed").is_none() {
        return Ok(None);
    }
    let module = file.rsplit('/').next().and_then(|last| last.strip_suffix(".rs"));
    Ok(Some(Struct {
        name,
        file: file.to_owned(),
        module: module.unwrap_or_default().to_owned(),
        docs: attributes::docs(&item.attrs),
        fields,
        skipped: Vec::new(),
        generic: None,
        has_default: false,
        overrides,
    }))
}

/// The type of a field, of which the C layer has its own for texts.
fn of_c(kind: Type) -> Type {
    match kind {
        Type::Declared(name) if name == "Text" => Type::Text,
        Type::Optional(inner) => Type::Optional(Box::new(of_c(*inner))),
        other => other,
    }
}

/// The constants, in their order.
pub(super) fn constants(root: &Path) -> Result<Vec<Constant>> {
    let mut constants = Vec::new();
    for file in CONSTANTS {
        constants.extend(items(root, file)?.iter().filter_map(constant));
    }
    // Their order says what they are: the statuses come first.
    let statuses = constants.iter().take_while(|constant| constant.name != AFTER_STATUSES).count();
    constants[..statuses].iter_mut().for_each(|constant| constant.is_status = true);
    Ok(constants)
}

fn constant(item: &Item) -> Option<Constant> {
    let Item::Const(item) = item else { return None };
    let name = item.ident.to_string();
    let docs = attributes::docs(&item.attrs);
    name.starts_with("SECONDER_").then_some(Constant { name, docs, is_status: false })
}

/// The files of a folder, by name.
fn files(root: &Path, folder: &str) -> Result<Vec<String>> {
    let at = |e: std::io::Error| format!("{folder}: {e}");
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder)).map_err(at)? {
        let name = entry.map_err(at)?.file_name();
        let name = name.to_string_lossy();
        found.extend(name.ends_with(".rs").then(|| format!("{folder}/{name}")));
    }
    found.sort();
    Ok(found)
}

fn items(root: &Path, file: &str) -> Result<Vec<Item>> {
    Ok(syn::parse_file(&load(root, file)?).map_err(|e| format!("{file}: {e}"))?.items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn a_field_with_documentation_is_read_by_a_function() {
        let item: ItemStruct = parse_quote! {
            /// A device.
            #[cfg_attr(false, c(freed = "a device"))]
            pub struct seconder_device {
                /// Its name.
                pub(super) name: Option<Text>,
                /// The others.
                pub(super) others: Items<seconder_other>,
                inner: Device,
            }
        };
        assert!(is_handle(&item));
        let found = record(item, "src/capi/engine.rs").unwrap().unwrap();
        assert_eq!(
            (found.module.as_str(), found.overrides.note("c", "freed")),
            ("engine", Some("a device"))
        );
        let kinds: Vec<Type> = found.fields.iter().map(|field| field.kind.clone()).collect();
        let other = Type::Declared("seconder_other".to_owned());
        assert_eq!(kinds, [Type::Optional(Box::new(Type::Text)), Type::List(Box::new(other))]);
        let item: ItemStruct = parse_quote!(
            pub struct seconder_service {
                service: Service,
            }
        );
        assert!(record(item, "src/capi/open.rs").unwrap().is_none());
    }

    #[test]
    fn statuses_come_before_other_constants() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all = constants(&root).unwrap();
        let is_status =
            |name: &str| all.iter().find(|one| one.name == name).map(|constant| constant.is_status);
        assert_eq!(is_status("SECONDER_OK"), Some(true));
        assert_eq!(is_status("SECONDER_LOGIN_DENIED"), Some(true));
        assert_eq!(is_status("SECONDER_STAGE_DNS"), Some(false));
        assert_eq!(is_status("SECONDER_JOURNAL_ERROR"), Some(false));
    }
}
