//! Maps peers of a local socket to their rights.

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use seconder::http::{Peer, Right, Rights};
use std::ffi::CString;

/// The user and the group that stand for all users and groups of another user namespace without a
/// number in this one: such a peer may be anybody.
const OVERFLOW: u32 = 65534;

/// The rights of the peers of a local socket. A peer has the rights of all rules that apply to it, and no rights
/// without a rule.
///
/// The groups of a peer are the one that its process runs as, and the ones that the user database lists for its user:
/// the supplementary groups of the process itself cannot be read safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRules(Vec<(Who, Right)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    User(u32),
    Group(u32),
    Any,
}

impl Default for PeerRules {
    /// Lets root and the user of this process make every call.
    fn default() -> PeerRules {
        let own = Uid::effective().as_raw();
        let mut rules = vec![(Who::User(0), Right::Application)];
        if own != 0 {
            rules.push((Who::User(own), Right::Application));
        }
        PeerRules(rules)
    }
}

impl PeerRules {
    /// Reads rules such as `group:mail=login`: who is `root`, `user:NAME` or `user:NUMBER`,
    /// `group:NAME` or `group:NUMBER`, or `any`, and the right one of [`Right`]. Without any text,
    /// the default.
    ///
    /// # Errors
    /// All errors in the texts.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<PeerRules, Vec<String>> {
        if texts.is_empty() {
            return Ok(PeerRules::default());
        }
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        for text in texts.iter().map(AsRef::as_ref) {
            match rule(text) {
                Ok(rule) if rules.contains(&rule) => {
                    problems.push(format!("`{text}` is given twice"));
                }
                Ok(rule) => rules.push(rule),
                Err(problem) => problems.push(format!("`{text}` {problem}")),
            }
        }
        match problems.is_empty() {
            true => Ok(PeerRules(rules)),
            false => Err(problems),
        }
    }

    /// Returns whether some rule is for any user.
    pub fn allow_any(&self) -> bool {
        self.0.iter().any(|(who, _)| *who == Who::Any)
    }

    /// Returns whether the rights of this user depend on the user database, whose look-ups may block.
    pub(crate) fn need_names(&self, uid: u32) -> bool {
        let known = self.rights(uid, &[]);
        let adds = |(who, right): &(Who, Right)| match who {
            Who::Group(_) => !known.has(*right),
            _ => *right == Right::OwnAccount && known.has(*right),
        };
        uid != OVERFLOW && !known.has(Right::Application) && self.0.iter().any(adds)
    }

    /// Returns the peer that runs as this user and group.
    pub(crate) fn peer(&self, uid: u32, gid: u32) -> Peer {
        let user = match self.need_names(uid) {
            true => User::from_uid(Uid::from_raw(uid)).ok().flatten(),
            false => None,
        };
        let mut groups = vec![gid];
        groups.extend(user.as_ref().map(groups_of).unwrap_or_default());
        Peer::new(uid, user.map(|user| user.name), self.rights(uid, &groups))
    }

    /// Returns the peer that runs as this user and group, if its name and other groups could not be
    /// looked up.
    pub(crate) fn peer_without_names(&self, uid: u32, gid: u32) -> Peer {
        Peer::new(uid, None, self.rights(uid, &[gid]))
    }

    fn rights(&self, uid: u32, groups: &[u32]) -> Rights {
        let applies = |who: Who| match who {
            Who::Any => true,
            Who::User(wanted) => wanted == uid && uid != OVERFLOW,
            Who::Group(wanted) => groups.contains(&wanted) && wanted != OVERFLOW,
        };
        let granted = self.0.iter().filter(|(who, _)| applies(*who));
        granted.fold(Rights::default(), |rights, (_, right)| rights.with(*right))
    }
}

/// Returns the groups that the user database lists for a user.
fn groups_of(user: &User) -> Vec<u32> {
    let Ok(name) = CString::new(user.name.as_str()) else { return Vec::new() };
    let groups = getgrouplist(&name, user.gid).unwrap_or_default();
    groups.into_iter().map(Gid::as_raw).collect()
}

fn rule(text: &str) -> Result<(Who, Right), String> {
    let (who, right) = text.split_once('=').ok_or("must be WHO=WHAT, such as group:mail=login")?;
    let right = right
        .parse::<Right>()
        .map_err(|_| "must end with =login, =application or =own-account".to_owned());
    let who = match who.split_once(':') {
        None if who == "root" => Ok(Who::User(0)),
        None if who == "any" => Ok(Who::Any),
        Some(("user", name)) => user_number(name).map(Who::User),
        Some(("group", name)) => group_number(name).map(Who::Group),
        _ => Err("must begin with root, user:NAME, group:NAME or any".to_owned()),
    };
    match (who, right) {
        (Ok(who), Ok(right)) => Ok((who, right)),
        (Err(one), Err(other)) => Err(format!("{one}, and {other}")),
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
    }
}

/// Returns the number of a user of this machine, by name or number.
///
/// # Errors
/// The error, to be read after the name of an option.
pub fn user_number(name: &str) -> Result<u32, String> {
    number("user", name, || Ok(User::from_name(name)?.map(|user| user.uid.as_raw())))
}

/// Returns the number of a group, by name or number.
///
/// # Errors
/// The error.
pub(crate) fn group_number(name: &str) -> Result<u32, String> {
    number("group", name, || Ok(Group::from_name(name)?.map(|group| group.gid.as_raw())))
}

