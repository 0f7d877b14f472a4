//! The API key is wiped from memory: it is not to be found in that of a process whose client is
//! gone. The process is another than the service's, which knows the key too.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

mod stub;
#[path = "stub/tls.rs"]
mod tls;

use seconder::wire::Generation;
use seconder::{Error, Service, Settings, Verdict};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use stub::{RIGHT, Stub, TOKEN, response};
use tls::{Identity, params};

const SERVICE: &str = "SECONDER_TEST_SERVICE";
const LENGTH: usize = 40;
/// What the pattern that is searched for is kept under, so that it is not found itself.
const MASK: u8 = 0x80;

fn run(stub: &Stub, scheme: &str, pin: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_forgets", "--nocapture", "--test-threads=1"])
        .env(SERVICE, format!("{scheme}://{} {pin}", stub.addr))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{why}");
    assert_eq!(stub.asked().len(), 6);
}

#[test]
fn the_key_is_wiped() {
    run(&Stub::answering(response(200, "", RIGHT)), "http", "");
}

#[test]
fn the_key_is_wiped_where_it_was_encrypted() {
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config(), |mut peer| {
        while peer.request().is_some() && peer.send(&response(200, "", RIGHT)) {}
    });
    run(&stub, "https", &identity.pin());
}

/// The other half of the tests above, in a process of its own; alone it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the tests above tell it the address so")]
fn the_process_that_forgets() {
    let Ok(service) = std::env::var(SERVICE) else { return };
    let (url, pin) = service.split_once(' ').unwrap();
    let masked = masked_key();
    for generation in [Generation::Current, Generation::Older] {
        let service = open(url, pin, generation, &masked);
        for _ in 0..3 {
            assert_eq!(verify(&service).unwrap(), Verdict::Right);
        }
        assert!(found(&masked) > 0, "a key that is there is found");
        drop(service);
        assert_eq!(found(&masked), 0, "{generation:?}");
    }
}

/// A key that nothing else in the process is like.
fn masked_key() -> [u8; LENGTH] {
    let mut random = [0; LENGTH];
    File::open("/dev/urandom").unwrap().read_exact_at(&mut random, 0).unwrap();
    random.map(|byte| (b'a' + byte % 26) ^ MASK)
}

fn open(url: &str, pin: &str, generation: Generation, masked: &[u8]) -> Service {
    let mut key = String::with_capacity(LENGTH);
    key.extend(masked.iter().map(|byte| char::from(byte ^ MASK)));
    let settings = Settings::new(url).api_key(key).generation(generation);
    let settings = settings.allow_loopback_http(true);
    match pin {
        "" => settings.open().unwrap(),
        pin => settings.pin(pin).open().unwrap(),
    }
}

fn verify(service: &Service) -> Result<Verdict, Error> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

/// How often the key is in the memory that this process can write to: heaps, stacks and data.
fn found(masked: &[u8]) -> usize {
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
    // Masked as it is read, so that this buffer does not hold the key either.
    let mut piece = vec![0; 64 * 1024];
    while from < to {
        let wanted = piece.len().min((to - from) as usize);
        let Ok(read) = memory.read_at(&mut piece[..wanted], from) else { break };
        piece[..read].iter_mut().for_each(|byte| *byte ^= MASK);
        let first = masked[0];
        found += (0..read.saturating_sub(LENGTH - 1))
            .filter(|start| piece[*start] == first && piece[*start..].starts_with(masked))
            .count();
        match read > LENGTH {
            true => from += (read - (LENGTH - 1)) as u64,
            false => break,
        }
    }
    found
}
