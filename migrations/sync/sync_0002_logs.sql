-- Message logs: what the devices of an account append to, and read from each other. The order of messages is
-- that of the clocks of the devices that made them, so the tables hold no meaning of their own: contents, names
-- and keys are ciphertext.

-- A log. `epoch_id` is the epoch that takes messages. `name` and `key` are for the account's devices; the server
-- reads neither.
CREATE TABLE logs (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  epoch_id BLOB NOT NULL UNIQUE,
  name BLOB NOT NULL,
  key BLOB,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logs_by_owner ON logs (owner_id, created_ms, id);

-- The messages of a log from one beginning on. `message_count` is the number of the latest one, too, because
-- messages of an epoch are only added. `bytes` is what they are charged with. `horizon` is the latest timestamp of
-- the state that the epoch begins with: it takes only later ones. `snapshot_id` is the newest snapshot from which a
-- device can begin to read it. Another epoch takes its place: then it takes no more messages and is charged no more,
-- and `purge_ms` is from when on its rows are deleted, in slices. Until then it can be taken back if it is `kept`.
CREATE TABLE log_epochs (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  log_id BLOB NOT NULL,
  message_count INTEGER NOT NULL CHECK (message_count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  horizon BLOB CHECK (length(horizon) = 26),
  snapshot_id BLOB,
  purge_ms INTEGER,
  kept INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1)),
  CHECK (kept = 0 OR purge_ms IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_epochs_by_owner ON log_epochs (owner_id, id);

CREATE INDEX log_epochs_by_purge ON log_epochs (purge_ms, id) WHERE purge_ms IS NOT NULL;

CREATE UNIQUE INDEX log_epochs_kept ON log_epochs (log_id) WHERE kept = 1;

CREATE INDEX log_epochs_by_snapshot ON log_epochs (snapshot_id) WHERE snapshot_id IS NOT NULL;

-- The state of a log that a device stored, as an object: that of the first `covered_count` messages of an epoch, and
-- of all that was before. `seq` is its version. The row goes once no epoch has it as its `snapshot_id`.
CREATE TABLE log_snapshots (
  object_id BLOB NOT NULL PRIMARY KEY CHECK (length(object_id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  epoch_id BLOB NOT NULL,
  covered_count INTEGER NOT NULL CHECK (covered_count >= 0),
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  written_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX log_snapshots_by_owner ON log_snapshots (owner_id, seq);

-- A message. `stamp` is its timestamp: eight bytes of milliseconds since 1970, two of the counter, and the 16 of
-- the node, so the order of the bytes is that of the texts. The first content with a timestamp stays. `number`
-- counts the messages of the epoch from 1 on, as they arrived.
CREATE TABLE log_messages (
  epoch_id BLOB NOT NULL,
  stamp BLOB NOT NULL CHECK (length(stamp) = 26),
  number INTEGER NOT NULL CHECK (number > 0),
  content BLOB NOT NULL,
  PRIMARY KEY (epoch_id, stamp)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX log_messages_by_number ON log_messages (epoch_id, number);

-- Four levels of an epoch's trie of hashes. `path` is the place in base 3 below which they are. `hashes` has five
-- bytes for each place that has a hash: the place's number, 128 more if there is a page below it, and the hash.
CREATE TABLE log_trie_pages (
  epoch_id BLOB NOT NULL,
  path TEXT NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (epoch_id, path)
) STRICT, WITHOUT ROWID;

-- Another account's permission to read a log, or to append to it too. `share_key` is the log's key, sealed for that
-- account, and `signature` is the owner's device's over the grant. The owner's request writes the row, and the other
-- account's one accepts it. The row goes when either of them ends the share, and with the log.
CREATE TABLE log_shares (
  log_id BLOB NOT NULL,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  mode TEXT NOT NULL CHECK (mode IN ('read', 'write')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'accepted')),
  share_key BLOB NOT NULL,
  author_key BLOB NOT NULL,
  signature BLOB NOT NULL,
  granted_ms INTEGER NOT NULL,
  PRIMARY KEY (log_id, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_shares_by_owner ON log_shares (owner_id, state, account_id);

CREATE INDEX log_shares_by_sharee ON log_shares (account_id, state, owner_id);

-- How far messages have taken an account above its cap. An append adds to it, and whatever makes a log smaller takes
-- from it. The row goes once an append fits below the cap.
CREATE TABLE log_overdrafts (
  account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
  bytes INTEGER NOT NULL CHECK (bytes > 0)
) STRICT, WITHOUT ROWID;

-- A password for an app that has no device key: a client of Actual. It names its account, and gives access to the
-- account's budgets only. Only the hash of its secret part is stored. `used_ms` is the last log-in. The row goes when
-- the password is revoked.
CREATE TABLE app_passwords (
  id TEXT NOT NULL PRIMARY KEY,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  secret_hash BLOB NOT NULL CHECK (length(secret_hash) = 32),
  label TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  used_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX app_passwords_by_account ON app_passwords (account_id, created_ms, id);

-- A token that an app got for a password; only its hash is stored. `used_ms` is a day on which it was used lately. The
-- row goes with the password, or when more recent log-ins take its place.
CREATE TABLE app_tokens (
  token_hash BLOB NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  password_id TEXT NOT NULL REFERENCES app_passwords (id),
  used_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX app_tokens_by_account ON app_tokens (account_id);

CREATE INDEX app_tokens_by_password ON app_tokens (password_id, used_ms, token_hash);

-- A budget of a client of Actual: the client's id for it, and the log that holds it. `group_id` is the log's epoch, and
-- NULL since a client reset the budget, until one uploads it again. `key_id`, `key_salt` and `key_test` are of the key
-- that clients encrypt with, `meta` is how the snapshot is encrypted, and `meta_key` the key in it. The row goes with
-- the log.
CREATE TABLE actual_files (
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  file TEXT NOT NULL,
  log_id BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  group_id BLOB,
  format INTEGER NOT NULL,
  key_id TEXT,
  key_salt TEXT,
  key_test TEXT,
  meta TEXT,
  meta_key TEXT,
  PRIMARY KEY (owner_id, file)
) STRICT, WITHOUT ROWID;

CREATE INDEX actual_files_by_file ON actual_files (file, owner_id);

-- What an upload of a budget said, for each epoch that it began or that took messages then: an epoch that an operator
-- restores gets its own format, key and encryption back. Written with each upload. Rows of other epochs than the log's
-- own and the one that it keeps go with the next upload, the rest with the log.
CREATE TABLE actual_epochs (
  epoch_id BLOB NOT NULL PRIMARY KEY,
  log_id BLOB NOT NULL,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  format INTEGER NOT NULL,
  key_id TEXT,
  key_salt TEXT,
  key_test TEXT,
  meta TEXT,
  meta_key TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX actual_epochs_by_log ON actual_epochs (log_id);

CREATE INDEX actual_epochs_by_owner ON actual_epochs (owner_id);

-- The push id of a device that sleeps, by which a push gateway wakes it, and the wake-up that waits. The device registers
-- it. `seq` and `digest` are what the account was like when the device was last woken, or made a change itself:
-- the account's number, and a digest of the rest. Another state is a reason to wake it. Then `wake_up_id` names the
-- wake-up, and `due_ms` is when it is sent next; both are NULL if none waits. The row goes with the key, with the
-- registration, and when the gateway says that the push id is gone.
CREATE TABLE push_ids (
  public_key BLOB NOT NULL PRIMARY KEY CHECK (length(public_key) = 32),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  push_id TEXT NOT NULL,
  registered_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  wake_up_id BLOB,
  due_ms INTEGER,
  sent_ms INTEGER,
  failure_count INTEGER NOT NULL DEFAULT 0,
  CHECK ((wake_up_id IS NULL) = (due_ms IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX push_ids_by_account ON push_ids (account_id);

CREATE INDEX push_ids_by_push_id ON push_ids (push_id);

CREATE INDEX push_ids_due ON push_ids (due_ms) WHERE due_ms IS NOT NULL;

-- Who sees an owner's tree.
CREATE INDEX views_by_owner ON views (owner_id, account_id);

-- Documents of versions: what the devices of an account say of a document, encrypted, and merged on the devices. They
-- have nothing in common with the documents of trees.

-- What one device says of a document, as it signed it. `counter` is the device's own, over all its documents. `clock`
-- has 40 bytes for each device of whose versions it was made: the key, and the counter. A version without a `body` is
-- a deletion. `seq` is the number of the account's sequence under which it was stored, at `stored_ms`. `bytes` is what
-- it is charged with besides the fee of a record. It is current while `replaced_ms` is NULL. Then its row stays for as
-- long as the owner's plan keeps history, uncharged but for its `bytes`. A deletion is not replaced; its row goes
-- once every device has it, or after the retention of deleted records. `blobs` are the ids of the blobs that a version
-- names, and `receivers` those of other accounts. Each of them has a row of its own, with `writer_id`: the account whose
-- device wrote it. Such rows have no `clock` and `body`, but a text, which all of them and the writer's row refer to;
-- their `bytes` is 0, because the text is charged. In another account a version without a body is the removal of that
-- account: what it replaces is the writer's alone. It has a rowid, because long rows in the inner pages of their own key
-- would make the tree deep.
CREATE TABLE document_versions (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  document_id BLOB NOT NULL CHECK (length(document_id) = 16),
  author_key BLOB NOT NULL CHECK (length(author_key) = 32),
  counter INTEGER NOT NULL CHECK (counter > 0),
  deleted INTEGER NOT NULL CHECK (deleted = 0 OR deleted = 1),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  stored_ms INTEGER NOT NULL,
  replaced_ms INTEGER,
  created_s INTEGER NOT NULL,
  signature BLOB NOT NULL CHECK (length(signature) = 64),
  secret BLOB,
  writer_id BLOB,
  receivers BLOB,
  blobs BLOB,
  text_id BLOB,
  clock BLOB,
  body BLOB,
  UNIQUE (account_id, seq),
  CHECK ((deleted = 1) = (secret IS NULL)),
  CHECK ((text_id IS NULL) = (clock IS NOT NULL)),
  CHECK (text_id IS NULL OR (body IS NULL AND bytes = 0)),
  CHECK (text_id IS NOT NULL OR (deleted = 1) = (body IS NULL)),
  CHECK (writer_id IS NULL OR text_id IS NOT NULL)
) STRICT;

-- A document has one current version of each device. The document comes first, here and where versions are replaced, so
-- that an operator finds who holds a document by its id alone.
CREATE UNIQUE INDEX document_versions_current
  ON document_versions (document_id, account_id, author_key) WHERE replaced_ms IS NULL;

-- What a clock lacks, without a look at what was replaced.
CREATE UNIQUE INDEX document_versions_by_counter
  ON document_versions (account_id, author_key, counter) WHERE replaced_ms IS NULL;

-- Whether a version that is pushed again was replaced meanwhile.
CREATE UNIQUE INDEX document_versions_replaced
  ON document_versions (account_id, author_key, counter) WHERE replaced_ms IS NOT NULL;

CREATE INDEX document_versions_by_document ON document_versions (document_id, account_id, seq)
  WHERE replaced_ms IS NOT NULL;

CREATE INDEX document_versions_by_age ON document_versions (account_id, replaced_ms, seq)
  WHERE replaced_ms IS NOT NULL;

CREATE INDEX document_deletions_by_age ON document_versions (account_id, stored_ms, seq)
  WHERE deleted = 1 AND replaced_ms IS NULL;

-- The accounts that hold a text, besides the one that is charged for it.
CREATE UNIQUE INDEX document_versions_by_text ON document_versions (text_id, account_id)
  WHERE text_id IS NOT NULL;

-- What an account wrote in others.
CREATE INDEX document_versions_by_writer ON document_versions (writer_id, account_id, seq)
  WHERE writer_id IS NOT NULL;

-- The current versions that an account holds of another.
CREATE INDEX document_versions_held ON document_versions (account_id, writer_id, replaced_ms)
  WHERE writer_id IS NOT NULL AND replaced_ms IS NULL;

-- The clock and the body of a version that several accounts hold, once for all of them. `bytes` is what `owner_id`,
-- the account whose device wrote it, is charged with. The row goes when no version refers to it any more.
CREATE TABLE document_texts (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  clock BLOB NOT NULL,
  body BLOB
) STRICT;

CREATE INDEX document_texts_by_owner ON document_texts (owner_id, id);

-- An encrypted file that versions name: an object. It is charged to `owner_id`, whose device stored it under the number
-- `seq`. Until a version names it, `due_ms` is when it goes. Then the row goes when no version names it any more.
CREATE TABLE document_blobs (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  object_id BLOB NOT NULL UNIQUE,
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  due_ms INTEGER,
  UNIQUE (owner_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_blobs_due ON document_blobs (due_ms, id) WHERE due_ms IS NOT NULL;

CREATE INDEX document_blobs_unnamed ON document_blobs (owner_id, due_ms, id)
  WHERE due_ms IS NOT NULL;

-- The versions that name a blob, by the account that holds them and their numbers there. Written and deleted with them.
CREATE TABLE document_blob_names (
  blob_id BLOB NOT NULL,
  account_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (blob_id, account_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_blob_names_by_version ON document_blob_names (account_id, seq);

-- Texts and blobs that an account, `holder_id`, holds no longer. Whoever deletes such a row of a version writes it,
-- because that transaction may not hold the row of the account that is charged. It goes once that account was looked at.
CREATE TABLE document_releases (
  owner_id BLOB NOT NULL,
  item_id BLOB NOT NULL,
  holder_id BLOB NOT NULL,
  PRIMARY KEY (owner_id, item_id, holder_id)
) STRICT, WITHOUT ROWID;

-- The highest counter of a device's versions, and that of its deletions whose rows have gone. `writer_id` is the
-- device's account, if it is another. The row stays while both accounts do, because a counter is not used twice. Rows
-- of foreign devices that have no current version and no `collected` one go when there are too many.
CREATE TABLE document_devices (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  author_key BLOB NOT NULL CHECK (length(author_key) = 32),
  counter INTEGER NOT NULL CHECK (counter > 0),
  collected INTEGER NOT NULL DEFAULT 0,
  writer_id BLOB,
  PRIMARY KEY (account_id, author_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_devices_by_writer ON document_devices (writer_id)
  WHERE writer_id IS NOT NULL;

-- Whether other accounts know a key, so that one of an erased account does not come back in another meanwhile.
CREATE INDEX document_devices_foreign ON document_devices (author_key) WHERE writer_id IS NOT NULL;

-- Up to which number of the account's sequence a device had everything when it pulled while a newer deletion waited, and
-- when. A pull writes it, at most once an hour. The row of a deletion goes before its retention ends once no device is
-- below it whose key is not revoked, if the account has no contacts. The row stays while the account does.
CREATE TABLE document_readers (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  device_key BLOB NOT NULL CHECK (length(device_key) = 32),
  seq INTEGER NOT NULL,
  told_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, device_key)
) STRICT, WITHOUT ROWID;

-- What an account's versions add up to: `record_count` is the number of the current ones, and `bytes` the sum of all
-- and of the texts and blobs that the account is charged for. `history_bytes` is the part of it that replaced versions
-- take, with the account's own texts that they refer to.
-- `seq` is the number of the latest change. `due_ms` is when to look next for rows to delete; NULL: nothing waits.
CREATE TABLE document_totals (
  account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  record_count INTEGER NOT NULL CHECK (record_count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  history_bytes INTEGER NOT NULL DEFAULT 0 CHECK (history_bytes >= 0),
  due_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX document_totals_by_due ON document_totals (due_ms, account_id)
  WHERE due_ms IS NOT NULL;
