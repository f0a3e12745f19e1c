#!/usr/bin/env python3
"""Devices of several people that merge encrypted documents on their own, against a server.

usage: document_clients.py STORY URL

A document is a CRDT of pycrdt. Its state is encrypted with a secret that the devices share, signed, and pushed as a
version. STORY is the name of one story, or all. It ends with an error if something is not as it must be. The stories
are those that the tests of Bolik Timeline tell.
"""

import argparse
import os
import time
import uuid

from document_device import Device, Refused


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


# Several accounts


def contacts(url, *people):
    """Devices of several accounts, of which each knows the first one."""
    groups = [person(url, *names) for names in people]
    for group in groups[1:]:
        groups[0][0].befriend(group[0])
    return groups


def shared_card(url, *people, **values):
    """A card of the first account's that all others have, under a secret that all devices know."""
    groups = contacts(url, *people)
    secret = os.urandom(32)
    for device in sum(groups, []):
        device.secrets["shared"] = secret
    author = groups[0][0]
    card = author.create(**(values or {"title": "a"}))
    author.share(card, *(group[0].account for group in groups[1:]), secret="shared")
    author.push()
    for device in sum(groups, []):
        device.pull()
        device.shared[card] = (
            tuple(group[0].account for group in groups if group[0].account != device.account), "shared")
    return card, groups


def rule(problem):
    return problem["failures"][0]["rule"]


@story
def a_card_reaches_all_devices_of_another_account(url):
    card, (_, bobs) = shared_card(url, ["ada"], ["bob", "bobs-tablet"])
    assert [bob.read(card) for bob in bobs] == [{"title": "a"}] * 2


@story
def edits_of_two_accounts_meet(url):
    card, ((ada,), (bob,)) = shared_card(url, ["ada"], ["bob"])
    ada.edit(card, ada=1)
    bob.edit(card, bob=2)
    for device in (ada, bob, ada, bob):
        device.sync()
    assert ada.read(card) == bob.read(card) == {"title": "a", "ada": 1, "bob": 2}


@story
def versions_of_a_contacts_devices_stand_side_by_side_until_one_is_merged(url):
    card, ((phone, tablet), (bob,)) = shared_card(url, ["phone", "tablet"], ["bob"])
    phone.edit(card, phone=1)
    tablet.edit(card, tablet=2)
    phone.push()
    tablet.push()
    bob.pull()
    assert len(bob.versions(card)["current"]) == 2, bob.versions(card)
    bob.edit(card, bob=3)
    bob.push()
    assert len(bob.versions(card)["current"]) == 1, bob.versions(card)
    for device in (phone, tablet):
        device.pull()
    assert phone.read(card) == tablet.read(card) == bob.read(card)


@story
def three_accounts_agree(url):
    card, ((ada,), (bob,), (carl,)) = shared_card(url, ["ada"], ["bob"], ["carl"])
    bob.befriend(carl)
    for number in range(3):
        for device in (ada, bob, carl):
            device.edit(card, **{f"{device.name}-{number}": number})
            device.sync()
    for device in (ada, bob, carl) * 2:
        device.sync()
    assert ada.read(card) == bob.read(card) == carl.read(card)
    assert len(ada.read(card)) == 10, ada.read(card)


@story
def a_stranger_gets_and_sends_nothing(url):
    (ada,), (eve,) = person(url, "ada"), person(url, "eve")
    card = eve.create(title="spam")
    eve.share(card, ada.account)
    assert rule(refused("versions_refused", eve.push)) == "not_a_contact"
    assert ada.pull() == 0
    problem = refused("message_not_delivered", eve.write, b"spam", ada)
    assert problem["refused"][0]["reason"] == "unknown", problem
    assert ada.mailbox() == []
    refused("device_not_found", eve.claim, ada)


@story
def a_contact_who_does_not_have_a_document_cannot_read_it(url):
    card, ((ada,), (bob,), (carl,)) = shared_card(url, ["ada"], ["bob"], ["carl"])
    secret = ada.create(title="secret")
    ada.push()
    assert bob.pull() == 0 and secret not in bob.documents
    refused("document_not_found", bob.versions, secret)


@story
def an_older_version_that_arrives_late_changes_nothing(url):
    card, ((ada,), (bob,)) = shared_card(url, ["ada"], ["bob"])
    ada.edit(card, title="b")
    late = list(ada.unsent)
    ada.push()
    ada.edit(card, title="c")
    ada.push()
    assert ada.json("POST", "/v1/documents", {"versions": late})["repeated"] == 1
    bob.pull()
    assert bob.read(card) == {"title": "c"}


