-- Since when an operator lets nothing of an account's be written; NULL where it may be.
ALTER TABLE accounts ADD COLUMN suspended_ms INTEGER;

-- What operators did to what sync keeps, chained as billing's own log is: an act and its row are one
-- transaction, and none can write both schemas.
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

CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;
