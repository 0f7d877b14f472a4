//! The default delivery: a folder of readable text files.

mod folder;

use super::{Deliver, Message, SPOOL};
use crate::calls::Channel;
use crate::engine::model::clock::{Clock, System, Time};
use crate::engine::model::limits::{CLOCK_SLACK, LONGEST_CODE_LIFE};
use folder::{Folder, Search};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Numbers the messages of this process across all handles, so that file names are unique.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// The number of entries of the folder in which a delivery looks for files of expired codes. Other
/// programs may keep very many files there.
const LOOKED_AT: usize = 64;

/// Writes each message to a separate file, readable by the owner only. The file names ascend with
/// time.
///
/// A file with a code is removed once the code has expired: by the next delivery, or by
/// [`Deliver::housekeep`]. Other files in the folder are left alone.
pub struct Spool {
    folder: PathBuf,
    database: PathBuf,
    clock: Arc<dyn Clock>,
    /// The place where the search for expired codes continues. `None` at the beginning of the
    /// folder.
    search: Mutex<Option<Search>>,
}

impl Spool {
    /// Returns the folder next to a database: `seconder.spool` for `seconder.db`. It is created
    /// when the first message is written.
    pub fn beside(database: &Path) -> Spool {
        Spool::with_clock(database, Arc::new(System))
    }

    pub(crate) fn with_clock(database: &Path, clock: Arc<dyn Clock>) -> Spool {
        let folder = database.with_extension("spool");
        Spool { folder, database: database.to_owned(), clock, search: Mutex::new(None) }
    }

    fn write(&self, message: &Message) -> std::io::Result<()> {
        let folder = Folder::create(&self.folder, &self.database)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let now = Time::of(&*self.clock);
        let mut name = format!("{:013}-{}-{number:06}", now.0, std::process::id());
        let mut expires = None;
        if !message.code.is_empty() {
            let seconds = i64::try_from(message.expires_at).unwrap_or(0);
            let end = Time(seconds.saturating_mul(1000));
            name += &format!("-{:013}", end.0);
            expires = Some(end);
        }
        // A reader must never see an incomplete message, so it is written under another name first.
        let unfinished = format!(".{name}");
        let file = folder.create_file(&unfinished)?;
        let done = fill(file, message, expires)
            .and_then(|()| folder.rename(&unfinished, &format!("{name}.txt")));
        if done.is_err() {
            // It may hold a code, and would never be removed. The first error is the one to report.
            let _ = folder.remove(&unfinished);
        }
        done
    }

    /// Looks at a limited number of files, and removes those whose codes have expired. Returns
    /// whether there are more to look at.
    fn remove_expired(&self) -> bool {
        // Another thread that does the same need not be waited for.
        let Ok(mut search) = self.search.try_lock() else { return false };
        let now = Time::of(&*self.clock);
        let begun = search.take().map_or_else(|| Search::begin(&self.folder), Ok);
        let Ok(mut begun) = begun else { return false };
        for _ in 0..LOOKED_AT {
            let Some(name) = begun.next() else { return false };
            if let Some(name) = name.filter(|name| has_expired(name, now)) {
                // Another process may have removed it, and one that cannot be removed harms no login.
                let _ = begun.remove(&name);
            }
        }
        *search = Some(begun);
        true
    }
}

impl Deliver for Spool {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        self.remove_expired();
        let error = |e| format!("cannot write to the spool folder {}: {e}", self.folder.display());
        self.write(message).map_err(error)
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        self.all_routes()
    }

    fn all_routes(&self) -> Vec<String> {
        vec![SPOOL.to_owned()]
    }

    fn housekeep(&self) {
        while self.remove_expired() {}
    }
}

