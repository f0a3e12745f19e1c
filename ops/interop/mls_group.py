"""The groups of MLS (RFC 9420) in which devices share secrets, by the library rfc9420.

The PyPI has no bindings of mls-rs or OpenMLS (November 2026). rfc9420 1.3.0 creates groups, adds members, and
protects messages. Its commits with an update path, which a removal needs, are refused by its own receivers: it signs
no leaf of a path, and sender and receiver hash different trees. So devices that remove a member make a new group of
those that stay.
"""

import base64
import json
from dataclasses import replace

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from rfc9420 import (
    DefaultCryptoProvider, GroupConfig, MemoryStorageProvider, MLSGroup, ProtocolMLSGroup)
from rfc9420.api.session import MLSGroupSession
from rfc9420.extensions.extensions import build_capabilities_data
from rfc9420.messages.data_structures import Credential, Signature, Welcome
from rfc9420.messages.key_packages import KeyPackage, LeafNode


class Member:
    """A device's part in a group. Its signature key is the device's own."""

    def __init__(self, key, offered):
        """The key packages that the device offers are the same for all of its groups."""
        self.key = key.private_bytes_raw()
        self.public = key.public_key().public_bytes_raw()
        self.offered = offered
        self.session = None

    def offer(self):
        """A new key package. What opens a welcome for it stays here."""
        crypto = DefaultCryptoProvider()
        init, encryption = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        leaf = LeafNode(
            encryption_key=encryption.public_key().public_bytes_raw(), signature_key=self.public,
            credential=Credential(identity=self.public, public_key=self.public),
            capabilities=build_capabilities_data([1], []), lifetime_not_after=1 << 62)
        leaf = replace(leaf, signature=Signature(
            crypto.sign_with_label(self.key, b"LeafNodeTBS", leaf.tbs_serialize())))
        package = KeyPackage(init_key=init.public_key().public_bytes_raw(), leaf_node=leaf)
        package = replace(package, signature=Signature(
            crypto.sign_with_label(self.key, b"KeyPackageTBS", package.tbs_serialize())))
        self.offered[package.serialize()] = (package, init, encryption)
        return package.serialize()

    def create(self, group):
        package, _, encryption = self.offered[self.offer()]
        self.session = MLSGroupSession.create_with_config(self.config(), group, package)
        self.inner._ratchet_tree.get_node(0).private_key = encryption.private_bytes_raw()

    def copy(self):
        """A member in the same state. A commit changes its state, and may still lose against another."""
        copy = Member.__new__(Member)
        copy.key, copy.public, copy.offered = self.key, self.public, self.offered
        copy.session = MLSGroupSession.deserialize_with_config(
            self.config(), self.session.serialize())
        return copy

    def add(self, packages):
        """Adds members by their key packages. Returns the commit, with its proposals, and the welcome."""
        leaf = self.inner.get_own_leaf_index()
        proposals = []
        for package in packages:
            proposal = self.session.add_member(KeyPackage.deserialize(package), self.key)
            self.session.process_proposal(proposal, leaf)
            proposals.append(proposal)
        commit, welcomes = self.session.commit(self.key)
        parts = [base64.b64encode(part).decode() for part in [*proposals, commit]]
        return json.dumps({"leaf": leaf, "parts": parts}).encode(), welcomes[0].serialize()

    def apply(self, commit):
        """Takes over the commit of another member."""
        bundle = json.loads(commit)
        *proposals, commit = map(base64.b64decode, bundle["parts"])
        for proposal in proposals:
            self.session.process_proposal(proposal, bundle["leaf"])
        self.session.apply_commit(commit, bundle["leaf"])
        # The library keeps the proposals of a foreign commit, and would propose them again.
        self.inner._pending_proposals, self.inner._proposal_cache = [], {}

    def join(self, welcome):
        """Joins by the first key package that the welcome was made for."""
        failure = None
        for package, init, encryption in self.offered.values():
            config = self.config()
            try:
                inner = ProtocolMLSGroup.from_welcome(
                    welcome=Welcome.deserialize(welcome), hpke_private_key=init.private_bytes_raw(),
                    crypto_provider=config.crypto_provider, key_package=package,
                    encryption_private_key=encryption.private_bytes_raw())
            except Exception as error:
                failure = error
                continue
            self.session = MLSGroupSession(MLSGroup(config, inner))
            return
        raise failure

    def protect(self, text):
        return self.session.protect_application(text, self.key)

    def unprotect(self, message):
        return self.session.unprotect_application(message)[1]

    @property
    def secret(self):
        """The secret of the epoch, for documents."""
        return self.session.export_secret(b"coffer documents", b"", 32)

    @property
    def epoch(self):
        return self.session._group.epoch

    @property
    def inner(self):
        return self.session._group._inner

    @staticmethod
    def config():
        return GroupConfig(
            crypto_provider=DefaultCryptoProvider(), storage_provider=MemoryStorageProvider())
