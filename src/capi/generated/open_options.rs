//! Written by tools/generate from src/open_options.rs and src/app_settings.rs.

use crate::capi::deliver::seconder_deliver;
use crate::capi::ffi::{Flag, Plain};
use crate::capi::lookup::seconder_lookup;
use crate::capi::names::seconder_names;
use crate::capi::post::seconder_post;
use crate::capi::settings::Field;
use crate::capi::userdata::seconder_userdata_free;
use std::ffi::{c_char, c_void};

/// Options of seconder_open(). Nothing is read from the environment, and every text is copied.
/// An option says which URLs it is for: "Remote service" is https: (and http: to this machine)
/// and unix:, "Network" the former alone, "Socket" the latter alone, "Engine" is sqlite:,
/// postgres: and sandbox:. An option that is set and has no effect with the URL is
/// SECONDER_INVALID_ARGUMENT, so that no program relies on it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct seconder_open_options {
    /// Network: the token of an operator, in place of an API key. The URL is then the address at
    /// which the service listens for operators, and the role of the operator decides which
    /// operations and calls are permitted.
    pub operator_token: *const c_char,
    /// Network: a PEM file of certificates to trust instead of the system's. These are of
    /// authorities, or the service's own if it is self-signed. Without a file or a pin, the
    /// system's authorities are trusted.
    pub ca_file: *const c_char,
    /// Network: pinned public keys, each as "sha256/" and the SHA-256 of the key
    /// (SubjectPublicKeyInfo) in Base64. The service must present one of them. Without `ca_file`,
    /// only they are trusted; with it, both must match.
    pub pins: *const *const c_char,
    /// The number of texts at `pins`, at most 1000.
    pub pins_count: usize,
    /// Network: a PEM file with the certificate that this client presents. It is followed by the
    /// intermediate certificates up to an authority that the service trusts. It requires
    /// `client_key`. Default: no certificate.
    pub client_certificate: *const c_char,
    /// Network: a PEM file with the private key of `client_certificate`, not encrypted with a
    /// password.
    pub client_key: *const c_char,
    /// Network and engine: a proxy for the connections, as "http://host:port" or
    /// "http://user:password@host:port". Special characters are written as "%XX". Connections are
    /// tunnelled with CONNECT, so the proxy sees only encrypted bytes; it also resolves the
    /// service's name. An engine sends its callbacks and push messages to other machines through
    /// it, but resolves their hosts itself, because it checks the addresses. Default: no proxy. The
    /// environment is never consulted.
    pub proxy: *const c_char,
    /// Network and engine: the name servers that resolve the host of the URL, or of the proxy, in
    /// place of those in /etc/resolv.conf. Only they and /etc/hosts are used, not LDAP, multicast
    /// DNS and other sources in nsswitch.conf. An engine resolves the hosts of callbacks and push
    /// messages with them, and its database server. They are queried in this order. Each is an IP
    /// address, with a port if it is not 53: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53". The
    /// word "system" alone has the system's resolver used, with every source in nsswitch.conf: on
    /// another thread, which goes on after the time-out if the resolver does.
    pub name_servers: *const *const c_char,
    /// The number of texts at `name_servers`, at most 1000.
    pub name_servers_count: usize,
    /// The names that the service uses where the interface document says "svc". Default: for a
    /// remote service, the document's; for an engine, those stored in the database, and the
    /// document's in a new one. A database that was created with other names is rejected, because
    /// its clients depend on them.
    pub names: *const seconder_names,
    /// The size of the struct at `names`: `sizeof *names`.
    pub names_size: usize,
    /// `sqlite:` and `postgres:`: the file with the keys that seal the secrets in the database. In
    /// a copied database, no secret, code or API key can be used without it. A database that was
    /// created with one is SECONDER_STORAGE without it, or with another one. Default for `sqlite:`:
    /// the file next to the database that is named like it with ".keys" at the end; it is created
    /// with a new database, readable by its owner only. With `postgres:` it is required: "seconder
    /// keyring create" makes the file, and each machine has a copy of it.
    pub keyring: *const c_char,
    /// Engine: the name in messages and authenticator apps. It has 1 to 64 bytes without colons and
    /// line feeds. Default: the name stored in the database; "Seconder" in a new one.
    pub application_name: *const c_char,
    /// Engine: the URL to which callbacks with the responses to approval requests are posted
    /// (interface 6). It is an https: URL, or an http: URL of this machine. An empty text removes
    /// the stored one. Default: the URL stored in the database; none in a new one.
    pub callback_url: *const c_char,
    /// Engine: the PEM file with the authorities to trust when callbacks are posted, instead of the
    /// system's. It may also be the application's own certificate. Every process that uses the
    /// database reads the file when it posts a callback. A function of the program that posts
    /// callbacks decides itself whom to trust. An empty path removes the stored one. Default: the
    /// file stored in the database; none in a new one.
    pub callback_ca_file: *const c_char,
    /// Engine: the link to the app that a new user receives by SMS (interface 4.1). It is an https:
    /// URL of at most 2048 characters. An empty text removes the stored one. Default: the link
    /// stored in the database. A new one has none, and then no message is sent.
    pub install_link: *const c_char,
    /// Engine: the limits to change, as NAME=VALUE, such as number_day=10 or countries=1+44. They
    /// are separated by spaces or commas. Default: those stored in the database, also for names
    /// that are not given.
    pub limits: *const c_char,
    /// Engine: the application's own texts of messages, by language and kind, as JSON. They replace
    /// those that are stored, and an empty text removes them. Default: those stored in the
    /// database; where there is none, the text that is built in.
    pub texts: *const c_char,
    /// Engine: the domain of the page on which users enter codes, such as example.com. Each SMS
    /// with a code then ends with a line such as "@example.com #123456", by which browsers offer
    /// the code on pages of this domain, and on no others. An empty text removes the stored one.
    /// Default: the domain stored in the database; none in a new one.
    pub otp_domain: *const c_char,
    /// Engine: the product that was booked, for the details of the application: 1 to 64 bytes.
    /// Default: the text stored in the database; "embedded" in a new one.
    pub plan: *const c_char,
    /// Engine: the picture that approval requests show which have none of their own (interface
    /// 4.12). It is an https: URL of at most 2048 characters. An empty text removes the stored one.
    /// Default: the URL stored in the database; none in a new one.
    pub logo: *const c_char,
    /// Engine: further hosts of push services to which messages for phones are posted. They are in
    /// addition to the push services of browser vendors: "push.example" and "*.push.example",
    /// separated by spaces; "127.0.0.1:8080" for one on this machine. Default: none.
    pub push_hosts: *const c_char,
    /// Remote service: the total time that a call may take. That is name resolution, the
    /// connection, the TLS handshake, the request, the response, and all waits between retries.
    /// More than 0 and at most an hour. In milliseconds. Default: 10 seconds.
    pub timeout_ms: u32,
    /// Remote service: the calls that are retried if the service asks to wait and the wait fits
    /// into the time limit. SECONDER_REPEATS_NONE, SECONDER_REPEATS_QUESTIONS or
    /// SECONDER_REPEATS_ALL. Default: those that change nothing.
    pub repeats: i32,
    /// Socket: the number of the user who runs the service, as "id -u NAME" prints it. Before
    /// anything is sent, the user who listens on the socket is checked: root, the user of this
    /// process and this one are trusted, and everyone else is SECONDER_UNAVAILABLE. Default: only
    /// the first two.
    pub service_uid: u32,
    /// Remote service: the format of responses: SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.
    /// Default: json.
    pub format: i32,
    /// Remote service: the generation of the interface that is used (interface 9):
    /// SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the current one.
    pub generation: i32,
    /// Engine: the method of callbacks: post, with a JSON body, or get, with the parameters as the
    /// query of the URL. SECONDER_CALLBACK_METHOD_POST or SECONDER_CALLBACK_METHOD_GET. Default:
    /// the method stored in the database; post in a new one.
    pub callback_method: i32,
    /// Engine: allows callbacks to addresses that are not of the public Internet: SECONDER_YES or
    /// SECONDER_NO. These are addresses of private networks, and of this machine by a name other
    /// than localhost. Otherwise no callback is sent to such an address, whatever the name in the
    /// URL resolves to. A URL with localhost or a loopback address leads to this machine in any
    /// case, and nowhere else. A function of the program that posts callbacks decides itself.
    /// Default: what is stored in the database; no in a new one.
    pub callback_private: i32,
    /// Engine: the generation of the bodies that a server replies with: current, or older for
    /// clients of 2012. It does not depend on the generation of the requests (interface 9): older
    /// clients read "success" as text. SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER.
    /// Default: the one stored in the database; the current one in a new one.
    pub replies: i32,
    /// Engine: the number of days, 1 to 7, for which login machines may check the codes of
    /// authenticator apps offline. They do so while they cannot reach the service; -1 forbids it.
    /// Default: the number stored in the database; 0 in a new one.
    pub offline_days: i32,
    /// Engine: makes the details of the application say that it has an app of its own: SECONDER_YES
    /// or SECONDER_NO. Default: what is stored in the database; no in a new one.
    pub white_label: i32,
    /// Engine: allows SMS: SECONDER_YES or SECONDER_NO. Without them, codes can be spoken in calls.
    /// Default: what is stored in the database; yes in a new one.
    pub sms_enabled: i32,
    /// Engine: sends codes by SMS and calls also to users who have an app, unless a call sets
    /// `force`: SECONDER_YES or SECONDER_NO. See interface 4.2. Default: what is stored in the
    /// database; no in a new one.
    pub force_codes: i32,
    /// Engine: the number of seconds for which approval requests remain open that do not set it, 10
    /// to 86400. See `seconds_to_expire` in interface 4.12. Default: the number stored in the
    /// database; 86400 in a new one.
    pub approval_seconds: u32,
    /// Engine: the number of digits of codes by SMS and voice, 6 to 10. Default: the number stored
    /// in the database; 7 in a new one.
    pub token_length: u32,
    /// Engine: the number of digits of the codes of authenticator apps that are enrolled from now
    /// on, 6 to 8. Apps that were enrolled before keep theirs. Default: the number stored in the
    /// database; 6 in a new one, which every app supports.
    pub authenticator_digits: u32,
    /// Engine: the number of seconds for which such an app shows a code, 1 to 3600. Default: the
    /// time stored in the database; 30 in a new one, which every app supports.
    pub authenticator_period: u32,
    /// Network: allows "http://" URLs of this machine. For tests: the API key is then sent in the
    /// clear.
    pub allow_loopback_http: Flag,
    /// Remote service: sends `details`, `hidden_details` and `data` in a JSON body if they hold
    /// anything but texts. It is for services that are known to read JSON. Default: a form, which
    /// every service reads, and in which numbers and flags become text; nulls, empty lists and
    /// empty objects are left out; and a name that is empty or has brackets is
    /// SECONDER_INVALID_ARGUMENT.
    pub nested_as_json: Flag,
    /// `sqlite:` and `postgres:`: requires that the database exists: a file that is missing, and a
    /// database without tables, is SECONDER_STORAGE. With it, a mistyped path is an error rather
    /// than a new database without users. Default: the file or the tables are created.
    pub must_exist: Flag,
    /// Engine: the function that delivers SMS and voice calls. Default for `sqlite:`: messages are
    /// written as text files to a folder next to the database, named like the database with
    /// ".spool" for ".db"; a file is removed after its code has expired. With `postgres:` there is
    /// no default, and requesting a code fails; a sandbox delivers nothing.
    pub deliver: seconder_deliver,
    /// Passed to `deliver`. It must be safe to use from many threads at once.
    pub deliver_userdata: *mut c_void,
    /// Called exactly once with `deliver_userdata`, when nothing can use it any longer: at the
    /// latest when the last service that shares it is freed, and before seconder_open() returns if
    /// it fails.
    pub deliver_userdata_free: seconder_userdata_free,
    /// Engine: the function that posts callbacks. Default: HTTPS within 15 s, trusting
    /// `callback_ca_file` or else the system's authorities.
    pub post: seconder_post,
    /// Passed to `post`. It must be safe to use from many threads at once.
    pub post_userdata: *mut c_void,
    /// Called exactly once with `post_userdata`, when nothing can use it any longer: at the latest
    /// when the last service that shares it is freed, and before seconder_open() returns if it
    /// fails.
    pub post_userdata_free: seconder_userdata_free,
    /// Engine: the function that looks numbers up: their carrier, their type, and whether they were
    /// ported. The number of lookups is limited by "lookup_day" of `limits`, and a result is used
    /// again for some days. Default: only the information in numbering plans is known.
    pub lookup: seconder_lookup,
    /// Passed to `lookup`. It must be safe to use from many threads at once.
    pub lookup_userdata: *mut c_void,
    /// Called exactly once with `lookup_userdata`, when nothing can use it any longer: at the
    /// latest when the last service that shares it is freed, and before seconder_open() returns if
    /// it fails.
    pub lookup_userdata_free: seconder_userdata_free,
}

