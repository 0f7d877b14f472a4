//! The keys of the configuration: the one list from which they are read, suggested and documented.

/// A key, as seconder-pam.conf(5) describes it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The values that are accepted, such as `a number, 1 to 10`.
    pub values: &'static str,
    /// The value if the key is absent; empty if it has no default.
    pub default: &'static str,
    /// The condition under which it has an effect.
    pub needs: Needs,
    /// The description of its effect.
    pub text: &'static str,
}

impl Key {
    /// Returns whether it says how to connect to the service, which is of no use to a program that has opened it.
    pub(super) fn connects(&self) -> bool {
        matches!(self.needs, Needs::Https | Needs::Unix) || ["url", "timeout"].contains(&self.name)
    }
}

/// The condition under which a key has an effect. A key without an effect is an error, because the administrator who
/// wrote it relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Everywhere.
    Nothing,
    /// An `https:` URL.
    Https,
    /// A `unix:` URL.
    Unix,
    /// The setting `users=command:`.
    Command,
    /// The setting `first_pass=with_code`.
    WithCode,
    /// The setting `offline=yes`.
    Offline,
}

impl Needs {
    /// Returns the description of the condition.
    pub fn text(self) -> &'static str {
        match self {
            Needs::Nothing => "",
            Needs::Https => "an https: url",
            Needs::Unix => "a unix: url",
            Needs::Command => "users = command:",
            Needs::WithCode => "first_pass = with_code",
            Needs::Offline => "offline = yes",
        }
    }
}

macro_rules! keys {
    ($($name:literal $needs:ident [$default:literal] $values:literal: $text:literal;)*) => {
        /// Every key, in the order of the manual.
        pub const KEYS: &[Key] = &[$(Key {
            name: $name,
            values: $values,
            default: $default,
            needs: Needs::$needs,
            text: $text,
        }),*];
    };
}

