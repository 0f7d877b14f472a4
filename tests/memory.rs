//! The API key is wiped from memory: once a client is dropped, its process contains no copy of the
//! key. The client runs in a child process, as the stub in this process receives the key too.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod stub;
#[path = "stub/tls.rs"]
mod tls;

use seconder::engine::Message;
use seconder::http::{Caller, RawRequest, respond};
use seconder::wire::Generation;
use seconder::{Error, Service, Settings, Verdict};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use stub::{RIGHT, Stub, response};
use tls::{Identity, params};
use zeroize::Zeroizing;

const SERVICE: &str = "SECONDER_TEST_SERVICE";
/// The lengths of the code and the key, in bytes.
const CODE: usize = 12;
const KEY: usize = 40;
/// The key of the engine that is sent wrong ones.
const OWN_KEY: &str = "the-key-of-the-engine";
/// How much of its memory glibc's free() overwrites, in bytes.
const OVERWRITTEN: usize = 16;
/// The pattern to search for is stored XORed with this, so that the search does not find it.
const MASK: u8 = 0x80;

/// Runs one of the tests below that search the memory of their own process.
fn run_child(test: &str, service: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(SERVICE, service)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

fn run(stub: &Stub, scheme: &str, pin: &str) {
    let service = format!("{scheme}://{} {pin}", stub.addr);
    run_child("child_that_searches_its_own_memory", &service);
    assert_eq!(stub.requests().len(), 6);
}

#[test]
fn the_api_key_is_wiped_from_memory() {
    run(&Stub::responding(response(200, "", RIGHT)), "http", "");
}

#[test]
fn the_api_key_is_wiped_from_memory_after_tls() {
    let identity = Identity::self_signed(params());
    let stub =
        tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", RIGHT)) {});
    run(&stub, "https", &identity.pin());
}

#[test]
fn keys_and_codes_are_wiped_by_the_http_edge() {
    for number in 0..REQUESTS {
        run_child("child_that_receives_a_request", &number.to_string());
    }
}

const REQUESTS: usize = 30;

/// A request with a secret in one place. The engine knows its own key, so the secret is another text,
/// which stands in for keys and codes alike.
fn request(number: usize, secret: &[u8]) -> RawRequest {
    const DETAILS: &str = "/protected/json/app/details";
    const CHECK: &str = "/protected/json/phones/verification/check";
    let get = |before: &str, after: &str| RawRequest::new("GET", around(before, secret, after));
    let known = |request: RawRequest| request.header("X-Svc-API-Key", OWN_KEY);
    let in_path = |before, after| known(get(&format!("/protected/{before}/"), after));
    let query = |before, after| known(get(&format!("{DETAILS}?{before}="), after));
    let body = |before, after| {
        let body = around(before, secret, after).into_bytes();
        known(RawRequest::new("GET", CHECK)).body(body)
    };
    match number {
        0 => in_path("json/verify", "/1"),
        1 => in_path("json/verify/1234567", ""),
        2 => in_path("json/verify", "/1?force=maybe"),
        3 => in_path("json/verify", "/%ff"),
        4 => in_path("yaml/verify", "/1"),
        5 => known(RawRequest::new("POST", around("/protected/json/verify/", secret, "/1"))),
        6 => known(get("/protected/json/verify/1234567/1?token=", "")),
        7 => known(get("/protected/json/verify/1234567/1?force=", "")),
        8 => known(get("/nothing?code=", "")),
        9 => query("other", ""),
        10 => query("other", "&a=1&a=2"),
        11 => query("other", "&a[b=1"),
        12 => query("a=1&a", ""),
        13 => query("api_key", ""),
        14 => get("/protected/json/app/details?api_key=", ""),
        15 => get("/protected/json/app/details?api_key[a]=", ""),
        16 => RawRequest::new("GET", DETAILS).header("x-svc-api-key", plain(secret)),
        17 => body("phone_number=5550100123&country_code=1&verification_code=", ""),
        18 => body("{\"verification_code\":\"", "\",\"country_code\":1}"),
        19 => body("{\"verification_code\":\"", "\",\"a\":1,\"a\":2}"),
        20 => body("{\"verification_code\":\"", "\","),
        21 => body("{\"verification_code\":{\"a\":[\"", "\"]}}"),
        22 => body("[\"", "\"]").header("content-type", "application/json"),
        23 => body("<hash><verification_code>", "</verification_code></hash>"),
        24 => body("<hash><verification_code>&amp;", "&amp;x</verification_code></hash>"),
        25 => body("<hash><a>1</a><a>", "</a></hash>"),
        26 => body("<hash><a><b>", "</b></a><c></hash>"),
        27 => multipart(body("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n", "\r\n--x--")),
        28 => multipart(body("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n", "")),
        _ => {
            let body = around("{\"a\":1,\"verification_code\":\"", secret, "\"}").into_bytes();
            known(RawRequest::new("GET", format!("{CHECK}?a=1"))).body(body)
        }
    }
}

fn multipart(request: RawRequest) -> RawRequest {
    request.header("content-type", "multipart/form-data; boundary=x")
}

/// The child process of the test above: one request for each, so that nothing reuses the memory that it
/// left. The secret is long for the same reason.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test above passes the number in a variable")]
fn child_that_receives_a_request() {
    let Some(number) = std::env::var(SERVICE).ok().and_then(|number| number.parse().ok()) else {
        return;
    };
    let service = Settings::new("sandbox:?accept=right").api_key(OWN_KEY).open().unwrap();
    let secret = masked::<400>(b'a', 26);
    let reply = respond(service.engine().unwrap(), Caller::Network, request(number, &secret));
    assert!(reply.status < 500, "{number}: {reply:?}");
    assert_eq!(occurrences(&secret), 0, "{number}: {reply:?}");
}

#[test]
fn the_text_of_a_message_is_wiped_once_it_was_delivered() {
    run_child("child_that_sends_a_message", "");
}

/// The child process of the test above. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test above sets the variable")]
fn child_that_sends_a_message() {
    if std::env::var(SERVICE).is_err() {
        return;
    }
    let sent: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().extend(message.text.bytes().map(|byte| byte ^ MASK));
        Ok(())
    };
    let service = Settings::new("sandbox:?accept=right").deliver(deliver).open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let _ = service.request_sms(user).unwrap();
    let text = sent.lock().unwrap().clone();
    assert!(text.len() > 2 * OVERWRITTEN, "{}", text.len());
    assert_eq!(occurrences(&text), 0);
}

