//! The options for connections to other machines.

use super::COMMON;
use clap::Args;
use std::path::PathBuf;

/// How the process connects to other machines.
#[derive(Args)]
pub(crate) struct Network {
    /// Name server to resolve names with, in place of those of resolv.conf, as 192.0.2.1 or 192.0.2.1:5353;
    /// repeat it for more. The word system alone has the system's resolver used, with every source in
    /// nsswitch.conf.
    #[arg(long, value_name = "ADDRESS", help_heading = COMMON)]
    pub(crate) name_server: Vec<String>,
    /// Proxy for connections with TLS to other machines, but for the database, as http://host:port. A URL with
    /// a password is read from --proxy-file only, because every user can see the options of a process.
    #[arg(long, value_name = "URL", conflicts_with = "proxy_file", help_heading = COMMON)]
    pub(crate) proxy: Option<String>,
    /// File with the URL of the proxy, which others must have no access to either.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) proxy_file: Option<PathBuf>,
}
