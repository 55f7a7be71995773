"""The owner of a session and of everything in it: messages, views, nodes, pins, leases, events.

    operator                the user of this machine: terminal chats, imports, a gateway without keys
    key:4f9c2a71d0e3        an access key of the gateway: its sessions and its drop-in conversations
    room:ACCOUNT PLACE      one room or chat of a messaging platform

Each room is a separate owner: only the people in a room can see its messages.
`ArchiveStore.for_owner` returns the `Archive` with an owner's sessions.
"""

from typing import NewType

Owner = NewType("Owner", str)

OPERATOR = Owner("operator")


def key_owner(id: str) -> Owner:
    """The owner for the id of an access key."""
    return Owner(f"key:{id}")


def key_of(owner: Owner) -> str | None:
    """The id of an owner's access key; None for other owners."""
    kind, _, id = owner.partition(":")
    return id if kind == "key" else None


def room_owner(account: str, place: str) -> Owner:
    """The owner for a room. Account names contain no space, so the result is unambiguous."""
    return Owner(f"room:{account} {place}")
