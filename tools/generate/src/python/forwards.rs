//! The methods for asyncio that only make the call of the same name: `_async_calls.py`.

use super::calls;
use super::groups::{GROUPS, Group};
use super::layout::{bracketed, docstring};
use super::source::{LATER, Source};
use crate::Result;
use crate::model::Interface;
use std::collections::BTreeMap;

/// The module. Beside the calls, it forwards the methods of the hand-written modules of the groups that `own`, the
/// hand-written module for asyncio, does not have.
pub(super) fn module(
    interface: &Interface,
    load: &dyn Fn(&str) -> Result<String>,
    own: &str,
) -> Result<String> {
    let from = "src/calls/*.rs and bindings/python/seconder/{service,admin,machines}.py";
    let docs = "The calls as coroutines that make them in a thread.";
    let mut source = Source::new(from, docs);
    source.import("seconder._frames", "guarded_class");
    for group in &GROUPS {
        let (base, class) = (group.base.replace("Caller", "Threaded"), group.class);
        source.import("seconder._threads", &base);
        let docs = format!("The calls of :class:`seconder.aio.Async{}`.", group.holder);
        let mut text = calls::class_of(&format!("Async{class}"), &base, &docs);
        text += &calls::awaited(&mut source, interface, group)?;
        let name = group.module.strip_prefix("seconder.").unwrap_or("service");
        text += &forwarded(&mut source, group, &load(&format!("{name}.py"))?, own)?;
        source.add(&text);
    }
    Ok(source.finish())
}

/// The methods of a hand-written module.
fn forwarded(source: &mut Source, group: &Group, module: &str, own: &str) -> Result<String> {
    let mut text = String::new();
    let modules = imports(module);
    for Definition { name, parameters, returned } in definitions(module, own)? {
        let types = parameters.iter().chain([&returned]).flat_map(|text| identifiers(text));
        for name in types {
            if let Some(module) = modules.get(name) {
                source.import(module, name);
            } else if LATER.contains(&name) {
                source.later(name, "");
            }
        }
        text += &method(group, name, &parameters, &returned, &arguments(&parameters));
    }
    Ok(text)
}

/// A method that makes the call of this name in a thread.
pub(super) fn method(
    group: &Group,
    name: &str,
    parameters: &[String],
    returned: &str,
    arguments: &[String],
) -> String {
    let head = format!("async def {name}(");
    let mut text = format!("\n{}", bracketed(4, &head, parameters, &format!(" -> {returned}:")));
    let of = format!("{}.{}", group.module, group.holder);
    text += &docstring(8, &[format!("As :meth:`{of}.{name}`.")]);
    let mut given = vec![format!("self._service.{name}")];
    given.extend(arguments.iter().cloned());
    text + &bracketed(8, "return await self._run(", &given, "")
}

/// A public method of a module of Python.
struct Definition<'a> {
    name: &'a str,
    /// What is between the brackets.
    parameters: Vec<String>,
    returned: String,
}

/// The public methods that `own` does not have, by the lines that begin them. A property cannot be awaited like a method, and a method
/// that cannot be read would be missing for asyncio without a word: both are errors.
fn definitions<'a>(module: &'a str, own: &str) -> Result<Vec<Definition<'a>>> {
    let mut found = Vec::new();
    let mut before = "";
    for (index, text) in module.split("\n    def ").enumerate() {
        let last = before.lines().next_back().unwrap_or_default();
        before = text;
        let name = text.split('(').next().unwrap_or_default();
        let has_own =
            ["def ", "async def "].iter().any(|def| own.contains(&format!("    {def}{name}(")));
        if index == 0 || name.starts_with('_') || has_own {
            continue;
        }
        let wrong = || format!("bindings/python/seconder: cannot forward `{name}`");
        if last.starts_with("    @") {
            return Err(wrong());
        }
        found.push(definition(text).ok_or_else(wrong)?);
    }
    Ok(found)
}

fn definition(text: &str) -> Option<Definition<'_>> {
    let (name, rest) = text.split_once('(')?;
    let end = closing(rest)?;
    let returned = rest[end..].strip_prefix(") -> ")?.split_once(":\n")?.0.to_owned();
    Some(Definition { name, parameters: separated(&rest[..end]), returned })
}

/// Where the bracket is closed that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.find(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The parts of a list, which commas outside of brackets separate.
fn separated(list: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in list.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let parts = parts.iter().map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    parts.filter(|part| !part.is_empty()).collect()
}

/// The arguments that pass parameters on under the same names.
fn arguments(parameters: &[String]) -> Vec<String> {
    let mut by_name = false;
    let mut found = Vec::new();
    for parameter in parameters.iter().skip(1) {
        let name = parameter.split([':', '=']).next().unwrap_or_default().trim();
        match name {
            "*" => by_name = true,
            "/" => {}
            _ if by_name && !name.starts_with('*') => found.push(format!("{name}={name}")),
            _ => found.push(name.to_owned()),
        }
    }
    found
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The modules of the names that a module imports.
fn imports(module: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    let statements = module.lines().filter_map(|line| line.trim_start().strip_prefix("from "));
    let pairs = statements.filter_map(|line| line.split_once(" import "));
    for (module, names) in pairs.filter(|(module, _)| *module != "seconder._later") {
        found.extend(names.split(", ").map(|name| (name, module)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "from typing import Any, Literal\n\nclass Service:\n    def audit(\n        \
        self,\n        *,\n        kind: Literal[\"a\", \"b\"],\n        most: int = 100,\n    ) -> \
        tuple[int, ...]:\n        pass\n\n    def _own(self) -> int:\n        pass\n\n    \
        def operate(self, name: str, /, **rest: Any) -> None:\n        pass\n";

    #[test]
    fn methods_are_read_from_their_lines() {
        let found = definitions(MODULE, "").unwrap();
        assert_eq!(found.iter().map(|one| one.name).collect::<Vec<_>>(), ["audit", "operate"]);
        assert_eq!(found[0].returned, "tuple[int, ...]");
        assert_eq!(
            found[0].parameters,
            ["self", "*", "kind: Literal[\"a\", \"b\"]", "most: int = 100"]
        );
        assert_eq!(arguments(&found[0].parameters), ["kind=kind", "most=most"]);
        assert_eq!(arguments(&found[1].parameters), ["name", "**rest"]);
        assert_eq!(imports(MODULE)["Literal"], "typing");
    }

    #[test]
    fn a_method_that_cannot_be_forwarded_is_an_error() {
        for method in ["def closed(self):\n", "@property\n    def closed(self) -> bool:\n"] {
            let module = format!("class Service:\n    x = 1\n\n    {method}        pass\n");
            assert!(definitions(&module, "").is_err(), "{method}");
        }
    }

    #[test]
    fn forwarding_methods_refer_to_the_synchronous_ones() {
        let wanted = "\n    async def cancel(self) -> None:\n        \
            \"\"\"As :meth:`seconder.Service.cancel`.\"\"\"\n        \
            return await self._run(self._service.cancel)\n";
        assert_eq!(method(&GROUPS[0], "cancel", &["self".into()], "None", &[]), wanted);
    }
}
