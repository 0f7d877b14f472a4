//! Threads, their queue, and refused calls.

use super::*;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Longer than any test takes.
const AN_HOUR: Duration = Duration::from_secs(3600);

/// Returns work that is under way until the other end is dropped.
fn blocked() -> (SyncSender<()>, impl FnOnce() + Send) {
    let (end, ended): (_, Receiver<()>) = sync_channel(0);
    let work = move || {
        // The other end has gone.
        let _ = ended.recv();
    };
    (end, work)
}

fn task(work: impl FnOnce() + Send + 'static) -> Task {
    Task { since: Instant::now(), work: Box::new(work) }
}

fn wait_until(is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn threads_are_begun_as_needed_and_used_again() {
    let pool = Pool::new("test", 3, AN_HOUR);
    assert_eq!(pool.load(), Load::default());
    for _ in 0..20 {
        let (done, is_done) = sync_channel(1);
        pool.push(Lane::Network, task(move || done.send(()).unwrap())).unwrap();
        is_done.recv().unwrap();
        wait_until(|| pool.0.state().idle.len() == 1);
    }
    assert_eq!(pool.load().threads, 1);
    let ends: Vec<_> = (0..5)
        .map(|_| {
            let (end, work) = blocked();
            pool.push(Lane::Network, task(work)).unwrap();
            end
        })
        .collect();
    wait_until(|| pool.load().queued == 2);
    assert_eq!(pool.load(), Load { refused: 0, threads: 3, queued: 2 });
    drop(ends);
    wait_until(|| pool.0.state().idle.len() == 3);
}

#[test]
fn a_full_queue_refuses_and_local_logins_go_first() {
    let pool = Pool::new("test", 1, AN_HOUR);
    let (end, work) = blocked();
    pool.push(Lane::Network, task(work)).unwrap();
    wait_until(|| pool.load().queued == 0);
    let (done, order) = sync_channel(2 * QUEUED);
    for number in 0..QUEUED {
        assert!(!pool.is_full(Lane::Network));
        let done = done.clone();
        pool.push(Lane::Network, task(move || done.send(number).unwrap())).unwrap();
    }
    assert!(pool.is_full(Lane::Network) && !pool.is_full(Lane::Local));
    pool.push(Lane::Local, task(move || done.send(QUEUED).unwrap())).unwrap();
    assert_eq!(pool.load(), Load { refused: 1, threads: 1, queued: QUEUED + 1 });
    drop(end);
    let order: Vec<usize> = order.iter().collect();
    assert_eq!(order[0], QUEUED);
    assert!(order[1..].iter().copied().eq(0..QUEUED));
    assert!(!pool.is_full(Lane::Network));
}

#[test]
fn a_queue_whose_first_has_waited_for_long_refuses() {
    let pool = Pool::new("test", 1, Duration::ZERO);
    let (_end, work) = blocked();
    pool.push(Lane::Network, task(work)).unwrap();
    wait_until(|| pool.load().queued == 0);
    assert!(!pool.is_full(Lane::Network));
    pool.push(Lane::Network, task(|| {})).unwrap();
    assert!(pool.is_full(Lane::Network));
    assert_eq!(pool.load().refused, 1);
}

#[test]
fn what_nobody_waits_for_is_not_begun_and_a_panic_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let pool = Pool::new("test", 1, AN_HOUR);
    let (end, work) = blocked();
    pool.push(Lane::Network, task(work)).unwrap();
    let (begun, is_begun) = sync_channel(1);
    runtime.block_on(async {
        let run = pool.run(Lane::Network, move || begun.send(()));
        tokio::select! {
            biased;
            _ = run => panic!("there is one thread, which is busy"),
            () = async {} => {}
        }
    });
    drop(end);
    assert!(is_begun.recv().is_err());
    let outcome = runtime.block_on(pool.run::<()>(Lane::Network, || panic!("in a call")));
    assert_eq!(outcome, Err(Unhandled::Panicked));
    assert_eq!(runtime.block_on(pool.run(Lane::Network, || 7)), Ok(7));
}
