//! The names that the library's sources declare, for comparison with the language interfaces.

use super::read;
use syn::{FnArg, ImplItem, Item, Type, Visibility};

/// How a method takes `self`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Takes {
    ByValue,
    ByReference,
    Nothing,
}

/// `RATE_LIMITED` for `RateLimited`.
pub(super) fn constant_case(name: &str) -> String {
    let mut constant = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !constant.is_empty() {
            constant.push('_');
        }
        constant.push(c.to_ascii_uppercase());
    }
    constant
}

fn items(file: &str) -> Vec<Item> {
    syn::parse_file(&read(file)).unwrap_or_else(|e| panic!("{file}: {e}")).items
}

fn implementations(file: &str, name: &str) -> Vec<syn::ImplItemFn> {
    let of = |item: &syn::ItemImpl| {
        item.trait_.is_none() && matches!(&*item.self_ty, Type::Path(p) if p.path.is_ident(name))
    };
    let inside = items(file).into_iter().filter_map(|item| match item {
        Item::Impl(item) if of(&item) => Some(item.items),
        _ => None,
    });
    let method = |item: ImplItem| match item {
        ImplItem::Fn(f) if matches!(f.vis, Visibility::Public(_)) => Some(f),
        _ => None,
    };
    inside.flatten().filter_map(method).collect()
}

/// The public methods and functions of a type that take `self` in an accepted way.
pub(super) fn methods(file: &str, name: &str, takes: impl Fn(Takes) -> bool) -> Vec<String> {
    let fits = |method: &syn::ImplItemFn| {
        takes(match method.sig.inputs.first() {
            Some(FnArg::Receiver(r)) if r.reference.is_some() => Takes::ByReference,
            Some(FnArg::Receiver(_)) => Takes::ByValue,
            _ => Takes::Nothing,
        })
    };
    let found = implementations(file, name).into_iter().filter(fits);
    found.map(|method| method.sig.ident.to_string()).collect()
}

pub(super) fn parameters(file: &str, name: &str, method: &str) -> Vec<String> {
    let found = implementations(file, name).into_iter().find(|f| f.sig.ident == method);
    let inputs = found.map(|f| f.sig.inputs).unwrap_or_default();
    let name = |input: FnArg| match input {
        FnArg::Typed(syn::PatType { pat, .. }) => match *pat {
            syn::Pat::Ident(name) => Some(name.ident.to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    };
    inputs.into_iter().filter_map(name).collect()
}

pub(super) fn functions(file: &str) -> Vec<String> {
    let public = |item: Item| match item {
        Item::Fn(f) if matches!(f.vis, Visibility::Public(_)) => Some(f.sig.ident.to_string()),
        _ => None,
    };
    items(file).into_iter().filter_map(public).collect()
}

fn idents(fields: &syn::Fields) -> Vec<String> {
    fields.iter().filter_map(|field| Some(field.ident.as_ref()?.to_string())).collect()
}

/// What can be read of a value: its public fields, and its methods without parameters.
pub(super) fn members(file: &str, name: &str) -> Vec<String> {
    let of = |item: Item| match item {
        Item::Struct(item) if item.ident == name => Some(item.fields),
        _ => None,
    };
    let fields = items(file).into_iter().find_map(of).into_iter().flatten();
    let public = fields.filter(|field| matches!(field.vis, Visibility::Public(_)));
    let mut names: Vec<String> =
        public.filter_map(|field| Some(field.ident?.to_string())).collect();
    let is_getter = |method: &String| parameters(file, name, method).is_empty();
    names.extend(
        methods(file, name, |takes| takes == Takes::ByReference).into_iter().filter(is_getter),
    );
    names
}

fn enumeration(file: &str, name: &str) -> Vec<syn::Variant> {
    let of = |item: Item| match item {
        Item::Enum(item) if item.ident == name => Some(item.variants.into_iter().collect()),
        _ => None,
    };
    items(file).into_iter().find_map(of).unwrap_or_default()
}

pub(super) fn variants(file: &str, name: &str) -> Vec<String> {
    enumeration(file, name).iter().map(|variant| variant.ident.to_string()).collect()
}

pub(super) fn variant_fields(file: &str, name: &str) -> Vec<String> {
    enumeration(file, name).iter().flat_map(|variant| idents(&variant.fields)).collect()
}