fn number(
    kind: &str,
    name: &str,
    look_up: impl FnOnce() -> nix::Result<Option<u32>>,
) -> Result<u32, String> {
    let number = match name.parse::<u32>() {
        // Not `+7`, which the parser accepts.
        Ok(number) if name.bytes().all(|byte| byte.is_ascii_digit()) => Some(number),
        _ => match look_up() {
            Ok(number) => number,
            Err(error) => {
                return Err(format!("names a {kind} that could not be looked up: {error}"));
            }
        },
    };
    match number {
        // The number that means "leave it as it is".
        None | Some(u32::MAX) => Err(format!("names a {kind} that does not exist: {name}")),
        Some(OVERFLOW) => Err(format!(
            "names the {kind} {OVERFLOW}, which stands for everybody of other user namespaces"
        )),
        Some(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(rules: &PeerRules, uid: u32, gid: u32) -> Vec<&'static str> {
        let peer = rules.peer(uid, gid);
        let has = Right::ALL.into_iter().filter(|right| peer.rights().has(*right));
        has.map(Right::name).collect()
    }

    fn rights_of(right: Right) -> Rights {
        Rights::default().with(right)
    }

    fn rules(texts: &[&str]) -> PeerRules {
        PeerRules::parse(texts).unwrap()
    }

    #[test]
    fn rights_add_up_and_nobody_has_any_without_a_rule() {
        let some = rules(&["root=login", "user:4711=application", "group:4712=own-account"]);
        assert_eq!(rights(&some, 0, 4712), ["login", "own-account"]);
        assert_eq!(rights(&some, 4711, 1), ["application"]);
        assert_eq!(rights(&some, 4713, 4712), ["own-account"]);
        assert!(rights(&some, 4713, 4711).is_empty());
        let any = rules(&["any=own-account"]);
        assert_eq!(rights(&any, 4713, 4713), ["own-account"]);
        // By name, and the groups that the user database lists: root is in the group root.
        assert_eq!(rights(&rules(&["user:root=login"]), 0, 4711), ["login"]);
        assert_eq!(rights(&rules(&["group:root=login"]), 0, 4711), ["login"]);
        assert_eq!(rules(&["root=login"]), rules(&["user:0=login"]));
    }

    #[test]
    fn without_rules_root_and_the_own_user_make_every_call() {
        let none = rules(&[]);
        assert_eq!(rights(&none, 0, 0), ["application"]);
        assert_eq!(rights(&none, Uid::effective().as_raw(), 4711), ["application"]);
        assert!(rights(&none, 4711, 0).is_empty());
        assert!(!none.need_names(4711) && !none.allow_any());
    }

    #[test]
    fn names_are_looked_up_only_where_they_may_add_a_right() {
        let some = rules(&["root=application", "user:1=login", "group:7=login"]);
        assert!(!some.need_names(0) && !some.need_names(1) && some.need_names(2));
        let own = rules(&["user:1=own-account", "user:2=login"]);
        assert!(own.need_names(1) && !own.need_names(2) && !own.need_names(3));
        let group = rules(&["group:7=own-account"]);
        assert!(group.need_names(1) && !group.need_names(OVERFLOW));
    }

    #[test]
    fn users_of_other_namespaces_have_the_rights_of_any_alone() {
        let some = PeerRules(vec![
            (Who::User(OVERFLOW), Right::Application),
            (Who::Group(OVERFLOW), Right::Login),
            (Who::Any, Right::OwnAccount),
        ]);
        assert_eq!(rights(&some, OVERFLOW, OVERFLOW), ["own-account"]);
        let peer = some.peer_without_names(OVERFLOW, OVERFLOW);
        assert_eq!((peer.uid(), peer.rights()), (OVERFLOW, rights_of(Right::OwnAccount)));
    }

    /// The kernel says it of the process, so it needs no look-up.
    #[test]
    fn the_group_of_a_process_counts_although_the_user_database_hangs() {
        let group = rules(&["group:7=login", "group:8=application"]);
        assert_eq!(group.peer_without_names(4711, 7).rights(), rights_of(Right::Login));
    }

    #[test]
    fn everything_that_is_wrong_is_reported_at_once() {
        let texts = [
            "root",
            "root=admin",
            "toor=login",
            "user:no-such-user-here=login",
            "group:no-such-group-here=login",
            "user:=login",
            "user:+1=login",
            "user:4294967295=login",
            "group:65534=login",
            "any=login",
            "any=login",
            "user:0=login",
            "root=login",
            "toor=admin",
        ];
        let problems = PeerRules::parse(&texts).unwrap_err();
        for (problem, wanted) in problems.iter().zip([
            "`root` must be WHO=WHAT",
            "`root=admin` must end with =login, =application or =own-account",
            "`toor=login` must begin with root, user:NAME, group:NAME or any",
            "`user:no-such-user-here=login` names a user that does not exist",
            "names a group that does not exist: no-such-group-here",
            "`user:=login` names a user that does not exist",
            "`user:+1=login` names a user that does not exist",
            "does not exist: 4294967295",
            "everybody of other user namespaces",
            "`any=login` is given twice",
            "`root=login` is given twice",
            "any, and must end with",
        ]) {
            assert!(problem.contains(wanted), "{problem} / {wanted}");
        }
        assert_eq!(problems.len(), 12, "{problems:?}");
    }
}
