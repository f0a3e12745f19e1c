#!/usr/bin/env python3
"""Clients of Actual Budget, which are the library actualpy, against a server.

usage: actual_clients.py STORY URL PASSWORD DIRECTORY [--encryption TEXT]

Each STORY ends with an error if something is not as it must be. A story of two parts stops where the operator or
the store has its turn; the second part goes on with the clients in the same DIRECTORY:

life             log-in, a budget, three devices that work apart and then together, renaming, deletion
reset, restored  a device that resets the budget by mistake; then the operator has taken that back
fill, lifted     changes and a file up to the cap; then a purchase has lifted it
tries            random batches, and the server's trie beside one made with mmh3
files, begin     makes a directory like the web app's, with tables that actualpy knows; then a server has it, and
                 create_budget begins a budget with them
"""

import argparse
import io
import json
import pathlib
import random
import uuid
import zipfile
from datetime import date, datetime, timedelta, timezone

import httpx
import mmh3
from actual import Actual, ActualDecryptionError
from actual.exceptions import AuthorizationError
from actual.protobuf_models import MessageEnvelope, SyncRequest, SyncResponse
from actual.queries import create_account, create_transaction, get_accounts, get_transactions
from sqlalchemy import inspect
from sqlmodel import SQLModel, create_engine

ZERO = "1970-01-01T00:00:00.000Z-0000-0000000000000000"


def trie(stamps):
    """The trie over timestamps, pruned as Actual's server does it."""
    root = {}
    for stamp in set(stamps):
        moment = datetime.fromisoformat(stamp[:23]).replace(tzinfo=timezone.utc)
        rest, digits = int(moment.timestamp()) // 60, ""
        while rest or not digits:
            rest, digit = divmod(rest, 3)
            digits = str(digit) + digits
        value, node = mmh3.hash(stamp), root
        node["hash"] = node.get("hash", 0) ^ value
        for digit in digits:
            node = node.setdefault(digit, {})
            node["hash"] = node.get("hash", 0) ^ value
    return pruned(root)


def pruned(node):
    highest = sorted(key for key in node if key != "hash")[-2:]
    return {key: pruned(node[key]) if key in highest else node[key]
            for key in node if key == "hash" or key in highest}


def make_tables(path):
    """A new database with the tables that actualpy knows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    engine = create_engine(f"sqlite:///{path}")
    SQLModel.metadata.create_all(engine)
    engine.dispose()


class Device(Actual):
    """A client that works without a connection, too: what it could not send waits in its directory.

    actualpy does not compare tries. Here it asks for everything, so that it misses nothing that arrived late.
    """

    def __init__(self, arguments, name, file=None, encryption=None):
        self.directory = pathlib.Path(arguments.directory) / name
        self.is_connected = True
        super().__init__(
            arguments.url, password=arguments.password, file=file, data_dir=self.directory / "data",
            encryption_password=encryption)
        (self.directory / "unsent").mkdir(parents=True, exist_ok=True)
        self.__enter__()

    def sync_sync(self, request):
        if not self.is_connected:
            return self.keep(request)
        try:
            return super().sync_sync(request)
        except httpx.HTTPStatusError:
            self.keep(request)
            raise

    def keep(self, request):
        if request.messages:
            path = self.directory / "unsent" / str(uuid.uuid4())
            path.write_bytes(SyncRequest.serialize(request))
        return SyncResponse()

    def unsent(self):
        return sorted((self.directory / "unsent").iterdir())

    def connect(self):
        self.is_connected = True
        for path in self.unsent():
            super().sync_sync(SyncRequest.deserialize(path.read_bytes()))
            path.unlink()

    def ask(self, messages=(), since=ZERO):
        return self.sync_sync(
            SyncRequest({
                "messages": list(messages), "fileId": self.file.file_id,
                "groupId": self.file.group_id, "keyId": self.file.encrypt_key_id, "since": since}))

    def catch_up(self):
        """Takes over all messages. Returns their timestamps, whose trie is the server's."""
        answer = self.ask()
        stamps = [each.timestamp for each in answer.messages]
        assert stamps == sorted(set(stamps)), "the messages are not in the order of timestamps"
        assert json.loads(answer.merkle) == trie(stamps), answer.merkle
        if self._master_key is not None:
            assert all(each.isEncrypted for each in answer.messages)
        self.apply_changes(answer.get_messages(self._master_key))
        self.session.expire_all()
        return stamps

    def create(self, name):
        """Makes a budget out of the tables that actualpy knows, and uploads it."""
        make_tables(self.file_path())
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(self.file_path(), "db.sqlite")
            archive.writestr("metadata.json", json.dumps({"budgetName": name, "resetClock": True}))
        self.import_zip(io.BytesIO(content.getvalue()))
        self._file = None
        self.upload_budget()
        self.update_metadata({"groupId": self.file.group_id})
        self.download_budget()
        create_account(self.session, "Cash")
        self.commit()
        return self.file.file_id

    def file_path(self):
        return self.directory / "new.sqlite"

    def spend(self, notes):
        create_transaction(
            self.session, date.today(), get_accounts(self.session, "Cash")[0], "Shop", notes=notes,
            amount=-5)
        self.commit()

    def notes(self):
        return sorted(each.notes for each in get_transactions(self.session))


