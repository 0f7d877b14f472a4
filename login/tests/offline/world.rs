//! A service that prepares codes, an app that shows them, and a folder for them.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::{OfflinePrepared, PrepareOffline, ReportOffline};
use seconder::engine::Clock;
use seconder::model::{Secret, Token, UserId};
use seconder::otp::Totp;
use seconder::{Handle, Service, Settings, Verdict, Verify};
use seconder_login::offline::{Limits, Offline, OfflineVerdict, Reports, system_random};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tempfile::TempDir;

/// When the codes are prepared.
pub(crate) const START: u64 = 1_786_924_800;
pub(crate) const SERVICE: &str = "unix:/run/seconder/login.sock";
pub(crate) const MACHINE: &[u8] = b"0123456789abcdef0123456789abcdef";

#[derive(Clone)]
struct Manual(Arc<AtomicU64>);

impl Clock for Manual {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) struct World {
    service: Service,
    clock: Manual,
    totp: Totp,
    pub(crate) user: UserId,
    folder: TempDir,
    /// What was prepared at START, for many caches.
    reply: OnceLock<OfflinePrepared>,
    /// How many hashes to keep of those that are prepared, for speed.
    few: Option<usize>,
}

impl World {
    pub(crate) fn new() -> World {
        let clock = Manual(Arc::new(AtomicU64::new(START)));
        let service = Settings::new("sandbox:?accept=right")
            .clock(clock.clone())
            .offline_days(7)
            .open()
            .unwrap();
        let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
        let uri = service.enrol_authenticator(user).unwrap().uri;
        let totp = Totp::from_uri(uri.expose()).unwrap();
        let reply = OnceLock::new();
        let folder = tempfile::tempdir().unwrap();
        World { service, clock, totp, user, folder, reply, few: None }
    }

    /// A world whose codes are known for five hours, which is faster.
    pub(crate) fn small() -> World {
        World { few: Some(600), ..World::new() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("offline")
    }

    /// The code that the app shows at this time.
    pub(crate) fn code(&self, at: u64) -> Token {
        self.totp.code(at).expose().parse().unwrap()
    }

    pub(crate) fn with(&self, limits: Limits) -> Offline {
        Offline::open(&self.path(), SERVICE, MACHINE, limits, system_random).unwrap()
    }

    pub(crate) fn open(&self) -> Offline {
        self.with(Limits::default())
    }

    /// A cache that was prepared with the code of START.
    pub(crate) fn prepared(&self) -> Offline {
        let offline = self.open();
        self.prepare_into(&offline, START);
        offline
    }

    pub(crate) fn prepare_into(&self, offline: &Offline, at: u64) {
        let reply = self.reply(at);
        offline.used_online(self.user, &self.code(at), at).unwrap();
        offline.prepared(self.user, &reply, at).unwrap();
    }

    /// What the service prepares with the code of START.
    pub(crate) fn reply(&self, at: u64) -> OfflinePrepared {
        let reply = self.reply.get_or_init(|| {
            assert_eq!(self.verify(&self.code(at), at), Verdict::Right);
            self.prepare(&self.code(at), at)
        });
        reply.clone()
    }

    pub(crate) fn prepare(&self, code: &Token, at: u64) -> OfflinePrepared {
        self.clock.0.store(at, Ordering::Relaxed);
        let mut call = PrepareOffline::new(self.user, code.clone());
        call.days = self.few.map(|_| 1);
        let mut reply = self.service.handle(&call).unwrap();
        if let Some(few) = self.few {
            // Six bytes are eight characters of Base64.
            reply.hashes = Secret::new(&reply.hashes.expose()[..few * 8 / 6 * 8]);
        }
        reply
    }

    pub(crate) fn verify(&self, code: &Token, at: u64) -> Verdict {
        self.clock.0.store(at, Ordering::Relaxed);
        let check = Verify::new(self.user, code.clone());
        self.service.handle(&check).unwrap().verdict
    }

    pub(crate) fn report(&self, reports: &Reports, at: u64) {
        self.clock.0.store(at, Ordering::Relaxed);
        let Reports { authenticator_id, logins } = reports.clone();
        let call = ReportOffline::new(self.user, authenticator_id, logins);
        self.service.handle(&call).unwrap();
    }

    /// The file of the user.
    pub(crate) fn file(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_user = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("user-") && !name.contains('.')
        };
        entries.into_iter().find(is_user).unwrap()
    }
}

pub(crate) fn accepted(verdict: &OfflineVerdict) -> bool {
    matches!(verdict, OfflineVerdict::Accepted { .. })
}

/// A different code of the same length.
pub(crate) fn other(code: &Token) -> Token {
    let code = code.as_str();
    let last = code.bytes().last().unwrap() - b'0';
    format!("{}{}", &code[..code.len() - 1], (last + 1) % 10).parse().unwrap()
}

pub(crate) fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
