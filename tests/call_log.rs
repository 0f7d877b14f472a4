//! Each call of a handle with a log gives one record, which holds no secret.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::stub::{KEY, RIGHT, Stub, TOKEN, closed_port, response};
use seconder::calls::{CheckApproval, StartPhoneVerification, Verify};
use seconder::engine::Message;
use seconder::remote::Repeats;
use seconder::{CallOutcome, CallRecord, Canceller, Handle, Service, Settings, Sleeper, Stage};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<CallRecord>>>);

impl Records {
    fn of(&self, service: &Service) -> Service {
        let records = Arc::clone(&self.0);
        service.with_log(Arc::new(move |record: &CallRecord| {
            records.lock().unwrap().push(record.clone());
        }))
    }

    fn take(&self) -> Vec<CallRecord> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The only record since the last time.
    fn one(&self) -> CallRecord {
        let records = self.take();
        assert_eq!(records.len(), 1, "{records:?}");
        records.into_iter().next().unwrap()
    }
}

/// A line without its end, which is the duration.
fn line(record: &CallRecord) -> String {
    let line = record.to_string();
    let (line, duration) = line.rsplit_once(" duration_ms=").unwrap();
    assert!(duration.parse::<f64>().unwrap() >= 0.0 && record.duration > Duration::ZERO);
    line.to_owned()
}

fn remote(url: &str) -> Service {
    let settings = Settings::new(url).api_key(KEY).allow_loopback_http(true);
    settings.timeout(Duration::from_secs(5)).open().unwrap().with_repeats(Repeats::All)
}

fn token() -> seconder::model::Token {
    TOKEN.parse().unwrap()
}

#[test]
fn an_engine_logs_what_happened_to_whom() {
    let (records, codes) = (Records::default(), Arc::new(Mutex::new(String::new())));
    let delivered = Arc::clone(&codes);
    let deliver = move |message: &Message| {
        *delivered.lock().unwrap() = message.code.to_string();
        Ok(())
    };
    let service = Settings::new("sandbox:?accept=right").deliver(deliver).open().unwrap();
    let service = records.of(&service);
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    assert_eq!(line(&records.one()), format!("call=create_user outcome=ok user_id={user}"));
    service.request_sms(user).unwrap();
    assert_eq!(line(&records.one()), format!("call=request_sms outcome=ok user_id={user}"));
    let code: seconder::model::Token = codes.lock().unwrap().parse().unwrap();
    for (force, outcome) in
        [(false, "token_not_checked"), (true, "ok"), (true, "token_reused code=60019")]
    {
        let call = Verify { force, ..Verify::new(user, code.clone()) };
        let _checked = service.handle(&call).unwrap();
        let (outcome, more) = outcome.split_once(' ').unwrap_or((outcome, ""));
        let wanted = format!("call=verify outcome={outcome} user_id={user} {more}");
        assert_eq!(line(&records.one()), wanted.trim_end());
    }
    let unknown = 12345.try_into().unwrap();
    assert!(service.user_status(unknown).is_err());
    let record = records.one();
    assert_eq!(
        line(&record),
        "call=user_status outcome=rejected user_id=12345 http_status=404 code=60026"
    );
    assert_eq!((record.outcome, record.attempts), (CallOutcome::Rejected, 0));
    // The other handle has no log.
    assert!(seconder::open("sandbox:").unwrap().app_details().is_ok() && records.take().is_empty());
}

#[test]
fn a_client_logs_statuses_and_attempts() {
    let records = Records::default();
    let number = Mutex::new(0);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            let mut number = number.lock().unwrap();
            *number += 1;
            peer.send(&match *number {
                1 => response(503, "Retry-After: 0\r\n", r#"{"message":"busy"}"#),
                2 => response(200, "", RIGHT),
                _ => response(401, "", r#"{"message":"no","error_code":"60001"}"#),
            });
        }
    });
    let service = records.of(&remote(&stub.url()));
    let user = 7.try_into().unwrap();
    let _right = service.verify(user, &token()).unwrap();
    assert_eq!(line(&records.one()), "call=verify outcome=ok user_id=7 http_status=200 attempts=2");
    assert!(service.handle_with_body(&CheckApproval::new("a-1".parse().unwrap())).is_err());
    assert_eq!(
        line(&records.one()),
        "call=check_approval outcome=unauthorized http_status=401 code=60001 attempts=1"
    );
    let (_port, address) = closed_port();
    let nobody = records.of(&remote(&format!("http://{address}")));
    assert!(nobody.request_call(user).is_err());
    let record = records.one();
    assert_eq!(
        line(&record),
        "call=request_call outcome=unavailable stage=connect user_id=7 attempts=1"
    );
    assert_eq!((record.stage, record.timed_out), (Some(Stage::Connect), false));
    let canceller = Canceller::new();
    canceller.cancel();
    assert!(nobody.with_interrupt(Arc::new(canceller)).request_call(user).is_err());
    assert_eq!(line(&records.one()), "call=request_call outcome=cancelled user_id=7");
}

