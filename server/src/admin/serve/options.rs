//! The options of the commands that serve.

use crate::LOGGER;
use crate::admin::app::options::AppOptions;
use crate::admin::database::Database;
use crate::admin::database::names::SingleNames;
use crate::admin::database::network::Network;
use clap::{ArgGroup, Args};
use ipnet::IpNet;
use seconder_server::{Level, LogFormat, Logger, PublicUrl};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// A port alone is one of this machine.
fn operator_address(text: &str) -> std::result::Result<SocketAddr, String> {
    let of_port = || text.parse().ok().map(|port: u16| (Ipv4Addr::LOCALHOST, port).into());
    let address = text.parse().ok().or_else(of_port);
    address.ok_or_else(|| "must be an address and a port such as 192.0.2.1:8444, or a port".into())
}

/// The log of a command that serves.
#[derive(Args)]
pub(crate) struct Log {
    /// How lines are written to standard error: human, as text; json, an object in each line; journald, to
    /// the journal of systemd with fields; or auto, which is journald if standard error is the journal, human if it is a
    /// terminal, and otherwise json.
    #[arg(long, value_name = "FORMAT", default_value = "auto", hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
    /// Which lines are logged: those of this level and of the ones before it, of error, warning, info and
    /// debug.
    #[arg(long, value_name = "LEVEL", default_value = "info", hide_possible_values = true)]
    pub(crate) log_level: Level,
}

/// A network, or an address as one.
fn network(text: &str) -> std::result::Result<IpNet, String> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.ok_or_else(|| "must be a network such as 10.0.0.0/8, or an address".into())
}

impl Log {
    /// Logs so from now on.
    pub(crate) fn begin(&self) {
        // A process has one command.
        let _ = LOGGER.set(Logger::new(self.log_format, self.log_level));
    }

    /// Logs lines of this level from now on.
    pub(crate) fn apply_level(&self) {
        if let Some(logger) = LOGGER.get() {
            logger.set_level(self.log_level);
        }
    }
}

/// A local socket, and who may call through it.
#[cfg(unix)]
#[derive(Args)]
pub(crate) struct Local {
    /// Socket to create for processes of this machine, which need no API key; --allow says what they
    /// may do. A socket there on which nobody listens is replaced; anything else is an error. Its
    /// folder must not be one in which every user can create files.
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// Owner of the socket, by name or number; by default the user of this process.
    #[arg(long, value_name = "USER", requires = "unix")]
    pub(crate) unix_owner: Option<String>,
    /// Group of the socket, by name or number; by default that of this process.
    #[arg(long, value_name = "GROUP", requires = "unix")]
    pub(crate) unix_group: Option<String>,
    /// Mode of the socket in octal: who may connect at all. By default 0660 with --unix-group and
    /// 0600 without it, because whoever may connect can at least keep the server busy.
    #[arg(long, value_name = "MODE", requires = "unix")]
    pub(crate) unix_mode: Option<String>,
    /// What a process that connects to the local socket may do, as WHO=WHAT; repeat it for more.
    /// WHO is root, user:NAME, group:NAME (or their numbers) or any. WHAT is login (request and verify
    /// codes and approvals for any user), application (every call) or own-account (calls for the
    /// account whose login name is the user's own). The groups are the one that the process runs as,
    /// and those that the user database lists for its user. By default root and the user of this
    /// process may make every call; with this option, only what it says.
    #[arg(long, value_name = "WHO=WHAT", requires = "local")]
    pub(crate) allow: Vec<String>,
    /// Accept connections on the sockets that systemd passes (LISTEN_FDS): local ones as --unix does,
    /// those of TCP as --listen does. Their files, owners and modes are set by the .socket unit.
    #[arg(long)]
    pub(crate) socket_activation: bool,
}

/// What is for a real service, and names what a test must not touch.
const NO_SANDBOX: &[&str] = &[
    "config",
    "url",
    "keyring",
    "app",
    "trusted_proxies",
    "proxy_protocol",
    #[cfg(unix)]
    "unix",
    #[cfg(unix)]
    "socket_activation",
    "metrics",
    #[cfg(unix)]
    "pid_file",
    "public_url",
    "approver_name",
    "approver_icon",
    "push_hosts",
    "forward",
];

