//! The library's client against the service over HTTPS.

use crate::common::{self, KEY, World};
use seconder::calls::{ApprovalStatus, CreateApproval, CreateUser, Verify};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::{Error, Handle, Settings, Stage, Verdict};
use serde_json::json;
use std::time::Duration;

#[test]
fn an_enrolled_user_is_verified_once_per_code() {
    let world = World::start();
    let service = world.client();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap();
    let again = service.create_user("ada@example.org", "555.010.0123", "1").unwrap();
    assert_eq!(user.user_id, again.user_id);
    let sent = service.request_sms(user.user_id).unwrap();
    assert!(!sent.ignored);
    let token = world.code().parse().unwrap();
    let check = Verify::new(user.user_id, token);
    let unforced = Verify { force: false, ..check.clone() };
    assert_eq!(service.handle(&unforced).unwrap().verdict, Verdict::NotChecked);
    assert_eq!(service.handle(&check).unwrap().verdict, Verdict::Right);
    let used = service.handle(&check).unwrap();
    assert!(used.verdict == Verdict::Wrong && used.reused, "{used:?}");
    assert!(service.user_status(user.user_id).unwrap().confirmed);
    assert_eq!(service.app_stats().unwrap().stats.len(), 12);
    service.delete_user(user.user_id).unwrap();
    assert!(
        matches!(service.user_status(user.user_id), Err(Error::Rejected(r)) if r.status == 404)
    );
}

#[test]
fn a_user_approves_on_a_device() {
    let world = World::start();
    let service = world.client();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap();
    let device = world.engine.register_device(user.user_id, DeviceType::Android).unwrap();
    let mut call = CreateApproval::new(user.user_id, "Pay 12 €?".parse().unwrap());
    call.details.insert("to".into(), "Bob & Söhne".into());
    call.hidden_details.insert("order".into(), json!({"id": 7, "lines": [1, 2]}));
    let uuid = service.handle(&call).unwrap().uuid;
    assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Pending);
    let shown = world.engine.open_approvals(device.device_id, &device.secret).unwrap();
    assert_eq!(shown[0].details["to"], "Bob & Söhne");
    let response = RespondToApproval {
        uuid: uuid.clone(),
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    assert_eq!(
        world.engine.respond_to_approval(&response).unwrap().status,
        ApprovalStatus::Approved
    );
    assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Approved);
}

#[test]
fn a_wrong_api_key_is_unauthorized_and_not_shown() {
    let world = World::start();
    let service = world.settings().api_key("hidden-key").open().unwrap();
    let error = service.app_details().unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    let token = "1234567".parse().unwrap();
    let error = service.verify(1.try_into().unwrap(), &token).unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }) && !error.to_string().contains("hidden"));
}

#[test]
fn a_wrong_base_url_is_rejected_with_404() {
    let world = World::start();
    let url = format!("{}/somewhere", world.server.url());
    let service = Settings::new(&url).api_key(KEY).ca_file(world.ca_file()).open().unwrap();
    let error = service.verify(1.try_into().unwrap(), &"1234567".parse().unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Rejected(r) if r.status == 404), "{error}");
}

#[test]
fn a_rejection_names_the_invalid_parameter() {
    let world = World::start();
    let service = world.client();
    let email = "ada@example.com".parse().unwrap();
    let call = CreateUser::new(email, "11111".parse().unwrap(), "1".parse().unwrap());
    let error = service.handle(&call).unwrap_err();
    let Error::Rejected(rejection) = error else { panic!("{error}") };
    assert_eq!((rejection.status, rejection.code.as_deref()), (400, Some("60027")));
    assert!(rejection.fields.contains_key("cellphone"), "{rejection:?}");
}

#[test]
fn many_threads_share_one_client() {
    let world = World::start();
    let service = world.client();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| drop(service.app_details().unwrap())));
        }
    });
}

#[test]
fn a_stopped_server_refuses_connections() {
    let world = World::start();
    let service = world.client();
    service.app_details().unwrap();
    let started = std::time::Instant::now();
    world.server.stop();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let error = service.app_details().unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
}

/// The server's end of the connection is another descriptor of this process.
#[test]
#[cfg(target_os = "linux")]
fn small_responses_are_sent_at_once() {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    use std::net::TcpStream;
    let world = World::start();
    let client = common::connect(world.server.addr(), world.server.certificate_pem()).sock;
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let accepted = || {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap();
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut sockets = numbers.filter_map(|number| {
            let copy = pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).ok()?;
            Some(TcpStream::from(copy))
        });
        sockets.find(|socket| {
            socket.peer_addr().is_ok_and(|peer| peer == client.local_addr().unwrap())
        })
    };
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !accepted().is_some_and(|socket| socket.nodelay().unwrap()) {
        assert!(std::time::Instant::now() < until, "TCP_NODELAY is not set");
        std::thread::sleep(Duration::from_millis(5));
    }
}
