//! What the engine guarantees beyond its replies: acknowledged data survives, and deliveries and
//! clocks may fail.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, open, open_at, url};
use seconder::calls::{Channel, StartPhoneVerification};
use seconder::engine::{ApprovalResponse, DeviceType, Message, RespondToApproval};
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, Verdict, Verify, callback, calls};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, SystemTime};

fn now() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "the engine under test uses the system's clock")]
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn users_codes_and_limits_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("restart.db");
    let clock = ManualClock::at(1_000_000);
    let (service, sent) = open_at(&path, &clock);
    let key = service.engine().unwrap().api_key();
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let code: Token = sent.lock().unwrap()[0].code.parse().unwrap();
    let wrong: Token =
        if code.as_str() == "0000000" { "0000001" } else { "0000000" }.parse().unwrap();
    for _ in 0..4 {
        let result = service.handle(&Verify::new(user, wrong.clone())).unwrap();
        assert_eq!(result.verdict, Verdict::Wrong);
    }
    drop(service);

    let (service, _) = open_at(&path, &clock);
    assert_eq!(service.engine().unwrap().api_key(), key);
    let early = service.handle(&Verify::new(user, code.clone()));
    assert!(
        matches!(early, Err(Error::RateLimited { .. })),
        "the failed attempts must be remembered: {early:?}"
    );
    clock.set(1_000_002);
    assert_eq!(service.verify(user, &code.clone()).unwrap(), Verdict::Right);
    drop(service);

    let (service, _) = open_at(&path, &clock);
    let status = service.user_status(user).unwrap();
    assert!(status.confirmed, "{status:?}");
    let again = service.handle(&Verify::new(user, code)).unwrap();
    assert!(again.verdict == Verdict::Wrong && again.reused, "{again:?}");
    let stats = service.app_stats().unwrap().stats;
    let last = stats.last().unwrap();
    assert_eq!((last.sms_count, last.auths_count, last.users_count), (1, Some(1), 1));
    assert!(last.api_calls_count.unwrap() >= 7, "{last:?}");
}

/// The process that `a_kill_loses_nothing_that_was_acknowledged` kills.
#[test]
#[ignore = "runs as the child of another test"]
fn child_that_is_killed() {
    let input = std::io::read_to_string(std::io::stdin()).unwrap();
    let (area, path) = input.trim_end().split_once(' ').unwrap();
    let (service, sent) = open(Path::new(path));
    for number in 0..10_000 {
        let phone = format!("{area}-010-{number:04}");
        let user = service.create_user("ada@example.com", &phone, "1").unwrap().user_id;
        service.request_sms(user).unwrap();
        let code = sent.lock().unwrap().pop().unwrap().code;
        println!("acknowledged {user} {code}");
    }
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kill.db");
    // Each round has its own users: a code that was just sent cannot be sent again so soon.
    for area in [555, 556, 557] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine::child_that_is_killed", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{area} {}", path.display()).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Vec::new();
        while lines.len() < 20 {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "the child ended by itself");
            lines.extend(line.strip_prefix("acknowledged ").map(str::to_owned));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        // The last line may be truncated, and is then no acknowledgement.
        let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
        lines.extend(whole.lines().filter_map(|l| l.strip_prefix("acknowledged ")).map(Into::into));

        let (service, _) = open(&path);
        for line in lines {
            let (user, code) = line.trim().split_once(' ').unwrap();
            let call = Verify::new(user.parse().unwrap(), code.parse().unwrap());
            let result = service.handle(&call).unwrap();
            assert_eq!(result.verdict, Verdict::Right, "area {area}, user {user}");
        }
    }
}

