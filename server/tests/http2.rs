//! HTTP/2, by a client that is none of ours.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::common::{KEY, World};
use crate::others;
use h2::client::{Connection, SendRequest};
use http::{HeaderMap, Method, Request, StatusCode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::future::Future;
use std::process::Command;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

const DETAILS: &str = "https://localhost/protected/json/app/details";
const NEW: &str = "https://localhost/protected/json/users/new";

type Stream = TlsStream<TcpStream>;

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

async fn connect(world: &World) -> (SendRequest<&'static [u8]>, Connection<Stream, &'static [u8]>) {
    let mut roots = RootCertStore::empty();
    let pem = world.server.certificate_pem();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpStream::connect(world.server.addr()).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect("localhost".try_into().unwrap(), socket).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    h2::client::Builder::new().handshake(stream).await.unwrap()
}

async fn client(world: &World) -> SendRequest<&'static [u8]> {
    let (client, connection) = connect(world).await;
    tokio::spawn(connection);
    client
}

fn request(method: Method, url: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

/// The status, the headers and the body of the response to a request with this body, if any.
async fn exchange(
    client: &SendRequest<&'static [u8]>,
    request: Request<()>,
    body: Option<&'static [u8]>,
) -> Result<(StatusCode, HeaderMap, Value), h2::Error> {
    let mut client = client.clone().ready().await?;
    let (response, mut sender) = client.send_request(request, body.is_none())?;
    if let Some(body) = body {
        sender.send_data(body, true)?;
    }
    let (head, mut body) = response.await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        bytes.extend_from_slice(&data?);
    }
    Ok((head.status, head.headers, serde_json::from_slice(&bytes).unwrap_or_default()))
}

fn key() -> (&'static str, &'static str) {
    ("x-svc-api-key", KEY)
}

#[test]
fn calls_are_made_by_many_requests_of_one_connection() {
    let world = World::start();
    run(async {
        let client = client(&world).await;
        let form: &[u8] =
            b"user[email]=ada@example.com&user[cellphone]=5550100123&user[country_code]=1";
        let new = request(Method::POST, NEW, &[key()]);
        let (status, headers, body) = exchange(&client, new, Some(form)).await.unwrap();
        assert_eq!((status, &body["success"]), (StatusCode::OK, &true.into()), "{body}");
        assert_eq!(headers["content-type"], "application/json; charset=utf-8");
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let client = client.clone();
            calls.spawn(async move {
                exchange(&client, request(Method::GET, DETAILS, &[key()]), None).await
            });
        }
        while let Some(done) = calls.join_next().await {
            assert_eq!(done.unwrap().unwrap().0, StatusCode::OK);
        }
        let wrong = request(Method::GET, DETAILS, &[("x-svc-api-key", "wrong")]);
        let (status, _, body) = exchange(&client, wrong, None).await.unwrap();
        assert_eq!((status, &body["error_code"]), (StatusCode::UNAUTHORIZED, &"60001".into()));
    });
}

#[test]
fn curl_and_clients_that_name_no_protocol_are_served() {
    let world = World::start();
    let certificate = world.ca_file();
    for (option, version) in [("--http2", "2"), ("--http1.1", "1.1"), ("--no-alpn", "1.1")] {
        let done = Command::new("curl")
            .args(["--silent", "--show-error", option, "--cacert", certificate.to_str().unwrap()])
            .args(["--header", &format!("X-Svc-API-Key: {KEY}"), "--output", "/dev/null"])
            .args(["--write-out", "%{http_version} %{http_code}"])
            .arg(format!(
                "https://localhost:{}/protected/json/app/details",
                world.server.addr().port()
            ))
            .output()
            .unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        assert_eq!(printed, format!("{version} 200"), "{:?}", done.stderr);
    }
}

#[test]
fn a_request_that_names_two_hosts_is_rejected() {
    let world = World::start();
    run(async {
        let client = client(&world).await;
        for (hosts, status) in [
            (&[][..], StatusCode::OK),
            (&["localhost"], StatusCode::OK),
            (&["other.example"], StatusCode::BAD_REQUEST),
            (&["localhost", "localhost"], StatusCode::BAD_REQUEST),
        ] {
            let mut headers = vec![key()];
            headers.extend(hosts.iter().map(|host| ("host", *host)));
            let sent = request(Method::GET, DETAILS, &headers);
            assert_eq!(exchange(&client, sent, None).await.unwrap().0, status, "{hosts:?}");
        }
    });
}

#[test]
fn a_large_body_without_a_key_is_refused() {
    let world = World::start();
    run(async {
        let client = client(&world).await;
        let body: &'static [u8] = Box::leak(vec![b'x'; 256 * 1024].into_boxed_slice());
        let sent = request(Method::POST, NEW, &[]);
        let (status, _, _) = exchange(&client, sent, Some(body)).await.unwrap();
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        let sent = request(Method::GET, DETAILS, &[key()]);
        assert_eq!(exchange(&client, sent, None).await.unwrap().0, StatusCode::OK);
    });
}

/// A service for many requests with one key.
fn unlimited() -> World {
    World::with(|settings| settings.limits("key_rate=0"))
}

#[test]
fn huge_headers_are_refused_and_others_go_on() {
    let world = unlimited();
    let (large, small) = ("x".repeat(64 * 1024), "x".repeat(1024));
    let mut many = vec![key()];
    many.extend([("x-small", small.as_str()); 64]);
    others::go_on(&world.settings(), |_| {
        run(async {
            for headers in [&[key(), ("x-large", &large)], &many[..]] {
                let client = client(&world).await;
                let sent = request(Method::GET, DETAILS, headers);
                let status = exchange(&client, sent, None).await.map(|(status, ..)| status);
                assert!(status.is_err() || status.unwrap().is_client_error());
            }
        });
    });
}

/// Requests that are taken back at once cost a server more than a client.
#[test]
fn a_flood_of_requests_that_are_taken_back_ends_the_connection_and_others_go_on() {
    let world = unlimited();
    others::go_on(&world.settings(), |_| flood(&world));
}

fn flood(world: &World) {
    run(async {
        let (client, connection) = connect(world).await;
        let ended = tokio::spawn(connection);
        let mut refused = false;
        for _ in 0..20_000 {
            let Ok(mut client) = client.clone().ready().await else {
                refused = true;
                break;
            };
            let sent = request(Method::GET, DETAILS, &[key()]);
            match client.send_request(sent, false) {
                Ok((_, mut stream)) => stream.send_reset(h2::Reason::CANCEL),
                Err(_) => {
                    refused = true;
                    break;
                }
            }
            tokio::task::yield_now().await;
        }
        assert!(refused, "20 000 of them were accepted");
        drop(ended.await);
    });
}

#[test]
fn a_request_that_no_call_can_use_is_read_to_its_end() {
    let world = World::start();
    run(async {
        let client = client(&world).await;
        let mut client = client.ready().await.unwrap();
        let request = request(Method::POST, "https://localhost/nowhere", &[]);
        let (response, mut sender) = client.send_request(request, false).unwrap();
        // A client whose request is cut off here, such as curl, may give up before it reads the response.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        sender.send_data(b"id=1", true).unwrap();
        assert_eq!(response.await.unwrap().status(), StatusCode::NOT_FOUND);
    });
}
