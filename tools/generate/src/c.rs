//! The C layer of the calls: `src/capi/generated/`.

pub(crate) mod call;
mod item;
mod names;
pub(crate) mod opening;
pub(crate) mod parameter;
pub(crate) mod reply;
mod source;

use crate::Result;
use crate::docs::Translator;
use crate::model::{Constant, Interface, Struct, Type};
use crate::text::snake;
use source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The name of this language in overrides.
pub(crate) const C: &str = "c";

/// The overrides that this generator knows, each with what it changes.
const NOTES: [&str; 13] = [
    // A parameter that could be left out is an argument, and not an option.
    "argument",
    // A flag is SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO, though its default is no.
    "choice",
    // The function of `capi::status` that makes constants of an enum's values.
    "constant",
    // A function of `capi::decisions` makes the status of what a reply says.
    "decided",
    // What the function frees that frees a handle of the C layer.
    "freed",
    // There is no accessor.
    "hidden",
    // The handle keeps the whole reply, for accessors written by hand.
    "keeps",
    // A number has a function that says whether the service provides it.
    "known",
    // The most values of a list, as an expression of Rust.
    "most",
    // The name of the type in C.
    "name",
    // `out` may be NULL.
    "optional",
    // More functions that return a handle.
    "returned_by",
    // The number 0 is -1 in C, where 0 selects the default.
    "zero",
];

/// The generated files, by their paths.
pub(crate) fn files(interface: &Interface) -> Result<BTreeMap<String, String>> {
    interface.check_notes(C, &NOTES)?;
    let plan = Plan::new(interface)?;
    let mut files = BTreeMap::new();
    let (mut modules, mut handles) = (BTreeSet::new(), Vec::new());
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for call in &interface.calls {
        let source = source(&mut sources, &call.declared);
        call::options(source, &plan, call)?;
    }
    for declared in interface.structs.values().filter(|one| plan.items.contains(&one.name)) {
        item::write(source(&mut sources, declared), &plan, declared)?;
    }
    for declared in interface.structs.values().filter(|one| plan.handles.contains(&one.name)) {
        reply::handle(source(&mut sources, declared), &plan, declared)?;
        handles.push((module(declared), plan.type_name(declared)));
    }
    for call in &interface.calls {
        call::function(source(&mut sources, &call.declared), &plan, call)?;
    }
    for declared in interface.structs.values().filter(|one| plan.handles.contains(&one.name)) {
        reply::accessors(source(&mut sources, declared), &plan, declared)?;
    }
    for declared in &interface.records {
        reply::accessors(source(&mut sources, declared), &plan, declared)?;
    }
    for (module, source) in sources {
        files.insert(format!("src/capi/generated/{module}.rs"), source.finish());
        modules.insert(module);
    }
    files.insert("src/capi/generated/open_options.rs".to_owned(), opening::file(&plan)?);
    files.insert("src/capi/generated/status_names.rs".to_owned(), status_names(interface));
    modules.extend(["open_options".to_owned(), "status_names".to_owned()]);
    files.insert("src/capi/generated.rs".to_owned(), root(&modules, &handles));
    Ok(files)
}

fn source<'a>(sources: &'a mut BTreeMap<String, Source>, declared: &Struct) -> &'a mut Source {
    let module = module(declared);
    sources.entry(module.clone()).or_insert_with(|| Source::new(declared.path(), &module))
}

/// The module of `src/capi/generated` that a declaration leads to.
fn module(declared: &Struct) -> String {
    match declared.module.as_str() {
        "" => snake(&declared.name),
        module => module.to_owned(),
    }
}

/// The names of the statuses, for a log.
fn status_names(interface: &Interface) -> String {
    let statuses = interface.constants.iter().filter(|constant| constant.is_status);
    let each = statuses.map(|Constant { name, .. }| format!("({name}, c\"{name}\"),\n"));
    let mut source = Source::new("src/capi/status.rs", "status_names");
    source.import("std::ffi", "CStr");
    source.import("crate::capi::status", "*");
    source.add(&format!(
        "/// Every status with its name.\n\
         pub(in crate::capi) const STATUS_NAMES: &[(seconder_status, &CStr)] = &[\n{}];\n",
        each.collect::<String>()
    ));
    source.finish()
}

fn root(modules: &BTreeSet<String>, handles: &[(String, String)]) -> String {
    let mut text =
        "//! Written by tools/generate from src/calls.rs: the C layer of the calls.\n\n".to_owned();
    for module in modules {
        text += &format!("pub mod {module};\n");
    }
    text += "\n/// The handles that many threads may read at once.\n\
             const _: fn() = || {\n    fn shared<T: Send + Sync>() {}\n";
    for (module, name) in handles {
        text += &format!("    shared::<{module}::{name}>();\n");
    }
    text + "};\n"
}

/// The types that C has, and how.
pub(crate) struct Plan<'a> {
    pub(crate) interface: &'a Interface,
    /// Replies, and the structs inside them that have lists: opaque types with accessors.
    pub(crate) handles: BTreeSet<String>,
    /// Structs with public fields.
    items: BTreeSet<String>,
    /// Items that the caller fills in.
    pub(crate) inputs: BTreeSet<String>,
    /// Items that the caller reads.
    outputs: BTreeSet<String>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(interface: &'a Interface) -> Result<Plan<'a>> {
        let mut plan = Plan {
            interface,
            handles: BTreeSet::new(),
            items: BTreeSet::new(),
            inputs: BTreeSet::new(),
            outputs: BTreeSet::new(),
        };
        for call in &interface.calls {
            for field in &call.declared.fields {
                if let Type::List(inner) = field.kind.given()
                    && let Type::Declared(name) = &**inner
                {
                    plan.inputs.insert(name.clone());
                }
            }
            plan.add_reply(&call.reply)?;
        }
        plan.items = plan.inputs.union(&plan.outputs).cloned().collect();
        Ok(plan)
    }

    fn add_reply(&mut self, name: &str) -> Result<()> {
        self.handles.insert(name.to_owned());
        let interface = self.interface;
        for field in interface.get(name)?.fields.iter().filter(|f| !f.overrides.has(C, "hidden")) {
            let Some(inner) = interface.inner(field) else { continue };
            match inner.fields.iter().any(|field| matches!(field.kind, Type::List(_))) {
                true => self.add_reply(&inner.name)?,
                false => drop(self.outputs.insert(inner.name.clone())),
            }
        }
        Ok(())
    }

    /// The name of a type in C, without `seconder_`.
    fn short_name(&self, declared: &Struct) -> String {
        match (declared.overrides.note(C, "name"), declared.name.strip_prefix("seconder_")) {
            (Some(name), _) | (None, Some(name)) => name.to_owned(),
            (None, None) => snake(&declared.name),
        }
    }

    pub(crate) fn type_name(&self, declared: &Struct) -> String {
        format!("seconder_{}", self.short_name(declared))
    }

    fn translator<'b>(&'b self, declared: &'b Struct) -> Translator<'b> {
        Translator::new(self.interface, self, declared)
    }

    pub(crate) fn is_enum(&self, name: &str) -> bool {
        self.interface.enums.contains_key(name)
    }
}
