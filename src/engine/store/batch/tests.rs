//! Tests of batches, in a store that each test controls.

use super::*;
use crate::engine::model::clock::Time;
use crate::engine::store::change::{Change, ChangeKind};
use crate::engine::store::memory::Memory;
use crate::engine::store::table::{Row, Value};
use crate::engine::store::tables::Sequence;
use std::any::Any;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A store in memory whose transactions begin when the test says so.
struct Stuck {
    rows: Memory,
    begun: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Backend for Stuck {
    fn begin(&self) -> Result<Box<dyn Any>> {
        self.rows.begin()
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.begun.lock().unwrap().send(()).unwrap();
        // Once the test is over, nothing waits.
        let _ = self.go.lock().unwrap().recv();
        self.rows.write(work)
    }

    fn is_restored(&self) -> bool {
        self.rows.is_restored()
    }

    fn copy_to(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.rows.copy_to(to, progress)
    }

    fn spend(&self, now: Time) -> Result<()> {
        self.rows.spend(now)
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.rows.read(work)
    }
}

fn stuck() -> (Stuck, Receiver<()>, Sender<()>) {
    let ((begun, seen), (go, gone)) = (channel(), channel());
    let rows = Memory::new();
    (Stuck { rows, begun: Mutex::new(begun), go: Mutex::new(gone) }, seen, go)
}

fn next(view: &mut View) -> Decided<i64> {
    let last = view.get::<Sequence>(("test".to_owned(),))?.map_or(0, |row| row.last) + 1;
    view.put(Sequence { name: "test".into(), last });
    Ok(last)
}

fn waiting(queue: &Queue) -> usize {
    queue.inner.lock().unwrap().waiting.len()
}

#[test]
fn decisions_that_fail_or_panic_take_no_others_along() {
    let (backend, begun, go) = stuck();
    let queue = Queue::default();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.run(&backend, next));
        begun.recv().unwrap();
        let wrong = scope.spawn(|| {
            queue.run(&backend, |view| {
                next(view)?;
                Err::<i64, _>(Stop::Failed(Error::storage("wrong")))
            })
        });
        let panics = scope.spawn(|| {
            queue.run(&backend, |view| {
                next(view)?;
                panic!("in a decision");
                #[allow(unreachable_code)]
                Ok(0)
            })
        });
        let right: Vec<_> = (0..3).map(|_| scope.spawn(|| queue.run(&backend, next))).collect();
        while waiting(&queue) < 5 {
            std::thread::yield_now();
        }
        go.send(()).unwrap();
        go.send(()).unwrap();
        assert_eq!(first.join().unwrap().unwrap(), 1);
        assert!(wrong.join().unwrap().unwrap_err().to_string().contains("wrong"));
        assert!(matches!(panics.join().unwrap(), Err(Error::Internal { .. })));
        let mut numbers: Vec<_> =
            right.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [2, 3, 4], "the second batch has all of them");
    });
    assert_eq!(begun.try_iter().count(), 1);
}

#[test]
fn a_row_that_cannot_be_written_fails_its_decision_alone() {
    let (backend, begun, go) = stuck();
    let queue = Queue::default();
    // A row that is there already, and that the decision did not look at.
    let blind = |view: &mut View| {
        view.append(Sequence { name: "test".into(), last: 7 });
        Ok(7)
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.run(&backend, next));
        begun.recv().unwrap();
        let blind = scope.spawn(|| queue.run(&backend, blind));
        let right = scope.spawn(|| queue.run(&backend, next));
        while waiting(&queue) < 2 {
            std::thread::yield_now();
        }
        drop(go);
        assert_eq!(first.join().unwrap().unwrap(), 1);
        assert!(matches!(blind.join().unwrap(), Err(Error::Storage { .. })));
        assert_eq!(right.join().unwrap().unwrap(), 2);
    });
}

#[test]
fn a_damaged_row_fails_the_decision_that_reads_it_alone() {
    let (backend, begun, go) = stuck();
    let queue = Queue::default();
    let values = vec![Value::Text("damaged".into()), Value::Null];
    let damage = |rows: &mut dyn Rows| {
        let change =
            Change { table: Sequence::TABLE, kind: ChangeKind::Insert, values: values.clone() };
        rows.apply(vec![change])
    };
    assert!(backend.rows.write(&mut |rows| damage(rows)).is_ok());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.run(&backend, next));
        begun.recv().unwrap();
        let reads = scope.spawn(|| {
            queue.run(&backend, |view| {
                view.get::<Sequence>(("damaged".to_owned(),)).map(|row| row.is_some())
            })
        });
        let right = scope.spawn(|| queue.run(&backend, next));
        while waiting(&queue) < 2 {
            std::thread::yield_now();
        }
        drop(go);
        assert_eq!(first.join().unwrap().unwrap(), 1);
        assert!(reads.join().unwrap().unwrap_err().to_string().contains("damaged"));
        assert_eq!(right.join().unwrap().unwrap(), 2);
    });
}

#[test]
fn nobody_waits_for_ever_for_a_store_that_hangs() {
    let (backend, begun, go) = stuck();
    let queue = Queue { patience: Duration::from_millis(20), ..Queue::default() };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.run(&backend, next));
        begun.recv().unwrap();
        let late = queue.run(&backend, next).unwrap_err().to_string();
        assert!(late.contains("nothing was changed"), "{late}");
        drop(go);
        assert_eq!(first.join().unwrap().unwrap(), 1);
    });
    assert_eq!(queue.run(&backend, next).unwrap(), 2, "what was given up is not done later");
}

/// The calls of a batch that writes nothing are put back while others are counted.
#[test]
fn the_calls_of_a_month_are_one_row_however_often_they_are_put_back() {
    let counts = Counts::default();
    for _ in 0..3 {
        counts.add(1, 202_601);
        let taken = counts.take();
        counts.add(1, 202_601);
        counts.add(2, 202_601);
        counts.put_back(taken);
    }
    let mut kept: Vec<_> = counts.take().iter().map(|row| (row.app_id, row.api_calls)).collect();
    kept.sort_unstable();
    assert_eq!(kept, [(1, 6), (2, 3)]);
}
