//! The cases of `tests/vectors/calls`, answered by the engine inside this process.

#[path = "conformance/mod.rs"]
mod conformance;

use conformance::{World, cases};
use seconder::wire::Names;

#[test]
fn the_engine_answers_every_case() {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, service) = World::new(folder.path(), Names::default());
        world.run(&service, &name, &text);
    }
}
