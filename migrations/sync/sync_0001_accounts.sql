-- Accounts, their keys, their trees and what they are charged.
--
-- Ids are 16-byte blobs, moments are milliseconds since 1970, `seq` is the account's own sequence:
-- every changed record takes the next number, inside the transaction that changes it.

-- One row: which history the sequences belong to. A restore from backup writes another value, and
-- every client cursor of the old history starts over.
CREATE TABLE history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  history_id BLOB NOT NULL
) STRICT;

CREATE TABLE accounts (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  username TEXT UNIQUE,
  username_shown TEXT,
  root_id BLOB NOT NULL CHECK (length(root_id) = 16),
  seq INTEGER NOT NULL CHECK (seq >= 0),
  usage_bytes INTEGER NOT NULL CHECK (usage_bytes >= 0),
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX accounts_by_creation ON accounts (created_ms, id);

CREATE TABLE device_keys (
  public_key BLOB NOT NULL PRIMARY KEY CHECK (length(public_key) = 32),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  label TEXT NOT NULL,
  added_ms INTEGER NOT NULL,
  revoked_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX device_keys_by_account ON device_keys (account_id, added_ms);

CREATE TABLE sessions (
  token_hash BLOB NOT NULL PRIMARY KEY,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  public_key BLOB NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_expiry ON sessions (expires_ms);

CREATE INDEX sessions_by_account ON sessions (account_id, expires_ms);

-- What a signed request brought about, for the client whose answer was lost, until it expires.
CREATE TABLE nonces (
  public_key BLOB NOT NULL,
  nonce BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  expires_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (public_key, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX nonces_by_expiry ON nonces (expires_ms);

-- Small content stands in inline_contents, large content in the object store under object_id.
CREATE TABLE files (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  parent_id BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('folder', 'document')),
  name BLOB,
  name_hmac BLOB,
  seq INTEGER NOT NULL,
  content_version INTEGER NOT NULL,
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  object_id BLOB,
  CHECK ((parent_id = id) = (name IS NULL)),
  CHECK ((name IS NULL) = (name_hmac IS NULL)),
  CHECK (kind = 'document' OR content_version = 0)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX files_by_sequence ON files (owner_id, seq);

-- No two siblings of one name; the name itself is ciphertext, so its keyed hash stands for it.
CREATE UNIQUE INDEX files_by_name ON files (parent_id, name_hmac);

CREATE TABLE inline_contents (
  file_id BLOB NOT NULL UNIQUE,
  bytes BLOB NOT NULL
) STRICT;

-- Why the total in accounts.usage_bytes is what it is; only ever appended to.
CREATE TABLE usage_entries (
  owner_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  delta_bytes INTEGER NOT NULL,
  reason TEXT NOT NULL,
  file_id BLOB NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (owner_id, seq)
) STRICT, WITHOUT ROWID;

-- Protects an object that is being written; without a row here or in files it may be collected.
CREATE TABLE reservations (
  object_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  actor_key BLOB NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reservations_by_owner ON reservations (owner_id, expires_ms);

CREATE INDEX reservations_by_expiry ON reservations (expires_ms);

-- Objects that nothing points to any more, to be deleted once no download can still hold them.
CREATE TABLE garbage (
  object_id BLOB NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX garbage_by_age ON garbage (since_ms);
