//! The verdicts and reasons of the audit, wherever they are listed.

use super::is_for_tests;
use super::source::{read, sources};
use seconder::engine::AUDIT_VERDICTS;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

type Names = BTreeSet<String>;

const TABLES: &str = "docs/limits.md";
const FIELDS: &str = "src/engine/handlers/audit.rs";
const PAGE: &str = "man/seconder_audit.3.in";

#[test]
fn the_verdicts_and_reasons_of_the_audit_are_those_that_the_engine_notes() {
    let verdicts = AUDIT_VERDICTS.iter().map(|name| (*name).to_owned()).collect();
    let reasons = noted();
    assert_eq!(column("| verdict | meaning |"), verdicts, "the table of verdicts in {TABLES}");
    assert_eq!(column("| reason | of | meaning |"), reasons, "the table of reasons in {TABLES}");
    assert_eq!(&documented("reason") - &verdicts, reasons, "`reason` in {FIELDS}");
    assert_eq!(described(), &verdicts | &reasons, "what {PAGE} describes");
}

/// The reasons that the code of the engine has.
fn noted() -> Names {
    let mut found = Noted::default();
    for file in sources().iter().filter(|file| !file.test && file.is_in(&["src/engine"])) {
        found.visit_file(&file.syntax());
    }
    let Noted { reasons, constants } = found;
    reasons.into_iter().map(|name| constants.get(&name).cloned().unwrap_or(name)).collect()
}

/// The texts and constants that are noted, with the values of all constants.
#[derive(Default)]
struct Noted {
    reasons: Names,
    constants: BTreeMap<String, String>,
}

impl<'ast> Visit<'ast> for Noted {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if let Some(value) = Texts::of(|texts| texts.visit_expr(&item.expr)).pop_first() {
            self.constants.insert(item.ident.to_string(), value);
        }
    }

    /// `fn reason(…)`
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.ident == "reason" {
            self.reasons.extend(Texts::of(|texts| texts.visit_block(&item.block)));
        }
        visit::visit_item_fn(self, item);
    }

    /// `noted.because(…)`
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "because" {
            for argument in &call.args {
                self.reasons.extend(Texts::of(|texts| texts.visit_expr(argument)));
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    /// `reason = …`
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        if matches!(&*assign.left, syn::Expr::Path(left) if left.path.is_ident("reason")) {
            self.reasons.extend(Texts::of(|texts| texts.visit_expr(&assign.right)));
        }
        visit::visit_expr_assign(self, assign);
    }
}

/// The literals and the names of constants in a piece of code.
#[derive(Default)]
struct Texts(Names);

impl Texts {
    fn of(visit: impl FnOnce(&mut Texts)) -> Names {
        let mut texts = Texts::default();
        visit(&mut texts);
        texts.0
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.insert(text.value());
    }

    fn visit_expr_path(&mut self, name: &'ast syn::ExprPath) {
        let constant = |c: char| c.is_ascii_uppercase() || c == '_';
        let name = name.path.get_ident().map(ToString::to_string);
        self.0.extend(name.filter(|name| name.chars().all(constant)));
    }
}

/// The names in the first column of the table with this header.
fn column(header: &str) -> Names {
    let text = read(TABLES);
    let rows = text.lines().skip_while(|line| *line != header).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default())).collect()
}

/// The names in the documentation of a field of `AuditEntry`.
fn documented(name: &str) -> Names {
    let file = syn::parse_file(&read(FIELDS)).unwrap_or_else(|e| panic!("{FIELDS}: {e}"));
    let fields = file.items.iter().filter_map(|item| match item {
        syn::Item::Struct(item) if item.ident == "AuditEntry" => Some(&item.fields),
        _ => None,
    });
    let field = fields.flatten().find(|field| field.ident.as_ref().is_some_and(|own| own == name));
    let lines = field.into_iter().flat_map(|field| &field.attrs);
    let lines = lines.flat_map(|line| Texts::of(|texts| texts.visit_attribute(line)));
    lines.flat_map(|line| quoted(&line)).collect()
}

/// The names that the man page describes, beside what the header says.
fn described() -> Names {
    let text = read(PAGE);
    let lines = text.lines().take_while(|line| *line != "@describe");
    let lines = lines.filter_map(|line| line.strip_prefix(".It Li "));
    lines
        .flat_map(|names| names.split([' ', ',']))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