// SAFETY: numbers, pointers, and functions that may be NULL.
unsafe impl Plain for seconder_open_options {}

impl seconder_open_options {
    /// The options but names and functions, by their names in other languages.
    pub(in crate::capi) fn fields(&self) -> [(&'static str, Field); 37] {
        [
            ("operator_token", Field::Text(self.operator_token)),
            ("ca_file", Field::Text(self.ca_file)),
            ("pins", Field::Texts("pins_count", self.pins, self.pins_count)),
            ("client_certificate", Field::Text(self.client_certificate)),
            ("client_key", Field::Text(self.client_key)),
            ("proxy", Field::Text(self.proxy)),
            (
                "name_servers",
                Field::Texts("name_servers_count", self.name_servers, self.name_servers_count),
            ),
            ("keyring", Field::Text(self.keyring)),
            ("application_name", Field::Text(self.application_name)),
            ("callback_url", Field::Text(self.callback_url)),
            ("callback_ca_file", Field::Text(self.callback_ca_file)),
            ("install_link", Field::Text(self.install_link)),
            ("limits", Field::Text(self.limits)),
            ("texts", Field::Text(self.texts)),
            ("otp_domain", Field::Text(self.otp_domain)),
            ("plan", Field::Text(self.plan)),
            ("logo", Field::Text(self.logo)),
            ("push_hosts", Field::Text(self.push_hosts)),
            ("timeout", Field::Milliseconds(self.timeout_ms)),
            ("repeats", Field::Choice(self.repeats)),
            ("service_uid", Field::Number(self.service_uid)),
            ("format", Field::Choice(self.format)),
            ("generation", Field::Choice(self.generation)),
            ("callback_method", Field::Choice(self.callback_method)),
            ("callback_private", Field::Choice(self.callback_private)),
            ("replies", Field::Choice(self.replies)),
            ("offline_days", Field::NumberOrZero(self.offline_days)),
            ("white_label", Field::Choice(self.white_label)),
            ("sms_enabled", Field::Choice(self.sms_enabled)),
            ("force_codes", Field::Choice(self.force_codes)),
            ("approval_seconds", Field::Number(self.approval_seconds)),
            ("token_length", Field::Number(self.token_length)),
            ("authenticator_digits", Field::Number(self.authenticator_digits)),
            ("authenticator_period", Field::Number(self.authenticator_period)),
            ("allow_loopback_http", Field::Switch(self.allow_loopback_http)),
            ("nested_as_json", Field::Switch(self.nested_as_json)),
            ("must_exist", Field::Switch(self.must_exist)),
        ]
    }
}
