-- Key backup: what an account's devices sealed for a key that its owner keeps in words or a passphrase, and what that
-- recovery key may do: read the backup, and let one device in.

-- A recovery key that a device named, as both signed it. `delay_days` is how long the devices have to refuse what it
-- asks for. One with `ended_ms` was removed or replaced. Its row stays only while a device that it let in is on record,
-- so that the chain of that device's key can be verified. It goes with the account.
CREATE TABLE recovery_keys (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  number INTEGER NOT NULL,
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  delay_days INTEGER NOT NULL CHECK (delay_days BETWEEN 0 AND 7),
  named_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  statement_created_s INTEGER NOT NULL,
  statement_author BLOB NOT NULL,
  statement_signature BLOB NOT NULL,
  statement_proof BLOB NOT NULL,
  PRIMARY KEY (account_id, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX recovery_keys_live ON recovery_keys (public_key) WHERE ended_ms IS NULL;

CREATE UNIQUE INDEX recovery_keys_by_account ON recovery_keys (account_id) WHERE ended_ms IS NULL;

CREATE INDEX recovery_keys_by_key ON recovery_keys (public_key, account_id);

-- The sealed backup as a device stored it, encrypted for the recovery key. The latest versions stay, and older ones go
-- with the next. It has a rowid, because long rows in the inner pages of their own key would make the tree deep.
CREATE TABLE key_backups (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  version INTEGER NOT NULL CHECK (version > 0),
  author_key BLOB NOT NULL,
  stored_ms INTEGER NOT NULL,
  content BLOB NOT NULL,
  UNIQUE (account_id, version)
) STRICT;

-- What a recovery key asked for: to read the backup, and to let in the device with `device_key`, if there is one. It
-- waits until `opens_ms`, is open for some days, and then over: `refused` by a device, `ended` by its time or with the
-- key, or `failed`, because the device could not be let in. `look_ms` is when its state changes next; NULL: it is over.
-- `history_id` is the history in which it was asked for: what waited in a backup never opens in the database that was
-- restored from it, because a device may have refused it since. The latest rows of an account stay.
CREATE TABLE recoveries (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  number INTEGER NOT NULL,
  recovery_key BLOB NOT NULL CHECK (length(recovery_key) = 32),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'open', 'refused', 'ended', 'failed')),
  asked_ms INTEGER NOT NULL,
  opens_ms INTEGER NOT NULL,
  history_id BLOB NOT NULL,
  ended_ms INTEGER,
  look_ms INTEGER,
  device_key BLOB CHECK (length(device_key) = 32),
  label TEXT,
  statement_created_s INTEGER,
  statement_signature BLOB,
  statement_proof BLOB,
  PRIMARY KEY (account_id, number),
  CHECK ((device_key IS NULL) = (statement_signature IS NULL)),
  CHECK ((look_ms IS NULL) = (ended_ms IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX recoveries_live ON recoveries (account_id) WHERE look_ms IS NOT NULL;

CREATE INDEX recoveries_by_look ON recoveries (look_ms, account_id) WHERE look_ms IS NOT NULL;