#[test]
fn a_failed_delivery_can_be_retried_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let works = Arc::new(Mutex::new(false));
    let working = Arc::clone(&works);
    let service = Settings::new(&url(&folder.path().join("fail.db")))
        .deliver(move |_: &Message| match *working.lock().unwrap() {
            true => Ok(()),
            false => Err("the gateway is closed".to_owned()),
        })
        .open()
        .unwrap();
    let user = ada(&service);
    // Fewer than a number may get: failures have limits too.
    for _ in 0..4 {
        let error = service.request_sms(user).unwrap_err();
        assert!(error.to_string().contains("the gateway is closed"), "{error}");
        assert!(!error.retry_safe(), "{error}");
    }
    *works.lock().unwrap() = true;
    service.request_sms(user).unwrap();
    assert!(matches!(service.request_sms(user), Err(Error::RateLimited { .. })));
    assert_eq!(service.app_stats().unwrap().stats.pop().unwrap().sms_count, 1);
}

/// A code keeps its tries until another replaces it, or an attacker could make deliveries fail to
/// guess on.
#[test]
fn a_failed_delivery_gives_no_tries_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let service = Settings::new(&url(&folder.path().join("tries.db")))
        .clock(clock.clone())
        .deliver(move |message: &Message| {
            let mut sent = keep.lock().unwrap();
            sent.push(message.code.clone());
            sent.len()
                .is_multiple_of(2)
                .then_some(())
                .ok_or_else(|| "the gateway is closed".to_owned())
        })
        .open()
        .unwrap();
    let user = ada(&service);
    let last = || sent.lock().unwrap().last().unwrap().clone();
    assert!(service.request_sms(user).is_err());
    let code = last();
    let wrong = if code == "0000000" { "0000001" } else { "0000000" };
    let guess = || service.verify(user, &wrong.parse().unwrap()).unwrap();
    assert_eq!([guess(), guess(), guess()], [Verdict::Wrong; 3]);
    service.request_sms(user).unwrap();
    assert!(service.request_call(user).is_err());
    service.request_call(user).unwrap();
    assert_eq!(last(), code);
    assert_eq!(guess(), Verdict::Wrong);
    clock.set(1_000_002);
    assert_eq!(guess(), Verdict::Wrong);
    clock.set(1_000_006);
    let result = service.handle(&Verify::new(user, code.parse().unwrap())).unwrap();
    assert_eq!(result.verdict, Verdict::Wrong, "the fifth wrong code made it void");
    // The code that replaces it has all of its tries.
    clock.set(1_000_060);
    assert!(service.request_sms(user).is_err());
    service.request_sms(user).unwrap();
    assert_ne!(last(), code);
    let result = service.handle(&Verify::new(user, last().parse().unwrap())).unwrap();
    assert_eq!(result.verdict, Verdict::Right);
}

/// A gateway may report a failure when the code of its message was replaced long ago.
#[test]
fn a_late_failure_of_a_replaced_code_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let (blocked, fails) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (in_gateway, released) = (Arc::clone(&blocked), Arc::clone(&fails));
    let service = Settings::new(&url(&folder.path().join("late.db")))
        .clock(clock.clone())
        .deliver(move |message: &Message| {
            if message.via == Channel::Sms {
                in_gateway.wait();
                released.wait();
            }
            Err("the gateway is closed".to_owned())
        })
        .open()
        .unwrap();
    let start = |via, length| {
        let number = "7400123456".parse().unwrap();
        let mut call = StartPhoneVerification::new(via, number, "44".parse().unwrap());
        call.code_length = Some(length);
        service.handle(&call)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(start(Channel::Sms, 7).is_err()));
        blocked.wait();
        // Another code replaces the first one, and is not delivered either.
        assert!(start(Channel::Call, 6).is_err());
        fails.wait();
    });
    for _ in 0..2 {
        let error = start(Channel::Call, 6).unwrap_err();
        assert!(error.to_string().contains("the gateway is closed"), "{error}");
    }
}

#[test]
fn delivery_errors_do_not_contain_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let service = Settings::new(&url(&folder.path().join("error.db")))
        .deliver(|message: &Message| Err(format!("could not send {}", message.code)))
        .open()
        .unwrap();
    let error = service.request_sms(ada(&service)).unwrap_err().to_string();
    assert!(!error.chars().any(|c| c.is_ascii_digit()), "{error}");
}

