//! Enums, with the names of their values, and the error codes of services.

use super::read::load;
use super::{Code, Enum, Variant, attributes};
use crate::Result;
use crate::text::{Docs, snake};
use std::collections::BTreeMap;
use std::path::Path;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Ident, ImplItem, Item, ItemEnum, Lit, LitStr, Pat, Stmt, Token};

/// The enums outside of `src/calls` that languages have too.
const OTHERS: [(&str, &str); 9] = [
    ("src/engine/model/lines.rs", "LineType"),
    ("src/engine/model/devices.rs", "DeviceType"),
    ("src/engine/handlers/approvals.rs", "ApprovalResponse"),
    ("src/wire.rs", "Format"),
    ("src/wire.rs", "Generation"),
    ("src/model/application.rs", "CallbackMethod"),
    ("src/remote.rs", "Repeats"),
    ("src/otp.rs", "Algorithm"),
    ("src/error.rs", "Stage"),
];

/// The names of values, by the names of their enum and variant.
pub(super) type Names = BTreeMap<(String, String), String>;

/// Reads the enums outside of `src/calls`.
pub(super) fn read(root: &Path) -> Result<Vec<Enum>> {
    let each = OTHERS.iter().map(|(path, name)| {
        let items = items(root, path)?.items;
        let names = names(&items);
        let found = items.iter().find_map(|item| match item {
            Item::Enum(item) if item.ident == name => Some(item),
            _ => None,
        });
        let item = found.ok_or_else(|| format!("{path}: has no enum {name}"))?;
        enumeration(item, path, &names)
    });
    each.collect()
}

/// Reads the error codes of services.
pub(super) fn codes(root: &Path) -> Result<(Docs, Vec<Code>)> {
    let path = "src/codes.rs";
    let file = items(root, path)?;
    let list = file.items.iter().find_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident("codes") => Some(&item.mac),
        _ => None,
    });
    let list = list.ok_or_else(|| format!("{path}: has no list `codes!`"))?;
    let Codes(codes) = list.parse_body().map_err(|e| format!("{path}: {e}"))?;
    Ok((attributes::docs(&file.attrs), codes))
}

fn items(root: &Path, path: &str) -> Result<syn::File> {
    syn::parse_file(&load(root, path)?).map_err(|e| format!("{path}: {e}"))
}

/// The names that functions called `name` return.
pub(super) fn names(items: &[Item]) -> Names {
    let mut found = Names::new();
    for item in items {
        let Item::Impl(item) = item else { continue };
        let syn::Type::Path(this) = &*item.self_ty else { continue };
        let Some(name) = this.path.get_ident() else { continue };
        for part in &item.items {
            let ImplItem::Fn(function) = part else { continue };
            let Some(Stmt::Expr(Expr::Match(choice), _)) = function.block.stmts.last() else {
                continue;
            };
            if function.sig.ident != "name" {
                continue;
            }
            let texts = choice.arms.iter().filter_map(|arm| Some((last(&arm.pat)?, &*arm.body)));
            for (variant, text) in texts {
                if let Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = text {
                    found.insert((name.to_string(), variant), text.value());
                }
            }
        }
    }
    found
}

/// The last name in a pattern such as `Channel::Sms`.
fn last(pattern: &Pat) -> Option<String> {
    let Pat::Path(path) = pattern else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

/// Reads an enum, whose values have these names, or those that follow from their variants.
pub(super) fn enumeration(item: &ItemEnum, path: &str, names: &Names) -> Result<Enum> {
    let name = item.ident.to_string();
    let has_names = names.keys().any(|(of, _)| *of == name);
    let variant = |variant: &syn::Variant| {
        let rust = variant.ident.to_string();
        let name = match names.get(&(name.clone(), rust.clone())) {
            Some(known) => known.clone(),
            // A name that cannot be read must not become another one.
            None if has_names => {
                return Err(format!("{path}: no name was found for {name}::{rust}"));
            }
            None => snake(&rust),
        };
        Ok(Variant { name, docs: attributes::docs(&variant.attrs), rust })
    };
    let variants = item.variants.iter().map(variant).collect::<Result<Vec<_>>>()?;
    let is_default = |variant: &&syn::Variant| {
        variant.attrs.iter().any(|attribute| attribute.path().is_ident("default"))
    };
    let default = item.variants.iter().find(is_default).map(|variant| variant.ident.to_string());
    let docs = attributes::docs(&item.attrs);
    let overrides = attributes::overrides(&item.attrs).map_err(|e| format!("{name}: {e}"))?;
    Ok(Enum { path: path.to_owned(), docs, variants, default, overrides, name })
}

/// `NAME = "code", "meaning";` for each code, with documentation of its own or without.
struct Codes(Vec<Code>);

impl Parse for Codes {
    fn parse(input: ParseStream<'_>) -> syn::Result<Codes> {
        let mut codes = Vec::new();
        while !input.is_empty() {
            input.call(Attribute::parse_outer)?;
            let name = input.parse::<Ident>()?.to_string();
            input.parse::<Token![=]>()?;
            let text = input.parse::<LitStr>()?.value();
            input.parse::<Token![,]>()?;
            let meaning = input.parse::<LitStr>()?.value();
            input.parse::<Token![;]>()?;
            codes.push(Code { name, text, meaning });
        }
        Ok(Codes(codes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn values_have_the_names_that_they_return() {
        let item: ItemEnum = parse_quote! {
            /// Kinds.
            enum Kind { Plain, #[default] Chrome }
        };
        let function: Item = parse_quote! {
            impl Kind {
                const fn name(self) -> &'static str {
                    match self { Kind::Plain => "plain", Kind::Chrome => "svc_chrome" }
                }
            }
        };
        let found = enumeration(&item, "src/kinds.rs", &names(&[function])).unwrap();
        let values: Vec<&str> = found.variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(values, ["plain", "svc_chrome"]);
        assert_eq!(found.default.as_deref(), Some("Chrome"));
    }

    #[test]
    fn codes_are_read_from_their_list() {
        let Codes(codes) = parse_quote! {
            /// Documented.
            NO_USER = "60026", "no such user";
        };
        assert_eq!((codes[0].name.as_str(), codes[0].text.as_str()), ("NO_USER", "60026"));
    }
}
