//! The options of opening a service, each declared once.
//!
//! `open_options!` passes the list to another macro, which makes the setters of [`Settings`](crate::Settings) and the
//! table [`OPEN_OPTIONS`] of it. The fields of C and C++ and the parameters of `open` in Python are generated from the
//! same list, with the settings of an application (`app_settings.rs`).

use crate::app_settings::SettingKind;

/// An option of opening a service.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenOption {
    /// The name of its setter, such as `pin`.
    pub name: &'static str,
    /// Its name where all its values are given at once, as in Python: `pins`.
    pub argument: &'static str,
    /// The kind of values that it takes.
    pub kind: SettingKind,
    /// The services that it is for.
    pub(crate) scope: Scope,
}

/// The services that an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every service.
    All,
    /// Every service except `unix:`, which recognises the user of this process.
    Key,
    /// A remote service: `https:`, `http:` to this machine, and `unix:`.
    Client,
    /// A service on the network: `https:`, and `http:` to this machine.
    Network,
    /// A service that connects to other machines: all but `unix:`.
    Outgoing,
    /// A service on this machine: `unix:`.
    Socket,
    /// An engine in this process: `sqlite:`, `postgres:` and `sandbox:`.
    Engine,
    /// An engine with a database that stays: `sqlite:` and `postgres:`.
    Database,
}

impl OpenOption {
    /// The name of the option in C, which has the unit of a time.
    pub(crate) fn in_c(&self) -> String {
        match self.kind {
            SettingKind::Time => format!("{}_ms", self.argument),
            _ => self.argument.to_owned(),
        }
    }
}

