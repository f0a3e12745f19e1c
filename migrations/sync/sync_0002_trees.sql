-- Trees that are changed in batches, shared between accounts, and deleted a slice at a time.

DROP INDEX files_by_sequence;

DROP INDEX files_by_name;

ALTER TABLE files RENAME TO files_before;

-- A rowid table: rows are long, and a long row in the inner pages of its own key makes the tree deep.
--
-- `deleted` is the explicit mark; whatever lies beneath a deleted folder is deleted too, and gets its
-- own mark (and deleted_with) from the sweep. `signature` is the author's, over the statement that
-- made the record what it is. `height` is never less than the levels beneath a folder.
CREATE TABLE files (
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  parent_id BLOB NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('folder', 'document', 'link')),
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
  CHECK ((parent_id = id) = (name IS NULL)),
  CHECK ((name IS NULL) = (name_hmac IS NULL)),
  CHECK ((kind = 'link') = (target_id IS NOT NULL)),
  CHECK (kind = 'document' OR content_version = 0),
  CHECK ((deleted = 1) = (deleted_ms IS NOT NULL))
) STRICT;

INSERT INTO files
  (id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key, signature,
   height, seq, content_version, content_bytes, object_id, deleted, deleted_ms, deleted_with)
SELECT id, owner_id, parent_id, kind, NULL, name, name_hmac, NULL, NULL, NULL,
  0, seq, content_version, content_bytes, object_id, 0, NULL, NULL
FROM files_before ORDER BY owner_id, seq;

DROP TABLE files_before;

CREATE UNIQUE INDEX files_by_sequence ON files (owner_id, seq);

-- No two live siblings of one name; the name itself is ciphertext, so its keyed hash stands for it.
CREATE UNIQUE INDEX files_by_name ON files (parent_id, name_hmac) WHERE deleted = 0;

-- What was deleted in a folder leaves sight along with it.
CREATE INDEX files_deleted_by_parent ON files (parent_id) WHERE deleted = 1;

-- One live link of an account to a file.
CREATE UNIQUE INDEX files_by_target ON files (owner_id, target_id)
  WHERE deleted = 0 AND target_id IS NOT NULL;

CREATE INDEX files_by_deletion ON files (deleted_ms) WHERE deleted = 1;

-- Who else may see a file and all beneath it. Rows stay when access ends, and say how it ended.
-- `seq` is a number of the sharee's own sequence: a share is news to the sharee.
CREATE TABLE shares (
  file_id BLOB NOT NULL,
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  mode TEXT NOT NULL CHECK (mode IN ('read', 'write')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'rejected', 'revoked')),
  share_key BLOB,
  author_key BLOB NOT NULL,
  signature BLOB NOT NULL,
  seq INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  PRIMARY KEY (file_id, account_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX shares_by_sequence ON shares (account_id, seq);

CREATE INDEX shares_between ON shares (account_id, owner_id, state);

CREATE INDEX shares_by_owner ON shares (owner_id, state, account_id);

-- That an account sees part of an owner's tree, and from which number of the owner's sequence on
-- it has to read to see all of it. Another `number` means: read all of it again.
CREATE TABLE views (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  number INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  PRIMARY KEY (account_id, owner_id)
) STRICT, WITHOUT ROWID;

-- A file that left what an account sees, with all beneath it; `seq` is the owner's.
CREATE TABLE departures (
  account_id BLOB NOT NULL,
  owner_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  file_id BLOB NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, owner_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX departures_by_age ON departures (at_ms);

-- Deleted folders whose live children are still to be marked; with is the folder the user deleted.
CREATE TABLE deletions (
  folder_id BLOB NOT NULL PRIMARY KEY,
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  deleted_with BLOB NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deletions_by_age ON deletions (since_ms, folder_id);

-- Live records, and invitations of strangers sent on one day (UTC, days since 1970).
ALTER TABLE accounts ADD COLUMN record_count INTEGER NOT NULL DEFAULT 0;

ALTER TABLE accounts ADD COLUMN invitation_day INTEGER NOT NULL DEFAULT 0;

ALTER TABLE accounts ADD COLUMN invitation_count INTEGER NOT NULL DEFAULT 0;

UPDATE accounts SET record_count = (SELECT count(*) FROM files WHERE owner_id = accounts.id);

-- Content bytes sent to clients and received from them, by the owner charged and the UTC month
-- (yyyymm).
CREATE TABLE transfers (
  owner_id BLOB NOT NULL,
  month INTEGER NOT NULL,
  sent_bytes INTEGER NOT NULL CHECK (sent_bytes >= 0),
  received_bytes INTEGER NOT NULL CHECK (received_bytes >= 0),
  PRIMARY KEY (owner_id, month)
) STRICT, WITHOUT ROWID;
