#!/usr/bin/env python3
"""Devices of several people that merge encrypted documents on their own, against a server.

usage: document_clients.py STORY URL

A document is a CRDT of pycrdt. Its state is encrypted with a secret that the devices share, signed, and pushed as a
version. STORY is the name of one story, or all. It ends with an error if something is not as it must be. The stories
are those that the tests of Bolik Timeline tell.
"""

import argparse
import base64
import datetime
import json
import os
import secrets
import time
import uuid

import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms
from pycrdt import Doc, Map


def text(data):
    return base64.b64encode(data).decode()


def canonical(value):
    """RFC 8785, for texts of ASCII and integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Refused(Exception):
    def __init__(self, answer):
        self.status = answer.status_code
        self.problem = answer.json() if answer.content else {}
        super().__init__(f"{self.status} {self.problem}")

    @property
    def kind(self):
        return self.problem.get("type", "").rsplit(":", 1)[-1].rsplit("/", 1)[-1]


class Device:
    """One device: its key, what it knows of each document, and what it has not sent yet."""

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.key = Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw()
        self.id = text(self.public)
        self.account = None
        self.secrets = {}
        self.forget()

    def forget(self):
        """As after the app's data were lost. The key and the secrets stay, as in a keychain."""
        self.documents = {}
        self.merged = {}
        self.deleted = set()
        self.clock = {}
        self.counter = 0
        self.unsent = []

    # Requests

    def ask(self, method, path, body=None, headers=None):
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = requests.Request(method, self.url + path, data=data, headers=headers).prepare()
        now = datetime.datetime.now(datetime.timezone.utc)
        signer = HTTPMessageSigner(
            signature_algorithm=algorithms.ED25519,
            key_resolver=MappingKeyResolver(
                public_keys={self.id: self.key.public_key()}, private_keys={self.id: self.key}))
        signer.sign(
            request, key_id=self.id, created=now, expires=now + datetime.timedelta(seconds=240),
            nonce=secrets.token_hex(16), label="coffer",
            covered_component_ids=("@method", "@authority", "@path", "@query"), body=data)
        with requests.Session() as session:
            answer = session.send(request, timeout=60)
        if answer.status_code >= 300:
            raise Refused(answer)
        return answer

    def json(self, method, path, body=None):
        answer = self.ask(method, path, body)
        return answer.json() if answer.content else None

    def sign(self, statement):
        return text(self.key.sign(canonical(statement)))

    # Accounts and devices

    def begin(self):
        self.account = self.json("POST", "/v1/accounts", {"root": str(uuid.uuid4())})["account"]
        self.secrets["1"] = os.urandom(32)
        return self

    def link(self, device):
        """Lets another device in, and hands it the secrets."""
        statement = {"device": {"account": self.account, "key": device.id, "created": int(time.time())}}
        self.json("POST", "/v1/devices", {
            **statement, "proof": device.sign(statement), "signature": self.sign(statement),
            "label": device.name})
        device.account = self.account
        device.secrets.update(self.secrets)
        return device

    def revoke(self, device):
        statement = {"revocation": {
            "account": self.account, "key": device.id, "created": int(time.time())}}
        self.json("POST", "/v1/revocations", {**statement, "signature": self.sign(statement)})

    # Documents

    def create(self, **values):
        document = str(uuid.uuid4())
        self.edit(document, **values)
        return document

    def edit(self, document, **values):
        """Changes members of a document. What is not pushed yet is said anew, in one version."""
        crdt = self.documents.setdefault(document, Doc())
        card = crdt.get("card", type=Map)
        for name, value in values.items():
            card[name] = value
        self.say(document, crdt.get_update())

    def delete(self, document):
        self.documents.pop(document, None)
        self.deleted.add(document)
        self.say(document, None)

    def say(self, document, update):
        self.unsent = [entry for entry in self.unsent if entry["version"]["document"] != document]
        self.counter += 1
        clock = self.merged.setdefault(document, {})
        version = {
            "document": document, "author": self.id, "counter": self.counter, "clock": dict(clock),
            "created": int(time.time()), "deleted": update is None}
        if update is not None:
            name = max(self.secrets, key=int)
            nonce = os.urandom(12)
            version["secret"] = text(name.encode())
            version["body"] = text(
                nonce + AESGCM(self.secrets[name]).encrypt(nonce, update, document.encode()))
        self.unsent.append({"version": version, "signature": self.sign({"version": version})})

    def push(self):
        if not self.unsent:
            return None
        answer = self.json("POST", "/v1/documents", {"versions": self.unsent})
        for entry in self.unsent:
            version = entry["version"]
            self.merged[version["document"]][self.id] = version["counter"]
            self.clock[self.id] = version["counter"]
        self.unsent = []
        for document in answer["deleted"]:
            self.documents.pop(document, None)
            self.deleted.add(document)
        return answer

    def pull(self):
        """Takes over what other devices said. Returns how many versions came."""
        count, cursor, known = 0, None, dict(self.clock)
        while True:
            body = {"clock": known, "limit": 500}
            if cursor:
                body["cursor"] = cursor
            page = self.json("POST", "/v1/documents/pull", body)
            for entry in page["versions"]:
                self.take(entry["version"])
                count += 1
            for author, counter in page["clock"].items():
                self.clock[author] = max(counter, self.clock.get(author, 0))
            self.counter = max(self.counter, page["counter"] or 0)
            cursor = page["cursor"]
            if not page["more"]:
                return count

    def take(self, version):
        document = version["document"]
        clock = self.merged.setdefault(document, {})
        for author, counter in [*version["clock"].items(), (version["author"], version["counter"])]:
            clock[author] = max(counter, clock.get(author, 0))
        if version["deleted"]:
            self.documents.pop(document, None)
            self.deleted.add(document)
            self.unsent = [e for e in self.unsent if e["version"]["document"] != document]
        elif document not in self.deleted:
            body = base64.b64decode(version["body"])
            secret = self.secrets[base64.b64decode(version["secret"]).decode()]
            update = AESGCM(secret).decrypt(body[:12], body[12:], document.encode())
            self.documents.setdefault(document, Doc()).apply_update(update)
            if any(e["version"]["document"] == document for e in self.unsent):
                self.say(document, self.documents[document].get_update())

    def sync(self):
        self.pull()
        self.push()
        return self

    def read(self, document):
        return dict(self.documents[document].get("card", type=Map).to_py())

    def versions(self, document):
        return self.json("GET", f"/v1/documents/{document}/versions")


