//! The groups of calls: those of a service, and those that it has in an attribute.

use super::PYTHON;
use crate::model::Call;

/// A group of calls.
pub(super) struct Group {
    /// Its name in the declarations of its calls. `None`: of those that name no group.
    name: Option<&'static str>,
    /// The class that is generated.
    pub(super) class: &'static str,
    /// Its base.
    pub(super) base: &'static str,
    /// The class that programs use, which is written by hand, and its module.
    pub(super) holder: &'static str,
    pub(super) module: &'static str,
    pub(super) docs: &'static str,
}

/// All groups, in the order of their classes.
pub(super) const GROUPS: [Group; 3] = [
    Group {
        name: None,
        class: "Calls",
        base: "Caller",
        holder: "Service",
        module: "seconder",
        docs: "The calls of the interface; :class:`seconder.Service` makes them.",
    },
    Group {
        name: Some("admin"),
        class: "AdminCalls",
        base: "CallerPart",
        holder: "Admin",
        module: "seconder.admin",
        docs: "The calls of an operator; :class:`seconder.admin.Admin` makes them.",
    },
    Group {
        name: Some("machines"),
        class: "MachineCalls",
        base: "CallerPart",
        holder: "Machines",
        module: "seconder.machines",
        docs: "The calls of login machines; :class:`seconder.machines.Machines` makes them.",
    },
];

impl Group {
    /// The group of a call.
    pub(super) fn of(call: &Call) -> &'static Group {
        let name = call.declared.overrides.note(PYTHON, "group");
        GROUPS.iter().find(|group| group.name == name).unwrap_or(&GROUPS[0])
    }

    pub(super) fn has(&self, call: &Call) -> bool {
        Group::of(call).class == self.class
    }
}
