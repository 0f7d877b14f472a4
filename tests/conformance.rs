//! The cases of `tests/vectors/calls`, handled by the engine in this process: as values, and as the
//! bytes of every format and generation.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::cases::raw::DIALECTS;
use crate::cases::{World, cases};
use seconder::calls::{self, Call, Handle};
use seconder::wire::{Format, Generation, Reply};
use seconder::{Result, Service, Settings};

#[test]
fn the_engine_passes_every_case() {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, service) = World::new(folder.path(), &text, |settings| settings);
        world.run(&service, &name, &text);
    }
}

/// The lines that begin with `>>` are the same calls as other programs write them.
#[test]
fn the_engine_passes_every_case_in_every_dialect() {
    for dialect in DIALECTS {
        for replies in [Generation::Current, Generation::Older] {
            for (name, text) in cases() {
                let folder = tempfile::tempdir().unwrap();
                let configure = |settings: Settings| settings.replies(replies);
                let (mut world, service) = World::new(folder.path(), &text, configure);
                world.dialect = dialect;
                world.run(&service, &format!("{name} in {dialect:?}, {replies:?}"), &text);
            }
        }
    }
}

#[test]
fn every_call_has_a_case() {
    let all: String = cases().into_iter().map(|(_, text)| text).collect();
    for route in calls::ROUTES {
        let calls_it = |line: &str| {
            line.strip_prefix("> ").and_then(|rest| rest.split(' ').next()) == Some(route.name)
        };
        assert!(all.lines().any(calls_it), "{} has no case", route.name);
    }
}

/// A client and a service that exchange only bytes.
struct ByBytes {
    service: Service,
    format: Format,
    /// The generation of the requests.
    generation: Generation,
    /// The generation of the replies.
    replies: Generation,
}

impl<C: Call> Handle<C> for ByBytes {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let request = calls::request(call, self.format, self.generation);
        let (format, reply) = calls::dispatch(&self.service, request, self.replies).unwrap();
        assert_eq!(format, self.format);
        let body = self.format.read(&self.format.write(&reply.body))?;
        C::read(Reply { body, generation: self.generation, ..reply })
    }
}

#[test]
fn every_format_and_generation_passes_every_case() {
    for format in [Format::Json, Format::Xml] {
        for generation in [Generation::Current, Generation::Older] {
            for (name, text) in cases() {
                let folder = tempfile::tempdir().unwrap();
                let (mut world, service) = World::new(folder.path(), &text, |settings| settings);
                let client = ByBytes { service, format, generation, replies: generation };
                world.run(&client, &format!("{name} in {format:?}, {generation:?}"), &text);
            }
        }
    }
}

/// A service may reply in another generation than that of the request.
#[test]
fn clients_understand_replies_of_the_other_generation() {
    let both = [Generation::Current, Generation::Older];
    for (generation, replies) in [(both[0], both[1]), (both[1], both[0])] {
        for format in [Format::Json, Format::Xml] {
            for (name, text) in cases() {
                let folder = tempfile::tempdir().unwrap();
                let (mut world, service) = World::new(folder.path(), &text, |settings| settings);
                let client = ByBytes { service, format, generation, replies };
                world.run(&client, &format!("{name} in {format:?}, replies {replies:?}"), &text);
            }
        }
    }
}
