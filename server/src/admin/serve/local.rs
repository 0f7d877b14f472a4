//! The local socket of the commands that serve.

use super::options::Local;
use crate::{invalid, log};
use seconder::Result;
use seconder_server::{Listeners, LocalSocket, PeerRules, SocketOptions};

impl Local {
    /// Adds the listeners of the options. Returns also how many sockets systemd passes for
    /// HTTPS. Everything that is wrong with the options is reported at once.
    pub(crate) fn listeners(&self, listeners: Listeners) -> Result<(Listeners, usize)> {
        let (owner, group) = (self.unix_owner.as_deref(), self.unix_group.as_deref());
        let options = SocketOptions::parse(owner, group, self.unix_mode.as_deref());
        let rules = PeerRules::parse(&self.allow);
        let (options, rules) = match (options, rules) {
            (Ok(options), Ok(rules)) => (options, rules),
            (options, rules) => {
                let allow = rules.err().unwrap_or_default().into_iter();
                let allow = allow.map(|problem| format!("--allow {problem}"));
                let problems = options.err().unwrap_or_default().into_iter().chain(allow);
                let problems = problems.collect::<Vec<_>>().join("; ");
                return Err(invalid("options", format!("are invalid: {problems}")));
            }
        };
        let (mut listeners, mut passed) = (listeners, 0);
        if self.socket_activation {
            (listeners, passed) = listeners.activated(&rules)?;
        }
        let Some(path) = &self.unix else { return Ok((listeners, passed)) };
        if rules.allow_any() && options.mode() & 0o006 != 0o006 {
            log(&format!(
                "warning: --allow has a rule for any user, and --unix-mode {:04o} keeps others from \
                 connecting",
                options.mode()
            ));
        }
        Ok((listeners.local(LocalSocket::bind(path, options, rules)?), passed))
    }

    /// Shows where the server listens, once it does.
    pub(crate) fn show(&self) {
        if let Some(path) = &self.unix {
            log(&format!("listening on unix:{}", path.display()));
        }
        if self.socket_activation {
            log("listening on the sockets that systemd passed");
        }
    }
}
