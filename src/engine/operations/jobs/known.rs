//! Routes that a message has tried, as its row keeps them.

use crate::engine::model::clock::Time;
use std::fmt::{self, Write};

/// A line for each route, which ends with its name.
#[derive(Default)]
pub(super) struct KnownRoutes(Vec<(String, RouteState)>);

/// The state of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteState {
    /// It is not asked again.
    Failed,
    Waits {
        /// The number of attempts it has made.
        attempts: u32,
        /// It is not asked before this.
        until: Time,
        /// True if it was asked since the message waited the last time.
        in_round: bool,
    },
}

impl KnownRoutes {
    /// Reads the routes from a column. Damaged lines are ignored.
    pub(super) fn read(text: &str) -> KnownRoutes {
        KnownRoutes(text.lines().filter_map(line).collect())
    }

    pub(super) fn of(&self, route: &str) -> RouteState {
        let of = self.0.iter().find(|(name, _)| name == route);
        let none = RouteState::Waits { attempts: 0, until: Time(0), in_round: false };
        of.map_or(none, |(_, standing)| *standing)
    }

    /// Returns the number of attempts that a route has made.
    pub(super) fn attempts(&self, route: &str) -> u32 {
        match self.of(route) {
            RouteState::Waits { attempts, .. } => attempts,
            RouteState::Failed => 0,
        }
    }

    pub(super) fn note(&mut self, route: &str, standing: RouteState) {
        self.0.retain(|(name, _)| name != route);
        self.0.push((route.to_owned(), standing));
    }

    /// From here on, every route that has not failed can be asked again.
    pub(super) fn end_round(&mut self) {
        for (_, standing) in &mut self.0 {
            if let RouteState::Waits { in_round, .. } = standing {
                *in_round = false;
            }
        }
    }
}

fn line(line: &str) -> Option<(String, RouteState)> {
    let (standing, rest) = line.split_once(' ')?;
    if standing == "failed" {
        return Some((rest.to_owned(), RouteState::Failed));
    }
    let mut parts = rest.splitn(3, ' ');
    let (attempts, until) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let in_round = standing == "asked";
    Some((parts.next()?.to_owned(), RouteState::Waits { attempts, until: Time(until), in_round }))
}

impl fmt::Display for KnownRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (route, standing) in &self.0 {
            match standing {
                RouteState::Failed => write!(f, "failed {route}")?,
                RouteState::Waits { attempts, until, in_round } => {
                    let when = if *in_round { "asked" } else { "before" };
                    write!(f, "{when} {attempts} {} {route}", until.0)?;
                }
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_what_is_known_of_each_route() {
        let mut asked = KnownRoutes::default();
        let waits = |in_round| RouteState::Waits { attempts: 3, until: Time(1700), in_round };
        asked.note("first", waits(false));
        asked.note("the second one", RouteState::Failed);
        asked.note("first", waits(true));
        let read = KnownRoutes::read(&asked.to_string());
        assert_eq!(read.of("first"), waits(true));
        assert_eq!(read.of("the second one"), RouteState::Failed);
        assert_eq!((read.attempts("first"), read.attempts("third")), (3, 0));
        let mut later = read;
        later.end_round();
        assert_eq!(KnownRoutes::read(&later.to_string()).of("first"), waits(false));
        assert_eq!(KnownRoutes::read("asked x 1 first\n\nfailed\nbefore 1").0, []);
    }
}
