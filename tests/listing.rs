//! What operators list of users and approval requests, and what they cancel.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, url};
use seconder::calls::{ActivityType, ApprovalStatus, CreateApproval, CreateUser, RegisterActivity};
use seconder::engine::Message;
use seconder::engine::operator::{
    CancelApproval, CreateApp, FindUsers, ListActivities, ListApprovals, ListUsers,
};
use seconder::model::UserId;
use seconder::{Error, Handle, Service, Settings};
use std::path::Path;

const NOW: u64 = 1_700_006_400;

fn settings(path: &Path, clock: &ManualClock) -> Settings {
    Settings::new(&url(path)).clock(clock.clone()).deliver(|_: &Message| Ok(()))
}

/// A service, and another one of another application of the database.
fn two(path: &Path, clock: &ManualClock) -> [Service; 2] {
    let first = settings(path, clock).open().unwrap();
    let create = CreateApp { name: "Second".into(), ..CreateApp::default() };
    let key = first.operate(&create).unwrap().api_key;
    let second = settings(path, clock).api_key(key.expose()).open().unwrap();
    [first, second]
}

fn enrol(service: &Service, number: u32) -> UserId {
    let cellphone = format!("555-010-{number:04}");
    service.create_user("ada@example.com", &cellphone, "1").unwrap().user_id
}

fn ask(service: &Service, user: UserId, message: &str) -> String {
    let call = CreateApproval::new(user, message.parse().unwrap());
    service.handle(&call).unwrap().uuid.as_str().to_owned()
}

#[test]
fn users_are_listed_page_by_page_and_those_of_other_applications_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let [first, second] = two(&folder.path().join("users.db"), &clock);
    let users: Vec<u64> = (0..5)
        .map(|number| {
            enrol(&second, number);
            enrol(&first, number).get()
        })
        .collect();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page =
            first.operate(&ListUsers { after, most: Some(2), ..ListUsers::default() }).unwrap();
        found.extend(page.users.iter().map(|user| user.user_id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, users.iter().rev().copied().collect::<Vec<_>>());
    let all = first.operate(&ListUsers::default()).unwrap();
    let last = &all.users[0];
    assert_eq!((all.users.len(), all.next, all.total), (5, None, 5));
    first.delete_user(UserId::try_from(users[0]).unwrap()).unwrap();
    let page = first.operate(&ListUsers { most: Some(1), ..ListUsers::default() }).unwrap();
    assert_eq!((page.total, page.next), (4, Some(users[4])));
    let all = ListUsers { after: Some(users[0] + 1), ..ListUsers::default() };
    let rest = first.operate(&all).unwrap();
    assert_eq!((rest.users.len(), rest.next), (0, None));
    assert_eq!((&*last.email, &*last.number), ("ada@example.com", "+1-XXX-XXX-XX04"));
    assert_eq!((last.created, last.confirmed, &last.login), (NOW, false, &None));
    for most in [0, 1001] {
        let error =
            first.operate(&ListUsers { most: Some(most), ..ListUsers::default() }).unwrap_err();
        assert!(error.to_string().contains("most must be 1 to 1000"), "{error}");
    }
}

