//! Logins while the service is unreachable: their preparation, and the reports of them.

use crate::calls::{Done, OfflineLogin, OfflinePrepared, PrepareOffline, ReportOffline};
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::factors::Factor;
use crate::engine::model::{limits, rejections};
use crate::engine::operations::Subject;
use crate::engine::operations::addresses::WrongFromAddress;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::offline::{self, Login, Preparation, Report, Reported};
use crate::engine::operations::verify::{Checked, Circumstances, Counted, Guess, Match, check};
use crate::engine::store::Authenticator;
use crate::engine::store::View;
use crate::model::{Secret, UserId};
use crate::offline::{HASH_LENGTH, Hasher, KEY_LENGTH, MOST_STEPS};
use crate::otp::Totp;
use crate::{Handle, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use zeroize::Zeroizing;

const A_DAY: u64 = 24 * 60 * 60;

/// An authenticator app that has shown the code, and when.
struct Shown {
    authenticator_id: i64,
    totp: Totp,
    step: u64,
}

impl Handle<PrepareOffline> for Engine {
    fn handle(&self, call: &PrepareOffline) -> Result<OfflinePrepared> {
        let now = self.begin();
        let allowed = u64::from(self.app.settings.offline_days);
        if allowed == 0 {
            return Err(rejections::offline_not_allowed());
        }
        let shown = self.accepted_just_now(call, now)?;
        let days = call.days.unwrap_or(limits::OFFLINE_DAYS).min(allowed);
        let span = Span::new(&shown, now.clock.seconds(), days);
        let machine = call.machine.as_ref().map(|machine| machine.as_str());
        let data = json!({ "machine": machine, "expires_at": span.expires_at });
        // Before the hashes are made, which takes time: one code makes them once.
        let preparation = Preparation {
            user_id: call.user_id,
            authenticator_id: shown.authenticator_id,
            step: shown.step,
            period: shown.totp.period(),
            first_step: span.first_step,
            end_step: span.end_step,
            machine: machine.unwrap_or_default().to_owned(),
            data: data.to_string(),
            nonce: self.nonce()?,
            now,
        };
        let user_id = call.user_id;
        let decide = move |view: &mut View, trail: &mut Trail| {
            let factors = vec![Factor::Authenticator];
            let noted = |verdict| Noted { factors, ..Noted::of(user_id, verdict) };
            let prepared = offline::prepare(view, &preparation)?;
            match prepared {
                true => trail.note(view, noted(AuditVerdict::Right)),
                false => trail.refuse(noted(AuditVerdict::Reused)),
            }
            Ok(prepared)
        };
        let trail = self.trail::<PrepareOffline>(now, None)?;
        if !self.run_refusable(trail, &user_id.to_string(), decide)? {
            return Err(rejections::no_code_accepted());
        }
        self.prepare_codes(call.user_id, &shown, &span)
    }
}

/// The steps whose codes are prepared.
struct Span {
    first_step: u64,
    /// The first step that is not prepared.
    end_step: u64,
    /// In Unix seconds.
    expires_at: u64,
}

impl Span {
    fn new(shown: &Shown, now: u64, days: u64) -> Span {
        let period = shown.totp.period();
        let end = now.saturating_add(days * A_DAY);
        let first_step = shown.step.saturating_add(1);
        let steps = end.div_ceil(period).saturating_sub(first_step).min(MOST_STEPS);
        let end_step = first_step.saturating_add(steps);
        Span { first_step, end_step, expires_at: end.min(end_step.saturating_mul(period)) }
    }
}

impl Engine {
    /// Returns the app whose code this is, which must be the last one of it that was accepted, and
    /// not long ago. Another code counts as wrong, so that the call does not help to guess one.
    fn accepted_just_now(&self, call: &PrepareOffline, now: Now) -> Result<Shown> {
        let user_id = call.user_id;
        let subject = Subject::User(self.app.app_id, user_id);
        let guess = Guess::Accepted(call.token.clone());
        let address = WrongFromAddress::default();
        let of = Circumstances { address, counted: Counted::Nowhere, now };
        let decide = move |view: &mut View, trail: &mut Trail| {
            let checked = check(view, &subject, &guess, &of)?;
            let factors = vec![Factor::Authenticator];
            let noted = Noted { factors, ..Noted::of(user_id, AuditVerdict::Wrong) };
            Ok(match checked {
                // The decision that uses it up notes it.
                Checked::Right(Match::Shown { authenticator_id, step }, _) => {
                    let row = view.get::<Authenticator>((user_id.get(), authenticator_id))?;
                    let totp = row.and_then(|row| row.totp().transpose()).transpose()?;
                    Ok(totp.map(|totp| Shown { authenticator_id, totp, step }))
                }
                Checked::Barred(barred) => {
                    trail.refuse(noted.barred(barred));
                    Err(Checked::Barred(barred))
                }
                Checked::NoUser => Err(Checked::NoUser),
                _ => {
                    trail.note(view, noted);
                    Ok(None)
                }
            })
        };
        let trail = self.trail::<PrepareOffline>(now, None)?;
        match self.run_refusable(trail, &user_id.to_string(), decide)? {
            Ok(shown) => shown.ok_or_else(rejections::no_code_accepted),
            Err(Checked::Barred(barred)) => rejections::barred(barred, now),
            Err(_) => Err(rejections::user_not_found()),
        }
    }

    fn prepare_codes(&self, user: UserId, shown: &Shown, span: &Span) -> Result<OfflinePrepared> {
        let Shown { authenticator_id, totp, step: last_step } = shown;
        let Span { first_step, end_step, expires_at } = *span;
        let period = totp.period();
        let mut key = Zeroizing::new([0; KEY_LENGTH]);
        self.random().fill(&mut *key)?;
        let hasher = Hasher::new(&key, user);
        let steps = (end_step - first_step) as usize;
        let mut hashes = Zeroizing::new(Vec::with_capacity(steps * HASH_LENGTH));
        for step in first_step..end_step {
            let code = totp.code(step.saturating_mul(period));
            hashes.extend_from_slice(&hasher.hash(step, code.expose()));
        }
        Ok(OfflinePrepared {
            authenticator_id: u64::try_from(*authenticator_id).unwrap_or_default(),
            digits: totp.digits().into(),
            period,
            last_step: *last_step,
            first_step,
            expires_at,
            hash_key: Secret::new(STANDARD.encode(*key)),
            hashes: Secret::new(STANDARD.encode(&*hashes)),
            message: Some("Logins without the service were prepared.".into()),
        })
    }
}

impl Handle<ReportOffline> for Engine {
    fn handle(&self, call: &ReportOffline) -> Result<Done> {
        let now = self.begin();
        let machine = call.machine.as_ref().map(|machine| machine.as_str());
        let stored = |login: &OfflineLogin| {
            let data = json!({
                "machine": machine,
                "authenticator_id": call.authenticator_id,
                "step": login.step,
                "time": login.time,
            });
            Ok(Login { step: login.step, data: data.to_string(), nonce: self.nonce()? })
        };
        let report = Report {
            app: self.app.app_id,
            user_id: call.user_id,
            authenticator_id: i64::try_from(call.authenticator_id).unwrap_or_default(),
            machine: machine.unwrap_or_default().to_owned(),
            logins: call.logins.iter().map(stored).collect::<Result<_>>()?,
            now,
        };
        match self.run(move |view| offline::report(view, &report))? {
            Reported::Added(logins) => {
                if logins > 0 {
                    self.shared.events.offline_logins_reported(call.user_id, machine, logins);
                }
                Ok(Done::with_message("The logins were recorded."))
            }
            Reported::NoUser => Err(rejections::user_not_found()),
            Reported::NotPrepared => Err(rejections::offline_not_prepared()),
        }
    }
}
