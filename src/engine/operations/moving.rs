//! Moving between services: imports users with their ids, and exports all users.

use super::audit::{AuditVerdict, Noted, Trail};
use super::lookups::{self, Kind};
use super::{
    AppId, DEVICES, IMPORTED_WITHOUT_IDS, USER, USERS, count_users, finding, next_ids, pass_id,
};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::Factor;
use crate::engine::model::phones::Phone;
use crate::engine::model::records::Problem;
use crate::engine::model::records::{AuthenticatorRecord, DeviceRecord, Imported, UserRecord};
use crate::engine::store::{
    self, Authenticator, Decided, Device, FactorState, Lookup, Sequence, User, View,
};
use crate::model::{Email, UserId};
use std::collections::BTreeMap;

/// A user, and the rows that belong to the account.
pub(in crate::engine) struct Account {
    pub(in crate::engine) user: User,
    pub(in crate::engine) emails: Vec<store::Email>,
    pub(in crate::engine) authenticators: Vec<Authenticator>,
    pub(in crate::engine) devices: Vec<Device>,
    pub(in crate::engine) wrong: Vec<FactorState>,
}

/// Returns what an import would do with each of these users, and writes nothing.
///
/// Everything is read before anything is written, because rows that a decision has written are
/// searched one by one: see `Cache::row`.
pub(in crate::engine) fn compare(
    view: &mut View,
    app: AppId,
    users: &[UserRecord],
    now: Now,
) -> Decided<Vec<Imported>> {
    for kind in [USERS, DEVICES] {
        view.ask::<Sequence>((kind.to_owned(),));
    }
    for user in users {
        if let Some(id) = user.user_id {
            view.ask::<User>((id.get(),));
        }
        for (kind, name) in names(user) {
            view.ask::<Lookup>((kind.name(), app, name));
        }
    }
    let mut known = Vec::with_capacity(users.len());
    let ids = users.iter().map(|user| match user.user_id {
        Some(id) => Ok(Some(id.get())),
        None => owner(view, app, user),
    });
    let ids = ids.collect::<Decided<Vec<_>>>()?;
    ids.iter().flatten().for_each(|id| view.ask::<User>((*id,)));
    for id in ids {
        known.push(match id {
            Some(id) => view.get::<User>((id,))?,
            None => None,
        });
    }
    known.iter().flatten().for_each(|user| ask_account(view, user));
    let mut earlier = Earlier::default();
    let mut outcomes = Vec::with_capacity(users.len());
    for (user, known) in users.iter().zip(known) {
        let outcome = match known {
            Some(known) => compare_account(user, &account(view, known)?, app),
            None => match free(view, app, user)? {
                None => earlier.add(user, app, now),
                taken => taken,
            },
        };
        outcomes.push(outcome.unwrap_or(Imported::Created));
    }
    Ok(outcomes)
}

/// Adds the users that are not there yet. The ids of later users are above theirs.
pub(in crate::engine) fn import(
    view: &mut View,
    app: AppId,
    users: &[UserRecord],
    trail: &Trail,
) -> Decided<Vec<Imported>> {
    let outcomes = compare(view, app, users, trail.now)?;
    let is_new = |outcome: &Imported| *outcome == Imported::Created;
    let new = users.iter().zip(&outcomes).filter(|(_, outcome)| is_new(outcome));
    let new: Vec<&UserRecord> = new.map(|(user, _)| user).collect();
    let last = new.iter().filter_map(|user| user.user_id).map(UserId::get).max();
    let devices = new.iter().flat_map(|user| &user.devices);
    let last_device = devices.map(|device| device.device_id.get()).max().unwrap_or_default();
    pass_id(view, USERS, number(last.unwrap_or_default()))?;
    pass_id(view, DEVICES, number(last_device))?;
    let without_id = new.iter().filter(|user| user.user_id.is_none()).count();
    let mut next_ids = next_ids(view, USERS, without_id)?;
    if without_id > 0 {
        // Their ids may be those of others at a service to which calls would be forwarded.
        pass_id(view, IMPORTED_WITHOUT_IDS, 1)?;
    }
    for user in &new {
        let id = match user.user_id {
            Some(id) => id,
            None => super::user_id(next_ids.next().unwrap_or_default())?,
        };
        add(view, app, id, user, trail.now);
        let number = user.phone.as_ref().map(Phone::masked_e164);
        trail.note(view, Noted { number, ..Noted::of(id, AuditVerdict::Created) });
    }
    if !new.is_empty() {
        // They are no users of this month: it is not known when they became users.
        count_users(view, app, i64::try_from(new.len()).unwrap_or(i64::MAX));
    }
    Ok(outcomes)
}

/// The id of a user who has none yet.
const UNKNOWN: u64 = 0;

/// Ids are 63 bits.
fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// Returns the names by which others find a user. The first one identifies a user without an id.
fn names(user: &UserRecord) -> Vec<(Kind, String)> {
    let mut names = Vec::new();
    match (&user.phone, &user.email) {
        (Some(phone), _) => names.push((Kind::Phone, phone.e164())),
        (None, Some(email)) => names.push((Kind::Email, email.as_str().to_owned())),
        (None, None) => {}
    }
    names.extend(user.login.iter().map(|login| (Kind::Login, login.to_string())));
    names.extend(user.devices.iter().map(|device| (Kind::Device, device.device_id.to_string())));
    names
}