/// Returns the ids of the users who are found, by pages of so many.
pub(crate) fn find(service: &Service, text: &str, most: u32) -> Vec<u64> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let find = FindUsers { text: text.to_owned(), after, most: Some(most) };
        let page = service.operate(&find).unwrap();
        assert!(page.users.len() <= most as usize);
        found.extend(page.users.iter().map(|user| user.user_id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// Finds users of a service that has none yet, while another one has users with the same names.
pub(crate) fn users_are_found(first: &Service, second: &Service) {
    let user = |service: &Service, email: &str, number: &str| {
        service.create_user(email, number, "1").unwrap().user_id
    };
    let ada = user(first, "Ada.Lovelace@example.com", "555-010-0123");
    let bob = user(first, "bob_100%@example.com", "555-010-9923");
    let cy = CreateUser::without_phone("ada@other.example".parse().unwrap());
    let cy = first.handle(&cy).unwrap().user_id;
    let other = user(second, "ada.lovelace@example.com", "555-010-0123");
    first.set_login(bob, &"Ada_B".parse().unwrap()).unwrap();
    second.set_login(other, &"ada_b".parse().unwrap()).unwrap();
    let [ada, bob, cy] = [ada, bob, cy].map(UserId::get);
    let finds = |text: &str, ids: &[u64]| {
        for most in [1, 2, 100] {
            assert_eq!(find(first, text, most), ids, "{text} by {most}");
        }
    };
    finds("ada.LOVELACE@Example.com", &[ada]);
    finds(" ada@other ", &[cy]);
    // By the login name first, and each user once.
    finds("ADA", &[bob, ada, cy]);
    finds("ada_b", &[bob]);
    finds("23", &[ada, bob]);
    finds("0123", &[ada]);
    finds("(555) 010-9923", &[bob]);
    finds("0 555 010 9923", &[bob]);
    finds("+1 555 010 0123", &[ada]);
    finds("+555 010 0123", &[]);
    // The id is 3, with which the numbers of the others end.
    finds(&cy.to_string(), &[cy, ada, bob]);
    finds(&other.to_string(), &[]);
    for text in ["%", "_", "a%", "bob_", "bob_100%", "*", "\\", "'", "ada.lovelace@example.com "] {
        let ids: &[u64] = match text {
            text if text.starts_with("bob") => &[bob],
            text if text.starts_with("ada") => &[ada],
            _ => &[],
        };
        finds(text, ids);
    }
    // An e-mail address that is added, and names that are taken away.
    assert_eq!(user(first, "lady@example.com", "555-010-0123").get(), ada);
    finds("lady", &[ada]);
    finds("ada.l", &[ada]);
    first.remove_login(&"Ada_B".parse().unwrap()).unwrap();
    finds("ada_b", &[]);
    first.delete_user(UserId::try_from(ada).unwrap()).unwrap();
    finds("23", &[bob]);
    finds("lady", &[]);
    let place = FindUsers { text: "ada".into(), after: Some(format!("1.{ada}.0")), most: None };
    let error = first.operate(&place).unwrap_err().to_string();
    assert!(error.contains("Begin again"), "{error}");
    for (text, after) in [("", None), (&*"a".repeat(255), None), ("ada", Some("1.2".to_owned()))] {
        let error = first.operate(&FindUsers { text: text.into(), after, most: None }).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    }
}

#[test]
fn users_are_found_by_what_is_known_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = two(&folder.path().join("users.db"), &ManualClock::at(NOW));
    users_are_found(&first, &second);
}

#[test]
fn activities_of_a_user_are_listed_the_latest_first() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let [first, second] = two(&folder.path().join("users.db"), &clock);
    let user = ada(&first);
    for seconds in 0..3 {
        clock.set(NOW + seconds);
        first.handle(&RegisterActivity::new(user, ActivityType::PasswordReset)).unwrap();
    }
    let list = |after| ListActivities { user_id: user, after, most: Some(2) };
    let page = first.operate(&list(None)).unwrap();
    let times: Vec<_> = page.activities.iter().map(|entry| entry.time / 1000).collect();
    assert_eq!(times, [NOW as i64 + 2, NOW as i64 + 1]);
    assert_eq!(page.activities[0].kind, "password_reset");
    let rest = first.operate(&list(page.next)).unwrap();
    assert_eq!((rest.activities.len(), rest.next), (1, None));
    let error = second.operate(&list(None)).unwrap_err();
    assert!(error.to_string().contains("User not found"), "{error}");
    let error = first.operate(&list(Some("x".into()))).unwrap_err();
    assert!(error.to_string().contains("after must be what"), "{error}");
}

#[test]
fn open_approval_requests_are_listed_and_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(NOW);
    let [first, second] = two(&folder.path().join("users.db"), &clock);
    let (ada, bob, other) = (ada(&first), enrol(&first, 1), enrol(&second, 2));
    let (one, two) = (ask(&first, ada, "One?"), ask(&first, ada, "Two?"));
    let three = ask(&first, bob, "Three?");
    let of_second = ask(&second, other, "Other?");
    let list = |user_id, most| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = first.operate(&ListApprovals { user_id, after, most }).unwrap();
            found.extend(page.approvals.into_iter().map(|entry| entry.uuid));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    for most in [None, Some(1), Some(2)] {
        assert_eq!(list(None, most), [three.clone(), two.clone(), one.clone()]);
        assert_eq!(list(Some(ada), most), [two.clone(), one.clone()]);
    }
    let entry = first.operate(&ListApprovals::default()).unwrap().approvals.remove(0);
    assert_eq!((&*entry.message, entry.user_id, entry.created), ("Three?", bob.get(), NOW));
    assert_eq!(entry.expires, Some(NOW + 24 * 60 * 60));

    let cancel = |uuid: &String| first.operate(&CancelApproval { uuid: uuid.clone() });
    cancel(&two).unwrap();
    assert_eq!(list(Some(ada), None), std::slice::from_ref(&one));
    let status = |uuid: &String| first.check_approval(&uuid.parse().unwrap()).unwrap().status;
    assert_eq!((status(&two), status(&one)), (ApprovalStatus::Expired, ApprovalStatus::Pending));
    let error = cancel(&two).unwrap_err().to_string();
    assert!(error.contains("is not open any more"), "{error}");
    let error = cancel(&of_second).unwrap_err();
    assert!(matches!(error, Error::Rejected(_)), "{error}");
    let error = cancel(&"a/b".to_owned()).unwrap_err().to_string();
    assert!(error.contains("uuid"), "{error}");
    let audit = first.engine().unwrap();
    let audit = audit.audit(&seconder::engine::AuditFilter::default(), None, 100).unwrap();
    let noted = audit.entries.iter().find(|entry| entry.call == "approval.cancel").unwrap();
    assert_eq!((&*noted.verdict, noted.user_id), ("done", Some(ada.get())));

    clock.set(NOW + 24 * 60 * 60);
    assert!(list(None, None).is_empty(), "those that have expired are not open");
}