/// The traces of requests.
#[cfg(feature = "otlp")]
#[derive(Args)]
pub(crate) struct Traces {
    /// URL of a collector of OpenTelemetry to send a span for each request to, by OTLP over HTTP with JSON:
    /// http://localhost:4318/v1/traces. A span has what the line of the log has. By default there are none. For
    /// a program that was built with the feature otlp.
    #[arg(long, value_name = "URL", value_parser = collector)]
    pub(crate) otlp: Option<String>,
    /// Part of the requests that have a span, from 0 to 1, where no header `traceparent` decides.
    #[arg(long, value_name = "PART", default_value = "1", requires = "otlp", value_parser = part)]
    pub(crate) otlp_ratio: f64,
}

#[cfg(feature = "otlp")]
fn collector(text: &str) -> std::result::Result<String, String> {
    let is_one = |url: axum::http::Uri| {
        matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
    };
    match text.parse().is_ok_and(is_one) {
        true => Ok(text.to_owned()),
        false => Err("must be a URL such as http://localhost:4318/v1/traces".to_owned()),
    }
}

#[cfg(feature = "otlp")]
fn part(text: &str) -> std::result::Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "must be a number from 0 to 1".into())
}

#[derive(Args)]
pub(crate) struct Forward {
    /// Service from which the application moves here, an https: URL: calls for users and codes that are
    /// not here yet are passed on to it, and users are taken over one by one. It has the names of this
    /// application. docs/migrate.md describes it.
    #[arg(long, value_name = "URL")]
    pub(crate) forward: Option<String>,
    /// File with the API key of that service. By default `forward-key` in the folder of
    /// CREDENTIALS_DIRECTORY, where systemd puts what LoadCredential=forward-key:FILE names.
    #[arg(long, value_name = "FILE", requires = "forward")]
    pub(crate) forward_key_file: Option<PathBuf>,
    /// PEM file of the certificates to trust for that service, instead of the system's.
    #[arg(long, value_name = "FILE", requires = "forward")]
    pub(crate) forward_ca_file: Option<PathBuf>,
}

#[derive(Args)]
#[command(group = ArgGroup::new("tls").multiple(true).args(["self_signed", "certificate", "sandbox"]))]
#[command(group = ArgGroup::new("generated").multiple(true).args(["self_signed", "sandbox"]))]
#[cfg_attr(unix, command(group = ArgGroup::new("local").multiple(true).args(["unix", "socket_activation"])))]
#[cfg_attr(unix, command(group = ArgGroup::new("listener").multiple(true).required(true)
    .args(["self_signed", "certificate", "sandbox", "unix", "socket_activation"])))]
#[cfg_attr(not(unix), command(group = ArgGroup::new("listener").multiple(true).required(true)
    .args(["self_signed", "certificate", "sandbox"])))]
