//! Attributes of declarations: documentation, serde's names and defaults, and overrides.

use super::{Default, Override, Overrides};
use crate::Result;
use crate::text::Docs;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitBool, LitStr, Meta, Token, parenthesized};

pub(super) fn docs(attributes: &[Attribute]) -> Docs {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => text(&pair.value),
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    // rustdoc drops the space after the mark.
    let lines = lines.iter().map(|line| line.trim()).collect::<Vec<_>>();
    Docs::parse(&lines.join("\n"))
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The name and the default that serde gives to a field.
#[derive(Debug)]
pub(super) struct Serde {
    pub(super) rename: Option<String>,
    pub(super) default: Default,
    /// Whether the field is not on the wire.
    pub(super) skip: bool,
}

pub(super) fn serde(attributes: &[Attribute]) -> Result<Serde> {
    let mut found = Serde { rename: None, default: Default::Required, skip: false };
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        for meta in metas.map_err(|e| format!("its serde attribute: {e}"))? {
            match &meta {
                Meta::Path(path) if path.is_ident("default") => found.default = Default::Empty,
                Meta::Path(path) if path.is_ident("skip") => found.skip = true,
                Meta::NameValue(pair) if pair.path.is_ident("default") => {
                    found.default = match text(&pair.value).as_deref() {
                        Some("yes") => Default::Yes,
                        _ => return Err("only the default `yes` is known".to_owned()),
                    };
                }
                Meta::NameValue(pair) if pair.path.is_ident("rename") => {
                    found.rename = text(&pair.value);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// `#[cfg_attr(false, c = "words")]`, or `#[cfg_attr(false, c(name = "value", flag))]`.
struct Ignored {
    language: Ident,
    given: Override,
}

impl Parse for Ignored {
    fn parse(input: ParseStream<'_>) -> syn::Result<Ignored> {
        let condition: LitBool = input.parse()?;
        if condition.value {
            return Err(syn::Error::new(condition.span, "the compiler would not ignore it"));
        }
        input.parse::<Token![,]>()?;
        let language = input.parse()?;
        let mut given = Override::default();
        match input.parse::<Option<Token![=]>>()? {
            Some(_) => given.words = Some(input.parse::<LitStr>()?.value()),
            None => {
                let content;
                parenthesized!(content in input);
                for note in content.parse_terminated(Note::parse, Token![,])? {
                    given.notes.insert(note.name, note.value);
                }
            }
        }
        input.parse::<Option<Token![,]>>()?;
        Ok(Ignored { language, given })
    }
}

/// `name = "value"`, or a name alone, whose value is empty.
struct Note {
    name: String,
    value: String,
}

impl Parse for Note {
    fn parse(input: ParseStream<'_>) -> syn::Result<Note> {
        let name = input.parse::<Ident>()?.to_string();
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => input.parse::<LitStr>()?.value(),
            None => String::new(),
        };
        Ok(Note { name, value })
    }
}

pub(super) fn overrides(attributes: &[Attribute]) -> Result<Overrides> {
    let mut found = Overrides::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("cfg_attr")) {
        let one: Ignored =
            attribute.parse_args().map_err(|e| format!("its override for a language: {e}"))?;
        let whole = found.0.entry(one.language.to_string()).or_default();
        whole.words = whole.words.take().or(one.given.words);
        whole.notes.extend(one.given.notes);
    }
    Ok(found)
}

/// Returns whether an item derives a trait.
pub(super) fn derives(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let paths = attribute.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated);
        paths.is_ok_and(|paths| paths.iter().any(|path| path.is_ident(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn overrides_are_read_by_language() {
        let given: syn::ItemStruct = parse_quote! {
            #[cfg_attr(
                false,
                c = "Other \
                     words."
            )]
            #[cfg_attr(false, c(name = "device_info", hidden))]
            #[cfg_attr(false, python(hidden))]
            struct Device;
        };
        let found = overrides(&given.attrs).unwrap();
        assert_eq!(found.words("c"), Some("Other words."));
        assert_eq!(found.note("c", "name"), Some("device_info"));
        assert!(found.has("c", "hidden") && found.has("python", "hidden"));
        assert!(!found.has("python", "name"));
    }

    #[test]
    fn attributes_that_the_compiler_reads_are_no_overrides() {
        let read: [Attribute; 2] = [
            parse_quote!(#[cfg_attr(test, c(hidden))]),
            parse_quote!(#[cfg_attr(true, c(hidden))]),
        ];
        assert!(read.into_iter().all(|attribute| overrides(&[attribute]).is_err()));
    }

    #[test]
    fn defaults_and_names_are_read() {
        let given: syn::Field = parse_quote! {
            #[serde(rename = "type", default = "yes")]
            pub kind: bool
        };
        let found = serde(&given.attrs).unwrap();
        assert_eq!((found.rename.as_deref(), found.default), (Some("type"), Default::Yes));
        let skipped: syn::Field = parse_quote! {
            #[serde(skip)]
            pub by: By
        };
        assert!(serde(&skipped.attrs).unwrap().skip && !found.skip);
    }
}
