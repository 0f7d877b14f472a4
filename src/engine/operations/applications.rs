//! Applications and their usage.

mod keys;
mod removing;

pub(in crate::engine) use keys::{EarlierKey, Rotated, end_earlier, rotate};
pub(in crate::engine) use removing::{Removed, can_be_removed, remove, remove_audit, remove_users};

use super::audit::{AuditVerdict, Noted, Trail};
use super::lookups::{self, Kind};
use super::{AppId, next_id, steady};
use crate::engine::clock::Time;
use crate::engine::limits::Limits;
use crate::engine::store::{Application, Decided, Statistics, View};
use crate::engine::texts::Texts;
use crate::model::{ApiKey, CallbackMethod, CallbackUrl, InstallLink, LogoUrl, OtpDomain, Secret};
use crate::wire::{Generation, Names};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use zeroize::Zeroizing;

#[derive(Clone)]
pub(in crate::engine) struct App {
    pub(in crate::engine) app_id: AppId,
    pub(in crate::engine) name: String,
    pub(in crate::engine) plan: String,
    pub(in crate::engine) sms_enabled: bool,
    pub(in crate::engine) white_label: bool,
    pub(in crate::engine) api_key: ApiKey,
    /// The key before it, as long as that is valid too.
    pub(in crate::engine) earlier: Option<EarlierKey>,
    /// Signs the tokens of remembered browsers. It never leaves the service.
    pub(in crate::engine) secret: Zeroizing<[u8; 32]>,
    pub(in crate::engine) callback_url: Option<CallbackUrl>,
    pub(in crate::engine) token_length: u8,
    /// The generation of the bodies that a server replies with.
    pub(in crate::engine) replies: Generation,
    pub(in crate::engine) names: Names,
    pub(in crate::engine) callback_method: CallbackMethod,
    /// The absolute path of the authorities to trust when callbacks are posted.
    pub(in crate::engine) callback_ca_file: Option<String>,
    /// Whether callbacks may go to addresses that are not of the public Internet.
    pub(in crate::engine) callback_private: bool,
    pub(in crate::engine) install_link: Option<InstallLink>,
    pub(in crate::engine) offline_days: u8,
    pub(in crate::engine) limits: Limits,
    pub(in crate::engine) texts: Texts,
    pub(in crate::engine) otp_domain: Option<OtpDomain>,
    /// Whether users who have an app are sent codes too, unless a call says otherwise.
    pub(in crate::engine) force_codes: bool,
    /// The picture of approval requests that have none of their own.
    pub(in crate::engine) logo: Option<LogoUrl>,
    /// Of the codes of apps that are enrolled from now on.
    pub(in crate::engine) authenticator_digits: u8,
    pub(in crate::engine) authenticator_period: u64,
}

/// The changes to an application. `None` leaves a value unchanged, and `Some(None)` removes it.
#[derive(Clone, Default, PartialEq)]
pub(in crate::engine) struct AppChange {
    pub(in crate::engine) name: Option<String>,
    pub(in crate::engine) callback_url: Option<Option<CallbackUrl>>,
    pub(in crate::engine) token_length: Option<u8>,
    pub(in crate::engine) replies: Option<Generation>,
    pub(in crate::engine) callback_method: Option<CallbackMethod>,
    pub(in crate::engine) callback_ca_file: Option<Option<String>>,
    pub(in crate::engine) callback_private: Option<bool>,
    pub(in crate::engine) install_link: Option<Option<InstallLink>>,
    pub(in crate::engine) offline_days: Option<u8>,
    /// Those to change, as text.
    pub(in crate::engine) limits: Option<String>,
    pub(in crate::engine) texts: Option<Texts>,
    pub(in crate::engine) otp_domain: Option<Option<OtpDomain>>,
    pub(in crate::engine) plan: Option<String>,
    pub(in crate::engine) white_label: Option<bool>,
    pub(in crate::engine) sms_enabled: Option<bool>,
    pub(in crate::engine) force_codes: Option<bool>,
    pub(in crate::engine) logo: Option<Option<LogoUrl>>,
    pub(in crate::engine) authenticator_digits: Option<u8>,
    pub(in crate::engine) authenticator_period: Option<u64>,
}

/// Every application, in the order they were added.
pub(in crate::engine) fn all(view: &mut View) -> Decided<Vec<App>> {
    view.all::<Application>(())?.into_iter().map(app).collect()
}

/// The application with this API key, or with this one before it.
pub(in crate::engine) fn of_key(
    view: &mut View,
    api_key: &ApiKey,
    now: Time,
) -> Decided<Option<App>> {
    let Some(id) = lookups::find(view, Kind::ApiKey, 0, &hash(api_key))? else { return Ok(None) };
    match view.get::<Application>((id,))? {
        Some(row) if keys::is_valid(&row, api_key, now)? => app(row).map(Some),
        _ => Ok(None),
    }
}

/// The hashes of the keys of all applications: [`hash`].
pub(in crate::engine) fn key_hashes(view: &mut View) -> Decided<BTreeSet<String>> {
    lookups::names(view, Kind::ApiKey, 0)
}

