-- Who may open an account, and whose invitations an account takes.

-- Codes that open accounts; only their hashes are kept.
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

-- The invite that an account was opened by.
ALTER TABLE accounts ADD COLUMN invite_id BLOB;

-- Whose invitations an account takes none of.
CREATE TABLE blocks (
  account_id BLOB NOT NULL REFERENCES accounts (id),
  blocked_id BLOB NOT NULL REFERENCES accounts (id),
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, blocked_id)
) STRICT, WITHOUT ROWID;

-- Between two accounts as before; and whose invitations wait, beside all that were answered.
DROP INDEX shares_between;

CREATE INDEX shares_by_sharee ON shares (account_id, state, owner_id);

-- Strangers' invitations that came on one day (UTC, days since 1970).
ALTER TABLE accounts ADD COLUMN received_day INTEGER NOT NULL DEFAULT 0;

ALTER TABLE accounts ADD COLUMN received_count INTEGER NOT NULL DEFAULT 0;