/// Returns whether a file of this name has a code that has expired, or that would live longer than any code
/// can, which was issued while the clock was wrong. An unfinished file counts: the process that
/// wrote it was killed.
fn has_expired(name: &str, now: Time) -> bool {
    let finished = name.strip_suffix(".txt");
    let Some(name) = finished.or_else(|| name.strip_prefix('.')) else { return false };
    let parts: Vec<&str> = name.split('-').collect();
    let [written, process, number, end] = parts[..] else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ours = written.len() == 13 && number.len() >= 6 && end.len() == 13;
    if !ours || ![written, process, number, end].into_iter().all(digits) {
        return false;
    }
    let latest = now.plus(LONGEST_CODE_LIFE + CLOCK_SLACK);
    end.parse().is_ok_and(|end| Time(end) <= now || Time(end) > latest)
}

fn fill(mut file: fs::File, message: &Message, expires: Option<Time>) -> std::io::Result<()> {
    let Message { to, via, language, .. } = message;
    write!(file, "To: {to}\nVia: {}\nLanguage: {language}\n", via.name())?;
    if let Some(end) = expires {
        write!(file, "Code: {}\nExpires: {}\n", message.code, end.rfc3339())?;
    }
    write!(file, "\n{}\n", message.text)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;

    struct At(AtomicU64);

    impl Clock for At {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    const NOW: u64 = 1_700_000_000;

    fn spool(folder: &Path) -> (Spool, Arc<At>) {
        let clock = Arc::new(At(AtomicU64::new(NOW)));
        (Spool::with_clock(&folder.join("test.db"), clock.clone()), clock)
    }

    fn message(code: &str, expires_at: u64) -> Message {
        let (to, text, code) = ("+15550100123".into(), code.to_owned(), code.to_owned());
        let (id, subject, language) = (String::new(), String::new(), "en".to_owned());
        Message { id, to, via: Channel::Sms, text, language, code, expires_at, subject }
    }

    fn texts(spool: &Spool) -> BTreeSet<String> {
        let files = fs::read_dir(&spool.folder).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| fs::read_to_string(path).unwrap().lines().last().unwrap().into()).collect()
    }

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn the_file_of_a_code_is_removed_when_the_code_has_expired() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, clock) = spool(folder.path());
        spool.deliver(&message("1111111", NOW + 600)).unwrap();
        spool.deliver(&message("", 0)).unwrap();
        clock.0.store(NOW + 100, Ordering::Relaxed);
        spool.deliver(&message("2222222", NOW + 700)).unwrap();
        clock.0.store(NOW + 599, Ordering::Relaxed);
        spool.housekeep();
        assert_eq!(texts(&spool), set(&["", "1111111", "2222222"]));
        clock.0.store(NOW + 600, Ordering::Relaxed);
        spool.deliver(&message("3333333", NOW + 1200)).unwrap();
        assert_eq!(texts(&spool), set(&["", "2222222", "3333333"]));
        // A process that starts later finds files that an earlier one left behind.
        let (restarted, clock) = self::spool(folder.path());
        clock.0.store(NOW + 10_000, Ordering::Relaxed);
        restarted.housekeep();
        assert_eq!(texts(&restarted), set(&[""]));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_to_a_folder_that_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        let other = tempfile::tempdir().unwrap();
        let left = other.path().join("0001000000000-77-000001-0001000600000.txt");
        fs::write(&left, "code").unwrap();
        std::os::unix::fs::symlink(other.path(), &spool.folder).unwrap();
        let error = spool.deliver(&message("1111111", NOW + 600)).unwrap_err();
        assert!(error.contains("cannot write to the spool folder"), "{error}");
        assert!(error.contains("is a link") && error.contains("remove it"), "{error}");
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
        assert!(left.exists());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_removed_from_a_folder_that_takes_the_place_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        let other = folder.path().join("other");
        for folder in [&spool.folder, &other] {
            fs::create_dir(folder).unwrap();
            for number in 0..3 * LOOKED_AT {
                let name = format!("0001000000000-77-{number:06}-0001000600000.txt");
                fs::write(folder.join(name), "code").unwrap();
            }
        }
        assert!(spool.remove_expired(), "there are more");
        fs::rename(&spool.folder, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&other, &spool.folder).unwrap();
        spool.housekeep();
        assert_eq!(fs::read_dir(&other).unwrap().count(), 3 * LOOKED_AT);
    }

    /// Otherwise the service could write no message from then on.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_root_writes_belongs_to_the_owner_of_the_database() {
        use std::os::unix::fs::{MetadataExt, chown};
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        let database = folder.path().join("test.db");
        fs::write(&database, "").unwrap();
        chown(&database, Some(4711), Some(4712)).unwrap();
        spool.deliver(&message("1111111", NOW + 600)).unwrap();
        let owned = |path: &Path| path.symlink_metadata().map(|of| (of.uid(), of.gid())).unwrap();
        let file = fs::read_dir(&spool.folder).unwrap().next().unwrap().unwrap().path();
        assert_eq!([owned(&spool.folder), owned(&file)], [(4711, 4712); 2]);
        let modes = [&spool.folder, &file].map(|path| path.metadata().unwrap().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600]);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        fs::create_dir(&spool.folder).unwrap();
        let expired = "0001000000000-77-000001-0001000600000";
        let kept = [
            "notes.txt",
            "0001000000000-77-000001.txt",
            "0001000000000-77-000001-0001000600000.txt.bak",
            "0001000000000-77-000001-0001000600000",
            "0001000000000-77-000001-+001000600000.txt",
            "0001000000000--000001-0001000600000.txt",
            "2026-10-11-backup.txt",
            ".hidden",
        ];
        for name in kept {
            fs::write(spool.folder.join(name), name).unwrap();
        }
        fs::create_dir(spool.folder.join(format!("{expired}1.txt"))).unwrap();
        fs::create_dir(spool.folder.join("0001000000000-78-000001-0001000600000.txt")).unwrap();
        for removed in [format!("{expired}.txt"), format!(".{expired}")] {
            fs::write(spool.folder.join(removed), "code").unwrap();
        }
        spool.housekeep();
        let left = fs::read_dir(&spool.folder).unwrap().count();
        assert_eq!(left, kept.len() + 2);
        assert!(kept.iter().all(|name| spool.folder.join(name).exists()));
    }

    /// A delivery looks at a few files only, and the next one goes on from there.
    #[test]
    fn many_files_are_looked_at_in_several_deliveries() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        fs::create_dir(&spool.folder).unwrap();
        for number in 0..300 {
            let name = format!("0001000000000-77-{number:06}-0001000600000.txt");
            fs::write(spool.folder.join(name), "code").unwrap();
        }
        let left = || fs::read_dir(&spool.folder).unwrap().count();
        spool.deliver(&message("1111111", NOW + 600)).unwrap();
        assert!(left() > 300 - LOOKED_AT, "{}", left());
        for _ in 0..12 {
            spool.deliver(&message("", 0)).unwrap();
        }
        assert_eq!(left(), 13);
    }

    #[test]
    fn a_message_that_cannot_be_written_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = spool(folder.path());
        fs::create_dir(&spool.folder).unwrap();
        // Folders stand where the files would go, so that the last step fails.
        let first = COUNT.load(Ordering::Relaxed);
        for number in first..first + 100 {
            let (now, end) = (NOW * 1000, (NOW + 600) * 1000);
            let name = format!("{now:013}-{}-{number:06}-{end:013}.txt", std::process::id());
            fs::create_dir(spool.folder.join(name)).unwrap();
        }
        let error = spool.deliver(&message("1111111", NOW + 600)).unwrap_err();
        assert!(error.contains("cannot write to the spool folder"), "{error}");
        assert!(!error.contains("1111111") && !error.contains("0100123"), "{error}");
        let files = fs::read_dir(&spool.folder).unwrap().map(|entry| entry.unwrap().file_name());
        let hidden = files.filter(|name| name.to_string_lossy().starts_with('.')).count();
        assert_eq!(hidden, 0);
    }
}
