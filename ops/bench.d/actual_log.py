"""What the server of Actual does with the messages of one request, for `ops/bench logs`.

Written from a description of its behaviour. A message whose timestamp is new becomes a row, and its
hash goes into a trie by minutes in base 3. The trie is pruned to two children of each node and
stored as JSON. All of it is one transaction, which commits with synchronous=FULL. There is no HTTP,
no protobuf and no charge.

Arguments: the database's path, the messages before, those of a request, rounds, bytes of a content.
Prints a JSON list of the nanoseconds of each round, after five that do not count.
"""

import json
import os
import sqlite3
import sys
import time
from datetime import datetime, timezone

WARM_UP = 5
MASK = 0xFFFFFFFF


def rotated(value: int, count: int) -> int:
    return ((value << count) | (value >> (32 - count))) & MASK


def murmur3(data: bytes) -> int:
    """MurmurHash3, x86, 32 bits, seed 0."""
    result = 0
    end = len(data) & ~3
    for start in range(0, end, 4):
        block = int.from_bytes(data[start : start + 4], "little")
        block = rotated(block * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        result = (rotated(result ^ block, 13) * 5 + 0xE6546B64) & MASK
    tail = int.from_bytes(data[end:], "little")
    result ^= rotated(tail * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
    result ^= len(data)
    result = (result ^ result >> 16) * 0x85EBCA6B & MASK
    result = (result ^ result >> 13) * 0xC2B2AE35 & MASK
    return result ^ result >> 16


def signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def base3(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 3)
        digits = str(digit) + digits
        if number == 0:
            return digits


def add(trie: dict, milliseconds: int, hash_: int) -> None:
    node = trie
    node["hash"] = signed((node.get("hash", 0) ^ hash_) & MASK)
    for digit in base3(milliseconds // 60_000):
        node = node.setdefault(digit, {})
        node["hash"] = signed((node.get("hash", 0) ^ hash_) & MASK)


def pruned(trie: dict) -> dict:
    if not trie.get("hash"):
        return trie
    keys = sorted(key for key in trie if key != "hash")[-2:]
    return {"hash": trie["hash"]} | {key: pruned(trie[key]) for key in keys}


class Log:
    def __init__(self, path: str) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("PRAGMA synchronous = FULL")
        self.database.execute(
            "CREATE TABLE messages (timestamp TEXT PRIMARY KEY, is_encrypted INTEGER,"
            " content BLOB)"
        )
        self.database.execute("CREATE TABLE merkles (id INTEGER PRIMARY KEY, merkle TEXT)")

    def append(self, messages: list) -> None:
        self.database.execute("BEGIN IMMEDIATE")
        row = self.database.execute("SELECT merkle FROM merkles WHERE id = 1").fetchone()
        trie = json.loads(row[0]) if row else {}
        for milliseconds, timestamp, content in messages:
            changed = self.database.execute(
                "INSERT OR IGNORE INTO messages VALUES (?, ?, ?)", (timestamp, 1, content)
            )
            if changed.rowcount == 1:
                add(trie, milliseconds, murmur3(timestamp.encode()))
        text = json.dumps(pruned(trie), separators=(",", ":"))
        self.database.execute("INSERT OR REPLACE INTO merkles VALUES (1, ?)", (text,))
        self.database.execute("COMMIT")


def made(index: int, byte_count: int) -> tuple:
    milliseconds = 1_790_000_000_000 + index * 600
    moment = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z-0000-fedcba9876543210"
    return milliseconds, text, os.urandom(byte_count)


def main() -> None:
    path, *numbers = sys.argv[1:]
    before, batch, rounds, byte_count = map(int, numbers)
    assert murmur3(b"2024-05-01T12:00:00.000Z-0000-0123456789abcdef") == 1458458667
    log = Log(path)
    log.append([made(index, byte_count) for index in range(before)])
    times = []
    for number in range(WARM_UP + rounds):
        first = before + number * batch
        messages = [made(index, byte_count) for index in range(first, first + batch)]
        start = time.monotonic_ns()
        log.append(messages)
        times.append(time.monotonic_ns() - start)
    print(json.dumps(times[WARM_UP:]))


main()