STORIES = {}


def story(function):
    STORIES[function.__name__.replace("_", "-")] = function
    return function


def person(url, *names):
    """Devices of one account."""
    first = Device(url, names[0]).begin()
    return [first, *(first.link(Device(url, name)) for name in names[1:])]


def refused(kind, action, *arguments, **options):
    try:
        action(*arguments, **options)
    except Refused as refusal:
        assert refusal.kind == kind, refusal
        return refusal.problem
    raise AssertionError(f"{kind} was expected")


# One device


@story
def a_card_survives_the_loss_of_the_apps_data(url):
    (phone,) = person(url, "phone")
    card = phone.create(title="bread", done=False)
    phone.push()
    phone.forget()
    phone.pull()
    assert phone.read(card) == {"title": "bread", "done": False}


@story
def edits_without_a_connection_are_one_version(url):
    (phone,) = person(url, "phone")
    card = phone.create(title="a")
    for title in "bcdef":
        phone.edit(card, title=title)
    assert phone.push()["stored"] == 1
    phone.edit(card, title="g")
    phone.push()
    listed = phone.versions(card)
    assert len(listed["current"]) == 1, listed


@story
def a_push_whose_answer_was_lost_is_sent_again(url):
    (phone,) = person(url, "phone")
    phone.create(title="a")
    lost = list(phone.unsent)
    phone.push()
    answer = phone.json("POST", "/v1/documents", {"versions": lost})
    assert (answer["stored"], answer["repeated"]) == (0, 1), answer


@story
def a_permanent_deletion_stays(url):
    (phone,) = person(url, "phone")
    card = phone.create(title="a")
    phone.push()
    phone.delete(card)
    phone.push()
    phone.forget()
    phone.pull()
    assert card not in phone.documents and card in phone.deleted


@story
def a_counter_is_not_used_twice(url):
    (phone,) = person(url, "phone")
    phone.create(title="a")
    phone.push()
    phone.counter = 0
    phone.create(title="b")
    problem = refused("versions_refused", phone.push)
    assert problem["failures"][0]["rule"] == "counter_used", problem