/// The ids of all applications, also of those that cannot be used.
pub(in crate::engine) fn ids(view: &mut View) -> Decided<Vec<AppId>> {
    Ok(view.all_readable::<Application>()?.into_iter().map(|row| row.app_id).collect())
}

/// Whether there is such an application. Whoever uses one may believe so for a while after it was removed.
pub(in crate::engine) fn exists(view: &mut View, id: AppId) -> Decided<bool> {
    Ok(view.get::<Application>((id,))?.is_some())
}

pub(in crate::engine) fn of_id(view: &mut View, id: AppId) -> Decided<Option<App>> {
    view.get::<Application>((id,))?.map(app).transpose()
}

/// Adds the first application, unless another process has added one.
pub(in crate::engine) fn add_first(view: &mut View, new: &App, trail: &Trail) -> Decided<()> {
    if !view.all::<Application>(())?.is_empty() {
        return Ok(());
    }
    add(view, new, trail).map(drop)
}

/// Adds an application, and returns its id; `None` if another one has its key.
pub(in crate::engine) fn add(view: &mut View, new: &App, trail: &Trail) -> Decided<Option<AppId>> {
    if lookups::find(view, Kind::ApiKey, 0, &hash(&new.api_key))?.is_some() {
        return Ok(None);
    }
    let app_id = next_id(view, "applications")?;
    let [header_prefix, push_path, id_field, chrome_device] = new.names.parts().map(str::to_owned);
    lookups::set(view, Kind::ApiKey, 0, &hash(&new.api_key), app_id);
    view.put(Application {
        app_id,
        name: new.name.clone(),
        plan: new.plan.clone(),
        sms_enabled: new.sms_enabled,
        white_label: new.white_label,
        api_key: new.api_key.expose().into(),
        earlier_key: "".into(),
        earlier_until: None,
        secret: new.secret.clone().into(),
        callback_url: new.callback_url.as_ref().map(|url| url.as_str().to_owned()),
        token_length: new.token_length,
        replies: new.replies.name().to_owned(),
        header_prefix,
        push_path,
        id_field,
        chrome_device,
        callback_method: new.callback_method.name().to_owned(),
        callback_ca_file: new.callback_ca_file.clone(),
        callback_private: new.callback_private,
        install_link: new.install_link.as_ref().map(|link| link.as_str().to_owned()),
        offline_days: new.offline_days,
        limits: new.limits.stored(),
        texts: new.texts.stored(),
        otp_domain: new.otp_domain.as_ref().map(|domain| domain.as_str().to_owned()),
        created_at: trail.now.clock,
        force_codes: new.force_codes,
        logo: new.logo.as_ref().map(|logo| logo.as_str().to_owned()),
        authenticator_digits: new.authenticator_digits,
        authenticator_period: new.authenticator_period,
    });
    let trail = Trail { app: app_id, ..trail.clone() };
    trail.note(view, Noted { verdict: AuditVerdict::Created, ..Noted::default() });
    steady::raise(view, trail.now.reached())?;
    Ok(Some(app_id))
}

pub(in crate::engine) fn configure(
    view: &mut View,
    change: &AppChange,
    trail: &Trail,
) -> Decided<()> {
    let Some(mut row) = view.get::<Application>((trail.app,))? else { return Ok(()) };
    let before = row.clone();
    let AppChange { name, token_length, replies, offline_days, .. } = change;
    row.name = name.clone().unwrap_or(row.name);
    row.token_length = token_length.unwrap_or(row.token_length);
    row.offline_days = offline_days.unwrap_or(row.offline_days);
    row.replies = replies.map_or(row.replies, |replies| replies.name().to_owned());
    if let Some(url) = &change.callback_url {
        row.callback_url = url.as_ref().map(|url| url.as_str().to_owned());
    }
    if let Some(method) = change.callback_method {
        row.callback_method = method.name().to_owned();
    }
    row.callback_private = change.callback_private.unwrap_or(row.callback_private);
    if let Some(file) = &change.callback_ca_file {
        row.callback_ca_file.clone_from(file);
    }
    if let Some(link) = &change.install_link {
        row.install_link = link.as_ref().map(|link| link.as_str().to_owned());
    }
    if let Some(text) = &change.limits {
        let mut limits = limits(&row)?;
        limits.set(text)?;
        row.limits = limits.stored();
    }
    if let Some(texts) = &change.texts {
        row.texts = texts.stored();
    }
    if let Some(domain) = &change.otp_domain {
        row.otp_domain = domain.as_ref().map(|domain| domain.as_str().to_owned());
    }
    configure_calls(&mut row, change);
    // Those who open it with the same settings every day change nothing.
    if row == before {
        return Ok(());
    }
    let changed = changed(&before, &row);
    let noted = Noted { verdict: AuditVerdict::Configured, ..Noted::default() };
    trail.note(view, noted.because(Some(&changed)));
    view.put(row);
    steady::raise(view, trail.now.reached())
}