def refused(status, text, action):
    try:
        action()
    except httpx.HTTPStatusError as error:
        answer = error.response
        assert (answer.status_code, answer.text) == (status, text), (answer.status_code, answer.text)
    else:
        raise AssertionError(f"not refused: {text}")


def life(arguments):
    try:
        Actual(arguments.url, password=arguments.password[:-1] + "u")
    except AuthorizationError:
        pass
    else:
        raise AssertionError("a wrong password logs in")
    secret = arguments.encryption
    first = Device(arguments, "first", encryption=secret)
    assert first.info().build.name == "coffer-sync"
    assert first.needs_bootstrap().data.bootstrapped
    file = first.create("Household")
    listed = first.list_user_files().data
    assert [(each.name, bool(each.encrypt_key_id)) for each in listed] == [("Household", bool(secret))]
    if secret:
        assert not zipfile.is_zipfile(io.BytesIO(first.download_user_file(file)))
        try:
            Device(arguments, "curious", file)
        except ActualDecryptionError:
            pass
        else:
            raise AssertionError("an encrypted budget opens without its password")
    devices = [first] + [Device(arguments, name, file, secret) for name in ("second", "third")]
    expected = []
    for number, device in enumerate(devices):
        device.catch_up()
        device.spend(f"together {number}")
        expected.append(f"together {number}")
    for device in devices:
        device.catch_up()
        assert device.notes() == sorted(expected), device.notes()
        device.is_connected = False
    for round in range(4):
        for number, device in enumerate(devices):
            device.spend(f"apart {number} {round}")
            expected.append(f"apart {number} {round}")
    assert all(len(device.unsent()) == 4 for device in devices)
    for device in devices:
        device.connect()
    stamps = [device.catch_up() for device in devices]
    assert stamps[0] == stamps[1] == stamps[2]
    for device in devices + [Device(arguments, "fourth", file, secret)]:
        assert device.notes() == sorted(expected), device.notes()
    # What is there is not stored again.
    again = first.ask([MessageEnvelope({"timestamp": stamps[0][0], "content": b"other"})])
    assert json.loads(again.merkle) == trie(stamps[0])
    first.rename_budget("Haushalt 100 %")
    assert first.list_user_files().data[0].name == "Haushalt 100 %"
    first.delete_budget()
    assert first.list_user_files().data == []
    refused(400, "file-not-found", devices[1].catch_up)


def reset(arguments):
    first = Device(arguments, "first", encryption=arguments.encryption)
    file = first.create("Household")
    first.spend("before")
    second = Device(arguments, "second", file, arguments.encryption)
    assert second.notes() == ["before"]
    before = first.file.group_id
    second.spend("late")
    if arguments.encryption:
        # reupload_budget would send the budget in clear first, which Actual's own server refuses, too.
        second.encrypt(arguments.encryption)
    else:
        second.reupload_budget()
    assert second.file.group_id != before
    assert second.ask().messages == []
    refused(400, "file-has-reset", lambda: first.spend("unsent"))
    assert len(first.unsent()) == 1
    (first.directory / "file").write_text(file)


def restored(arguments):
    file = (pathlib.Path(arguments.directory) / "first" / "file").read_text()
    first = Device(arguments, "first", file, arguments.encryption)
    first.connect()
    first.catch_up()
    assert first.notes() == ["before", "late", "unsent"], first.notes()
    third = Device(arguments, "third", file, arguments.encryption)
    assert third.notes() == ["before", "late", "unsent"], third.notes()


