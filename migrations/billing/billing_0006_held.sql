-- What the servers granted, as far as the present schedule tells it differently: rows are only ever
-- added, each account's without a gap. From the end of the last one the schedule tells the truth.
CREATE TABLE held (
  account_id BLOB NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  cap_bytes INTEGER NOT NULL,
  plan TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (account_id, from_ms),
  CHECK (from_ms < to_ms)
) STRICT, WITHOUT ROWID;