/// Passes the options to the macro that is named, each as `setter as argument: kind => scope`.
///
/// A description has sentences for every language. What follows an empty line is for Rust alone.
macro_rules! open_options {
    ($then:ident) => {
        $then! {
            /// The application's API key.
            /// A service on the network requires it; an engine generates one for the first application of a new
            /// database if none is given. A service on this machine recognises the user of this process instead, and
            /// takes no key.
            api_key as api_key: Secret => Key,
            /// The token of an operator, in place of an API key.
            /// The URL is then the address at which the service listens for operators, and the role of the operator
            /// decides which operations and calls are permitted.
            operator_token as operator_token: Secret => Network,
            /// The total time that a call may take.
            /// That is name resolution, the connection, the TLS handshake, the request, the response, and all waits
            /// between retries. More than 0 and at most an hour. Default: 10 seconds.
            ///
            /// [`Service::with_timeout`](crate::Service::with_timeout) sets it for individual calls.
            timeout as timeout: Time => Client,
            /// The calls that are retried if the service asks to wait and the wait fits into the time limit.
            /// Default: those that change nothing.
            ///
            /// [`Service::with_repeats`](crate::Service::with_repeats) sets it for individual calls.
            repeats as repeats: Repeats => Client,
            /// A PEM file of certificates to trust instead of the system's.
            /// These are of authorities, or the service's own if it is self-signed. Without a file or a pin, the
            /// system's authorities are trusted.
            ca_file as ca_file: File => Network,
            /// Pinned public keys, each as `sha256/` and the SHA-256 of the key (SubjectPublicKeyInfo) in Base64.
            /// The service must present one of them. Without `ca_file`, only they are trusted; with it, both must
            /// match.
            ///
            /// Call this once for each key. For a certificate in PEM, this prints the part after `sha256/`:
            ///
            /// ```sh
            /// openssl x509 -in certificate.pem -noout -pubkey | openssl pkey -pubin -outform der |
            ///   openssl dgst -sha256 -binary | base64
            /// ```
            ///
            /// With a pin, these are checked:
            /// - The pinned key belongs to the service's own certificate, which may be signed by anyone, including
            ///   the service itself; or to an authority that the service sends along or that is in
            ///   [`Settings::ca_file`], and that signed the chain to the service's certificate. An authority that is
            ///   sent along without having signed the chain does not count.
            /// - In both cases, the certificate is for the host of the URL and is within its dates.
            /// - With [`Settings::ca_file`], an authority of the file must have signed the certificate as well.
            ///   Without it, only the pins are trusted, and the system's authorities are ignored.
            ///
            /// Pin a reserve key too, so that the service can switch to it without interruption.
            pin as pins: List => Network,
            /// A PEM file with the certificate that this client presents.
            /// It is followed by the intermediate certificates up to an authority that the service trusts. It requires
            /// `client_key`. Default: no certificate.
            client_certificate as client_certificate: Certificate => Network,
            /// A PEM file with the private key of `client_certificate`, not encrypted with a password.
            client_key as client_key: Certificate => Network,
            /// A proxy for the connections, as `http://host:port` or `http://user:password@host:port`.
            /// Special characters are written as `%XX`. Connections are tunnelled with CONNECT, so the proxy sees
            /// only encrypted bytes; it also resolves the service's name. An engine sends its callbacks and push messages
            /// to other machines through it, but resolves their hosts itself, because it checks the addresses. Default:
            /// no proxy. The environment is never consulted.
            proxy as proxy: Secret => Outgoing,
            /// The name servers that resolve the host of the URL, or of the proxy, in place of those in /etc/resolv.conf.
            /// Only they and /etc/hosts are used, not LDAP, multicast DNS and other sources in nsswitch.conf. An engine
            /// resolves the hosts of callbacks and push messages with them, and its database server. They are queried
            /// in this order. Each is an IP address, with a port if it is not 53: `192.0.2.1`, `192.0.2.1:5353`,
            /// `[2001:db8::1]:53`. The word `system` alone has the system's resolver used, with every source in
            /// nsswitch.conf: on another thread, which goes on after the time-out if the resolver does.
            ///
            /// Call this once for each server. [`Remote`](crate::remote::Remote) describes how names are resolved.
            name_server as name_servers: List => Outgoing,
            /// Allows `http://` URLs of this machine.
            /// For tests: the API key is then sent in the clear.
            allow_loopback_http as allow_loopback_http: Switch => Network,
            /// The number of the user who runs the service, as `id -u NAME` prints it.
            /// Before anything is sent, the user who listens on the socket is checked: root, the user of this process
            /// and this one are trusted, and everyone else is
            /// [`Error::Unavailable`](crate::Error::Unavailable). Default: only the first two.
            service_uid as service_uid: User => Socket,
            /// The format of responses: json or xml.
            /// Default: json.
            format as format: Format => Client,
            /// The generation of the interface that is used (interface 9): current or older.
            /// Default: the current one.
            ///
            /// Replies of both generations are understood, with one exception: a verification without `success`
            /// counts as right only in the older generation, because the current one always includes it.
            generation as generation: Generation => Client,
            /// Sends `details`, `hidden_details` and `data` in a JSON body if they hold anything but texts.
            /// It is for services that are known to read JSON. Default: a form, which every service reads, and in
            /// which numbers and flags become text; nulls, empty lists and empty objects are left out; and a name that
            /// is empty or has brackets is [`Error::InvalidArgument`](crate::Error::InvalidArgument).
            nested_as_json as nested_as_json: Switch => Client,
            /// The names that the service uses where the interface document says `svc`.
            /// Default: for a remote service, the document's; for an engine, those stored in the database, and the
            /// document's in a new one. A database that was created with other names is rejected, because its clients
            /// depend on them.
            names as names: Names => All,
            /// Requires that the database exists: a file that is missing, and a database without tables, is
            /// [`Error::Storage`](crate::Error::Storage). With it, a mistyped path is an error rather than a new database without users. Default: the file or
            /// the tables are created.
            must_exist as must_exist: Switch => Database,
            /// The file with the keys that seal the secrets in the database.
            /// In a copied database, no secret, code or API key can be used without it. A database that was created with
            /// one is [`Error::Storage`](crate::Error::Storage) without it, or with another one. Default for `sqlite:`:
            /// the file next to the database that is named like it with `.keys` at the end; it is created with a new
            /// database, readable by its owner only. With `postgres:` it is required: `seconder keyring create` makes
            /// the file, and each machine has a copy of it.
            keyring as keyring: File => Database,
            /// Further hosts of push services to which messages for phones are posted.
            /// They are in addition to the push services of browser vendors: `push.example` and `*.push.example`,
            /// separated by spaces; `127.0.0.1:8080` for one on this machine. Default: none.
            push_hosts as push_hosts: Text => Engine,
            /// The function that delivers SMS and voice calls.
            /// Default for `sqlite:`: messages are written as text files to a folder next to the database, named like
            /// the database with `.spool` for `.db`; a file is removed after its code has expired. With `postgres:`
            /// there is no default, and requesting a code fails; a sandbox delivers nothing.
            deliver as deliver: Function(Deliver) => Engine,
            /// The sender of messages, which takes the place of `deliver`. Default: `deliver` is called.
            sender as sender: Function(Sender) => Engine,
            /// The functions that are notified of events. Default: none.
            events as events: Function(Events) => Engine,
            /// The function that posts callbacks.
            /// Default: HTTPS within 15 s, trusting `callback_ca_file` or else the system's authorities.
            post as post: Function(Post) => Engine,
            /// The function that sends push messages.
            /// Default: they are sent to the services of browser vendors, and to `push_hosts`.
            push as push: Function(SendPush) => Engine,
            /// The function that looks numbers up: their carrier, their type, and whether they were ported.
            /// The number of lookups is limited by `lookup_day` of `limits`, and a result is used again for some days.
            /// Default: only the information in numbering plans is known.
            lookup as lookup: Function(NumberLookup) => Engine,
            /// The clock. Default: the system's.
            clock as clock: Function(Clock) => Engine,
            /// The source of randomness. Default: the system's.
            random as random: Function(Random) => Engine,
        }
    };
}
pub(crate) use open_options;

macro_rules! kind {
    (Time) => {
        SettingKind::Time
    };
    (Repeats) => {
        SettingKind::Choice(&["none", "questions", "all"])
    };
    (Format) => {
        SettingKind::Choice(&["json", "xml"])
    };
    (Generation) => {
        SettingKind::Choice(&["current", "older"])
    };
    (File) => {
        SettingKind::File
    };
    (Certificate) => {
        SettingKind::File
    };
    (List) => {
        SettingKind::List
    };
    (Switch) => {
        SettingKind::YesNo
    };
    (User) => {
        SettingKind::Number(0, u32::MAX as u64)
    };
    (Function($of:ident)) => {
        SettingKind::Function
    };
    (Names) => {
        SettingKind::Names
    };
    ($text:ident) => {
        SettingKind::Text
    };
}

macro_rules! table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident as $argument:ident: $kind:ident $(($of:ident))? => $scope:ident,
    )*) => {
        /// The options of opening a service, in the order of their declaration.
        pub const OPEN_OPTIONS: &[OpenOption] = &[$(OpenOption {
            name: stringify!($name),
            argument: stringify!($argument),
            kind: kind!($kind $(($of))?),
            scope: Scope::$scope,
        }),*];
    };
}

open_options!(table);