keys! {
    "url" Nothing ["unix:/run/seconder/seconder.sock"]
        "unix:/path/of/a/socket, or https://host":
        "The service that is asked: the socket of `seconder serve` or `seconder relay` on this machine, \
         or a remote service.";
    "service_user" Unix [""] "the name or the number of a user":
        "The user that the service runs as, besides root. A socket on which anybody else listens is \
         not trusted.";
    "api_key_file" Https [""] "the absolute path of a file":
        "The file with the API key in its first line. It must not be readable by everybody. It is \
         required with an https: url; on a socket, the service knows this process by its user.";
    "ca_file" Https [""] "the absolute path of a file":
        "A PEM file of certificates to trust instead of the system's: those of authorities, or the \
         service's own.";
    "pin" Https [""] "sha256/ and the Base64 of a SHA-256, or several of them, separated by spaces":
        "Public keys, of which the service must present one.";
    "proxy" Https [""] "http://host:port, or http://user:password@host:port":
        "A proxy for the connections to the service. The environment is not consulted. A file with a \
         password in it must not be readable by everybody.";
    "name_server" Https [""] "IP addresses with or without a port, separated by spaces":
        "Name servers to ask instead of those of /etc/resolv.conf.";
    "names" Https ["svc"] "a word":
        "The word that the service uses for `svc` in headers and fields.";
    "timeout" Nothing ["10"] "a number of seconds, 1 to 300":
        "How long each call to the service may take in all.";
    "approval_timeout" Nothing ["60"] "a number of seconds, 1 to 600":
        "How long an approval request stays open, and is waited for.";
    "tries" Nothing ["3"] "a number, 1 to 10":
        "How many times the user may try: a wrong code, a text that is no code, and an approval request \
         that was not approved each count.";
    "method" Nothing ["ask"] "ask, code, sms, call or push":
        "What to do at once: offer the user a choice (ask), ask for a code alone (code), or send an SMS, \
         a voice call or an approval request. What a user does not have is not sent: the user is \
         asked instead.";
    "offer" Nothing ["push sms call"] "words of push, sms and call, separated by spaces; or none":
        "What the user may choose from, as far as they have it.";
    "users" Nothing ["file:/etc/seconder/users"]
        "file:/path, directory, or command:/path":
        "Where the service's user of a login name is looked up: in a file with lines of the form \
         `login = id`; in the directory of the service, where `seconder user set-login` writes it; or \
         by a program, which is run with the login name as its argument and prints the id and a \
         line feed, or `none` and a line feed for a user that it does not know.";
    "command_timeout" Command ["5"] "a number of seconds, 1 to 60":
        "How long the program may run before it is killed.";
    "unenrolled" Nothing ["deny"] "deny or ignore":
        "What happens to a user whom the service does not know: the login is denied, or the module \
         has no say in it (PAM_IGNORE).";
    "on_trouble" Nothing ["deny"] "deny or ignore":
        "What happens while the service cannot be asked: logins are denied, or the module has no say \
         in them (PAM_IGNORE), which is logged as an error. An error of the configuration always \
         denies: a wrong API key, too many wrong ones from the address of this machine, a socket that \
         this process may not use, a path that is no socket, and a service of a user who is not \
         trusted. So does a service that has a user wait after wrong codes; one that has everybody \
         wait, because it is busy, cannot be asked. A socket that is missing is taken for a stopped \
         service, which removes it. Programs with the rights of root that a user starts, such as su and \
         sudo, always deny: whoever starts one can stop it until its time is over, and so make the \
         trouble.";
    "only" Nothing [""] "login names and @groups, separated by spaces":
        "Asks only these users for a second factor. A user whose groups cannot be looked up is asked, and \
         so is one who has no account on this machine. The name of the account counts, not the one that \
         was typed, which may differ where a directory ignores case or has aliases.";
    "except" Nothing [""] "login names and @groups, separated by spaces":
        "Does not ask these users for a second factor. The names are those of accounts, and other users \
         are asked, as for only.";
    "trusted_networks" Nothing [""]
        "IP addresses and networks such as 192.0.2.0/24 or 2001:db8::/32, separated by spaces":
        "Does not ask users who come from these networks. It is logged. A remote machine that the \
         program names by a host name is never in a network.";
    "first_pass" Nothing ["no"] "no, try, use or with_code":
        "What becomes of the text that the user typed for an earlier module. no: it is not looked at. \
         try: it is used if it is a code, and the user is asked if it is not, or is wrong. use: it is \
         used, and the user is never asked. with_code: the user types the password and the code in one \
         field; the password is handed to the next module. The arguments try_first_pass and \
         use_first_pass mean try and use.";
    "code_length" WithCode ["6"] "a number, 6 to 12":
        "How many digits at the end of the field are the code. Recovery codes have 12, so with any other \
         length they cannot be used in one field.";
    "approval_message" Nothing ["Log in as {user} on {host}?"]
        "a text of at most 200 bytes, with {user}, {host} and {service} for the login name, this \
         machine and the program":
        "The question of approval requests.";
    "number_digits" Nothing ["2"] "0, 2, 3, 6 or service":
        "How many digits the number has that is shown here and that the user types on the phone to approve. Without \
         one (0), users may approve the request of an attacker who knows their password. service: as many as the \
         limit number_digits of the application. Programs that do not show what the module says, such as VPN servers, \
         require 0.";
    "offline" Nothing ["no"] "yes or no":
        "Lets a user in while the service is unreachable, for offline_days after the last login of \
         theirs on this machine for which the service prepared codes, and offline_logins times since \
         the last code that the service accepted here. The service must allow it too: \
         `seconder serve --offline-days`. Where method is push, sms or call, nobody logs in offline, \
         nor in programs with the rights of root that a user starts, such as su and sudo, as for \
         on_trouble. See OFFLINE LOGINS.";
    "offline_cache" Offline ["/var/lib/seconder-login"] "the absolute path of a folder":
        "Where the codes are kept. The folder is created if it is missing. It and the folders above \
         it must belong to root, or to the effective user of the process; nobody else may write to \
         them, nor read the folder. Logins by a process of another user are not possible offline, and \
         log an error.";
    "offline_days" Offline ["3"] "a number, 1 to 7":
        "For how many days after such a login a user is let in. The service may allow fewer.";
    "offline_logins" Offline ["5"] "a number, 1 to 100":
        "How many times a user is let in until the service has accepted a code here again.";
}

/// Returns the key of this name.
pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Returns the key that a misspelt name most resembles, if it resembles one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let distances = KEYS.iter().map(|key| (distance(&name, key.name), key.name));
    distances
        .min()
        .filter(|(distance, key)| *distance <= (key.len() / 3).max(2))
        .map(|(_, key)| key)
}

/// Returns the number of letters that have to be inserted, removed or replaced to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, a) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
