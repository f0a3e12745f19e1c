-- Everything that coffer-sync keeps: accounts, their keys, their trees, and what they are charged. Names,
-- keys and contents are ciphertext.
--
-- Ids are 16 bytes, times are milliseconds since 1970 in UTC. `seq` is a number of an account's own
-- sequence: every changed record takes the next one, in the transaction that changes it. So a cursor is one
-- number.
--
-- SQLite builds a table of its own for each row that it checks against `IN` with more than two values. So
-- tables that every change writes check with `OR`.

-- One row: which history the sequences belong to. Restoring a backup writes another id, and all cursors
-- start again. Cursors carry a code under `cursor_key`, so that no client can invent one.
CREATE TABLE history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  history_id BLOB NOT NULL,
  cursor_key BLOB
) STRICT;

-- An account: its name, its root, the last number of its sequence, and its usage. `usage_bytes` and
-- `record_count` are the totals that writes are checked against. `kept_bytes` is what its objects in
-- `garbage` take. `history_bytes` and `trash_bytes` are the parts of the usage that are in `versions` and in
-- `trash`; `history_due_ms` is when to look next for what to delete of them, and NULL if there is nothing.
-- `purges_history`: the oldest versions, and then the oldest trash, are deleted before a write is refused for
-- lack of room. `caps_folders`: it has or had rows in `folder_caps`. It is read with the row's lock, because a
-- statement that waits for the lock would miss a row of that table. The days count invitations and received content for limits. `suspended_ms`: an operator blocked writes. `loud_seq` is the number of the last change that
-- devices of other accounts may need to act on. The row goes when the account is erased.
CREATE TABLE accounts (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  username TEXT UNIQUE,
  username_shown TEXT,
  root_id BLOB NOT NULL CHECK (length(root_id) = 16),
  seq INTEGER NOT NULL CHECK (seq >= 0),
  usage_bytes INTEGER NOT NULL CHECK (usage_bytes >= 0),
  created_ms INTEGER NOT NULL,
  record_count INTEGER NOT NULL DEFAULT 0,
  invitation_day INTEGER NOT NULL DEFAULT 0,
  invitation_count INTEGER NOT NULL DEFAULT 0,
  kept_bytes INTEGER NOT NULL DEFAULT 0,
  created_until_ms INTEGER NOT NULL DEFAULT 0,
  invite_id BLOB,
  received_day INTEGER NOT NULL DEFAULT 0,
  received_count INTEGER NOT NULL DEFAULT 0,
  suspended_ms INTEGER,
  history_bytes INTEGER NOT NULL DEFAULT 0 CHECK (history_bytes >= 0),
  history_due_ms INTEGER,
  trash_bytes INTEGER NOT NULL DEFAULT 0 CHECK (trash_bytes >= 0),
  purges_history INTEGER NOT NULL DEFAULT 0 CHECK (purges_history = 0 OR purges_history = 1),
  caps_folders INTEGER NOT NULL DEFAULT 0 CHECK (caps_folders = 0 OR caps_folders = 1),
  loud_seq INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX accounts_by_history_due ON accounts (history_due_ms, id)
  WHERE history_due_ms IS NOT NULL;

CREATE INDEX accounts_by_creation ON accounts (created_ms, id);

CREATE INDEX accounts_by_kept ON accounts (kept_bytes) WHERE kept_bytes > 0;

-- A device key and what other keys of the account stated about it, as they signed it. The first key has no
-- statement: the account's id is derived from it. `by_operator`: an operator added it. Revoked keys stay,
-- so that none comes back and their signatures can be verified.
CREATE TABLE device_keys (
  public_key BLOB NOT NULL PRIMARY KEY CHECK (length(public_key) = 32),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  label TEXT NOT NULL,
  added_ms INTEGER NOT NULL,
  revoked_ms INTEGER,
  statement_created_s INTEGER,
  statement_proof BLOB,
  statement_author BLOB,
  statement_signature BLOB,
  revocation_created_s INTEGER,
  revocation_author BLOB,
  revocation_signature BLOB,
  last_session_ms INTEGER NOT NULL,
  by_operator INTEGER NOT NULL DEFAULT 0 CHECK (by_operator IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX device_keys_by_account ON device_keys (account_id, added_ms);

CREATE INDEX device_keys_live ON device_keys (account_id, added_ms) WHERE revoked_ms IS NULL;

CREATE INDEX device_keys_idle ON device_keys (last_session_ms) WHERE revoked_ms IS NULL;

-- A session of a device; only the hash of its token is stored. Rows go when they expire.
CREATE TABLE sessions (
  token_hash BLOB NOT NULL PRIMARY KEY,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  public_key BLOB NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_expiry ON sessions (expires_ms);

CREATE INDEX sessions_by_account ON sessions (account_id, expires_ms);

-- The answer to a signed request, for a client that did not receive it. Rows go when they expire.
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

-- A code that creates accounts; only its hash is stored.
CREATE TABLE invites (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  code_hash BLOB NOT NULL UNIQUE,
  note TEXT NOT NULL,
  use_count INTEGER NOT NULL CHECK (use_count >= 0),
  use_count_max INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX invites_by_creation ON invites (created_ms, id);

-- An account whose invitations another account does not accept.
CREATE TABLE blocks (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  blocked_id BLOB NOT NULL REFERENCES accounts (id),
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, blocked_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX blocks_blocked ON blocks (blocked_id, account_id);

-- A record of a tree: folder, document or link. `signature` is the author's, over the statement that made
-- the record what it is. `deleted` is the explicit mark; the sweep gives everything below a deleted folder
-- its own mark and `deleted_with`. `content_author` is the key that wrote the content, at `content_ms`; both
-- are NULL for content from another Coffer. `trash_id`: the deleted record is in the trash with this file, and
-- keeps its content and its charge. `height` is at least the number of levels below a folder. It has
-- a rowid, because long rows in the inner pages of their own key would make the tree deep. Deleted records go
-- after their retention.
CREATE TABLE files (
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  parent_id BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'folder' OR kind = 'document' OR kind = 'link'),
  target_id BLOB,
  name BLOB,
  name_hmac BLOB,
  file_key BLOB,
  author_key BLOB,
  signature BLOB,
  height INTEGER NOT NULL CHECK (height >= 0),
  seq INTEGER NOT NULL,
  content_version INTEGER NOT NULL,
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  object_id BLOB,
  deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
  deleted_ms INTEGER,
  deleted_with BLOB,
  content_author BLOB,
  content_ms INTEGER,
  trash_id BLOB,
  CHECK ((parent_id = id) = (name IS NULL)),
  CHECK ((name IS NULL) = (name_hmac IS NULL)),
  CHECK ((kind = 'link') = (target_id IS NOT NULL)),
  CHECK (kind = 'document' OR content_version = 0),
  CHECK ((deleted = 1) = (deleted_ms IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX files_by_sequence ON files (owner_id, seq);

-- No two live siblings have one name. The name is ciphertext, so its keyed hash stands for it.
CREATE UNIQUE INDEX files_by_name ON files (parent_id, name_hmac) WHERE deleted = 0;

CREATE INDEX files_deleted_by_parent ON files (parent_id) WHERE deleted = 1;

-- An account has one live link to a file.
CREATE UNIQUE INDEX files_by_target ON files (owner_id, target_id)
  WHERE deleted = 0 AND target_id IS NOT NULL;

CREATE INDEX files_by_trash ON files (trash_id, seq) WHERE trash_id IS NOT NULL;

CREATE INDEX files_by_deletion ON files (deleted_ms) WHERE deleted = 1;

-- The links to a file of any account: its id is not given again while one is left.
CREATE INDEX files_by_link_target ON files (target_id) WHERE deleted = 0 AND target_id IS NOT NULL;

-- Whether an object that the store lists is in use.
CREATE INDEX files_by_object ON files (object_id) WHERE object_id IS NOT NULL;

-- The content of a small document. Larger ones are in the object store under files.object_id.
CREATE TABLE inline_contents (
  file_id BLOB NOT NULL UNIQUE,
  bytes BLOB NOT NULL
) STRICT;

-- A content of a document that was replaced, while the owner's plan keeps it. `seq` is the number of the
-- owner's sequence under which it was replaced, and `written_ms` and `author_key` say who wrote it when. A
-- small content is in `bytes`. A content moves between `files` and this table in one transaction, and always
-- to a higher number, so a walk over both in the order of numbers misses none.
CREATE TABLE versions (
  file_id BLOB NOT NULL,
  version INTEGER NOT NULL,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  replaced_ms INTEGER NOT NULL,
  written_ms INTEGER,
  author_key BLOB,
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  object_id BLOB,
  bytes BLOB,
  UNIQUE (file_id, version),
  CHECK ((object_id IS NULL) = (bytes IS NOT NULL)),
  CHECK (bytes IS NULL OR length(bytes) = content_bytes)
) STRICT;

CREATE UNIQUE INDEX versions_by_sequence ON versions (owner_id, seq);

CREATE INDEX versions_by_age ON versions (owner_id, replaced_ms, seq);

CREATE INDEX versions_by_object ON versions (object_id) WHERE object_id IS NOT NULL;

-- A small content that was replaced a moment ago and that no plan keeps, for a client that was just told of it. It is
-- not charged: an account has 64 places, and `place` is the rest of `version` divided by that. The row goes when it
-- expires, or when a later content takes its place.
CREATE TABLE former_contents (
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  place INTEGER NOT NULL,
  file_id BLOB NOT NULL,
  version INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (owner_id, place)
) STRICT;

CREATE INDEX former_contents_by_expiry ON former_contents (expires_ms);

-- Who else may see a file and everything below it. `seq` is a number of the sharee's sequence under which
-- the share was last reported; `version` is the number of its last change. When access ends the row stays
-- and says how.
CREATE TABLE shares (
  file_id BLOB NOT NULL,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  mode TEXT NOT NULL CHECK (mode IN ('read', 'write')),
  state TEXT NOT NULL
    CHECK (state = 'pending' OR state = 'accepted' OR state = 'rejected' OR state = 'revoked'),
  share_key BLOB,
  author_key BLOB NOT NULL,
  signature BLOB NOT NULL,
  seq INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (file_id, account_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX shares_by_sequence ON shares (account_id, seq);

CREATE INDEX shares_by_owner ON shares (owner_id, state, account_id);

-- Who may see a file now, apart from the many whose share has ended.
CREATE INDEX shares_live ON shares (file_id, account_id) WHERE state IN ('pending', 'accepted');

CREATE INDEX shares_by_sharee ON shares (account_id, state, owner_id);

-- That an account sees part of an owner's tree, and from which number of the owner's sequence on it must
-- read. Another `number` means that it must read everything again.
CREATE TABLE views (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  number INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  PRIMARY KEY (account_id, owner_id)
) STRICT, WITHOUT ROWID;

-- A file that left what an account sees, with everything below it; `seq` is the owner's. Rows go after the
-- retention of deleted records.
CREATE TABLE departures (
  account_id BLOB NOT NULL,
  owner_id BLOB NOT NULL,
  file_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, owner_id, file_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX departures_by_sequence ON departures (account_id, owner_id, seq);

CREATE INDEX departures_by_age ON departures (at_ms);

-- A deleted folder whose children are not all marked yet. The row goes when the sweep is done.
CREATE TABLE deletions (
  folder_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  deleted_with BLOB NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deletions_by_age ON deletions (since_ms, folder_id);

CREATE INDEX deletions_by_root ON deletions (deleted_with);

-- A file that was deleted and is kept with everything that was deleted with it, while the owner's plan says
-- so. The columns from `parent_id` to `signature` are its record before. `seq` is the owner's number of the
-- deletion. `bytes` and `record_count` are what is kept, as far as it was marked. While its files come back
-- or lose their contents, those up to `walked_seq` are done. `link_count` counts the links that were deleted
-- with it and are not kept.
CREATE TABLE trash (
  root_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  seq INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state = 'kept' OR state = 'restoring' OR state = 'purging'),
  deleted_ms INTEGER NOT NULL,
  deleted_by BLOB NOT NULL,
  parent_id BLOB NOT NULL,
  name BLOB,
  name_hmac BLOB,
  file_key BLOB,
  author_key BLOB,
  signature BLOB,
  bytes INTEGER NOT NULL,
  record_count INTEGER NOT NULL,
  walked_seq INTEGER NOT NULL,
  link_count INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX trash_by_sequence ON trash (owner_id, seq);

CREATE INDEX trash_by_age ON trash (owner_id, deleted_ms, seq) WHERE state = 'kept';

CREATE INDEX trash_open ON trash (deleted_ms) WHERE state <> 'kept';

-- How many bytes a folder may hold, as its owner set it. `used_bytes` changes with every change of what the owner is
-- charged for below the folder. The folder is counted, and the difference added, while `counted_number` is less than
-- `count_number`. Before the first count (0) it may not grow.
CREATE TABLE folder_caps (
  folder_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  cap_bytes INTEGER NOT NULL CHECK (cap_bytes >= 0),
  used_bytes INTEGER NOT NULL,
  count_number INTEGER NOT NULL,
  counted_number INTEGER NOT NULL CHECK (counted_number BETWEEN 0 AND count_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX folder_caps_by_owner ON folder_caps (owner_id, folder_id);

CREATE INDEX folder_caps_uncounted ON folder_caps (folder_id) WHERE counted_number < count_number;

-- Why accounts.usage_bytes is what it is. The latest entries are kept one by one; older ones are folded
-- into one for each reason, which stands for `entry_count`.
CREATE TABLE usage_entries (
  owner_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  delta_bytes INTEGER NOT NULL,
  reason TEXT NOT NULL,
  file_id BLOB NOT NULL,
  at_ms INTEGER NOT NULL,
  entry_count INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (owner_id, seq)
) STRICT, WITHOUT ROWID;

-- Content bytes sent to clients and received from them, by account and UTC month (yyyymm).
CREATE TABLE transfers (
  owner_id BLOB NOT NULL,
  month INTEGER NOT NULL,
  sent_bytes INTEGER NOT NULL CHECK (sent_bytes >= 0),
  received_bytes INTEGER NOT NULL CHECK (received_bytes >= 0),
  PRIMARY KEY (owner_id, month)
) STRICT, WITHOUT ROWID;

-- An object that is being written, and the space reserved for it. `instance_id` is the program that writes
-- it, `nonce` the request, `file_id` the document whose content it will be; any other content has none.
-- The row goes with the end of the upload, or when it expires.
CREATE TABLE reservations (
  object_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  actor_key BLOB NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  expires_ms INTEGER NOT NULL,
  instance_id BLOB,
  nonce BLOB,
  file_id BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX reservations_by_owner ON reservations (owner_id, expires_ms);

CREATE INDEX reservations_by_expiry ON reservations (expires_ms);

CREATE INDEX reservations_by_request ON reservations (actor_key, nonce);

-- A resumable upload: what its creating request asked for, and what is durable of its content. `kind` is `file` for a
-- document's content, `snapshot` for a log's, `blob` or `link`; `subject_id` is what it is the content of. `query` is
-- the request's: it says which messages a snapshot covers, and when a link ends. The secret in its URL is stored as a
-- hash. `hash_state` is SHA-256 after `durable_bytes`; `store_state` belongs to the object store. Each request takes
-- the next `epoch`, and an older one writes no more. While it is open (`status` is NULL), a reservation protects its
-- object. `status`, `headers` and `body` are its final answer, without the token of a link. Progress puts `expires_ms`
-- off, at most to `ends_ms`. The row goes then, and sooner if an account has many final answers.
CREATE TABLE uploads (
  secret_hash BLOB NOT NULL PRIMARY KEY CHECK (length(secret_hash) = 32),
  object_id BLOB NOT NULL UNIQUE,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  kind TEXT NOT NULL,
  subject_id BLOB NOT NULL,
  actor_key BLOB NOT NULL,
  session_hash BLOB,
  if_match TEXT NOT NULL,
  query TEXT,
  digest BLOB NOT NULL,
  bytes INTEGER NOT NULL,
  durable_bytes INTEGER NOT NULL CHECK (durable_bytes BETWEEN 0 AND bytes),
  hash_state BLOB NOT NULL,
  store_state BLOB NOT NULL,
  epoch INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  ends_ms INTEGER NOT NULL,
  status INTEGER,
  headers TEXT,
  body BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX uploads_by_owner ON uploads (owner_id);

-- Final answers, of which an account keeps the latest.
CREATE INDEX uploads_answered ON uploads (owner_id, expires_ms) WHERE status IS NOT NULL;

CREATE INDEX uploads_by_expiry ON uploads (expires_ms);

-- An object that nothing refers to any more. It is deleted once no download can still use it. If it was a
-- document's content, `file_id` and `version` say so, for a client that was told of it.
CREATE TABLE garbage (
  object_id BLOB NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  owner_id BLOB,
  bytes INTEGER NOT NULL DEFAULT 0,
  file_id BLOB,
  version INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX garbage_by_file ON garbage (file_id, version) WHERE file_id IS NOT NULL;

CREATE INDEX garbage_by_age ON garbage (since_ms);

CREATE INDEX garbage_by_owner ON garbage (owner_id, since_ms);

-- A requested deletion of an account. From `erase_ms` on it is erased in slices; NULL: after its export.
-- `suspended_ms` is the account's own value before. `moved`: another Coffer has the account, so stores keep
-- billing. The row stays with times and an id, so that nothing of the account comes back.
CREATE TABLE account_deletions (
  account_id BLOB NOT NULL PRIMARY KEY CHECK (length(account_id) = 16),
  asked_ms INTEGER NOT NULL,
  erase_ms INTEGER,
  suspended_ms INTEGER,
  begun_ms INTEGER,
  erased_ms INTEGER,
  forgotten_ms INTEGER,
  moved INTEGER NOT NULL DEFAULT 0,
  asked_by TEXT CHECK (asked_by IN ('owner', 'operator'))
) STRICT, WITHOUT ROWID;

CREATE INDEX account_deletions_open ON account_deletions (erase_ms, account_id)
  WHERE erased_ms IS NULL;

CREATE INDEX account_deletions_exporting ON account_deletions (asked_ms, account_id)
  WHERE erase_ms IS NULL;

CREATE INDEX account_deletions_remembered ON account_deletions (erased_ms, account_id)
  WHERE erased_ms IS NOT NULL AND forgotten_ms IS NULL;

CREATE INDEX account_deletions_asked ON account_deletions (asked_ms, account_id);

-- An item of background work that fails. It waits longer after each failure while the others go on. The row
-- goes once the item is done, or a week after it was due if the item has left its queue by another way.
CREATE TABLE failing_items (
  queue TEXT NOT NULL,
  item BLOB NOT NULL CHECK (length(item) = 16),
  account_id BLOB CHECK (length(account_id) = 16),
  failure_count INTEGER NOT NULL CHECK (failure_count > 0),
  since_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (queue, item)
) STRICT, WITHOUT ROWID;

CREATE INDEX failing_items_since ON failing_items (since_ms, queue, item);

-- An action of an operator on what sync keeps, written in the transaction of the action. Rows are never
-- changed. Each digest covers the row and the digest before it, so a changed, missing or added row breaks
-- the chain.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  act TEXT NOT NULL,
  subject TEXT NOT NULL,
  account_id BLOB,
  former_account_id BLOB,
  reason TEXT NOT NULL,
  state_before TEXT NOT NULL,
  state_after TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;

CREATE INDEX audit_by_time ON audit (at_ms, number);

CREATE INDEX audit_by_account ON audit (account_id, at_ms, number) WHERE account_id IS NOT NULL;

CREATE INDEX audit_by_former_account ON audit (former_account_id, at_ms, number)
  WHERE former_account_id IS NOT NULL;

-- One row from the first action on: the end of the chain. Its lock makes actions follow each other.
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;