/// Returns the id of the user who is here and whom a user without an id is.
fn owner(view: &mut View, app: AppId, user: &UserRecord) -> Decided<Option<u64>> {
    let Some((kind, name)) = names(user).into_iter().next() else { return Ok(None) };
    let found = lookups::find(view, kind, app, &name)?;
    found.map(|id| super::user_id(id).map(UserId::get)).transpose()
}

/// Returns the field of a name in which another user's is a conflict.
fn field(kind: Kind) -> &'static str {
    match kind {
        Kind::Email => "email",
        Kind::Login => "login",
        Kind::Device => "devices",
        _ => "phone",
    }
}

fn conflict(field: &'static str, reason: impl Into<String>) -> Option<Imported> {
    Some(Imported::Conflict(Problem::new(field, reason)))
}

/// Is a conflict if another user has a name of this one.
fn free(view: &mut View, app: AppId, user: &UserRecord) -> Decided<Option<Imported>> {
    for (kind, name) in names(user) {
        if let Some(owner) = lookups::find(view, kind, app, &name)? {
            return Ok(conflict(field(kind), format!("belongs to user {owner} here")));
        }
    }
    Ok(None)
}

/// The new users that come before one, as they will be here: a user who comes again is compared with them as with users
/// of another transaction.
#[derive(Default)]
struct Earlier {
    users: Vec<Account>,
    /// The places of users.
    ids: BTreeMap<u64, usize>,
    names: BTreeMap<(&'static str, String), usize>,
}

impl Earlier {
    fn add(&mut self, user: &UserRecord, app: AppId, now: Now) -> Option<Imported> {
        let names = names(user).into_iter().map(|(kind, name)| (field(kind), name));
        let names: Vec<_> = names.collect();
        let place = match user.user_id {
            Some(id) => self.ids.get(&id.get()),
            None => names.first().and_then(|name| self.names.get(name)),
        };
        if let Some(earlier) = place.and_then(|place| self.users.get(*place)) {
            return compare_account(user, earlier, app);
        }
        for name in &names {
            if let Some(owner) = self.names.get(name) {
                return conflict(
                    name.0,
                    format!("belongs to {}, who comes earlier", self.called(*owner)),
                );
            }
        }
        let place = self.users.len();
        self.names.extend(names.into_iter().map(|name| (name, place)));
        self.ids.extend(user.user_id.map(|id| (id.get(), place)));
        self.users.push(rows(app, user.user_id.map_or(UNKNOWN, UserId::get), user, now));
        None
    }