def fill(arguments):
    first = Device(arguments, "first", encryption=arguments.encryption)
    file = first.create("Household")
    large = random.Random(1).randbytes(2_000_000)
    refused(507, "over-cap", lambda: first.upload_user_file(large, "other", "Other"))
    count = 0
    while not first.unsent():
        try:
            first.spend("x" * 60_000 + str(count))
            count += 1
        except httpx.HTTPStatusError as error:
            assert (error.response.status_code, error.response.text) == (507, "over-cap")
    # The allowance for messages is 1 MiB beyond the cap of 1 MB.
    assert 20 < count < 40, count
    # It is told what it lacks, although it may send nothing.
    assert len(first.catch_up()) > count
    (first.directory / "file").write_text(file)


def lifted(arguments):
    file = (pathlib.Path(arguments.directory) / "first" / "file").read_text()
    first = Device(arguments, "first", file, arguments.encryption)
    first.connect()
    stamps = first.catch_up()
    first.spend("more")
    assert len(first.catch_up()) > len(stamps)
    second = Device(arguments, "second", file, arguments.encryption)
    assert second.notes() == first.notes()
    first.upload_user_file(random.Random(1).randbytes(2_000_000), "other", "Other")


def tries(arguments):
    first = Device(arguments, "first")
    first.create("Household")
    stamps = {each.timestamp for each in first.ask().messages}
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    for _ in range(25):
        # Some batches are spread over all times, others lie in a few minutes.
        span = chance.choice([60, 3600, 86_400 * 365, now.timestamp()])
        batch = []
        for _ in range(chance.randrange(1, 200)):
            moment = now - timedelta(seconds=chance.uniform(0, span))
            node = "".join(chance.choices("0123456789abcdefABCDEF", k=16))
            batch.append(
                f"{moment.isoformat(timespec='milliseconds')}Z-{chance.choice([0, 1, 65535]):04X}-{node}")
        batch += chance.sample(batch, len(batch) // 3) + chance.sample(sorted(stamps), min(5, len(stamps)))
        chance.shuffle(batch)
        answer = first.ask(MessageEnvelope({"timestamp": each, "content": each.encode()}) for each in batch)
        stamps.update(batch)
        assert json.loads(answer.merkle) == trie(stamps), seed
    answer = first.ask()
    assert [each.timestamp for each in answer.messages] == sorted(stamps)


def files(arguments):
    build = pathlib.Path(arguments.directory) / "build"
    make_tables(build / "data" / "default-db.sqlite")
    migrations = {
        "1700000000000_plain.sql": "CREATE TABLE plain (id TEXT PRIMARY KEY);\n",
        "1700000000001_script.js": "export default async function run(db) {\n"
        "  await db.execQuery(`CREATE TABLE scripted (id TEXT PRIMARY KEY);`);\n}\n",
    }
    (build / "data" / "migrations").mkdir(exist_ok=True)
    for name, text in migrations.items():
        (build / "data" / "migrations" / name).write_text(text)
    names = ["default-db.sqlite"] + [f"migrations/{name}" for name in migrations]
    (build / "data-file-index.txt").write_text("\n".join(names))
    (build / "index.html").write_text("<title>Actual</title>")


def begin(arguments):
    first = Device(arguments, "first", encryption=arguments.encryption)
    assert first.data_file_index() == [
        "default-db.sqlite", "migrations/1700000000000_plain.sql", "migrations/1700000000001_script.js"]
    first.data_dir.mkdir(parents=True)
    first.create_budget("Household")
    first.upload_budget()
    first.update_metadata({"groupId": first.file.group_id})
    create_account(first.session, "Cash")
    first.commit()
    first.spend("first")
    second = Device(arguments, "second", first.file.file_id, arguments.encryption)
    second.spend("second")
    first.catch_up()
    for device in (first, second):
        assert device.notes() == ["first", "second"], device.notes()
        tables = inspect(device.engine).get_table_names()
        assert {"plain", "scripted", "transactions"} <= set(tables), tables
    with httpx.Client(base_url=arguments.url) as client:
        page = client.get("/budget", headers={"Accept": "text/html"})
        assert (page.status_code, page.text) == (200, "<title>Actual</title>"), page.text
        assert page.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert client.get("/data/migrations/missing.sql").status_code == 404


STORIES = {each.__name__: each for each in (life, reset, restored, fill, lifted, tries, files, begin)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("story", choices=STORIES)
    parser.add_argument("url")
    parser.add_argument("password")
    parser.add_argument("directory")
    parser.add_argument("--encryption")
    arguments = parser.parse_args()
    STORIES[arguments.story](arguments)


if __name__ == "__main__":
    main()
