//! The users of the lines before, for a dry run: nothing of them is in the database, where an import finds
//! them. It keeps some 30 bytes for each name of a user, whatever they are.

use super::fields::Problem;
use super::text;
use seconder::engine::UserRecord;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};

#[derive(Default)]
pub(super) struct Earlier {
    hasher: RandomState,
    /// By the hash of an id: the line, and the hash of all of the user.
    users: HashMap<u64, (u64, u64)>,
    /// By the hash of another name: the line.
    names: HashMap<u64, u64>,
}

/// What a line is beside those before it.
pub(super) enum Place {
    New,
    Again,
    Conflict(Problem),
}

impl Earlier {
    pub(super) fn add(&mut self, line: u64, user: &UserRecord) -> Place {
        let fields = serde_json::Value::Object(text::fields(user, true)).to_string();
        let (id, all) = (self.hash(("id", user.user_id.get())), self.hash(fields));
        if let Some((earlier, before)) = self.users.get(&id) {
            return match *before == all {
                true => Place::Again,
                false => conflict("id", *earlier),
            };
        }
        let mut names = vec![("phone", self.hash(("phone", user.phone())))];
        names.extend(user.login.as_ref().map(|login| ("login", self.hash(("login", login)))));
        let devices = user.devices.iter().map(|device| device.device_id.get());
        names.extend(devices.map(|device| ("devices", self.hash(("devices", device)))));
        for (field, name) in &names {
            if let Some(earlier) = self.names.get(name) {
                return conflict(field, *earlier);
            }
        }
        self.names.extend(names.into_iter().map(|(_, name)| (name, line)));
        self.users.insert(id, (line, all));
        Place::New
    }

    fn hash(&self, name: impl Hash) -> u64 {
        self.hasher.hash_one(name)
    }
}

fn conflict(field: &str, earlier: u64) -> Place {
    Place::Conflict(Problem::new(field, format!("is that of the user in line {earlier}")))
}
