//! The requests that a C program with its own settings sends to a remote service.

use super::stub::{RIGHT, Stub, eventually, response};
use super::tools::{Folder, command, compile, run};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const XML: &str = "<hash><status><svc-id type=\"integer\">7</svc-id></status>\
                   <success type=\"boolean\">true</success></hash>";

fn ends_well(what: &str, stub: &Stub) {
    succeeds("tests/c/remote_service.c", what, stub, &[]);
}

fn succeeds(source: &str, what: &str, stub: &Stub, more: &[&Path]) {
    let folder = Folder::new();
    let program = compile(source, &folder);
    let outcome = run(command(program).arg(what).arg(stub.url()).args(more));
    assert!(outcome.good, "{source}: {}", outcome.text);
}

#[test]
fn a_cancelled_handle_does_not_wait_for_a_response() {
    let folder = Folder::new();
    let sign = folder.path().join("sign");
    let given = sign.clone();
    let stub = Stub::start(move |mut peer| {
        if peer.request().is_some() {
            fs::write(&given, "").unwrap();
            peer.stay_silent();
        }
    });
    succeeds("tests/c/cancel.c", "silent", &stub, &[&sign]);
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn a_cancelled_handle_does_not_wait_for_a_retry() {
    let folder = Folder::new();
    let sign = folder.path().join("sign");
    let given = sign.clone();
    let busy = response(503, "Retry-After: 30\r\n", r#"{"message":"busy"}"#);
    let stub = Stub::start(move |mut peer| {
        while peer.respond(&busy) {
            fs::write(&given, "").unwrap();
        }
    });
    succeeds("tests/c/cancel.c", "busy", &stub, &[&sign]);
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn format_generation_and_names_are_taken_from_the_options() {
    let stub = Stub::start(|mut peer| {
        while let Some(request) = peer.request() {
            let older = request.contains("api_key=");
            let body = if older { XML.to_owned() } else { XML.replace("svc-id", "acme-id") };
            peer.send(&response(200, "Content-Type: application/xml\r\n", body));
        }
    });
    ends_well("formats", &stub);
    let requests = stub.requests();
    let [older, named] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(older.starts_with("GET /protected/xml/users/7/status?api_key=key HTTP/1.1\r\n"));
    assert!(!older.to_lowercase().contains("-api-key:"), "{older}");
    assert!(named.starts_with("GET /protected/xml/users/7/status HTTP/1.1\r\n"), "{named}");
    assert!(named.to_lowercase().contains("\r\nx-acme-api-key: key\r\n"), "{named}");
}

#[test]
fn a_descriptor_that_the_program_took_is_neither_used_nor_closed() {
    let stub = Stub::responding(response(200, "", RIGHT));
    ends_well("takes", &stub);
    assert_eq!(stub.requests().len(), 2);
}

#[test]
fn nested_data_is_sent_as_the_options_request() {
    let stub = Stub::responding(response(200, "", r#"{"success":true}"#));
    ends_well("bodies", &stub);
    let requests = stub.requests();
    let [form, json] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(form.ends_with("\r\n\r\ntype=banned&data[n]=1&data[a][0]=true"), "{form}");
    assert!(
        json.ends_with("\r\n\r\n{\"type\":\"banned\",\"data\":{\"n\":1,\"a\":[true]}}"),
        "{json}"
    );
}

#[test]
fn an_approval_without_a_user_is_accepted_if_the_options_request_it() {
    let record = r#"{"approval_request":{"status":"approved","uuid":"a-1"},"success":true}"#;
    ends_well("unbound", &Stub::responding(response(200, "", record)));
}

#[test]
fn a_second_handle_has_its_own_timeout() {
    let stub = Stub::start(|mut peer| {
        if peer.request().is_some() {
            peer.stay_silent();
        }
    });
    ends_well("waits", &stub);
    // The program does not wait for the stub's thread.
    assert!(eventually(|| stub.requests().len() == 1));
}

#[test]
fn calls_are_retried_if_the_options_request_it() {
    let received = AtomicUsize::new(0);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            let busy = received.fetch_add(1, Ordering::SeqCst) < 2;
            peer.send(&match busy {
                true => response(503, "Retry-After: 1\r\n", r#"{"message":"busy"}"#),
                false => response(200, "", RIGHT),
            });
        }
    });
    ends_well("repeats", &stub);
    assert_eq!(stub.requests().len(), 3);
}