#[test]
fn setting_a_fast_clock_back_does_not_lock_users_out() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(6_000_000_000);
    let (service, sent) = open_at(&folder.path().join("clock.db"), &clock);
    let user = ada(&service);
    let code = || sent.lock().unwrap().pop().unwrap().code;
    service.request_sms(user).unwrap();
    let ahead = code();
    let wrong = if ahead == "0000000" { "0000001" } else { "0000000" };
    for _ in 0..4 {
        let result = service.handle(&Verify::new(user, wrong.parse().unwrap())).unwrap();
        assert_eq!(result.verdict, Verdict::Wrong);
    }
    // The wait goes on, and no longer than it would have.
    clock.set(60_000);
    let error = service.handle(&Verify::new(user, ahead.parse().unwrap())).unwrap_err();
    assert_eq!(error.retry_after_seconds(), Some(2));
    clock.set(60_060);
    service.request_sms(user).unwrap();
    let result = service.handle(&Verify::new(user, code().parse().unwrap())).unwrap();
    assert_eq!(result.verdict, Verdict::Right);
}

#[test]
fn an_approval_response_is_posted_with_a_valid_signature() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let callback_url = format!("http://{}/callback", listener.local_addr().unwrap());
    let service = Settings::new(&url(&folder.path().join("callback.db")))
        .callback_url(&callback_url)
        .open()
        .unwrap();
    let engine = service.engine().unwrap();
    let user = ada(&service);
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let call = calls::CreateApproval {
        hidden_details: [("ip".to_owned(), "10.1.2.3".into())].into_iter().collect(),
        ..calls::CreateApproval::new(user, "Log in?".parse().unwrap())
    };
    let uuid = service.handle(&call).unwrap().uuid;
    let shown = engine.open_approvals(device.device_id, &device.secret).unwrap();
    assert_eq!((shown.len(), &shown[0].uuid), (1, &uuid));

    let received = std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(&listener));
        let response = ApprovalResponse::Approve;
        let result = engine.respond_to_approval(&RespondToApproval {
            uuid: uuid.clone(),
            device_id: device.device_id,
            device_secret: device.secret.clone(),
            response,
            number: None,
        });
        assert_eq!(result.unwrap().status, calls::ApprovalStatus::Approved);
        received.join().unwrap()
    });
    let header = |name: &str| {
        let line = received.0.iter().find(|line| line.to_lowercase().starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    let (signature, nonce) = (header("x-svc-signature:"), header("x-svc-signature-nonce:"));
    let event = callback::Received {
        url: &callback_url,
        method: "POST",
        query: "",
        body: &received.1,
        signature: &signature,
        nonce: &nonce,
    };
    let event = callback::verify(&engine.api_key(), &event).unwrap();
    assert!(event.approved_by(user));
    assert_eq!((&event.uuid, event.user_id), (&uuid, Some(user)));
    assert_eq!(event.status, calls::ApprovalStatus::Approved);
    let request = &event.parameters()["approval_request"];
    assert_eq!(request["transaction"]["hidden_details"]["ip"], "10.1.2.3");
    assert_eq!(request["transaction"]["flagged"], false);
    assert!(request["transaction"]["details"].is_null() && request["logos"].is_null());
    assert_eq!(event.device().unwrap().id, Some(device.device_id.get()));
}

#[test]
fn wait_for_approval_returns_the_users_response() {
    let folder = tempfile::tempdir().unwrap();
    let service = seconder::open(&url(&folder.path().join("wait.db"))).unwrap();
    let engine = service.engine().unwrap();
    let (user, eve) = (ada(&service), service.create_user("e@b.c", "555-010-0199", "1").unwrap());
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let pending = service.wait_for_approval(&uuid, user, Duration::ZERO).unwrap();
    assert_eq!(pending.status, calls::ApprovalStatus::Pending);
    assert!(!pending.approved_by(user));
    let approval = std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| service.wait_for_approval(&uuid, user, Duration::from_secs(60)));
        let _approval = engine
            .respond_to_approval(&RespondToApproval {
                uuid: uuid.clone(),
                device_id: device.device_id,
                device_secret: device.secret.clone(),
                response: ApprovalResponse::Approve,
                number: None,
            })
            .unwrap();
        waiting.join().unwrap().unwrap()
    });
    assert!(approval.approved_by(user) && !approval.approved_by(eve.user_id));
    let foreign = service.wait_for_approval(&uuid, eve.user_id, Duration::from_secs(60));
    assert!(
        matches!(foreign, Err(Error::InvalidArgument { parameter, .. }) if parameter == "uuid")
    );
}