    fn called(&self, place: usize) -> String {
        match self.users.get(place).map(|account| account.user.user_id) {
            None | Some(UNKNOWN) => "a user without an id".to_owned(),
            Some(id) => format!("user {id}"),
        }
    }
}

fn ask_account(view: &mut View, user: &User) {
    view.ask::<store::Email>((user.user_id,));
    view.ask::<Authenticator>((user.user_id,));
    view.ask::<Device>((user.user_id,));
    view.ask::<FactorState>((key(user.user_id),));
}

/// Returns the key of a user's rows that numbers without users have too.
fn key(user_id: u64) -> String {
    format!("{USER}{user_id}")
}

fn account(view: &mut View, user: User) -> Decided<Account> {
    let id = user.user_id;
    Ok(Account {
        user,
        emails: view.all::<store::Email>((id,))?,
        authenticators: view.all::<Authenticator>((id,))?,
        devices: view.all::<Device>((id,))?,
        wrong: view.all::<FactorState>((key(id),))?,
    })
}

/// Returns a conflict if a user who is here is not the one who comes. A user who has logged in here since they came is
/// still the same: fields that a login changes are not compared.
fn compare_account(user: &UserRecord, here: &Account, app: AppId) -> Option<Imported> {
    let row = &here.user;
    if row.app_id != app {
        return conflict("id", "is that of a user of another application in this database");
    }
    if row.phone() != user.phone {
        return conflict("phone", "is another one than that of the user with this id here");
    }
    let has = |email: &str| {
        row.email == email || here.emails.iter().any(|earlier| earlier.email == email)
    };
    let mut emails = user.earlier_emails.iter().chain(&user.email);
    if emails.any(|email| !has(email.as_str())) {
        return conflict("email", "is none of the user with this id here");
    }
    if user.login.is_some() && row.login.as_deref() != user.login.as_ref().map(|l| l.as_str()) {
        return conflict("login", "is another one than that of the user with this id here");
    }
    if user.created.is_some_and(|created| row.created_at != Time(created)) {
        return conflict("created", "is another time than that of the user with this id here");
    }
    if user.confirmed && !row.confirmed {
        return conflict("confirmed", "is true, and the user with this id here is not confirmed");
    }
    let has = |app: &AuthenticatorRecord| here.authenticators.iter().any(|row| is_same(app, row));
    if !user.authenticators.iter().all(has) {
        return conflict("authenticators", "has an app that the user with this id here has not");
    }
    let is_here = |row: &Device| {
        user.devices.iter().any(|device| {
            row.device_id == device.device_id.get() && row.secret_hash == device.secret_hash
        })
    };
    if here.devices.iter().filter(|row| is_here(row)).count() < user.devices.len() {
        return conflict("devices", "has a device that the user with this id here has not");
    }
    Some(Imported::Unchanged)
}

fn is_same(app: &AuthenticatorRecord, row: &Authenticator) -> bool {
    let is_secret = row.is_app() && row.secret.get().is_ok_and(|secret| *secret == *app.secret);
    let codes = (app.digits, app.period, app.algorithm.name());
    is_secret && (row.digits, row.period, &*row.algorithm) == codes
}

fn add(view: &mut View, app: AppId, id: UserId, user: &UserRecord, now: Now) {
    for (kind, name) in names(user) {
        lookups::set(view, kind, app, &name, number(id.get()));
    }
    let Account { user, emails, authenticators, devices, wrong } = rows(app, id.get(), user, now);
    finding::add(view, &user, &emails);
    view.put(user);
    emails.into_iter().for_each(|row| view.put(row));
    authenticators.into_iter().for_each(|row| view.put(row));
    devices.into_iter().for_each(|row| view.put(row));
    wrong.into_iter().for_each(|row| view.put(row));
}

/// Returns the rows of a user who comes, with this id.
fn rows(app_id: AppId, user_id: u64, user: &UserRecord, now: Now) -> Account {
    let created = user.created.map_or(now.clock, Time);
    let phone = Phone::columns(user.phone.as_ref());
    let email = user.email.as_ref().map_or("", Email::as_str);
    let row = User {
        login: user.login.as_ref().map(ToString::to_string),
        confirmed: user.confirmed,
        sms_used: user.sms_used,
        locked_at: user.locked.account.then_some(now.clock),
        last_authenticator: number(user.authenticators.len() as u64),
        ..User::new((app_id, user_id), phone, email, created)
    };
    let locked = [
        (user.locked.codes, Factor::Code),
        (user.locked.authenticators, Factor::Authenticator),
        (user.locked.recovery_codes, Factor::Recovery),
    ];
    let locked = locked.into_iter().filter(|(locked, _)| *locked);
    let emails = user.earlier_emails.iter().filter(|earlier| Some(*earlier) != user.email.as_ref());
    // One that is pending takes the place of those with lower ids, once its first code was accepted.
    let mut apps: Vec<&AuthenticatorRecord> = user.authenticators.iter().collect();
    apps.sort_by_key(|app| app.pending);
    let device = |device: &DeviceRecord| Device {
        user_id,
        device_id: device.device_id.get(),
        os_type: device.kind.name().to_owned(),
        secret_hash: device.secret_hash.to_vec(),
        public_key: Vec::new(),
        name: None,
        language: None,
        push: "".into(),
        registered_at: device.registered.map_or(now.clock, Time),
        used_at: None,
    };
    Account {
        user: row,
        emails: emails
            .map(|email| store::Email { user_id, email: email.as_str().to_owned() })
            .collect(),
        authenticators: (1..)
            .zip(apps)
            .map(|(authenticator_id, app)| authenticator(user_id, authenticator_id, app, now))
            .collect(),
        devices: user.devices.iter().map(device).collect(),
        wrong: locked.map(|(_, factor)| FactorState::locked(key(user_id), factor, now)).collect(),
    }
}

/// Of an app whose last step is not known, the codes of before now are spent: the other service may have
/// accepted them.
fn authenticator(
    user_id: u64,
    authenticator_id: i64,
    app: &AuthenticatorRecord,
    now: Now,
) -> Authenticator {
    let until_now = now.clock.seconds() / app.period.max(1);
    let last_step = (!app.pending).then(|| app.last_step.unwrap_or(until_now));
    Authenticator {
        user_id,
        authenticator_id,
        label: app.label.as_ref().map(|label| label.as_str().to_owned()),
        secret: app.secret.clone().into(),
        digits: app.digits,
        period: app.period,
        last_step,
        used_at: None,
        prepared_step: None,
        created_at: app.created.map_or(now.clock, Time),
        device_id: None,
        algorithm: app.algorithm.name().to_owned(),
    }
}

/// Returns the accounts of this application after a user, in the order of the store, and where to
/// go on.
pub(in crate::engine) fn export(
    view: &mut View,
    app: AppId,
    after: Option<u64>,
    most: u32,
) -> Decided<(Vec<Account>, Option<u64>)> {
    let mut users = match after {
        Some(after) => view.after::<User>((after,), most)?,
        None => view.after::<User>((), most)?,
    };
    let next = users.last().filter(|_| users.len() == most as usize).map(|last| last.user_id);
    users.retain(|user| user.app_id == app);
    users.iter().for_each(|user| ask_account(view, user));
    let accounts = users.into_iter().map(|user| account(view, user));
    Ok((accounts.collect::<Decided<_>>()?, next))
}
