//! Conformance of jobs: every store lists the same jobs in the same order, and manages them alike.

use super::*;
use crate::engine::delivery::Outcome;
use crate::engine::handlers::jobs::JobFilter;

/// A gateway that lets messages wait, whose route is given by the number.
struct Waits;

impl crate::engine::delivery::Deliver for Waits {
    fn deliver(&self, _: &Message) -> std::result::Result<(), String> {
        Ok(())
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        match message.to.ends_with('3') {
            true => Outcome::Permanent("unknown number".to_owned()),
            false => Outcome::Retry { after: None, reason: "busy".to_owned() },
        }
    }

    fn routes(&self, to: &str, _: Channel) -> Vec<String> {
        vec![format!("route-{}", &to[to.len() - 1..])]
    }
}

/// Lists and manages some jobs of several routes as an operator does, and returns what is seen.
pub(super) fn managed(store: Store) -> Vec<String> {
    let clock = Given(Arc::new(AtomicU64::new(1_700_000_000_000)));
    let settings = EngineSettings {
        clock: Arc::new(clock.clone()),
        random: Arc::new(Seeded(AtomicU64::new(7))),
        ..EngineSettings::default()
    };
    let engine = Engine::open(store, Arc::new(Waits), None, settings).unwrap();
    for of in 0..6 {
        let phone = number(of).parse().unwrap();
        let call = CreateUser::new("a@example.com".parse().unwrap(), phone, "1".parse().unwrap());
        let user = engine.handle(&call).unwrap().user_id;
        let sent = engine.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) });
        assert_eq!(sent.is_ok(), of != 3);
        clock.0.fetch_add(u64::from(of % 2), Ordering::Relaxed);
    }
    let mut seen = Vec::new();
    let list = |seen: &mut Vec<String>| {
        let mut after = None;
        loop {
            let page = engine.jobs(&JobFilter::default(), after.as_deref(), 2).unwrap();
            seen.push(shown(Ok(&page)));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        seen.push(shown(engine.job_status()));
    };
    list(&mut seen);
    let all = engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
    assert_eq!(all.len(), 6);
    assert!(all.windows(2).all(|two| two[0].state != two[1].state || two[0].route < two[1].route));
    seen.push(shown(engine.replay_job(&all[0].id)));
    seen.push(shown(engine.cancel_job(&all[1].id)));
    seen.push(shown(engine.replay_job(&all[5].id)));
    seen.push(shown(engine.cancel_job(&all[5].id)));
    seen.push(shown(engine.cancel_job(&all[1].id)));
    list(&mut seen);
    seen
}

#[test]
fn sqlite_has_the_jobs_that_the_store_in_memory_has() {
    assert_eq!(managed(sqlite()), managed(memory()));
}
