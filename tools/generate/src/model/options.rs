//! The options of opening a service, and the settings of an application, which are options too.

use super::attributes;
use super::read::load;
use crate::Result;
use crate::text::Docs;
use std::path::Path;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitStr, Token, braced, parenthesized};

const OPTIONS: &str = "src/open_options.rs";
const SETTINGS: &str = "src/app_settings.rs";

/// An option of opening a service.
#[derive(Debug)]
pub(crate) struct OpenOption {
    /// Its name where all its values are given at once.
    pub(crate) name: String,
    /// Its sentences, the first of which says what it is.
    pub(crate) docs: String,
    pub(crate) kind: OptionKind,
    /// Set if its value must not be shown.
    pub(crate) is_secret: bool,
    /// The services that it is for, such as `Network`.
    pub(crate) scope: String,
}

/// The kind of values that an option takes.
#[derive(Debug, PartialEq)]
pub(crate) enum OptionKind {
    Text,
    File,
    List,
    /// A time in seconds.
    Time,
    /// On, or off by default.
    Switch,
    /// Yes, no, or what is stored.
    YesNo,
    /// A number in which 0 selects the default.
    Number,
    /// A number of which 0 is a value.
    NumberOrZero,
    /// A value of the enum with this name.
    Choice(String),
    /// Limits of the application.
    Limits,
    /// Texts of messages.
    Texts,
    Names,
    /// A function with this trait.
    Function(String),
    /// The API key, which is no option in C.
    Key,
}

/// Reads the options in their order, with the settings of an application before what else an engine has.
pub(super) fn read(root: &Path) -> Result<Vec<OpenOption>> {
    let Options(mut options) = list(root, OPTIONS)?;
    let Settings(settings) = list(root, SETTINGS)?;
    let at = options.iter().position(|option| option.scope == "Engine").unwrap_or(options.len());
    options.splice(at..at, settings);
    Ok(options)
}

/// Parses what a macro of the file passes on.
fn list<T: Parse>(root: &Path, path: &str) -> Result<T> {
    let text = load(root, path)?;
    let list =
        text.split_once("$then! {").and_then(|(_, rest)| rest.split_once("\n        }\n    };"));
    let (list, _) = list.ok_or_else(|| format!("{path}: has no list that a macro passes on"))?;
    syn::parse_str(list).map_err(|e| format!("{path}: {e}"))
}

/// The first paragraph of the documentation. Others are for Rust alone.
fn general(attributes: &[Attribute]) -> String {
    let Docs(mut paragraphs) = attributes::docs(attributes);
    paragraphs.truncate(1);
    paragraphs.concat()
}

/// `setter as name: Kind => Scope,` for each option.
struct Options(Vec<OpenOption>);

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Options> {
        let mut options = Vec::new();
        while !input.is_empty() {
            let docs = general(&input.call(Attribute::parse_outer)?);
            input.parse::<Ident>()?;
            input.parse::<Token![as]>()?;
            let name = input.parse::<Ident>()?.to_string();
            input.parse::<Token![:]>()?;
            let kind = input.parse::<Ident>()?;
            let is_secret = kind == "Secret";
            let kind = match kind.to_string().as_str() {
                "Text" => OptionKind::Text,
                "Secret" if name == "api_key" => OptionKind::Key,
                "Secret" => OptionKind::Text,
                "File" | "Certificate" => OptionKind::File,
                "List" => OptionKind::List,
                "Time" => OptionKind::Time,
                "Switch" => OptionKind::Switch,
                "User" => OptionKind::Number,
                "Names" => OptionKind::Names,
                "Function" => {
                    let of;
                    parenthesized!(of in input);
                    OptionKind::Function(of.parse::<Ident>()?.to_string())
                }
                choice @ ("Repeats" | "Format" | "Generation") => {
                    OptionKind::Choice(choice.to_owned())
                }
                _ => return Err(syn::Error::new(kind.span(), "the generator knows no such kind")),
            };
            input.parse::<Token![=>]>()?;
            let scope = input.parse::<Ident>()?.to_string();
            input.parse::<Token![,]>()?;
            options.push(OpenOption { name, docs, kind, is_secret, scope });
        }
        Ok(Options(options))
    }
}

