//! The folders that lead to a socket: no other user may be able to replace the socket or a folder.

use super::file::cannot;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The most symbolic links, more than a path needs. The system follows 40.
const LINKS: u32 = 40;

/// Rejects a folder in which others could put a socket of their own in the place of this one, which
/// login processes would then believe. That includes every folder that the path names, and every
/// symbolic link in it: their owners could redirect clients, wherever the path leads now.
pub(super) fn check_folder(folder: &Path) -> Result<(), String> {
    let start = std::path::absolute(folder).map_err(cannot("be created"))?;
    let mut names = names(&start);
    let mut reached = PathBuf::from("/");
    let mut found = look(&reached)?;
    let mut links = 0;
    check(&reached, &found, names.is_empty())?;
    while let Some(name) = names.pop_front() {
        if name == ".." {
            // The path so far has no links, so the system goes to the same folder.
            reached.pop();
            found = look(&reached)?;
        } else {
            let next = reached.join(&name);
            found = look(&next)?;
            if found.is_symlink() {
                links += 1;
                if links > LINKS {
                    return Err("cannot be created: there are too many symbolic links".into());
                }
                check_owner(&next, &found)?;
                let target = fs::read_link(&next).map_err(cannot("be created"))?;
                if target.is_absolute() {
                    reached = PathBuf::from("/");
                }
                for name in self::names(&target).into_iter().rev() {
                    names.push_front(name);
                }
                found = look(&reached)?;
            } else {
                reached = next;
            }
        }
        check(&reached, &found, names.is_empty())?;
    }
    Ok(())
}

/// Returns the components of a path, without the ones that lead nowhere.
fn names(path: &Path) -> VecDeque<OsString> {
    let plain = |part| !matches!(part, Component::RootDir | Component::CurDir);
    let parts = path.components().filter(|part| plain(*part));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

fn look(path: &Path) -> Result<Metadata, String> {
    fs::symlink_metadata(path).map_err(cannot("be created"))
}

/// Rejects a folder in which others can replace the next component of the path; if it is the last
/// one, also one in which they can create files.
fn check(folder: &Path, found: &Metadata, is_last: bool) -> Result<(), String> {
    check_owner(folder, found)?;
    // Only the owner of a file can move it in a folder such as /tmp.
    let is_sticky = found.uid() == 0 && found.mode() & 0o1000 != 0 && !is_last;
    if found.mode() & 0o022 != 0 && !is_sticky {
        return Err(format!(
            "must not be in {}, where other users can create files, and so a socket in its \
             place: use a folder such as /run/seconder",
            folder.display()
        ));
    }
    Ok(())
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), String> {
    if [0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        return Ok(());
    }
    let (shown, owner) = (path.display(), found.uid());
    Err(match found.is_symlink() {
        true => format!(
            "must not be reached by {shown}, a symbolic link of user {owner}, who could lead it to \
             another socket: write the path without it"
        ),
        false => format!(
            "must not be in {shown}, which belongs to user {owner}, who could put a socket in its \
             place: use a folder such as /run/seconder"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    #[test]
    fn a_folder_and_those_above_it_belong_to_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let with = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            check_folder(&inner).is_ok()
        };
        assert!(with(&inner, 0o755));
        for mode in [0o775, 0o757, 0o1777] {
            assert!(!with(&inner, mode), "{mode:o}");
        }
        assert!(with(&inner, 0o700));
        assert!(!with(folder.path(), 0o770) && with(folder.path(), 0o700));
    }

    /// The owner of a folder or a link of the path can lead it to a socket of their own.
    #[test]
    fn links_belong_to_nobody_else_and_are_in_no_folder_of_theirs() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().join(name);
        for folder in ["own", "own/inner", "theirs"] {
            fs::create_dir(at(folder)).unwrap();
        }
        symlink("own", at("link")).unwrap();
        symlink(at("link/inner"), at("absolute")).unwrap();
        symlink("../link/../link/./inner", at("own/crooked")).unwrap();
        symlink(at("own"), at("theirs/link")).unwrap();
        symlink("circle", at("circle")).unwrap();
        symlink("theirs/link", at("through")).unwrap();
        for good in ["link", "link/inner", "absolute", "own/crooked", "theirs/link", "through"] {
            assert_eq!(check_folder(&at(good)), Ok(()), "{good}");
        }
        assert!(check_folder(&at("circle")).unwrap_err().contains("too many symbolic links"));
        assert!(check_folder(&at("nowhere")).unwrap_err().contains("cannot be created"));
        let writable = |mode| fs::set_permissions(at("theirs"), Permissions::from_mode(mode));
        writable(0o777).unwrap();
        for bad in ["theirs/link", "through", "theirs/../own"] {
            let reason = check_folder(&at(bad)).unwrap_err();
            assert!(reason.contains("theirs, where other users can create"), "{bad} {reason}");
        }
        writable(0o755).unwrap();
        // Only root can make another user the owner.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        lchown(at("theirs"), Some(4711), None).unwrap();
        for bad in ["theirs/link", "through", "theirs/../own"] {
            let reason = check_folder(&at(bad)).unwrap_err();
            assert!(reason.contains("theirs, which belongs to user 4711"), "{bad} {reason}");
        }
        lchown(at("link"), Some(4711), None).unwrap();
        for bad in ["link", "absolute", "own/crooked"] {
            let reason = check_folder(&at(bad)).unwrap_err();
            assert!(reason.contains("link, a symbolic link of user 4711"), "{bad} {reason}");
        }
        assert_eq!(check_folder(&at("own")), Ok(()));
    }

    /// `/var/run` of most systems: a link of root in a folder of root.
    #[test]
    fn a_link_of_root_is_followed() {
        if fs::symlink_metadata("/var/run").is_ok_and(|found| found.is_symlink()) {
            assert_eq!(check_folder(Path::new("/var/run")), check_folder(Path::new("/run")));
        }
    }
}
