//! `seconder doctor`: checks of everything that the service depends on.

use crate::arguments::Database;
use crate::commands::print;
use crate::moment::now;
use crate::table::{print_json, table};
use clap::Args;
use seconder::Result;
use seconder::engine::operator::{CheckService, Finding, Health};
use seconder_server::{CERTIFICATE_RENEWAL, Tls};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const DAY: u64 = 24 * 60 * 60;
/// The space for the database that should be left, and the one below which it may fill up within minutes, in
/// bytes.
#[cfg(unix)]
const SPACE: [u64; 2] = [512 * 1024 * 1024, 32 * 1024 * 1024];
/// The descriptors for 1000 connections, and the ones that the service has besides.
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

fn shown_status(status: Health) -> &'static str {
    match status {
        Health::Ok => "ok",
        Health::Warning => "WARNING",
        _ => "FAILED",
    }
}

/// Makes all checks. The process fails if one of them has.
pub(crate) fn run(options: &Doctor) -> Result<ExitCode> {
    let mut findings = Vec::new();
    match options.database.existing() {
        Ok(service) => findings.extend(service.operate(&CheckService {})?.findings),
        Err(error) => findings.push(Finding::of_error("database", &error)),
    }
    if options.database.service.is_none() {
        findings.extend(of_machine(&options.database));
    }
    if let (Some(certificate), Some(key)) = (&options.certificate, &options.key) {
        findings.push(of_certificate(certificate, key));
    }
    for finding in findings.iter().filter(|_| options.json) {
        print_json(serde_json::to_string(finding))?;
    }
    if !options.json {
        print(&shown(&findings))?;
    }
    let has_failed = findings.iter().any(|finding| finding.status == Health::Failed);
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn shown(findings: &[Finding]) -> String {
    let row = |finding: &Finding| {
        [&finding.check, shown_status(finding.status), &finding.found].map(str::to_owned).to_vec()
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

/// Checks the resources that the machine leaves to the service.
#[cfg(unix)]
fn of_machine(database: &Database) -> Vec<Finding> {
    use rustix::process::{Resource, getrlimit};
    let mut findings = Vec::new();
    if let Some(path) = database.path() {
        findings.extend(of_disk(path));
        findings.extend(of_mode(path));
    }
    // The hard limit: the service raises its own limit to that.
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

/// Checks that others cannot read the database. Those who could write it could log in as anybody.
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

/// Checks that the certificate fits its key, and for how long it is valid.
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
