//! A service on this machine, and a client that asks it whatever it likes.

#![allow(dead_code, reason = "each test file uses its part")]

use seconder::engine::{Engine, Message};
use seconder::{Service, Settings};
use seconder_server::{Server, Tls};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use ureq::Agent;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

pub(crate) const KEY: &str = "a-key-for-tests";

/// A server with an engine whose messages the test holds.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) engine: Engine,
    pub(crate) folder: TempDir,
    sent: Arc<Mutex<Vec<Message>>>,
}

impl World {
    pub(crate) fn start() -> World {
        let folder = tempfile::tempdir().unwrap();
        let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
        let keep = Arc::clone(&sent);
        let database = format!("sqlite:{}", folder.path().join("test.db").display());
        let service = Settings::new(&database).api_key(KEY).deliver(move |message: &Message| {
            keep.lock().unwrap().push(message.clone());
            Ok(())
        });
        let service = service.open().unwrap();
        let engine = service.engine().unwrap().clone();
        let server =
            Server::start(service, "127.0.0.1:0".parse().unwrap(), Tls::SelfSigned).unwrap();
        std::fs::write(folder.path().join("ca.pem"), server.certificate_pem()).unwrap();
        World { server, engine, folder, sent }
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(&self.server.url()).api_key(KEY).ca_file(self.ca_file())
    }

    pub(crate) fn client(&self) -> Service {
        self.settings().open().unwrap()
    }

    /// The code that was sent last.
    pub(crate) fn code(&self) -> String {
        self.sent.lock().unwrap().last().unwrap().code.clone()
    }

    /// Sends a request with the right key.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<(&str, &str)>) -> Asked {
        self.ask_as(Some(KEY), method, path, body)
    }

    /// Sends a request as it is given, with a media type and a body.
    pub(crate) fn ask_as(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Asked {
        let url = format!("{}{path}", self.server.url());
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        if let Some(key) = key {
            request = request.header("X-Svc-API-Key", key);
        }
        let agent = agent(&self.ca_file());
        Asked::read(match body {
            None => agent.run(request.body(()).unwrap()),
            Some((media_type, body)) => {
                let request = request.header(header::CONTENT_TYPE, media_type);
                agent.run(request.body(body).unwrap())
            }
        })
    }
}

/// What came back.
pub(crate) struct Asked {
    pub(crate) status: u16,
    pub(crate) response: Response<()>,
    pub(crate) body: Value,
}

impl Asked {
    fn read(response: Result<Response<ureq::Body>, ureq::Error>) -> Asked {
        let (head, mut body) = response.unwrap().into_parts();
        let text = body.read_to_string().unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Asked { status: head.status.as_u16(), response: Response::from_parts(head, ()), body }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }
}

fn agent(ca_file: &Path) -> Agent {
    let pem = std::fs::read(ca_file).unwrap();
    let roots = RootCerts::new_with_certs(&[Certificate::from_pem(&pem).unwrap()]);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider);
    Agent::config_builder()
        .tls_config(tls.build())
        .proxy(None)
        .allow_non_standard_methods(true)
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}
