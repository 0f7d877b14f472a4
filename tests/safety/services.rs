//! The services under test: an engine, or a stub on this machine that chooses its response by the
//! token's last digit.

use super::stub::{self, Peer, RIGHT, Stub, response};
use super::tls::{self, Identity};
use super::tools::Folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};

const WRONG: &str = r#"{"message":"Token is invalid","token":"is invalid","success":false,"errors":{"message":"Token is invalid"},"error_code":"60020"}"#;

/// A service that a program opens by its URL.
pub(crate) struct Service {
    pub(crate) url: String,
    ca_file: Option<String>,
    _folder: Option<Folder>,
    _stub: Option<Stub>,
    _identity: Option<Identity>,
}

impl Service {
    fn new(url: String) -> Service {
        Service { url, ca_file: None, _folder: None, _stub: None, _identity: None }
    }

    pub(crate) fn sandbox() -> Service {
        Service::new("sandbox:?accept=0000000".into())
    }

    pub(crate) fn sqlite() -> Service {
        let folder = Folder::new();
        let url = format!("sqlite:{}/service.db", folder.path().display());
        Service { _folder: Some(folder), ..Service::new(url) }
    }

    pub(crate) fn http() -> Service {
        let stub = Stub::start(respond);
        Service { _stub: Some(stub), ..Service::new(String::new()) }.at("http")
    }

    pub(crate) fn https() -> Service {
        let identity = Identity::self_signed(tls::params());
        let stub = tls::start(identity.config(), respond);
        let (chain, _) = identity.files();
        let ca_file = Some(chain.display().to_string());
        let service = Service::new(String::new());
        Service { ca_file, _stub: Some(stub), _identity: Some(identity), ..service }.at("https")
    }

    pub(crate) fn each() -> [Service; 4] {
        [Service::sandbox(), Service::sqlite(), Service::http(), Service::https()]
    }

    fn at(self, scheme: &str) -> Service {
        let url = self._stub.as_ref().map(|stub| format!("{scheme}://{}", stub.addr));
        Service { url: url.unwrap_or_default(), ..self }
    }

    /// The arguments of a program: the URL, the CA file and the proxy, each empty if there is none.
    pub(crate) fn places(&self, proxy: &str) -> [String; 3] {
        [self.url.clone(), self.ca_file.clone().unwrap_or_default(), proxy.to_owned()]
    }

    /// The arguments of a program: the URL, the number of rounds, and the CA file, if any.
    pub(crate) fn arguments(&self, rounds: &str) -> Vec<String> {
        let given = [self.url.clone(), rounds.to_owned()];
        given.into_iter().chain(self.ca_file.clone()).collect()
    }
}

/// The URL of a proxy that connects every client to this service.
pub(crate) fn proxy(service: &Service) -> String {
    let to = service._stub.as_ref().unwrap().addr;
    let proxy = Stub::start(move |mut peer: Peer<TcpStream>| {
        peer.request();
        let service = TcpStream::connect(to).unwrap();
        peer.send(b"HTTP/1.1 200 Connected\r\n\r\n");
        let (mut from, mut back) = (service.try_clone().unwrap(), peer.stream.try_clone().unwrap());
        stub::spawn(move || drop(std::io::copy(&mut from, &mut back)));
        let _ = std::io::copy(&mut peer.stream, &mut &service);
        let _ = service.shutdown(Shutdown::Both);
    });
    format!("http://{}", proxy.addr)
}

/// Responds to the verifications of one connection, and closes it for a token that ends in 2.
fn respond<S: Read + Write>(peer: Peer<S>) {
    let mut stream = BufReader::new(peer.stream);
    while let Some(line) = request(&mut stream) {
        let reply = match line.split("/verify/").nth(1).and_then(|rest| rest.get(..7)) {
            Some("0000000") => response(200, "", RIGHT),
            Some("0000001") => response(401, "", WRONG),
            Some("0000003") => response(200, "", "{"),
            _ => return,
        };
        if stream.get_mut().write_all(&reply).and_then(|()| stream.get_mut().flush()).is_err() {
            return;
        }
    }
}

/// The first line of a request without a body. `None` once the client has closed the connection.
fn request(stream: &mut impl BufRead) -> Option<String> {
    let (mut first, mut line) = (String::new(), String::new());
    stream.read_line(&mut first).ok().filter(|length| *length > 0)?;
    while stream.read_line(&mut line).ok()? > 2 {
        line.clear();
    }
    Some(first)
}
