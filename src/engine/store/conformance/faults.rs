//! Fault injection: a store that fails in each way in which a store can fail. A call that fails
//! without an effect says so, and no code is accepted twice even if the caller does not know the
//! outcome.

use super::threads::{NOW, check, clock, engine, file, record, sealed, targets};
use crate::engine::model::clock::Time;
use crate::engine::store::Sqlite;
use crate::engine::store::backend::{Backend, Fault, Rows};
use crate::engine::store::change::Change;
use crate::engine::store::conformance::linear::Observed;
use crate::engine::store::table::Value;
use crate::engine::store::which::Key;
use crate::{Error, Result};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The point at which a transaction fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Begin,
    Load,
    Apply,
    BeforeCommit,
    /// It is committed, but the caller does not learn so.
    AfterCommit,
}

const PLACES: [Place; 7] = [
    Place::Load,
    Place::Nowhere,
    Place::AfterCommit,
    Place::Begin,
    Place::Nowhere,
    Place::BeforeCommit,
    Place::Apply,
];

/// The state that the test reads and controls.
#[derive(Default)]
struct Control {
    fails: AtomicBool,
    /// True if one row of a batch is at fault, so that the others are carried out without it.
    of_rows: AtomicBool,
    transactions: AtomicUsize,
    failed: [AtomicUsize; PLACES.len()],
}

struct Faulty {
    rows: Sqlite,
    control: Arc<Control>,
}

impl Control {
    fn fault(&self, place: Place) -> Fault {
        let at = PLACES.iter().position(|other| *other == place).unwrap();
        self.failed[at].fetch_add(1, Ordering::Relaxed);
        let error = Error::storage(match place {
            Place::AfterCommit => "it is not known whether the call took effect",
            _ => "nothing was changed",
        });
        match place {
            Place::Load | Place::Apply if self.of_rows.load(Ordering::Relaxed) => {
                Fault::OfRow(error)
            }
            _ => Fault::OfStore(error),
        }
    }
}

impl Backend for Faulty {
    fn begin(&self) -> Result<Box<dyn Any>> {
        self.rows.begin()
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

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let control = &*self.control;
        let place = match control.fails.load(Ordering::Relaxed) {
            true => {
                let number = control.transactions.fetch_add(1, Ordering::Relaxed);
                PLACES[number % PLACES.len()]
            }
            false => Place::Nowhere,
        };
        if place == Place::Begin {
            return Err(control.fault(place));
        }
        self.rows.write(&mut |rows| {
            work(&mut FaultyRows { rows, place, control })?;
            match place {
                Place::BeforeCommit => Err(control.fault(place)),
                _ => Ok(()),
            }
        })?;
        match place {
            Place::AfterCommit => Err(control.fault(place)),
            _ => Ok(()),
        }
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.rows.read(work)
    }
}

struct FaultyRows<'a> {
    rows: &'a mut dyn Rows,
    place: Place,
    control: &'a Control,
}

impl Rows for FaultyRows<'_> {
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Vec<Vec<Value>>>, Fault> {
        match self.place {
            Place::Load => Err(self.control.fault(self.place)),
            _ => self.rows.load(keys),
        }
    }

    fn apply(&mut self, mut changes: Vec<Change>) -> Result<(), Fault> {
        if self.place == Place::Apply {
            // Some of it is written before it fails.
            changes.truncate(changes.len() / 2);
            self.rows.apply(changes)?;
            return Err(self.control.fault(self.place));
        }
        self.rows.apply(changes)
    }
}

#[test]
fn whatever_fails_no_code_is_accepted_twice_and_every_outcome_is_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let control = Arc::new(Control::default());
    let (mut nothing, mut unknown) = (0, 0);
    for round in 0..40 {
        let path = folder.path().join(format!("{round}.db"));
        let clock = clock(NOW);
        let rows = Sqlite::open(&path, false).unwrap();
        let faulty = Faulty { rows, control: Arc::clone(&control) };
        let opened = engine(sealed(faulty, &path), &clock, round);
        let all = targets(&opened, &clock, 2);
        control.of_rows.store(round % 2 == 0, Ordering::Relaxed);
        control.fails.store(true, Ordering::Relaxed);
        let mut histories = record(std::slice::from_ref(&opened.0), &all, 8, round);
        control.fails.store(false, Ordering::Relaxed);
        let calls = || histories.values().flatten();
        nothing += calls().filter(|call| call.seen == Observed::Nothing).count();
        unknown += calls().filter(|call| call.seen == Observed::Unknown).count();
        // Read from the disk, and not from the engine's memory.
        drop(opened);
        let (reopened, _) = engine(file(&path), &clock, round + 1000);
        check(&reopened, &all, &mut histories, &format!("round {round}"));
    }
    assert!(nothing > 0 && unknown > 0, "{nothing} {unknown}");
    for (place, failed) in PLACES.iter().zip(&control.failed) {
        let failed = failed.load(Ordering::Relaxed);
        assert!(*place == Place::Nowhere || failed > 0, "{place:?}: {failed}");
    }
}