@story
def a_deletion_in_one_account_leaves_the_document_to_the_other(url):
    card, ((ada,), (bob,)) = shared_card(url, ["ada"], ["bob"])
    bob.delete(card)
    bob.push()
    ada.edit(card, title="b")
    ada.push()
    bob.sync()
    assert card not in bob.documents and bob.versions(card)["current"][0]["author"] == bob.id
    assert ada.read(card) == {"title": "b"}


@story
def a_removed_collaborator_learns_of_it_and_gets_no_more(url):
    card, ((ada,), (bob,), (carl,)) = shared_card(url, ["ada"], ["bob"], ["carl"])
    ada.dismiss(card, bob.account)
    ada.edit(card, title="b")
    ada.push()
    bob.pull()
    carl.pull()
    assert card in bob.removed and bob.read(card) == {"title": "a"}
    assert carl.read(card) == {"title": "b"}
    # Bob can still say something, and it reaches nobody who has dropped him; his own copy stays his.
    bob.forget()
    bob.pull()
    assert card in bob.removed


@story
def a_blob_is_read_by_whoever_holds_a_version_that_names_it(url):
    card, ((ada,), (bob,), (carl,)) = shared_card(url, ["ada"], ["bob"], ["carl"])
    blob, data = str(uuid.uuid4()), os.urandom(100_000)
    ada.ask("PUT", f"/v1/blobs/{blob}", data, {"If-Match": '"0"'})
    refused("blob_not_found", bob.ask, "GET", f"/v1/blobs/{blob}")
    ada.shared[card] = ((bob.account,), "shared")
    ada.attach(card, blob)
    ada.push()
    assert bob.ask("GET", f"/v1/blobs/{blob}").content == data
    refused("blob_not_found", carl.ask, "GET", f"/v1/blobs/{blob}")
    stolen = carl.create(title="mine")
    carl.attach(stolen, blob)
    assert rule(refused("versions_refused", carl.push)) == "blob_unknown"


@story
def a_blob_goes_with_the_last_version_that_names_it(url):
    card, ((ada,), (bob,)) = shared_card(url, ["ada"], ["bob"])
    blob = str(uuid.uuid4())
    ada.ask("PUT", f"/v1/blobs/{blob}", b"sealed", {"If-Match": '"0"'})
    ada.attach(card, blob)
    ada.push()
    bob.delete(card)
    bob.push()
    assert ada.ask("GET", f"/v1/blobs/{blob}").content == b"sealed"
    refused("blob_exists", ada.ask, "PUT", f"/v1/blobs/{blob}", b"other", {"If-Match": '"0"'})


# Mailboxes and key packages


@story
def a_message_waits_until_it_is_acknowledged(url):
    (ada, tablet), (bob,) = contacts(url, ["ada", "tablet"], ["bob"])
    assert ada.write(b"hello", bob, tablet)["stored"] == 2
    page = bob.json("GET", "/v1/mailbox?after=0")
    assert [message["body"] for message in page["messages"]] == ["aGVsbG8="]
    assert len(bob.mailbox()) == 1 and bob.mailbox() == []
    assert len(tablet.mailbox()) == 1


@story
def a_key_package_is_given_once_and_the_last_one_again(url):
    (ada,), (bob,) = contacts(url, ["ada"], ["bob"])
    bob.offer(2, last_resort=True)
    claims = [ada.claim(bob) for _ in range(4)]
    assert [claim["last_resort"] for claim in claims] == [False, False, True, True], claims
    assert len({claim["key_package"] for claim in claims}) == 3


# Groups


@story
def a_device_is_let_in_by_its_key_package(url):
    phone, tablet = person(url, "phone", "tablet")
    tablet.offer(2)
    chain = phone.found(own=True)
    phone.change(chain, additions=[tablet])
    tablet.follow()
    name = phone.groups[chain].name
    assert tablet.secrets[name] == phone.secrets[name]
    phone.current_secret = name
    card = phone.create(title="for both")
    phone.push()
    tablet.pull()
    assert tablet.read(card) == {"title": "for both"}


