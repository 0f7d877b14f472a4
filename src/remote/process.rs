//! Values that each process has a separate copy of.

use std::sync::OnceLock;

/// A value that a forked child does not share with its parent: it would corrupt the traffic of both if
/// it wrote to its parent's connections. The list of processes needs no lock, which another thread of
/// the parent might have held at the time of the fork.
pub(super) struct PerProcess<T> {
    id: Id,
    value: T,
    child: OnceLock<Box<PerProcess<T>>>,
}

/// Identifies a process. The id of a process that has ended may be reused for a descendant, but not
/// with the same parent, unless the parent's id was reused too, or both processes are the first of
/// a PID namespace; a program that creates one must open its service afterwards. A process whose
/// parent ends gets a new identity, which costs it a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Id {
    own: u32,
    parent: u32,
}

impl Id {
    fn now() -> Id {
        #[cfg(unix)]
        let parent = std::os::unix::process::parent_id();
        #[cfg(not(unix))]
        let parent = 0;
        Id { own: std::process::id(), parent }
    }
}

impl<T> PerProcess<T> {
    /// Gives this process this value.
    pub(super) fn new(value: T) -> PerProcess<T> {
        PerProcess::of(Id::now(), value)
    }

    /// Returns the value of this process, which is made if it has none yet.
    pub(super) fn get(&self, make: impl Fn() -> T) -> &T {
        self.get_of(Id::now(), make)
    }

    fn of(id: Id, value: T) -> PerProcess<T> {
        PerProcess { id, value, child: OnceLock::new() }
    }

    fn get_of(&self, id: Id, make: impl Fn() -> T) -> &T {
        let mut process = self;
        while process.id != id {
            process = match process.child.get() {
                Some(child) => child,
                // Created before `get_or_init`: a fork during that call would leave the cell locked in the child
                // permanently.
                None => {
                    let child = Box::new(PerProcess::of(id, make()));
                    process.child.get_or_init(|| child)
                }
            };
        }
        &process.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_forked_child_has_a_value_of_its_own() {
        let made = Cell::new(0);
        let make = || made.replace(made.get() + 1);
        let values = PerProcess::new(make());
        let own = Id::now();
        let child = Id { own: own.own + 1, parent: own.own };
        // By then the first process has ended, and its id can be reused.
        let grandchild = Id { own: own.own, parent: child.own };
        let found = || [own, child, grandchild].map(|id| *values.get_of(id, make));
        assert_eq!((*values.get(make), found(), found()), (0, [0, 1, 2], [0, 1, 2]));
    }
}
