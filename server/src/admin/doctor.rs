//! `seconder doctor`: checks of everything that the service depends on.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::input::moment::now;
use crate::admin::output::exit::Exit;
use crate::admin::output::print;
use crate::admin::output::table::{print_json, table};
use clap::Args;
#[cfg(unix)]
use rustix::fs::StatVfsMountFlags;
#[cfg(unix)]
use rustix::process::{Resource, getrlimit};
use seconder::Result;
use seconder::engine::Engine;
use seconder::engine::operator::{CheckService, Finding, Health};
use seconder::remote::Dialer;
use seconder_server::routes::reach;
use seconder_server::{CERTIFICATE_RENEWAL, Tls};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::{Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;
/// The space for the database that should be left, and the one below which it may fill up within minutes, in
/// bytes.
#[cfg(unix)]
const SPACE: [u64; 2] = [512 * 1024 * 1024, 32 * 1024 * 1024];
/// The descriptors for 1000 connections, and the ones that the service has besides.
#[cfg(unix)]
const DESCRIPTORS: u64 = 1280;
/// The time by which file systems of other machines may be ahead.
#[cfg(unix)]
const BEHIND: Duration = Duration::from_secs(60);

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
    /// File with the id of the process of the service, as of `seconder serve`. Without it, the service is the one of the
    /// unit `seconder` of systemd.
    #[cfg(unix)]
    #[arg(long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// Print each check as a JSON object.
    #[arg(long, help_heading = COMMON)]
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
pub(crate) fn run(options: &Doctor) -> Result<Exit> {
    let mut findings = Vec::new();
    match options.database.existing() {
        Ok(service) => {
            findings.extend(service.operate(&CheckService {})?.findings);
            if let Some(engine) = service.engine() {
                match of_gateways(engine, &options.database.dialer()?) {
                    Ok(found) => findings.extend(found),
                    Err(error) => findings.push(Finding::of_error("gateway", &error)),
                }
            }
        }
        Err(error) => findings.push(Finding::of_error("database", &error)),
    }
    if options.database.service.is_none() {
        findings.extend(of_machine(&options.database, options.pid_file.as_deref()));
    }
    if let (Some(certificate), Some(key)) = (&options.certificate, &options.key) {
        findings.push(of_certificate(certificate, key));
        #[cfg(unix)]
        findings.extend(of_key_mode(key));
    }
    for finding in findings.iter().filter(|_| options.json) {
        print_json(serde_json::to_string(finding))?;
    }
    if !options.json {
        print(&shown(&findings))?;
    }
    let has_failed = findings.iter().any(|finding| finding.status == Health::Failed);
    Ok((!has_failed).into())
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
fn of_machine(database: &Database, pid_file: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(path) = database.path() {
        findings.extend(of_disk(path));
        findings.extend(of_mode(path));
    }
    findings.push(of_descriptors(pid_file));
    findings.extend(of_time(database.path()));
    findings
}

/// Checks that the clock is not behind the times of files, which were written before, and that something sets it.
#[cfg(unix)]
fn of_time(database: Option<&Path>) -> Option<Finding> {
    let program = std::env::current_exe().ok();
    let files = database.into_iter().chain(program.as_deref());
    let behind = |file: &Path| {
        let written = std::fs::metadata(file).ok()?.modified().ok()?;
        Some((written.duration_since(now()).ok()?, file.display().to_string()))
    };
    let advice = "set the clock by NTP (systemd-timesyncd or chrony): codes of authenticator apps depend on it";
    if let Some((behind, file)) = files.filter_map(behind).max().filter(|(by, _)| *by > BEHIND) {
        let found = format!(
            "the clock is {} s behind the time at which {file} was written",
            behind.as_secs()
        );
        return Some(Finding::failed("time", found, advice));
    }
    let mut asked = Command::new("timedatectl");
    asked.args(["show", "--property=NTPSynchronized", "--value"]).stderr(Stdio::null());
    // Without systemd, nothing says whether it is set.
    match asked.output().ok()?.stdout.trim_ascii() {
        b"yes" => Some(Finding::ok("time", "is set by NTP")),
        b"no" => Some(Finding::warning("time", "nothing sets the clock of this machine", advice)),
        _ => None,
    }
}

/// Checks the descriptors of the service, or those that one would have which is started here.
#[cfg(unix)]
fn of_descriptors(pid_file: Option<&Path>) -> Finding {
    let advice = "raise the limit, with LimitNOFILE= or `ulimit -Hn`, and restart the service: each connection takes one";
    let Some(process) = service_process(pid_file) else {
        // The hard limit: the service raises its own limit to that.
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let found = format!(
            "no service was found to run here; one started by this user may open {most} files"
        );
        return match most < DESCRIPTORS {
            true => Finding::warning("descriptors", found, advice),
            false => Finding::ok("descriptors", found),
        };
    };
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let most =
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(u64::MAX);
    // Root alone can count them, because the memory of the service is protected.
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).map(Iterator::count);
    let open = open.ok().map(|open| open as u64);
    let found = match open {
        Some(open) => format!("the service, process {process}, has {open} of {most} files open"),
        None => format!("the service, process {process}, may open {most} files"),
    };
    match (most < DESCRIPTORS, open.is_some_and(|open| open >= most / 10 * 9)) {
        (_, true) => Finding::failed("descriptors", found, advice),
        (true, _) => Finding::warning("descriptors", found, advice),
        _ => Finding::ok("descriptors", found),
    }
}

/// Returns the id of the process of the service, if it runs on this machine.
#[cfg(unix)]
fn service_process(pid_file: Option<&Path>) -> Option<u32> {
    let unit = Path::new("/sys/fs/cgroup/system.slice/seconder.service/cgroup.procs");
    let listed = std::fs::read_to_string(pid_file.unwrap_or(unit)).ok()?;
    let process: u32 = listed.lines().next()?.trim().parse().ok()?;
    // The file outlives a process that was killed, and another one may have its id.
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    (name.trim() == "seconder").then_some(process)
}

/// Checks that each gateway takes connections from this machine.
fn of_gateways(engine: &Engine, dialer: &Dialer) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for route in engine.routes()? {
        let Some(settings) = &route.settings else { continue };
        let advice = "see that the provider and the way to it work, and the settings with `seconder route show`; then \
                      try it with `seconder route test`";
        if let Err(reason) = reach(settings.expose(), dialer) {
            let found = format!("{} is dead: {reason}", route.name);
            findings.push(Finding::failed("gateway", found, advice));
        }
    }
    Ok(findings)
}

#[cfg(not(unix))]
fn of_machine(_database: &Database, _pid_file: Option<&Path>) -> Vec<Finding> {
    Vec::new()
}

#[cfg(unix)]
fn of_disk(database: &Path) -> Option<Finding> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let system = rustix::fs::statvfs(folder).ok()?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let found = format!("{} MB are free in {}", free / 1_000_000, folder.display());
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let found = format!("{} is on a file system that is mounted read-only", folder.display());
        let advice = "find out why, with `dmesg` and `findmnt`: the kernel does so after an error of the disk. Then \
                      mount it for writing, and restart the service: until then, nobody can log in";
        return Some(Finding::failed("disk", found, advice));
    }
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

/// Checks that others cannot read the key of the certificate.
#[cfg(unix)]
fn of_key_mode(key: &Path) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o777;
    let found = format!("{} has the mode {mode:o}", key.display());
    let advice = "`chmod o= FILE`, and replace the key and the certificate: those who have read it can pose as this service";
    Some(match (mode & 0o002 != 0, mode & 0o004 != 0) {
        (true, _) => Finding::failed("key", found, advice),
        (_, true) => Finding::warning("key", found, advice),
        _ => Finding::ok("key", found),
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