#[test]
fn a_call_that_times_out_says_so() {
    let stub = Stub::start(|mut peer| {
        if peer.request().is_some() {
            peer.stay_silent();
        }
    });
    let records = Records::default();
    let service = records.of(&remote(&stub.url())).with_timeout(Duration::from_millis(200));
    assert!(service.app_details().is_err());
    assert_eq!(
        line(&records.one()),
        "call=app_details outcome=unavailable stage=response timed_out=true attempts=1"
    );
}

/// A stub by which an approval is pending, and at every third request denied.
fn third_is_denied() -> Stub {
    let count = Mutex::new(0);
    Stub::start(move |mut peer| {
        while peer.request().is_some() {
            let mut count = count.lock().unwrap();
            *count += 1;
            let status = if *count % 3 == 0 { "denied" } else { "pending" };
            let request = serde_json::json!({"status": status, "svc_id": 7, "uuid": "a-1"});
            let body = serde_json::json!({"approval_request": request, "success": true});
            peer.send(&peer.named(&response(200, "", body.to_string())));
        }
    })
}

/// Time that passes in the pauses of a wait alone.
struct Passed(Duration);

impl Sleeper for Passed {
    fn elapsed(&mut self) -> Duration {
        self.0
    }

    fn pause(&mut self, time: Duration) -> seconder::Result<()> {
        self.0 += time;
        Ok(())
    }
}

#[test]
fn a_wait_for_an_approval_is_one_call() {
    let records = Records::default();
    let stub = third_is_denied();
    let service = records.of(&remote(&stub.url()));
    let (uuid, user) = ("a-1".parse().unwrap(), 7.try_into().unwrap());
    let mut wait = seconder::ApprovalWait::new(uuid, user, Duration::from_secs(60));
    let denied = service.wait_for_approval_with(wait.clone(), &mut Passed(Duration::ZERO)).unwrap();
    assert!(!denied.approved_by(user));
    assert_eq!(
        line(&records.one()),
        "call=wait_for_approval outcome=ok user_id=7 http_status=200 attempts=3"
    );
    // Poll by poll, it is logged when it is over.
    let mut elapsed = Duration::ZERO;
    while let seconder::ApprovalPoll::PollAgain(time) =
        service.poll_approval(&mut wait, &mut || elapsed)
    {
        assert!(records.take().is_empty());
        elapsed += time;
    }
    let record = records.one();
    assert_eq!((record.attempts, record.duration), (3, Duration::from_millis(1250)));
}

/// A call that a deliver function makes has a record of its own, and one that the log makes has
/// none.
#[test]
fn calls_within_calls_are_kept_apart() {
    let records = Records::default();
    let stub = Stub::responding(response(503, "", r#"{"message":"busy"}"#));
    let inner = records.of(&remote(&stub.url()));
    let deliver = move |_: &Message| {
        assert!(inner.app_details().is_err());
        Ok(())
    };
    let service = Settings::new("sandbox:?accept=right").deliver(deliver).open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    records.of(&service).request_sms(user).unwrap();
    let lines: Vec<String> = records.take().iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "call=app_details outcome=rate_limited http_status=503 attempts=1".to_owned(),
            format!("call=request_sms outcome=ok user_id={user}"),
        ]
    );
    let (again, count) = (service.clone(), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&count);
    let slot: Arc<Mutex<Option<Service>>> = Arc::default();
    let own = Arc::clone(&slot);
    let service = again.with_log(Arc::new(move |_: &CallRecord| {
        *counted.lock().unwrap() += 1;
        if let Some(service) = own.lock().unwrap().as_ref() {
            service.app_details().unwrap();
        }
    }));
    *slot.lock().unwrap() = Some(service.clone());
    service.app_details().unwrap();
    assert_eq!(*count.lock().unwrap(), 1);
    *slot.lock().unwrap() = None;
}

#[test]
fn records_hold_nothing_that_a_service_repeats() {
    let records = Records::default();
    for echo in
        [KEY, TOKEN, "5550100123", "ada@example.com", "code 4711", "1\ncall=verify outcome=ok"]
    {
        let body = serde_json::json!({"message": echo, "error_code": echo, "errors": {echo: echo}});
        for status in [200, 400, 401, 404, 429, 500] {
            let stub = Stub::responding(response(status, "", body.to_string()));
            let service = records.of(&remote(&stub.url()));
            let _verified = service.verify(1.try_into().unwrap(), &token());
            let _created = service.create_user("ada@example.com", "555-010-0123", "1");
            let call = StartPhoneVerification::new(
                seconder::calls::Channel::Sms,
                "555-010-0123".parse().unwrap(),
                "1".parse().unwrap(),
            );
            let _started = service.handle(&call);
            for record in records.take() {
                let shown = format!("{} {record:?}", line(&record));
                assert!(!shown.contains(echo) && !shown.contains('\n'), "{echo}: {shown}");
            }
        }
    }
}
