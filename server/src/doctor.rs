//! `seconder doctor`: whether everything that the service depends on is as it should be.

use crate::arguments::Database;
use crate::commands::print;
use crate::moment::now;
use crate::table::{print_json, table};
use clap::Args;
use seconder::engine::{AuditFilter, Engine, JobStatus};
use seconder::{Error, Result, Service};
use seconder_server::{CERTIFICATE_RENEWAL, Tls};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

const DAY: u64 = 24 * 60 * 60;
/// How far the clock may be behind the newest decision: other nodes have clocks of their own.
const BEHIND: u64 = 60;
/// For how long a message may wait before somebody should look after it, in seconds.
const OLDEST: u64 = 60;
/// The space for the database that should be left, and the one below which it may fill up within minutes, in
/// bytes.
#[cfg(unix)]
const SPACE: [u64; 2] = [512 * 1024 * 1024, 32 * 1024 * 1024];
/// The descriptors for 1000 connections, and what the service has besides.
#[cfg(unix)]
const DESCRIPTORS: u64 = 1280;

#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    database: Database,
    /// PEM file with the server's certificate, as of `seconder serve`.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Print each check as a JSON object.
    #[arg(long)]
    json: bool,
}

/// What a check has found.
struct Finding {
    check: &'static str,
    status: Status,
    found: String,
    /// What to do, if something is wrong.
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    Warning,
    Failed,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warning => "WARNING",
            Status::Failed => "FAILED",
        }
    }
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, status: Status::Ok, found: found.into(), advice: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, advice: &str) -> Finding {
        let advice = Some(advice.to_owned());
        Finding { check, status: Status::Warning, found: found.into(), advice }
    }

    fn failed(check: &'static str, found: impl Into<String>, advice: &str) -> Finding {
        Finding { status: Status::Failed, ..Finding::warning(check, found, advice) }
    }

    /// A check that could not be made. The message says what to do.
    fn of_error(check: &'static str, error: &Error) -> Finding {
        Finding { status: Status::Failed, ..Finding::ok(check, error.to_string()) }
    }
}

