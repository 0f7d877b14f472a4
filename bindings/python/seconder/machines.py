"""The calls of login machines, as ``service.machines``."""

from __future__ import annotations

from seconder.calls import MachineCalls


class Machines(MachineCalls):
    """The calls of login machines: login names, and logins while the service cannot be reached;
    :attr:`seconder.Service.machines` makes them.

    Example:
        >>> done = service.machines.set_login(user.user_id, "ada")
        >>> service.machines.find_user("ada").user_id == user.user_id
        True
    """

    __slots__ = ()