/// Changes what the calls of the interface do and say by default.
fn configure_calls(row: &mut Application, change: &AppChange) {
    if let Some(plan) = &change.plan {
        row.plan.clone_from(plan);
    }
    row.white_label = change.white_label.unwrap_or(row.white_label);
    row.sms_enabled = change.sms_enabled.unwrap_or(row.sms_enabled);
    row.force_codes = change.force_codes.unwrap_or(row.force_codes);
    if let Some(logo) = &change.logo {
        row.logo = logo.as_ref().map(|logo| logo.as_str().to_owned());
    }
    row.authenticator_digits = change.authenticator_digits.unwrap_or(row.authenticator_digits);
    row.authenticator_period = change.authenticator_period.unwrap_or(row.authenticator_period);
}

/// The names of the settings that differ.
fn changed(before: &Application, after: &Application) -> String {
    let settings = [
        ("application_name", before.name != after.name),
        ("token_length", before.token_length != after.token_length),
        ("offline_days", before.offline_days != after.offline_days),
        ("replies", before.replies != after.replies),
        ("callback_url", before.callback_url != after.callback_url),
        ("callback_method", before.callback_method != after.callback_method),
        ("callback_ca_file", before.callback_ca_file != after.callback_ca_file),
        ("callback_private", before.callback_private != after.callback_private),
        ("install_link", before.install_link != after.install_link),
        ("limits", before.limits != after.limits),
        ("texts", before.texts != after.texts),
        ("otp_domain", before.otp_domain != after.otp_domain),
        ("plan", before.plan != after.plan),
        ("white_label", before.white_label != after.white_label),
        ("sms_enabled", before.sms_enabled != after.sms_enabled),
        ("force_codes", before.force_codes != after.force_codes),
        ("logo", before.logo != after.logo),
        ("authenticator_digits", before.authenticator_digits != after.authenticator_digits),
        ("authenticator_period", before.authenticator_period != after.authenticator_period),
    ];
    let names = settings.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name);
    names.collect::<Vec<_>>().join(" ")
}

/// The counts of each month from this one on, and the number of users.
pub(in crate::engine) fn statistics(
    view: &mut View,
    app: AppId,
    from: i64,
) -> Decided<(Vec<Statistics>, u64)> {
    let mut months: BTreeMap<i64, Statistics> = BTreeMap::new();
    let mut rows = view.all::<Statistics>((app,))?;
    rows.extend(view.counted().filter(|counted| counted.app_id == app).cloned());
    for row in rows {
        let sum = months.entry(row.month).or_insert_with(|| Statistics::none(app, row.month));
        sum.add(&row);
    }
    let users = months.get(&Statistics::TOTALS).map_or(0, |totals| totals.users);
    let months = months.into_values().filter(|row| row.month >= from);
    Ok((months.collect(), u64::try_from(users).unwrap_or(0)))
}

pub(super) fn limits(row: &Application) -> Decided<Limits> {
    let mut limits = Limits::default();
    limits.set(&row.limits).map_err(|_| super::damaged("applications", "limits"))?;
    Ok(limits)
}

/// By what an API key is looked up, so that the time which a comparison takes says nothing of it.
pub(in crate::engine) fn key_hash(api_key: &ApiKey) -> [u8; 32] {
    Sha256::digest(api_key.expose()).into()
}

/// [`key_hash`], as it is stored.
pub(in crate::engine) fn hash(api_key: &ApiKey) -> String {
    key_hash(api_key).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn app(row: Application) -> Decided<App> {
    let earlier = keys::earlier(&row)?;
    let replies = row.replies.parse().map_err(|_| super::damaged("applications", "replies"))?;
    let callback_method = row
        .callback_method
        .parse()
        .map_err(|_| super::damaged("applications", "callback_method"))?;
    let limits = limits(&row)?;
    let texts = row.texts.as_deref().unwrap_or_default().parse();
    let texts = texts.map_err(|_| super::damaged("applications", "texts"))?;
    Ok(App {
        app_id: row.app_id,
        name: row.name,
        plan: row.plan,
        sms_enabled: row.sms_enabled,
        white_label: row.white_label,
        api_key: ApiKey::stored(Secret::new(row.api_key.get()?.clone())),
        earlier,
        secret: Zeroizing::new(*row.secret.get()?),
        callback_url: row.callback_url.map(CallbackUrl::stored),
        token_length: row.token_length,
        replies,
        names: Names::stored([row.header_prefix, row.push_path, row.id_field, row.chrome_device]),
        callback_method,
        callback_ca_file: row.callback_ca_file,
        callback_private: row.callback_private,
        install_link: row.install_link.map(InstallLink::stored),
        offline_days: row.offline_days,
        limits,
        texts,
        otp_domain: row.otp_domain.map(OtpDomain::stored),
        force_codes: row.force_codes,
        logo: row.logo.map(LogoUrl::stored),
        authenticator_digits: row.authenticator_digits,
        authenticator_period: row.authenticator_period,
    })
}
