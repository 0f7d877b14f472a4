//! The functions of a call: one that returns a `Result`, and one that throws.

use super::layout::{MEMBER, function, head, list};
use super::options::{of_list, passed};
use super::{CPP, Cpp};
use crate::Result;
use crate::c::call::{options_of, options_type};
use crate::c::parameter::{Kind, argument_docs, form, is_argument, variables};
use crate::docs::Translator;
use crate::model::{Call, Field, Struct, Type};
use crate::text::doc_comment;

/// The functions of all calls that return a `Result`, and those that throw.
pub(super) fn functions(cpp: &Cpp<'_>) -> Result<(String, String)> {
    let (mut tries, mut throwing) = (Vec::new(), Vec::new());
    for call in &cpp.plan.interface.calls {
        let at = |e: String| format!("{}: {e}", call.declared.path());
        let signature = Signature::new(cpp, call).map_err(at)?;
        tries.push(returning(cpp, call, &signature).map_err(at)?);
        if !call.declared.overrides.has(CPP, "by_hand") {
            throwing.push(throws(cpp, call, &signature).map_err(at)?);
        }
    }
    Ok((tries.join("\n"), throwing.join("\n")))
}

/// The parameters that both functions of a call have.
#[derive(Default)]
struct Signature {
    /// Their declarations.
    parameters: Vec<String>,
    /// Their names.
    names: Vec<String>,
    /// The arguments that the function of C gets for them.
    passed: Vec<String>,
    /// The lists among them and among the options, each with the expression that reads it.
    lists: Vec<(String, String)>,
    /// Sentences on them.
    docs: Vec<String>,
}

impl Signature {
    fn new(cpp: &Cpp<'_>, call: &Call) -> Result<Signature> {
        let mut signature = Signature::default();
        signature.arguments(cpp, &call.declared)?;
        for field in options_of(call).filter(|field| matches!(field.kind, Type::List(_))) {
            signature.lists.push((field.name.clone(), format!("options.{}", field.name)));
        }
        if options_of(call).next().is_some() {
            let name = call.options_name();
            signature.parameters.push(format!("const {name}Options &options = {{}}"));
            signature.names.push("options".to_owned());
            signature.passed.extend(["&c".to_owned(), "sizeof c".to_owned()]);
        }
        Ok(signature)
    }

    /// Adds the arguments of a call, or of a struct inside it.
    fn arguments(&mut self, cpp: &Cpp<'_>, declared: &Struct) -> Result<()> {
        let translator = cpp.translator(declared);
        for field in &declared.fields {
            let inner = cpp.plan.interface.inner(field);
            match inner.filter(|_| !matches!(field.kind, Type::List(_))) {
                Some(inner) => self.arguments(cpp, inner)?,
                None if is_argument(field) => self.argument(cpp, &translator, field)?,
                None => {}
            }
        }
        Ok(())
    }

    fn argument(
        &mut self,
        cpp: &Cpp<'_>,
        translator: &Translator<'_>,
        field: &Field,
    ) -> Result<()> {
        let name = &field.name;
        let (declared, passed) = match &variables(cpp.plan, field)?[0].kind {
            Kind::Text if field.is_optional() => (
                format!("const std::optional<std::string> &{name} = {{}}"),
                vec![format!("detail::text({name})")],
            ),
            Kind::Text => (format!("const Text &{name}"), vec![format!("{name}.c_str()")]),
            Kind::Number => (format!("std::uint64_t {name}"), vec![name.clone()]),
            Kind::List(_) => {
                self.lists.push((name.clone(), name.clone()));
                (
                    format!("const std::vector<{}> &{name}", of_list(cpp, field)?),
                    vec![format!("raw_{name}.data()"), format!("raw_{name}.size()")],
                )
            }
            _ => return Err(format!("{name}: C++ has no such argument")),
        };
        self.parameters.push(declared);
        self.names.push(name.clone());
        self.passed.extend(passed);
        let documented = translator.field(field, "std::nullopt")?;
        self.docs.extend(argument_docs(translator, &documented, field, form(cpp.plan, field))?);
        Ok(())
    }
}

/// The function that returns a `Result`. It has the whole documentation.
fn returning(cpp: &Cpp<'_>, call: &Call, signature: &Signature) -> Result<String> {
    let translator = cpp.translator(&call.declared);
    let mut docs = translator.paragraphs(&call.declared.docs, &call.declared.overrides)?;
    let errors = call.errors.0.iter().map(|paragraph| translator.translate(paragraph));
    let errors = errors.collect::<Result<Vec<_>>>()?;
    let more = [signature.docs.join(" "), errors.join(" ")];
    docs.extend(more.into_iter().filter(|paragraph| !paragraph.is_empty()));
    let mut statements = Vec::new();
    for (name, from) in &signature.lists {
        statements.push(format!("const auto raw_{name} = detail::raw_list({from});"));
    }
    if options_of(call).next().is_some() {
        statements.push(format!("{} c = {{}};", options_type(call)));
    }
    for field in options_of(call) {
        statements.extend(passed(cpp, field)?);
    }
    let mut given = vec![format!("seconder_{}", call.name), "get()".to_owned()];
    given.extend(signature.passed.iter().cloned());
    let made = list(&format!("        return detail::call<{}>(", call.reply), &given, ");");
    let before = statements.iter().map(|statement| format!("        {statement}\n"));
    let body = before.collect::<String>() + &made;
    let returns = format!("Result<{}>", call.reply);
    let name = format!("try_{}", call.name);
    let head = head(MEMBER, &returns, &name, &signature.parameters, " const");
    Ok(format!("{}{}", doc_comment(&docs, 4), function(MEMBER, &head, &body)))
}

/// The function that throws. Its documentation is the same, without arguments and errors.
fn throws(cpp: &Cpp<'_>, call: &Call, signature: &Signature) -> Result<String> {
    let translator = cpp.translator(&call.declared);
    let Struct { docs, overrides, .. } = &call.declared;
    let docs = translator.reworded(docs, overrides, on_return)?;
    let open = format!("        return try_{}(", call.name);
    let body = list(&open, &signature.names, ").value();");
    let head = head(MEMBER, &call.reply, &call.name, &signature.parameters, " const");
    Ok(format!("{}{}", doc_comment(&docs, 4), function(MEMBER, &head, &body)))
}

/// Rewords a sentence on `Ok` for a function that throws for every other status.
fn on_return(sentence: String) -> String {
    if let Some(rest) = sentence.strip_prefix("Only [`Ok`] means that ") {
        return format!("Returns only if {rest}");
    }
    match sentence.strip_prefix("[`Ok`] means that ") {
        Some(rest) => format!("Returning means that {rest}"),
        None => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_means_what_ok_means() {
        let reworded = |sentence: &str| on_return(sentence.to_owned());
        let only = reworded("Only [`Ok`] means that the code is right.");
        assert_eq!(only, "Returns only if the code is right.");
        let found = reworded("[`Ok`] means that the request was found.");
        assert_eq!(found, "Returning means that the request was found.");
        assert_eq!(reworded("Checks a code."), "Checks a code.");
    }
}
