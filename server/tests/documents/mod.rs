//! The commands that a document shows, and what they print.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

/// A command, and what it prints.
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) output: String,
}

/// The steps of a section: its blocks of the language `console`, in which `$` begins a command and `>`
/// continues it.
pub(crate) fn steps(page: &str, heading: &str) -> Vec<Step> {
    let (_, section) = page.split_once(&format!("\n{heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut steps: Vec<Step> = Vec::new();
    for block in section.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { command: command.to_owned(), output: String::new() });
                continue;
            }
            let step = steps.last_mut().unwrap();
            let (text, line) = match line.strip_prefix("> ") {
                Some(more) => (&mut step.command, format!("\n{more}")),
                None => (&mut step.output, format!("{line}\n")),
            };
            text.push_str(&line);
        }
    }
    steps
}
