"""The owner of a session and of everything in it: messages, views, nodes, pins, leases, events.

    operator                the person at this machine: terminal chats, imports, a gateway that asks for no keys
    key:4f9c2a71d0e3        an access key of the gateway: its sessions and its drop-in conversations
    room:ACCOUNT PLACE      one room or chat of a messaging platform, whoever speaks in it

A room is an owner of its own: what was said in it is visible to the people in it and to nobody
in another room. `ArchiveStore.for_owner` turns an owner into the only `Archive` that sees their sessions.
"""

from typing import NewType

Owner = NewType("Owner", str)

OPERATOR = Owner("operator")


def key_owner(id: str) -> Owner:
    """The owner behind an access key, by the id of the key."""
    return Owner(f"key:{id}")


def key_of(owner: Owner) -> str | None:
    """The id of the access key behind an owner; None for any other owner."""
    kind, _, id = owner.partition(":")
    return id if kind == "key" else None


def room_owner(account: str, place: str) -> Owner:
    """The owner of what is said in one room. Names of accounts hold no space, so no two rooms are mistaken."""
    return Owner(f"room:{account} {place}")
