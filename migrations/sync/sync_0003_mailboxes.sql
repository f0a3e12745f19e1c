-- Mailboxes: sealed messages from device to device, and the key packages of MLS (RFC 9420) by which devices let each
-- other into groups. Messages are ciphertext; of a package the server knows its size and its signature key.

-- A message. The sender's device chose its `id`, and `digest` is of its receivers, or of its chain instead, and of
-- its body, so that a repeat is known. `number` is that of the sender's account under which it was stored. `refused`
-- names the receivers that it was not stored for: a byte for the reason, and the key. `bytes` is what it is charged
-- with besides the fee of a record. `waiting_count` is the number of mailboxes that it is in; an acknowledgement
-- takes one from it. At `due_ms` the row goes: an hour after the last acknowledgement. If some are missing by then,
-- the message has expired: it leaves their mailboxes, has no `body` any more, and `expired` has their keys. Then it
-- is in the mailbox of its sender's device. It has a rowid, because long rows in the inner pages of their own key
-- would make the tree deep.
CREATE TABLE mailbox_messages (
  sender_id BLOB NOT NULL REFERENCES accounts (id),
  number INTEGER NOT NULL,
  sender_key BLOB NOT NULL CHECK (length(sender_key) = 32),
  id BLOB NOT NULL CHECK (length(id) = 16),
  kind TEXT NOT NULL CHECK (kind IN ('message', 'commit', 'welcome')),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  sent_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  receiver_count INTEGER NOT NULL CHECK (receiver_count > 0),
  waiting_count INTEGER NOT NULL CHECK (waiting_count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  refused BLOB NOT NULL,
  expired BLOB,
  body BLOB,
  UNIQUE (sender_id, number),
  CHECK ((body IS NULL) = (expired IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX mailbox_messages_by_id ON mailbox_messages (sender_key, id);

CREATE INDEX mailbox_messages_due ON mailbox_messages (due_ms, sender_id);

CREATE INDEX mailbox_messages_by_due ON mailbox_messages (sender_id, due_ms, number);

-- A message in the mailbox of a device. `number` is that of the receiver's account under which it arrived, so the
-- order of numbers is that of arrival. `bytes` is what it counts for in the mailbox. The row goes when the device
-- acknowledges it, when it expires, and with the device's key.
CREATE TABLE mailbox_entries (
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  number INTEGER NOT NULL,
  sender_id BLOB NOT NULL,
  message_number INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (public_key, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX mailbox_entries_by_message
  ON mailbox_entries (sender_id, message_number, public_key);

-- The mailbox of a device: what its entries add up to. The first message to it, or its first key package, makes the
-- row. `refused_ms` is when a message last found it full, and NULL again once a message leaves it; `refused_count` is how
-- often it was. The key was revoked at `closed_ms`: then the entries, the key packages and the row go, in slices.
CREATE TABLE mailboxes (
  public_key BLOB NOT NULL PRIMARY KEY CHECK (length(public_key) = 32),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
  bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  refused_count INTEGER NOT NULL DEFAULT 0,
  refused_ms INTEGER,
  closed_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX mailboxes_by_account ON mailboxes (account_id, public_key);

CREATE INDEX mailboxes_refused ON mailboxes (refused_ms, public_key) WHERE refused_ms IS NOT NULL;

CREATE INDEX mailboxes_closed ON mailboxes (closed_ms, public_key) WHERE closed_ms IS NOT NULL;

-- The part of a mailbox that is of one account. The row goes when nothing of that account waits in it.
CREATE TABLE mailbox_senders (
  sender_id BLOB NOT NULL,
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  message_count INTEGER NOT NULL CHECK (message_count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (sender_id, public_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX mailbox_senders_by_key ON mailbox_senders (public_key, sender_id);

-- A key package that a device offers. `number` is that of its account under which it was offered; the oldest is given
-- first, once, and its row stays without the `package` for a day, so that it is not offered again. The last-resort one
-- is given whenever there is no other, and stays. `bytes` is what it is charged with besides the fee of a record, and 0
-- once it is given. The rows go with the key. It has a rowid, because its rows are long.
CREATE TABLE key_packages (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  number INTEGER NOT NULL,
  last_resort INTEGER NOT NULL CHECK (last_resort IN (0, 1)),
  claimed_ms INTEGER,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  package BLOB,
  UNIQUE (public_key, digest),
  CHECK ((claimed_ms IS NULL) = (package IS NOT NULL))
) STRICT;

CREATE INDEX key_packages_offered ON key_packages (public_key, last_resort, number, digest)
  WHERE claimed_ms IS NULL;

CREATE INDEX key_packages_claimed ON key_packages (claimed_ms, account_id)
  WHERE claimed_ms IS NOT NULL;

-- Those of one account, so that a sweep does not read all that its devices offer.
CREATE INDEX key_packages_given ON key_packages (account_id, claimed_ms)
  WHERE claimed_ms IS NOT NULL;

CREATE INDEX key_packages_by_account ON key_packages (account_id, public_key, digest);

-- How many key packages of a device of `owner_id` an account claimed on a day (UTC). Rows of earlier days go with the
-- account's first claim of a day, all of them with either account.
CREATE TABLE key_package_claims (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  day INTEGER NOT NULL,
  claim_count INTEGER NOT NULL CHECK (claim_count > 0),
  owner_id BLOB NOT NULL,
  PRIMARY KEY (account_id, public_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_package_claims_by_owner ON key_package_claims (owner_id);

-- What an account is charged for: its messages, and the key packages that its devices offer. `seq` is the number of
-- the latest change of either. `claim_count` is the number of packages that it claimed on `claim_day` (UTC). Its
-- devices could not use `failure_count` of the messages that they acknowledged; `failure` is what the latest of them
-- said, at `failed_ms`.
CREATE TABLE mailbox_totals (
  account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
  message_bytes INTEGER NOT NULL DEFAULT 0 CHECK (message_bytes >= 0),
  package_count INTEGER NOT NULL DEFAULT 0 CHECK (package_count >= 0),
  package_bytes INTEGER NOT NULL DEFAULT 0 CHECK (package_bytes >= 0),
  claim_day INTEGER NOT NULL DEFAULT 0,
  claim_count INTEGER NOT NULL DEFAULT 0,
  failure_count INTEGER NOT NULL DEFAULT 0,
  failure TEXT,
  failed_ms INTEGER
) STRICT, WITHOUT ROWID;
