//! Users of earlier lines, for a dry run: they are not in the database, where an import finds them. Each name of a user
//! takes some 30 bytes, independent of its length, and each other value that is compared takes 4.

use seconder::engine::{Problem, UserRecord};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};

#[derive(Default)]
pub(super) struct Earlier {
    hasher: RandomState,
    /// The line and the hashes of a user's values, by the hash of the id, or else of the first other name.
    users: HashMap<u64, (u64, Box<[u32]>)>,
    /// The key of the user, by the hash of another name.
    names: HashMap<u64, u64>,
}

/// The relation of a line to the lines before it.
pub(super) enum Place {
    New,
    Again,
    Conflict(Problem),
}

impl Earlier {
    /// Returns the relation of a line whose user came before; `None` if the user is new. The database does not matter
    /// for it.
    pub(super) fn again(&self, user: &UserRecord) -> Option<Place> {
        let key = match user.user_id {
            Some(id) => self.hash(("id", id.get())),
            None => *self.names.get(&self.names(user).first()?.1)?,
        };
        let (earlier, before) = self.users.get(&key)?;
        Some(match self.parts(user).iter().all(|part| before.contains(part)) {
            true => Place::Again,
            false if user.user_id.is_some() => conflict("id", *earlier),
            false => conflict("", *earlier),
        })
    }

    /// Adds a user who did not come before.
    pub(super) fn add(&mut self, line: u64, user: &UserRecord) -> Place {
        let (names, has) = (self.names(user), self.parts(user));
        for (field, name) in &names {
            if let Some((earlier, _)) = self.names.get(name).and_then(|key| self.users.get(key)) {
                return conflict(field, *earlier);
            }
        }
        let id = user.user_id.map(|id| self.hash(("id", id.get())));
        let Some(key) = id.or_else(|| names.first().map(|(_, name)| *name)) else {
            return Place::New;
        };
        self.names.extend(names.into_iter().map(|(_, name)| (name, key)));
        self.users.insert(key, (line, has));
        Place::New
    }

    /// Returns the names by which others find a user, hashed. The first one identifies a user without an id.
    fn names(&self, user: &UserRecord) -> Vec<(&'static str, u64)> {
        let mut names = Vec::new();
        match (user.phone(), &user.email) {
            (Some(phone), _) => names.push(("phone", self.hash(("phone", phone)))),
            (None, Some(email)) => names.push(("email", self.hash(("email", email.as_str())))),
            (None, None) => {}
        }
        names.extend(user.login.as_ref().map(|login| ("login", self.hash(("login", login)))));
        let devices = user.devices.iter().map(|device| device.device_id.get());
        names.extend(devices.map(|device| ("devices", self.hash(("devices", device)))));
        names
    }

    /// Returns the hashes of the values that an import compares with an existing user, who may have more than these.
    fn parts(&self, user: &UserRecord) -> Box<[u32]> {
        let emails = user.earlier_emails.iter().chain(&user.email);
        let apps = user.authenticators.iter();
        let apps = apps
            .map(|app| self.hash((app.secret(), app.digits(), app.period(), app.algorithm.name())));
        let devices = user.devices.iter();
        let devices =
            devices.map(|device| self.hash((device.device_id.get(), device.secret_hash())));
        let parts = [self.hash(("phone", user.phone()))].into_iter();
        let parts = parts.chain(emails.map(|email| self.hash(("email", email.as_str()))));
        let parts = parts.chain(user.login.iter().map(|login| self.hash(("login", login))));
        let parts = parts.chain(user.created.map(|created| self.hash(("created", created))));
        let parts = parts.chain(user.confirmed.then(|| self.hash("confirmed")));
        parts.chain(apps).chain(devices).map(|hash| hash as u32).collect()
    }

    fn hash(&self, name: impl Hash) -> u64 {
        self.hasher.hash_one(name)
    }
}

fn conflict(field: &str, earlier: u64) -> Place {
    Place::Conflict(Problem::new(field, format!("is that of the user in line {earlier}")))
}
