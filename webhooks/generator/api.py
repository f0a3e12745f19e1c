"""Stripe's API versions, and how one canonical object becomes what a version sends."""

import hashlib
import json
from typing import Any, NamedTuple

Y2020 = "2020-08-27"
ACACIA = "2024-11-20.acacia"
BASIL = "2025-03-31.basil"
DAHLIA = "2026-07-29.dahlia"
ENDIVE = "2026-10-28.endive"

# First versions that changed something in our objects; names sort as their dates.
CHECKOUT_2022 = "2022-08-01"
CHARGES_2022 = "2022-11-15"
TRAINS = "2024-09-30"
CLOVER = "2025-09-30"
FIRST_DAHLIA = "2026-03-25"


class _Absent:
    pass


ABSENT = _Absent()


class Split(NamedTuple):
    """A member that one version changed: `before` it, and from it on `after`."""

    version: str
    before: Any
    after: Any


def since(version: str, value: Any) -> Split:
    return Split(version, ABSENT, value)


def until(version: str, value: Any) -> Split:
    return Split(version, value, ABSENT)


def changed(version: str, before: Any, after: Any) -> Split:
    return Split(version, before, after)


def render(value: Any, version: str) -> Any:
    """The object as `version` has it: members in Stripe's order (id, object, then by name)."""
    while isinstance(value, Split):
        value = value.after if version[:10] >= value.version[:10] else value.before
    if isinstance(value, dict):
        members = {name: render(item, version) for name, item in value.items()}
        names = sorted(members, key=lambda name: (name != "id", name != "object", name))
        return {name: members[name] for name in names if members[name] is not ABSENT}
    if isinstance(value, list):
        return [render(item, version) for item in value]
    return value


def body(value: Any) -> bytes:
    """Indented by two, text as UTF-8, no line end: the bytes that Stripe signs."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def letters(seed: str, count: int) -> str:
    """Letters and digits that depend on nothing but `seed`."""
    text = ""
    while len(text) < count:
        digest = hashlib.sha256(f"{seed}/{len(text)}".encode()).digest()
        text += "".join(_LETTERS[byte % 62] for byte in digest)
    return text[:count]


def identifier(kind: str, seed: str) -> str:
    """An id in the length and form that Stripe gives to objects of that kind."""
    if kind in ("cus", "prod", "si", "req"):
        return f"{kind}_{letters(kind + seed, 14)}"
    if kind == "cs":
        return f"cs_live_a1{letters(kind + seed, 56)}"
    return f"{kind}_1{letters(kind + seed, 5)}Lk4QzTmRvXcE0w{letters(seed + kind, 4)}"


def account(seed: str) -> str:
    """A random-looking UUID of version 4."""
    digits = hashlib.sha256(f"account/{seed}".encode()).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"
