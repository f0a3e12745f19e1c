"""A device of an app whose documents are CRDTs of pycrdt, and whose groups are those of MLS."""

import base64
import datetime
import hashlib
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

from mls_group import Member


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
        self.current_secret = "own"
        self.offered = {}
        self.groups = {}
        self.forget()

    def forget(self):
        """As after the app's data were lost. The key and the secrets stay, as in a keychain."""
        self.documents = {}
        self.merged = {}
        self.shared = {}
        self.blobs = {}
        self.deleted = set()
        self.removed = set()
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
        self.secrets["own"] = os.urandom(32)
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

    def share(self, document, *accounts, secret=None):
        """Says the document to other accounts from now on."""
        _, name = self.shared.get(document, ((), None))
        self.shared[document] = (accounts, secret or name)
        self.edit(document)

    def dismiss(self, document, account):
        """Removes another account from the document."""
        accounts, name = self.shared[document]
        self.shared[document] = (tuple(set(accounts) - {account}), name)
        self.unsent = [e for e in self.unsent if e["version"]["document"] != document]
        self.state({
            "document": document, "clock": {}, "deleted": True, "to": [account]})
        self.push()
        self.edit(document)

    def attach(self, document, *blobs):
        self.blobs.setdefault(document, []).extend(blobs)
        self.edit(document)

    def say(self, document, update):
        self.unsent = [e for e in self.unsent if e["version"]["document"] != document]
        accounts, name = self.shared.get(document, ((), None))
        version = {
            "document": document, "clock": dict(self.merged.setdefault(document, {})),
            "deleted": update is None}
        if update is not None:
            name = name or self.current_secret
            nonce = os.urandom(12)
            version["secret"] = text(name.encode())
            version["body"] = text(
                nonce + AESGCM(self.secrets[name]).encrypt(nonce, update, document.encode()))
            if accounts:
                version["to"] = sorted(accounts)
            if self.blobs.get(document):
                version["blobs"] = sorted(self.blobs[document])
        self.state(version)

    def state(self, version):
        self.counter += 1
        version = {
            **version, "author": self.id, "counter": self.counter, "created": int(time.time())}
        self.unsent.append({"version": version, "signature": self.sign({"version": version})})

    def push(self):
        if not self.unsent:
            return None
        answer = self.json("POST", "/v1/documents", {"versions": self.unsent})
        for entry in self.unsent:
            version = entry["version"]
            self.merged.setdefault(version["document"], {})[self.id] = version["counter"]
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
                self.take(entry["version"], entry.get("account") or self.account)
                count += 1
            for author, counter in page["clock"].items():
                self.clock[author] = max(counter, self.clock.get(author, 0))
            self.counter = max(self.counter, page["counter"] or 0)
            cursor = page["cursor"]
            if not page["more"]:
                return count

    def take(self, version, account):
        document = version["document"]
        clock = self.merged.setdefault(document, {})
        for author, counter in [*version["clock"].items(), (version["author"], version["counter"])]:
            clock[author] = max(counter, clock.get(author, 0))
        if version["deleted"] and account != self.account:
            self.removed.add(document)
        elif version["deleted"]:
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

    # Contacts and sealed messages

    def befriend(self, device):
        """Makes the two accounts contacts: one shares a log, and the other accepts it."""
        log = str(uuid.uuid4())
        self.json("POST", "/v1/logs", {"id": log, "name": text(b"contact")})
        share = {"account": device.account, "key": text(b"key"), "log": log, "mode": "read",
                 "state": "granted"}
        path = f"/v1/logs/{log}/shares/{device.account}"
        self.json("PUT", path, {
            "state": "granted", "mode": "read", "key": share["key"],
            "signature": self.sign({"log_share": share})})
        device.json("PUT", path, {"state": "accepted"})
        return device

    def write(self, body, *devices):
        return self.json("POST", "/v1/messages", {
            "id": str(uuid.uuid4()), "to": [device.id for device in devices], "body": text(body)})

    def mailbox(self):
        """Takes what waits, and acknowledges it."""
        messages, after = [], 0
        while after is not None:
            page = self.json("GET", f"/v1/mailbox?after={after}")
            messages += page["messages"]
            after = page["next"]
        for message in messages:
            self.ask("DELETE", f"/v1/mailbox/{message['number']}")
        return messages

    def offer(self, count, last_resort=False):
        member = Member(self.key, self.offered)
        body = {"key_packages": [text(member.offer()) for _ in range(count)]}
        if last_resort:
            body["last_resort"] = text(member.offer())
        return self.json("POST", "/v1/key-packages", body)

    def claim(self, device):
        key = base64.urlsafe_b64encode(device.public).decode().rstrip("=")
        return self.json("POST", f"/v1/devices/{key}/key-packages/claim")

    # Groups: a signature chain, and a group of MLS

    def found(self, own=False):
        """A chain of which this device is the only member."""
        chain = str(uuid.uuid4())
        group = self.groups[chain] = Group(chain, Member(self.key, self.offered))
        group.member.create(uuid.UUID(chain).bytes)
        entry = self.block(group, additions=[self.id])
        self.json("POST", "/v1/chains", {"blocks": [entry], "own": own})
        group.advance(entry)
        self.secrets[group.name] = group.member.secret
        return chain

    def block(self, group, additions=(), removals=()):
        block = {
            "chain": group.chain, "parent": group.head, "epoch": group.epoch + 1, "author": self.id,
            "additions": list(additions), "removals": list(removals)}
        signed = canonical({"block": block})
        return {"block": block, "hash": text(hashlib.sha256(signed).digest()),
                "signature": text(self.key.sign(signed))}

    def change(self, chain, additions=(), removals=(), staying=(), send=True):
        """Adds or removes members in one commit. The library of MLS removes none, so after a removal all those who
        stay join a new group."""
        group = self.groups[chain]
        joining = [d.id for d in (*additions, *staying)]
        leaving = [d.id for d in (*removals, *staying)]
        packages = [base64.b64decode(self.claim(d)["key_package"]) for d in (*additions, *staying)]
        member = group.member
        if removals:
            member = Member(self.key, self.offered)
            member.create(os.urandom(16))
        else:
            # A commit that loses is forgotten, so it is made by a copy of the member.
            member = member.copy()
        entry = self.block(group, joining, leaving)
        commit, welcome = member.add(packages) if packages else (b"{}", None)
        letter = {"chain": chain, "epoch": group.epoch + 1}
        body = {"blocks": [entry], "commit": self.letter(letter, commit)}
        if welcome:
            body["welcome"] = self.letter(letter, welcome)
        change = Change(group, entry, member, body)
        return change.send(self) if send else change

    @staticmethod
    def letter(letter, mls):
        return {"id": str(uuid.uuid4()),
                "body": text(json.dumps({**letter, "mls": text(mls)}).encode())}

    def follow(self):
        """Reads the mailbox, joins and follows groups. Returns the bodies of other messages."""
        rest = []
        for message in self.mailbox():
            body = base64.b64decode(message["body"])
            if message["kind"] == "message":
                rest.append(body)
                continue
            letter = json.loads(body)
            mls = base64.b64decode(letter["mls"])
            group = self.groups.get(letter["chain"])
            try:
                entry = self.blocks(letter["chain"], letter["epoch"] - 1)[0]
            except Refused:
                # The account has no member left in the chain.
                del self.groups[letter["chain"]]
                continue
            if message["kind"] == "welcome":
                group = self.groups[letter["chain"]] = Group(
                    letter["chain"], Member(self.key, self.offered))
                group.member.join(mls)
            elif entry["commit"] != message["id"] or not letter["epoch"] == group.epoch + 1:
                continue
            elif self.id in entry["block"]["removals"]:
                if self.id not in entry["block"]["additions"]:
                    del self.groups[letter["chain"]]
                continue
            else:
                group.member.apply(mls)
            group.advance(entry)
            self.secrets[group.name] = group.member.secret
        return rest

    def blocks(self, chain, since):
        return self.json("GET", f"/v1/chains/{chain}/blocks?since={since}")["blocks"]

    def tell(self, chain, body):
        """A message to all members, protected by the group."""
        group = self.groups[chain]
        return self.json("POST", f"/v1/chains/{chain}/messages", {
            "epoch": group.epoch,
            "message": {"id": str(uuid.uuid4()), "body": text(group.member.protect(body))}})


class Group:
    """A chain as a device knows it, and its part in the group of MLS."""

    def __init__(self, chain, member):
        self.chain, self.member = chain, member
        self.head, self.epoch = None, -1

    def advance(self, entry):
        self.head, self.epoch = entry["hash"], entry["block"]["epoch"]

    @property
    def name(self):
        """Names the secret of the epoch."""
        return f"{self.chain[:8]}/{self.epoch}"


class Change:
    """A commit that is made, and not yet sent."""

    def __init__(self, group, entry, member, body):
        self.group, self.entry, self.member, self.body = group, entry, member, body

    def send(self, device):
        answer = device.json("POST", f"/v1/chains/{self.group.chain}/commits", self.body)
        if not answer["repeated"]:
            self.group.member = self.member
            self.group.advance(self.entry)
            device.secrets[self.group.name] = self.member.secret
        return answer
