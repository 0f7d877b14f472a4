//! Symbolic links in a path. The owner of a folder can put one there at any time, and root would be led by it to a
//! file that this owner could neither read nor write.

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links in one path: as many as the kernel follows.
const MOST: usize = 40;

/// The target of a path.
#[derive(Debug)]
pub struct Resolved {
    /// The path without links, of a file that need not exist.
    pub path: PathBuf,
    /// Links that were followed, in folders too.
    pub links: Vec<Link>,
}

/// A link that was followed.
#[derive(Debug)]
pub struct Link {
    /// The path of the link, which contains no other link.
    pub path: PathBuf,
    /// The user who owns the link.
    pub owner: u32,
    /// True if it stands for a folder of the path, and not for the file.
    pub is_folder: bool,
}

/// A link that root does not follow. `Display` says what to do.
#[derive(Debug)]
pub struct Foreign {
    link: Link,
    target: PathBuf,
}

/// Follows the links of a path, also those among its folders. A loop stays in the path, and the system rejects it.
pub fn resolve(path: &Path) -> Resolved {
    let (mut done, mut links) = (PathBuf::new(), Vec::new());
    let mut left = components(path);
    while let Some(name) = left.pop() {
        let next = done.join(&name);
        match std::fs::read_link(&next) {
            Ok(target) if links.len() < MOST => {
                links.push(Link { owner: owner(&next), is_folder: !left.is_empty(), path: next });
                left.extend(components(&target));
            }
            _ => done = next,
        }
    }
    Resolved { path: done, links }
}

/// Returns the components of a path, the last one first. One that is absolute begins at the root again.
fn components(path: &Path) -> Vec<OsString> {
    let named = |component: &Component<'_>| *component != Component::CurDir;
    let names: Vec<_> = path.components().filter(named).collect();
    names.into_iter().rev().map(|component| component.as_os_str().to_owned()).collect()
}

impl Resolved {
    /// Checks, in a process of root, that no link of another user leads to a file that does not belong to that user.
    /// Other processes may use such a link, as any program does.
    ///
    /// # Errors
    /// The first such link.
    pub fn for_root(self) -> Result<PathBuf, Foreign> {
        let target = is_root().then(|| known_owner(&self.path)).flatten();
        let may_follow = |link: &Link| !is_root() || link.owner == 0 || target == Some(link.owner);
        match self.links.into_iter().find(|link| !may_follow(link)) {
            Some(link) => Err(Foreign { link, target: self.path }),
            None => Ok(self.path),
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is a link of the user {}, which root does not follow: run this as that user, or name {}",
            self.link.path.display(),
            self.link.owner,
            self.target.display()
        )
    }
}

fn owner(path: &Path) -> u32 {
    known_owner(path).unwrap_or_default()
}

#[cfg(unix)]
fn known_owner(path: &Path) -> Option<u32> {
    let found = path.symlink_metadata().ok()?;
    Some(std::os::unix::fs::MetadataExt::uid(&found))
}

#[cfg(not(unix))]
fn known_owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The standard library does not know the user of the process.
#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, lchown, symlink};

    #[test]
    fn links_are_followed_in_folders_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(at("real")).unwrap();
        symlink("real", at("folder")).unwrap();
        symlink("../folder/./file", at("real/link")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let found = resolve(&at("folder/../folder/link"));
        assert_eq!(found.path, at("real/../real/../real/file"));
        let links: Vec<_> = found.links.iter().map(|link| link.is_folder).collect();
        assert_eq!(links, [true, true, false, true], "{found:?}");
        assert_eq!(resolve(&at("loop")).path, at("loop"));
        assert_eq!(resolve(Path::new("./a/../b")).path, Path::new("a/../b"));
    }

    #[test]
    fn root_follows_links_of_others_only_to_what_is_theirs() {
        if !is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        std::fs::write(at("real/file"), "").unwrap();
        symlink("real", at("folder")).unwrap();
        symlink("folder/file", at("link")).unwrap();
        let led = |name| resolve(&at(name)).for_root().map_err(|foreign| foreign.to_string());
        assert!(led("link").is_ok());
        lchown(at("folder"), Some(4711), None).unwrap();
        for path in ["link", "folder/file"] {
            let error = led(path).unwrap_err();
            assert!(error.contains("folder is a link of the user 4711"), "{error}");
        }
        chown(at("real/file"), Some(4711), None).unwrap();
        assert!(led("link").is_ok());
        lchown(at("link"), Some(4712), None).unwrap();
        assert!(led("link").unwrap_err().contains("link is a link of the user 4712"));
    }
}