@story
def a_version_signed_by_another_key_is_refused(url):
    phone, tablet = person(url, "phone", "tablet")
    card = phone.create(title="a")
    entry = phone.unsent[0]
    entry["signature"] = tablet.sign({"version": entry["version"]})
    problem = refused("versions_refused", phone.push)
    assert problem["failures"][0]["rule"] == "signature_invalid", problem
    tablet.pull()
    assert card not in tablet.documents


# Several devices


@story
def a_linked_device_gets_what_was_there(url):
    phone, tablet = person(url, "phone", "tablet")
    cards = [phone.create(title=str(index)) for index in range(30)]
    phone.push()
    assert tablet.pull() == 30
    assert sorted(tablet.read(card)["title"] for card in cards) == sorted(map(str, range(30)))
    assert tablet.pull() == 0


@story
def a_new_device_costs_the_documents_not_the_edits(url):
    (phone,) = person(url, "phone")
    card = phone.create(title="0")
    phone.push()
    for index in range(1, 20):
        phone.edit(card, title=str(index))
        phone.push()
    tablet = phone.link(Device(url, "tablet"))
    assert tablet.pull() == 1
    assert tablet.read(card) == {"title": "19"}


@story
def concurrent_edits_stand_side_by_side_until_one_device_merges(url):
    phone, tablet, laptop = person(url, "phone", "tablet", "laptop")
    card = phone.create(title="a")
    phone.push()
    tablet.pull()
    laptop.pull()
    phone.edit(card, one=1)
    tablet.edit(card, two=2)
    laptop.edit(card, three=3)
    for device in (phone, tablet, laptop):
        device.push()
    assert len(phone.versions(card)["current"]) == 3
    phone.pull()
    phone.edit(card, merged=True)
    phone.push()
    assert len(phone.versions(card)["current"]) == 1
    for device in (tablet, laptop):
        device.pull()
    states = [device.read(card) for device in (phone, tablet, laptop)]
    assert states[0] == states[1] == states[2] == {
        "title": "a", "one": 1, "two": 2, "three": 3, "merged": True}, states


@story
def what_a_merge_replaced_can_still_be_read(url):
    phone, tablet = person(url, "phone", "tablet")
    card = phone.create(title="a")
    phone.push()
    tablet.pull()
    tablet.edit(card, lost=True)
    tablet.push()
    # The phone says that it merged what it could not decrypt.
    phone.merged[card][tablet.id] = tablet.counter
    phone.edit(card, title="b")
    phone.push()
    replaced = phone.versions(card)["replaced"]
    assert any(entry["version"]["author"] == tablet.id for entry in replaced), replaced


@story
def a_deletion_wins_over_an_edit_that_does_not_know_of_it(url):
    phone, tablet = person(url, "phone", "tablet")
    card = phone.create(title="a")
    phone.push()
    tablet.pull()
    phone.delete(card)
    tablet.edit(card, title="b")
    phone.push()
    tablet.push()
    for device in (phone, tablet):
        device.sync()
        assert card not in device.documents and card in device.deleted, device.name


@story
def a_removed_device_is_logged_out(url):
    phone, tablet = person(url, "phone", "tablet")
    tablet.create(title="a")
    phone.revoke(tablet)
    try:
        tablet.push()
    except Refused as refusal:
        assert refusal.status == 401, refusal
    else:
        raise AssertionError("a removed device wrote")
    assert phone.pull() == 0


@story
def devices_that_meet_in_any_order_agree(url):
    devices = person(url, "phone", "tablet", "laptop")
    cards = [devices[0].create(title=str(index)) for index in range(5)]
    devices[0].push()
    for device in devices[1:]:
        device.pull()
    for round in range(6):
        for index, device in enumerate(devices):
            device.edit(cards[(round + index) % 5], **{f"by-{device.name}-{round}": round})
            if (round + index) % 2:
                device.sync()
    for device in devices + devices:
        device.sync()
    for card in cards:
        states = [device.read(card) for device in devices]
        assert states[0] == states[1] == states[2], states


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("story", choices=["all", *STORIES], metavar="STORY")
    parser.add_argument("url")
    arguments = parser.parse_args()
    for name in STORIES if arguments.story == "all" else [arguments.story]:
        STORIES[name](arguments.url)
        print(name, flush=True)


if __name__ == "__main__":
    main()