/// `name as field { given: type, …, kind: Kind, … }` for each setting.
struct Settings(Vec<OpenOption>);

impl Parse for Settings {
    fn parse(input: ParseStream<'_>) -> syn::Result<Settings> {
        let mut settings = Vec::new();
        while !input.is_empty() {
            let docs = general(&input.call(Attribute::parse_outer)?);
            let name = input.parse::<Ident>()?.to_string();
            input.parse::<Token![as]>()?;
            input.parse::<Ident>()?;
            let content;
            braced!(content in input);
            let kind = setting_kind(&content)?;
            let scope = "Engine".to_owned();
            settings.push(OpenOption { name, docs, kind, is_secret: false, scope });
        }
        Ok(Settings(settings))
    }
}

fn setting_kind(content: ParseStream<'_>) -> syn::Result<OptionKind> {
    let mut given = None;
    let mut kind = None;
    while !content.is_empty() {
        let name = content.parse::<Ident>()?;
        content.parse::<Token![:]>()?;
        match name.to_string().as_str() {
            "given" | "kept" | "shown" => {
                let of: syn::Type = content.parse()?;
                if let (true, syn::Type::Path(of)) = (name == "given", of) {
                    given = of.path.get_ident().map(Ident::to_string);
                }
            }
            "kind" => kind = Some(content.parse::<syn::Expr>()?),
            "default" => drop(content.parse::<syn::Expr>()?),
            _ => drop(content.parse::<LitStr>()?),
        }
        content.parse::<Token![,]>()?;
    }
    let unknown = || content.error("the generator knows no such kind");
    match kind.ok_or_else(unknown)? {
        syn::Expr::Path(path) if path.path.is_ident("Text") => Ok(OptionKind::Text),
        syn::Expr::Path(path) if path.path.is_ident("File") => Ok(OptionKind::File),
        syn::Expr::Path(path) if path.path.is_ident("YesNo") => Ok(OptionKind::YesNo),
        syn::Expr::Path(path) if path.path.is_ident("Limits") => Ok(OptionKind::Limits),
        syn::Expr::Path(path) if path.path.is_ident("Texts") => Ok(OptionKind::Texts),
        syn::Expr::Call(call) => {
            let syn::Expr::Path(name) = &*call.func else { return Err(unknown()) };
            match name.path.get_ident().map(Ident::to_string).as_deref() {
                Some("Name") => Ok(OptionKind::Text),
                Some("Choice") => Ok(OptionKind::Choice(given.ok_or_else(unknown)?)),
                Some("Number") => {
                    Ok(match call.args.first() {
                        Some(syn::Expr::Lit(syn::ExprLit {
                            lit: syn::Lit::Int(least), ..
                        })) if least.base10_digits() != "0" => OptionKind::Number,
                        _ => OptionKind::NumberOrZero,
                    })
                }
                _ => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_both_files_are_read_in_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let options = read(&root).unwrap();
        let find = |name: &str| options.iter().find(|option| option.name == name).unwrap();
        assert_eq!(find("pins").kind, OptionKind::List);
        assert_eq!(find("replies").kind, OptionKind::Choice("Generation".into()));
        assert_eq!(find("offline_days").kind, OptionKind::NumberOrZero);
        assert_eq!(find("token_length").kind, OptionKind::Number);
        assert_eq!(find("deliver").kind, OptionKind::Function("Deliver".into()));
        assert!(find("pins").docs.ends_with("both must match."));
        let place = |name: &str| options.iter().position(|option| option.name == name);
        assert!(place("keyring") < place("plan") && place("plan") < place("push_hosts"));
    }
}
