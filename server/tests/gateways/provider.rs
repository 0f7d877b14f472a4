//! A provider on this machine, which responds as a test says.

use seconder::calls::Channel;
use seconder::engine::Outcome;
use seconder::remote::Dialer;
use seconder_gateways::{Gateway, Outgoing, Urls};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

pub(crate) const CODE: &str = "4815162";
pub(crate) const TEXT: &str = "Your code for Ex & Ample is 4815162. Do not share it.";
pub(crate) const TO: &str = "+15550100123";
pub(crate) const ID: &str = "00112233445566aa";

/// What a provider does with a request.
pub(crate) enum Reply {
    /// Writes these bytes, and waits for the next request.
    Bytes(String),
    /// Writes these bytes, and closes the connection.
    Last(String),
    /// Writes nothing, and keeps the connection until the client closes it.
    Nothing,
}

/// A provider that runs until the test ends.
pub(crate) struct Provider {
    pub(crate) origin: String,
    requests: Receiver<String>,
}

impl Provider {
    /// Responds by a function of the number of requests before, and the request.
    pub(crate) fn start(reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static) -> Provider {
        Provider::on_streams("http", reply, Some)
    }

    /// The same with TLS, for `localhost`. The second value is the certificate in PEM.
    pub(crate) fn with_tls(
        reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
    ) -> (Provider, String) {
        Provider::with_certificate("localhost", rcgen::IsCa::NoCa, reply)
    }

    /// The same for another name, with a certificate that may be one of an authority.
    pub(crate) fn with_certificate(
        name: &str,
        is_ca: rcgen::IsCa,
        reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
    ) -> (Provider, String) {
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = is_ca;
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.unwrap())
            .unwrap();
        let config = Arc::new(config);
        let provider = Provider::on_streams("https", reply, move |mut stream| {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            connection.complete_io(&mut stream).ok()?;
            Some(rustls::StreamOwned::new(connection, stream))
        });
        let origin = provider.origin.replace("127.0.0.1", name);
        (Provider { origin, ..provider }, certificate.pem())
    }

    fn on_streams<S: Read + Write>(
        scheme: &str,
        reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
        wrap: impl Fn(std::net::TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        let shared = Arc::new((reply, wrap));
        thread::spawn(move || {
            let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            for stream in listener.incoming() {
                let (sender, shared, count) = (sender.clone(), Arc::clone(&shared), count.clone());
                thread::spawn(move || {
                    let Some(mut stream) = shared.1(stream.unwrap()) else { return };
                    while let Some(request) = read(&mut stream) {
                        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        let reply = shared.0(number, &request);
                        let _ = sender.send(request);
                        match reply {
                            Reply::Bytes(bytes) => drop(stream.write_all(bytes.as_bytes())),
                            Reply::Last(bytes) => {
                                let _ = stream.write_all(bytes.as_bytes());
                                return;
                            }
                            Reply::Nothing => {}
                        }
                        let _ = stream.flush();
                    }
                });
            }
        });
        Provider { origin, requests }
    }

    /// The next request, head and body.
    pub(crate) fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    /// How many requests have arrived that were not read yet.
    pub(crate) fn unread(&self) -> usize {
        self.requests.try_iter().count()
    }

    /// A gateway over HTTP to this provider, with further settings.
    pub(crate) fn gateway(&self, settings: Value) -> Box<dyn Gateway> {
        let mut all = json!({"gateway": "http", "url": self.origin, "body": "text={{text}}"});
        for (name, value) in settings.as_object().unwrap() {
            all[name] = value.clone();
        }
        open(all)
    }
}

pub(crate) fn open(settings: Value) -> Box<dyn Gateway> {
    dialed_by(&Dialer::default(), &settings)
}

/// A gateway with these settings, whose connections this dialer makes.
pub(crate) fn dialed_by(dialer: &Dialer, settings: &Value) -> Box<dyn Gateway> {
    let opened = seconder_gateways::open(settings.as_object().unwrap(), dialer);
    opened.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A response with this status, headers (each with CRLF) and body.
pub(crate) fn response(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A provider that gives every request one response.
pub(crate) fn always(status: u16, headers: &str, body: &str) -> Provider {
    let response = response(status, headers, body);
    Provider::start(move |_, _| Reply::Bytes(response.clone()))
}

pub(crate) fn message() -> Outgoing<'static> {
    let (from, channel, urls) = ("Ex & Ample", Channel::Sms, Urls::default());
    Outgoing { id: ID, to: TO, text: TEXT, language: "en", code: CODE, from, channel, urls }
}

/// The kind of an outcome, and its reason or id.
pub(crate) fn shown(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Sent(id) => ("sent", id.clone().unwrap_or_default()),
        Outcome::Retry { reason, .. } => ("retry", reason.clone()),
        Outcome::NumberRefused(reason) => ("number refused", reason.clone()),
        Outcome::Permanent(reason) => ("permanent", reason.clone()),
        Outcome::Ambiguous(reason) => ("ambiguous", reason.clone()),
        other => panic!("{other:?}"),
    }
}

/// Reads a request with its body. None at the end of the connection.
fn read(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
