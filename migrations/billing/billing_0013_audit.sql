-- What operators did to what billing keeps: rows are only ever added. Each digest covers the row and the
-- digest before, so that a row that is changed, left out or put in between breaks the chain.
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

-- One row, from the first act on: the end of the chain. Its lock has acts follow each other.
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;

-- The catalogues that all programs obey, one after the other; the last holds.
CREATE TABLE catalogues_of_record (
  number INTEGER PRIMARY KEY,
  digest TEXT NOT NULL,
  version TEXT NOT NULL,
  content TEXT NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT;

-- An operator may also set a quota and clear it.
DROP INDEX decisions_object;

DROP INDEX decisions_account;

ALTER TABLE decisions RENAME TO decisions_before;

CREATE TABLE decisions (
  id BLOB PRIMARY KEY,
  sequence INTEGER NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN
    ('grant', 'ungrant', 'claim', 'transfer', 'account_deleted', 'quota', 'quota_cleared')),
  account_id BLOB NOT NULL,
  object TEXT,
  decided_ms INTEGER NOT NULL,
  content TEXT NOT NULL
) STRICT;

INSERT INTO decisions (id, sequence, kind, account_id, object, decided_ms, content)
SELECT id, sequence, kind, account_id, object, decided_ms, content FROM decisions_before;

DROP TABLE decisions_before;

CREATE INDEX decisions_object ON decisions (object, kind) WHERE object IS NOT NULL;

CREATE INDEX decisions_account ON decisions (account_id, kind);
