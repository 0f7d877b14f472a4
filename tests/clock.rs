//! What has happened stays so when the clock is set back.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod fresh;

use fresh::{ManualClock, ada, open_at};
use seconder::calls::{ApprovalStatus, CreateApproval};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::{Error, Handle};

#[test]
fn an_approval_that_expired_stays_expired_when_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let (service, _) = open_at(&folder.path().join("seconder.db"), &clock);
    let engine = service.engine().unwrap();
    let user = ada(&service);
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let ask = || {
        let call = CreateApproval::new(user, "Log in?".parse().unwrap());
        service.handle(&CreateApproval { seconds_to_expire: Some(60), ..call }).unwrap().uuid
    };
    let open = || engine.open_approvals(device.device_id, &device.secret).unwrap().len();
    let respond = |uuid: &_| {
        let (device_id, device_secret) = (device.device_id, device.secret.clone());
        let response = ApprovalResponse::Approve;
        let uuid = Clone::clone(uuid);
        engine.respond_to_approval(&RespondToApproval { uuid, device_id, device_secret, response })
    };
    // Whoever notices first: the application, the device that lists its requests, the device that
    // responds, or the next request.
    for notices in 0..4 {
        clock.set(1_000_000);
        let uuid = ask();
        assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Pending);
        clock.set(1_000_060);
        match notices {
            0 => assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Expired),
            1 => assert_eq!(open(), 0),
            2 => assert!(matches!(respond(&uuid), Err(Error::Rejected(_)))),
            _ => drop(ask()),
        }
        clock.set(1_000_010);
        let approval = service.check_approval(&uuid).unwrap();
        assert_eq!(approval.status, ApprovalStatus::Expired, "{notices}");
        assert_eq!(approval.processed_at.as_deref(), Some("1970-01-12T13:47:40Z"));
        assert_eq!(open(), usize::from(notices == 3));
        let late = respond(&uuid).unwrap_err();
        assert!(matches!(&late, Error::Rejected(_)) && late.code() == Some("60079"), "{late}");
    }
}