@story
def a_group_of_accounts_shares_the_secrets_of_its_epochs(url):
    (ada,), (bob, bobs_tablet), (carl,) = contacts(url, ["ada"], ["bob", "bobs-tablet"], ["carl"])
    for device in (bob, bobs_tablet, carl):
        device.offer(3)
    chain = ada.found()
    ada.change(chain, additions=[bob, bobs_tablet])
    bob.follow()
    bobs_tablet.follow()
    bob.befriend(carl)
    bob.change(chain, additions=[carl])
    for device in (ada, bobs_tablet, carl):
        device.follow()
    members = (ada, bob, bobs_tablet, carl)
    assert len({device.groups[chain].member.secret for device in members}) == 1
    carl.tell(chain, b"thanks")
    for device in (ada, bob, bobs_tablet):
        (message,) = device.follow()
        assert device.groups[chain].member.unprotect(message) == b"thanks"
    card = ada.create(title="for the group")
    ada.share(card, bob.account, carl.account, secret=ada.groups[chain].name)
    ada.push()
    for device in (bob, bobs_tablet, carl):
        device.pull()
        assert device.read(card) == {"title": "for the group"}


@story
def additions_at_the_same_time_follow_the_longer_membership(url):
    ada, bob, carl, dora = person(url, "ada", "bob", "carl", "dora")
    for device in (bob, carl, dora):
        device.offer(4)
    chain = ada.found()
    ada.change(chain, additions=[bob])
    bob.follow()
    # Bob adds Dora while Ada, who has been a member for longer, adds Carl.
    by_ada = ada.change(chain, additions=[carl], send=False)
    bob.change(chain, additions=[dora])
    by_ada.send(ada)
    entry = bob.blocks(chain, 1)[0]
    assert entry["block"]["author"] == ada.id, entry
    listed = {member["public_key"] for member in ada.json("GET", f"/v1/chains/{chain}")["members"]}
    assert listed == {ada.id, bob.id, carl.id}, listed
    assert ada.json("GET", f"/v1/chains/{chain}")["replaced"]["epoch"] == 2
    # The other way round the later block of the younger member is refused.
    carl.follow()
    by_carl = carl.change(chain, additions=[dora], send=False)
    ada.change(chain, additions=[])
    assert refused("head_changed", by_carl.send, carl)["head"]["epoch"] == 3


@story
def a_lost_answer_to_a_commit_is_asked_for_again(url):
    phone, tablet = person(url, "phone", "tablet")
    tablet.offer(1)
    chain = phone.found()
    change = phone.change(chain, additions=[tablet], send=False)
    assert change.send(phone)["repeated"] is False
    assert change.send(phone)["repeated"] is True
    assert [message["kind"] for message in tablet.mailbox()] == ["welcome"]


@story
def a_removed_member_reads_and_writes_no_more(url):
    (ada,), (bob,), (carl,) = contacts(url, ["ada"], ["bob"], ["carl"])
    for device in (bob, carl):
        device.offer(3)
    chain = ada.found()
    ada.change(chain, additions=[bob, carl])
    bob.follow()
    carl.follow()
    before = carl.groups[chain]
    ada.change(chain, removals=[carl], staying=[bob])
    bob.follow()
    carl.follow()
    assert chain not in carl.groups
    name = ada.groups[chain].name
    assert bob.secrets[name] == ada.secrets[name] and name not in carl.secrets
    carl.groups[chain] = before
    refused("chain_not_found", carl.tell, chain, b"still here?")
    entry = carl.block(before, additions=[])
    refused("chain_not_found", carl.json, "POST", f"/v1/chains/{chain}/blocks", {"blocks": [entry]})


@story
def a_device_that_leaves_the_accounts_own_chain_is_logged_out(url):
    phone, tablet = person(url, "phone", "tablet")
    tablet.offer(1)
    chain = phone.found(own=True)
    phone.change(chain, additions=[tablet])
    entry = phone.block(phone.groups[chain], removals=[tablet.id])
    path = f"/v1/chains/{chain}/blocks"
    problem = refused("blocks_refused", phone.json, "POST", path, {"blocks": [entry]})
    assert problem["rule"] == "revocation_missing", problem
    statement = {"revocation": {
        "account": phone.account, "key": tablet.id, "created": int(time.time())}}
    phone.json("POST", path, {
        "blocks": [entry], "revocations": [{**statement, "signature": phone.sign(statement)}]})
    tablet.create(title="late")
    try:
        tablet.push()
    except Refused as refusal:
        assert refusal.status == 401, refusal
    else:
        raise AssertionError("a device that left wrote")


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