pub(crate) struct Serve {
    /// Serve a sandbox for the tests of applications in any language instead of a database: an engine in
    /// memory that sends no message, of which requests to /-/sandbox/ read the messages, respond to approvals,
    /// move the time and inject faults. Whoever has its key can do so, and unless --api-key-file names
    /// another, that is the-key-of-the-sandbox, so it listens on this machine only. It has a self-signed
    /// certificate unless --certificate names one. docs/sandbox.md describes it. It has no configuration
    /// file and no database.
    #[arg(long, conflicts_with_all = NO_SANDBOX)]
    pub(crate) sandbox: bool,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Address and port to listen on with HTTPS; repeat it for more; port 0 selects a free port. By default
    /// 127.0.0.1:8443 if there is a certificate and systemd passes no socket for it.
    #[arg(long, value_name = "ADDRESS", requires = "tls")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Generate a self-signed certificate for localhost at each start, for development.
    #[arg(long, conflicts_with_all = ["certificate", "key"])]
    pub(crate) self_signed: bool,
    /// File to write the self-signed certificate to, for the setting ca_file of clients; by default
    /// seconder-certificate.pem.
    #[arg(
        long,
        value_name = "FILE",
        requires = "generated",
        default_value_ifs([
            ("sandbox", "true", "seconder-sandbox.pem"),
            ("self_signed", "true", "seconder-certificate.pem"),
        ])
    )]
    pub(crate) certificate_out: Option<PathBuf>,
    /// PEM file with the server's certificate, followed by the intermediate certificates that lead
    /// to a trusted authority.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Network of proxies in front of this service, as 10.0.0.0/8 or an address; repeat it for more. Requests
    /// from there are those of the last address in their header X-Forwarded-For that is not in such a
    /// network. By default there are none, and the header is ignored.
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Every connection by network begins with a header of the PROXY protocol, version 2, which says whose it
    /// is: one without it, or from an address that is not in --trusted-proxies, is closed.
    #[arg(long, requires_all = ["trusted_proxies", "tls"])]
    pub(crate) proxy_protocol: bool,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: Local,
    /// File to write the id of this process to, for `seconder reload`. It is removed when the process stops,
    /// and its folder must not be one in which every user can create files. What became of a reload is in a
    /// file of its name and .reload.
    #[cfg(unix)]
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,
    /// Address and port to accept operators on, who have tokens: `seconder operator add`. There they carry out the
    /// commands that manage users, applications and messages from other machines, with --service. It has the
    /// certificate of --listen. A port alone is one of 127.0.0.1; port 0 selects a free port. By default there
    /// are none.
    #[arg(long, value_name = "ADDRESS", value_parser = operator_address, conflicts_with = "sandbox")]
    pub(crate) operator_listen: Vec<SocketAddr>,
    /// Address and port to serve metrics on, at /metrics, and whether the service works, at /healthz and
    /// /readyz, by plain HTTP and without a key: choose an address that only monitors reach; port 0
    /// selects a free port. By default there are none, because several services may run on a machine; `seconder
    /// init` writes 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    #[cfg(feature = "otlp")]
    #[command(flatten)]
    pub(crate) traces: Traces,
    #[command(flatten)]
    pub(crate) log: Log,
    #[command(flatten)]
    pub(crate) forward: Forward,
    /// URL at which others reach this service by HTTPS, such as https://login.example. Providers of
    /// messages report there what became of a message, and fetch what a voice reads out; without it,
    /// they are not asked to. Users register phones there, on which they approve logins, and which have to
    /// trust its certificate. A proxy in front that serves it under a path has to remove that path.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
    /// Name of the approver on phones: on the Home Screen, its pages and in notifications.
    #[arg(long, value_name = "NAME", default_value = "Seconder")]
    pub(crate) approver_name: String,
    /// File with the icon of the approver: a PNG picture of 512 by 512 pixels. By default it is Seconder's.
    #[arg(long, value_name = "FILE")]
    pub(crate) approver_icon: Option<PathBuf>,
    /// Further hosts of push services to which messages for phones may be posted, beside those of the makers
    /// of browsers: push.example or *.push.example; 127.0.0.1:8080 for one on this machine. Can be repeated.
    #[arg(long = "push-host", value_name = "HOST")]
    pub(crate) push_hosts: Vec<String>,
    /// Name of the application in messages and authenticator apps; by default the one stored in the
    /// database, or Seconder in a new one.
    #[arg(long, value_name = "NAME")]
    pub(crate) application_name: Option<String>,
    #[command(flatten)]
    pub(crate) app: AppOptions,
}

#[cfg(unix)]
#[derive(Args)]
pub(crate) struct Reload {
    /// Configuration file of the service, whose setting `pid_file` this is for.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File with the id of the process, as `seconder serve` has it.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: PathBuf,
}

#[cfg(unix)]
#[derive(Args)]
#[command(group = ArgGroup::new("local").multiple(true).required(true)
    .args(["unix", "socket_activation"]))]
pub(crate) struct Relay {
    /// Remote service to pass calls on to, an https: URL.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) local: Local,
    #[command(flatten)]
    pub(crate) log: Log,
    /// File with the API key of the application. It must belong to root or to the user of this
    /// process, and others must have no access to it.
    #[arg(long, value_name = "FILE")]
    pub(crate) api_key_file: PathBuf,
    /// PEM file of certificates to trust instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Pinned public key of the service, as sha256/ and the SHA-256 of the key in Base64; repeat it for
    /// a reserve key.
    #[arg(long, value_name = "PIN")]
    pub(crate) pin: Vec<String>,
    /// PEM file with the certificate that the relay presents to the service.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub(crate) client_certificate: Option<PathBuf>,
    /// PEM file with the private key of that certificate.
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    pub(crate) client_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) network: Network,
    /// How long a call to the service may take, in seconds. The default is less than the 10 seconds
    /// that clients wait, so that they learn what is wrong.
    #[arg(long, value_name = "SECONDS", default_value = "8")]
    pub(crate) timeout: u64,
    /// Word that the service and the clients use for `svc` in the names of headers, fields and
    /// devices.
    #[arg(long, value_name = "WORD")]
    pub(crate) names: Option<String>,
    #[command(flatten)]
    pub(crate) single_names: SingleNames,
}
