//! Notices that the program has closed the descriptors of a database that is open.
//!
//! A program that calls closefrom(3) closes SQLite's descriptors too, and files that it opens next get
//! their numbers. SQLite would write the database and its log into those files, and close them.

use super::files::beside;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstat, fstatat};
use std::ffi::CString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The device and the inode.
type Id = (u64, u64);

/// The directory in which the kernel lists the descriptors of this process.
const LIST: &str = "/proc/self/fd";

/// The descriptors of one service on a database.
pub(super) struct Descriptors {
    process: u32,
    /// [`LIST`], open, and its id: safe Rust examines a number only by its name there.
    list: OwnedFd,
    id: Id,
    /// Descriptors of this service: first the list's, then the writing connection's.
    own: Vec<Descriptor>,
    writing: usize,
    /// The database, its log and the index of the log.
    files: [PathBuf; 3],
    /// The descriptors that the process had before.
    others: Vec<RawFd>,
}

struct Descriptor {
    number: RawFd,
    /// The number as a name in [`LIST`].
    name: CString,
    id: Id,
}

/// The least harmful state comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum State {
    /// All are as they were opened.
    Intact,
    /// Some were closed, and their numbers are free: SQLite can close them, and harms nothing.
    Closed,
    /// The numbers of some belong to other files, which SQLite must not touch.
    Reused,
}

impl Descriptors {
    /// Begins before the first connection to this database is opened. Returns `None` without /proc.
    pub(super) fn begin(database: &Path) -> Option<Descriptors> {
        let list = open_list()?;
        let id = id_of(&list)?;
        let own = vec![Descriptor::new(list.as_raw_fd(), id)?];
        let files = ["", "-wal", "-shm"].map(|end| beside(database, end));
        let others = listed(&files).into_iter().map(|(number, _)| number).collect();
        let process = std::process::id();
        Some(Descriptors { process, list, id, own, writing: 0, files, others })
    }

    /// Adds the descriptors of the database that were opened. Some existed before, because a connection that is closed
    /// leaves them to the next one: while there is a log, SQLite closes the descriptors of the database and of the
    /// index only with the last connection, no matter which connection uses them.
    pub(super) fn add_opened(&mut self, has_log: bool) {
        let log = std::fs::metadata(&self.files[1]).ok().map(|file| id(&file));
        for (number, id) in listed(&self.files) {
            let is_known = self.own.iter().any(|known| known.number == number);
            let stays = has_log && Some(id) != log;
            if !is_known && (stays || !self.others.contains(&number)) {
                self.own.extend(Descriptor::new(number, id));
            }
        }
    }

    /// Adds one that this library itself has opened.
    pub(super) fn add(&mut self, descriptor: &OwnedFd) {
        let number = descriptor.as_raw_fd();
        self.own.extend(id_of(descriptor).and_then(|id| Descriptor::new(number, id)));
    }

    /// Marks the descriptors added so far as the writing connection's.
    pub(super) fn end_of_writing(&mut self) {
        self.writing = self.own.len();
    }

    /// Returns whether the list is still open: the quickest way to notice closefrom(3).
    pub(super) fn is_listed(&self) -> bool {
        id_of(&self.list) == Some(self.id)
    }

    /// Says whether the connection that writes can be used.
    pub(super) fn can_write(&self) -> bool {
        let is_intact = |one: &Descriptor| one.state(look_up(&self.list, one)) == State::Intact;
        self.is_listed() && self.own[..self.writing].iter().all(is_intact)
    }

    /// Returns the state of all of them, also in a forked child of the process that opened them. Nothing is opened for
    /// this: it would get the number of one that was closed.
    pub(super) fn state(&self) -> State {
        let is_own = std::process::id() == self.process;
        if is_own && self.is_listed() {
            return self
                .own
                .iter()
                .map(|one| one.state(look_up(&self.list, one)))
                .max()
                .unwrap_or(State::Intact);
        }
        // The list that is open belongs to the parent, or is another file by now.
        match std::fs::metadata(LIST) {
            Ok(_) => self
                .own
                .iter()
                .map(|one| one.state(look_up_here(one)))
                .max()
                .unwrap_or(State::Intact),
            // If nothing can be found out, nothing is touched.
            Err(_) if is_own => State::Reused,
            Err(_) => State::Intact,
        }
    }
}

impl Descriptor {
    fn new(number: RawFd, id: Id) -> Option<Descriptor> {
        Some(Descriptor { number, name: CString::new(number.to_string()).ok()?, id })
    }

    fn state(&self, found: std::io::Result<Id>) -> State {
        match found {
            Ok(id) if id == self.id => State::Intact,
            Ok(_) => State::Reused,
            Err(error) if error.kind() == ErrorKind::NotFound => State::Closed,
            // The program has given up the right to look: `is_listed` still knows.
            Err(_) => State::Intact,
        }
    }
}

/// Returns the file that has the number of a descriptor, in a list that is open.
fn look_up(list: &OwnedFd, of: &Descriptor) -> std::io::Result<Id> {
    let file = fstatat(list, of.name.as_c_str(), AtFlags::empty())?;
    Ok((file.st_dev, file.st_ino))
}

/// The same in this process, which may be a child.
fn look_up_here(of: &Descriptor) -> std::io::Result<Id> {
    std::fs::metadata(format!("{LIST}/{}", of.number)).map(|file| id(&file))
}

/// Returns the descriptors of these files that the process has.
fn listed(files: &[PathBuf]) -> Vec<(RawFd, Id)> {
    let ids: Vec<Id> =
        files.iter().filter_map(|file| Some(id(&std::fs::metadata(file).ok()?))).collect();
    let Ok(list) = std::fs::read_dir(LIST) else { return Vec::new() };
    let found = list.flatten().filter_map(|entry| {
        let id = id(&std::fs::metadata(entry.path()).ok()?);
        let number = entry.file_name().to_str()?.parse().ok()?;
        ids.contains(&id).then_some((number, id))
    });
    found.collect()
}

pub(super) fn id(file: &Metadata) -> Id {
    (file.dev(), file.ino())
}

fn id_of(descriptor: &OwnedFd) -> Option<Id> {
    fstat(descriptor).ok().map(|file| (file.st_dev, file.st_ino))
}

fn open_list() -> Option<OwnedFd> {
    open(LIST, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty()).ok()
}
