//! The cases of `tests/vectors/calls`, answered by the engine inside this process: as values, and
//! as the bytes of every format and generation.

#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]

#[path = "conformance/mod.rs"]
mod conformance;

use conformance::{World, cases};
use seconder::calls::{self, Call, Handle};
use seconder::wire::{Format, Generation, Names, Reply};
use seconder::{Result, Service};

#[test]
fn the_engine_answers_every_case() {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, service) = World::new(folder.path(), Names::default());
        world.run(&service, &name, &text);
    }
}

#[test]
fn every_call_has_a_case() {
    let all: String = cases().into_iter().map(|(_, text)| text).collect();
    for route in calls::ROUTES {
        let sent = |line: &str| {
            line.strip_prefix("> ").and_then(|rest| rest.split(' ').next()) == Some(route.name)
        };
        assert!(all.lines().any(sent), "{} has no case", route.name);
    }
}

/// A client and a service with nothing but bytes between them.
struct ByBytes {
    service: Service,
    format: Format,
    /// The generation that is asked in.
    generation: Generation,
    /// The one that is answered in.
    answers: Generation,
}

impl<C: Call> Handle<C> for ByBytes {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let mut request = calls::request(call, self.format, self.generation);
        request.generation = self.answers;
        let (format, reply) = calls::dispatch(&self.service, request).unwrap();
        assert_eq!(format, self.format);
        let body = self.format.read(&self.format.write(&reply.body))?;
        C::read(Reply { body, generation: self.generation, ..reply })
    }
}

#[test]
fn every_format_and_generation_says_the_same() {
    for format in [Format::Json, Format::Xml] {
        for generation in [Generation::Current, Generation::Older] {
            for (name, text) in cases() {
                let folder = tempfile::tempdir().unwrap();
                let (mut world, service) = World::new(folder.path(), Names::default());
                let client = ByBytes { service, format, generation, answers: generation };
                world.run(&client, &format!("{name} in {format:?}, {generation:?}"), &text);
            }
        }
    }
}

/// What is asked in one generation may be answered in the other. (An older path says by itself that
/// it wants the older bodies.)
#[test]
fn a_reply_of_the_other_generation_is_understood() {
    let both = [Generation::Current, Generation::Older];
    for (generation, answers) in [(both[0], both[1]), (both[1], both[0])] {
        for format in [Format::Json, Format::Xml] {
            for (name, text) in cases() {
                let folder = tempfile::tempdir().unwrap();
                let (mut world, service) = World::new(folder.path(), Names::default());
                let client = ByBytes { service, format, generation, answers };
                world.run(&client, &format!("{name} in {format:?}, answered {answers:?}"), &text);
            }
        }
    }
}