/// Makes all checks. The process fails if one of them has.
pub(crate) fn run(options: &Doctor) -> Result<ExitCode> {
    let mut findings = Vec::new();
    match options.database.existing() {
        Ok(service) => findings.extend(of_service(&service)?),
        Err(error) => findings.push(Finding::of_error("database", &error)),
    }
    findings.extend(of_machine(&options.database));
    if let (Some(certificate), Some(key)) = (&options.certificate, &options.key) {
        findings.push(of_certificate(certificate, key));
    }
    for finding in findings.iter().filter(|_| options.json) {
        let Finding { check, status, found, advice } = finding;
        let status = status.name().to_lowercase();
        let object = json!({ "check": check, "status": status, "found": found, "advice": advice });
        print_json(serde_json::to_string(&object))?;
    }
    if !options.json {
        print(&shown(&findings))?;
    }
    let has_failed = findings.iter().any(|finding| finding.status == Status::Failed);
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn shown(findings: &[Finding]) -> String {
    let row = |finding: &Finding| {
        [finding.check, finding.status.name(), &finding.found].map(str::to_owned).to_vec()
    };
    let mut text =
        table(&["CHECK", "STATUS", "FOUND"], &findings.iter().map(row).collect::<Vec<_>>());
    for finding in findings {
        if let Some(advice) = &finding.advice {
            text += &format!("\n\n{}: {advice}", finding.check);
        }
    }
    text
}

/// What the database says.
fn of_service(service: &Service) -> Result<Vec<Finding>> {
    let engine = service.require_engine()?;
    Ok(vec![
        Finding::ok("database", "can be read, and is of this version"),
        of_keyring(engine).unwrap_or_else(|error| Finding::of_error("keyring", &error)),
        of_clock(engine).unwrap_or_else(|error| Finding::of_error("clock", &error)),
        of_routes(engine).unwrap_or_else(|error| Finding::of_error("routes", &error)),
        of_jobs(engine).unwrap_or_else(|error| Finding::of_error("messages", &error)),
        of_limits(engine),
    ])
}

/// Whether the keyring has all keys with which something is sealed.
fn of_keyring(engine: &Engine) -> Result<Finding> {
    let keys = engine.keyring()?.keys()?;
    let sealed = engine.sealed_values()?;
    let missing: Vec<_> =
        sealed.keys().filter(|id| !keys.iter().any(|key| key.id == **id)).collect();
    if let Some(id) = missing.first() {
        let found = format!("{} values are sealed with the key {id}, which it lacks", sealed[id]);
        return Ok(Finding::failed("keyring", found, "restore the keyring from its backup"));
    }
    let current = keys.iter().find(|key| key.is_current).map(|key| key.id);
    let old: u64 = sealed.iter().filter(|(id, _)| Some(**id) != current).map(|(_, n)| n).sum();
    let found = format!("{} with {} keys", engine.keyring()?.path().display(), keys.len());
    Ok(match old {
        0 => Finding::ok("keyring", found),
        old => Finding::warning(
            "keyring",
            format!("{found}; {old} values are sealed with earlier ones"),
            "`seconder keyring reseal` seals them with the current key",
        ),
    })
}

/// Whether the clock is behind what was decided already.
fn of_clock(engine: &Engine) -> Result<Finding> {
    let now = now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let newest = engine.audit(&AuditFilter::default(), None, 1)?;
    let newest = newest.entries.first().map_or(0, |entry| entry.time / 1000);
    let newest = u64::try_from(newest).unwrap_or(0);
    Ok(match newest.saturating_sub(now.as_secs()) {
        behind if behind > BEHIND => Finding::failed(
            "clock",
            format!("is {behind} s behind the newest decision"),
            "set it by NTP: codes of authenticator apps depend on it, and those of the time that \
             passes again are not accepted",
        ),
        _ => Finding::ok("clock", "is not behind what was decided"),
    })
}

fn of_routes(engine: &Engine) -> Result<Finding> {
    let routes = engine.routes()?;
    let used: Vec<_> = routes.iter().filter(|route| route.settings.is_some()).collect();
    let unreadable: Vec<_> = routes.iter().filter(|route| route.unreadable.is_some()).collect();
    Ok(if let Some(route) = unreadable.first() {
        let found = format!("the settings of {} cannot be opened", route.name);
        Finding::failed("routes", found, "set it again with `seconder route set`")
    } else if used.is_empty() {
        let advice = "`seconder route set` adds a gateway: until then, messages are written to the \
                      spool folder, which nobody reads";
        Finding::warning("routes", "there are none", advice)
    } else {
        let names: Vec<_> = used.iter().map(|route| route.name.as_str()).collect();
        Finding::ok("routes", names.join(", "))
    })
}

/// Whether messages and callbacks leave.
fn of_jobs(engine: &Engine) -> Result<Finding> {
    let status = engine.job_status()?;
    let sum = |of: fn(&JobStatus) -> u32| status.iter().map(of).fold(0, u32::saturating_add);
    let (waiting, failed) = (sum(|one| one.waiting), sum(|one| one.failed));
    let oldest = status.iter().filter_map(|one| one.oldest).max().unwrap_or_default() / 1000;
    let found = format!("{waiting} wait, and {failed} failed in the last 24 hours");
    Ok(if oldest > OLDEST {
        let found = format!("{found}; the oldest waits for {oldest} s");
        let advice = "see `seconder jobs list` for their last errors, and `seconder route test`";
        Finding::warning("messages", found, advice)
    } else if failed > 0 {
        Finding::warning("messages", found, "`seconder jobs list --state failed` says why")
    } else {
        Finding::ok("messages", found)
    })
}

/// Limits that are switched off.
fn of_limits(engine: &Engine) -> Finding {
    let limits = engine.application_settings().limits;
    let off: Vec<_> = [
        ("number_10_minutes", limits.number_10_minutes),
        ("number_day", limits.number_day),
        ("address_hour", limits.address_hour),
        ("key_rate", limits.key_rate),
    ]
    .into_iter()
    .filter_map(|(name, limit)| (limit == 0).then_some(name))
    .collect();
    match off.as_slice() {
        [] => Finding::ok("limits", "none is switched off"),
        some => Finding::warning(
            "limits",
            format!("switched off: {}", some.join(", ")),
            "whoever can cause messages can send any number of them: `seconder limits set`",
        ),
    }
}

/// What the machine leaves to the service.
#[cfg(unix)]
fn of_machine(database: &Database) -> Vec<Finding> {
    use rustix::process::{Resource, getrlimit};
    let mut findings = Vec::new();
    if let Some(path) = database.path() {
        findings.extend(of_disk(path));
        findings.extend(of_mode(path));
    }
    // Those that a process may have at most: the service raises its own limit to that.
    let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    findings.push(match descriptors < DESCRIPTORS {
        true => Finding::warning(
            "descriptors",
            format!("a process may open {descriptors} files"),
            "raise the limit, with LimitNOFILE= or `ulimit -Hn`: each connection takes one",
        ),
        false => Finding::ok("descriptors", "there are enough"),
    });
    findings
}

#[cfg(not(unix))]
fn of_machine(_database: &Database) -> Vec<Finding> {
    Vec::new()
}

#[cfg(unix)]
fn of_disk(database: &Path) -> Option<Finding> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let system = rustix::fs::statvfs(folder).ok()?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let found = format!("{} MB are free in {}", free / 1_000_000, folder.display());
    let advice = "free space: when the disk is full, nobody can log in";
    Some(match SPACE {
        [_, least] if free < least => Finding::failed("disk", found, advice),
        [enough, _] if free < enough => Finding::warning("disk", found, advice),
        _ => Finding::ok("disk", found),
    })
}

/// Whether others can read the database. Those who could write it could log in as anybody.
#[cfg(unix)]
fn of_mode(database: &Path) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(database).ok()?.permissions().mode() & 0o777;
    let found = format!("{} has the mode {mode:o}", database.display());
    let advice = "chmod 600: it has the numbers and e-mail addresses of all users";
    Some(match (mode & 0o022 != 0, mode & 0o044 != 0) {
        (true, _) => Finding::failed("mode", found, advice),
        (_, true) => Finding::warning("mode", found, advice),
        _ => Finding::ok("mode", found),
    })
}

/// Whether the certificate fits its key, and for how long it is valid.
fn of_certificate(certificate: &Path, key: &Path) -> Finding {
    let files = Tls::Files { certificate: certificate.into(), key: key.into() };
    let ends = match files.expiry() {
        Ok(ends) => ends,
        Err(error) => {
            let (found, advice) = (error.to_string(), "give the files of the same certificate");
            return Finding::failed("certificate", found, advice);
        }
    };
    let advice = "renew it: clients refuse one that has expired. `seconder serve` reads the files \
                  again within seconds";
    match ends.duration_since(now()) {
        Err(_) => Finding::failed("certificate", "has expired", advice),
        Ok(left) => {
            let found = format!("is valid for another {} days", left.as_secs() / DAY);
            match left < CERTIFICATE_RENEWAL {
                true => Finding::warning("certificate", found, advice),
                false => Finding::ok("certificate", found),
            }
        }
    }
}