/// Accepts one POST, and returns its header lines and its body.
fn receive(listener: &std::net::TcpListener) -> (Vec<String>, Vec<u8>) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| {
        line.to_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    (lines, body)
}

#[test]
fn codes_have_the_configured_length() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("length.db"));
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().push(message.code.clone());
        Ok(())
    };
    let settings = Settings::new(&at)
        .token_length(8)
        .authenticator_digits(7)
        .authenticator_period(10)
        .deliver(deliver);
    let service = settings.open().unwrap();
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let code = sent.lock().unwrap().pop().unwrap();
    assert_eq!(code.len(), 8);
    let result = service.handle(&Verify::new(user, code.parse().unwrap())).unwrap();
    assert_eq!(result.verdict, Verdict::Right);
    let uri = service.enrol_authenticator(user).unwrap().uri;
    assert!(uri.expose().ends_with("&digits=7&period=10"));
    let code = Totp::from_uri(uri.expose()).unwrap().code(now());
    drop(service);
    let service = seconder::open(&at).unwrap();
    assert_eq!(service.verify(user, &code.expose().parse().unwrap()).unwrap(), Verdict::Right);
    for bad in [Settings::new(&at).token_length(11), Settings::new(&at).authenticator_digits(5)] {
        assert!(matches!(bad.open(), Err(Error::InvalidArgument { .. })));
    }
}

#[test]
fn the_sandbox_accepts_any_token_or_the_configured_one() {
    let service = seconder::open("sandbox:").unwrap();
    let unknown: UserId = "4711".parse().unwrap();
    let verify =
        |service: &Service, token: &str| service.verify(unknown, &token.parse().unwrap()).unwrap();
    assert_eq!(verify(&service, "1234567"), Verdict::Right);
    let service = seconder::open("sandbox:?accept=0000000").unwrap();
    assert_eq!(verify(&service, "0000000"), Verdict::Right);
    assert_eq!(verify(&service, "1234567"), Verdict::Wrong);
    for bad in ["sandbox:x", "sandbox:?accept=", "sandbox:?accept=12", "sqlite:", "ftp:x", ""] {
        assert!(matches!(seconder::open(bad), Err(Error::InvalidArgument { .. })), "{bad}");
    }
}

/// `accept=right` is for tests of applications that need wrong codes, used codes and limits too.
#[test]
fn a_sandbox_with_accept_right_checks_codes_like_a_database() {
    let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let settings = Settings::new("sandbox:?accept=right").deliver(move |message: &Message| {
        keep.lock().unwrap().push(message.clone());
        Ok(())
    });
    let service = settings.open().unwrap();
    let user = ada(&service);
    service.request_sms(user).unwrap();
    let right: Token = sent.lock().unwrap()[0].code.parse().unwrap();
    let check = Verify::new(user, right);
    let unforced = Verify { force: false, ..check.clone() };
    assert_eq!(service.handle(&unforced).unwrap().verdict, Verdict::NotChecked);
    assert_eq!(service.handle(&check).unwrap().verdict, Verdict::Right);
    assert!(service.handle(&check).unwrap().reused);
    let wrong = Verify::new(user, "000000".parse().unwrap());
    assert_eq!(service.handle(&wrong).unwrap().verdict, Verdict::Wrong);
}

#[test]
fn an_api_key_opens_only_its_own_application() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("key.db"));
    let with = |key: &str| Settings::new(&at).api_key(key).open();
    assert_eq!(with("first").unwrap().app_details().unwrap().name, "Seconder");
    assert!(matches!(with("second"), Err(Error::Unauthorized { .. })));
    assert!(matches!(with(""), Err(Error::InvalidArgument { .. })));
    assert_eq!(seconder::open(&at).unwrap().engine().unwrap().api_key().expose(), "first");
}