/// The child process of the client's tests above. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the tests above pass the address in a variable")]
fn child_that_searches_its_own_memory() {
    let Ok(service) = std::env::var(SERVICE) else { return };
    let (url, pin) = service.split_once(' ').unwrap();
    let (key, code) = (masked::<KEY>(b'a', 26), masked::<CODE>(b'0', 10));
    for generation in [Generation::Current, Generation::Older] {
        let service = open(url, pin, generation, &key);
        for _ in 0..3 {
            assert_eq!(verify(&service, &code).unwrap(), Verdict::Right);
        }
        assert_eq!(occurrences(&code), 0, "the code, {generation:?}");
        assert!(occurrences(&key) > 0, "the search must find the key while it is in use");
        drop(service);
        assert_eq!(occurrences(&key), 0, "the key, {generation:?}");
    }
}

/// A random text of these characters, masked: long enough not to occur in the process by chance.
fn masked<const LENGTH: usize>(first: u8, many: u8) -> [u8; LENGTH] {
    let mut random = [0; LENGTH];
    File::open("/dev/urandom").unwrap().read_exact_at(&mut random, 0).unwrap();
    random.map(|byte| (first + byte % many) ^ MASK)
}

fn plain(masked: &[u8]) -> String {
    around("", masked, "")
}

/// A masked text between two others, in memory that it need not grow out of.
fn around(before: &str, masked: &[u8], after: &str) -> String {
    let mut text = String::with_capacity(before.len() + masked.len() + after.len());
    text.push_str(before);
    text.extend(masked.iter().map(|byte| char::from(byte ^ MASK)));
    text.push_str(after);
    text
}

fn open(url: &str, pin: &str, generation: Generation, masked: &[u8]) -> Service {
    let settings = Settings::new(url).api_key(plain(masked)).generation(generation);
    let settings = settings.allow_loopback_http(true);
    match pin {
        "" => settings.open().unwrap(),
        pin => settings.pin(pin).open().unwrap(),
    }
}

fn verify(service: &Service, masked: &[u8]) -> Result<Verdict, Error> {
    let code = Zeroizing::new(plain(masked)).parse()?;
    service.verify(1.try_into().unwrap(), &code)
}

/// How often a text occurs in the memory that this process can write to: heaps, stacks and data.
fn occurrences(masked: &[u8]) -> usize {
    // free() writes its own pointers over the beginning of a block, so a copy that was freed
    // without being wiped is recognised by its end. A code is too short for that.
    let masked = if masked.len() > 2 * OVERWRITTEN { &masked[OVERWRITTEN..] } else { masked };
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let writable = maps.lines().filter(|line| line.contains(" rw"));
    writable.map(|line| count(&memory, line, masked)).sum()
}

fn count(memory: &File, line: &str, masked: &[u8]) -> usize {
    let (from, rest) = line.split_once('-').unwrap();
    let (to, _) = rest.split_once(' ').unwrap();
    let at = |text| u64::from_str_radix(text, 16).unwrap();
    let (mut found, mut from, to) = (0, at(from), at(to));
    let overlap = masked.len() - 1;
    // Masked as it is read, so that this buffer is not found either.
    let mut piece = vec![0; 64 * 1024];
    while from < to {
        let wanted = piece.len().min((to - from) as usize);
        // This buffer is in the memory that is searched: where the pattern itself was read, it has the secret now.
        piece.fill(0);
        let Ok(read) = memory.read_at(&mut piece[..wanted], from) else { break };
        piece[..read].iter_mut().for_each(|byte| *byte ^= MASK);
        let first = masked[0];
        found += (0..read.saturating_sub(overlap))
            .filter(|start| piece[*start] == first && piece[*start..].starts_with(masked))
            .count();
        match read > masked.len() {
            true => from += (read - overlap) as u64,
            false => break,
        }
    }
    found
}
