-- What would grow with every write, for as long as an account lives, is bounded.

-- The ledger keeps the latest entries one by one; what is older is folded into one for each reason, which
-- stands for so many.
ALTER TABLE usage_entries ADD COLUMN entry_count INTEGER NOT NULL DEFAULT 1;

-- That a file left what an account sees is told once, by the last time it did.
DROP INDEX departures_by_age;

ALTER TABLE departures RENAME TO departures_before;

CREATE TABLE departures (
  account_id BLOB NOT NULL,
  owner_id BLOB NOT NULL,
  file_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, owner_id, file_id)
) STRICT, WITHOUT ROWID;

INSERT INTO departures (account_id, owner_id, file_id, seq, at_ms)
SELECT account_id, owner_id, file_id, max(seq), max(at_ms)
FROM departures_before GROUP BY account_id, owner_id, file_id;

DROP TABLE departures_before;

CREATE UNIQUE INDEX departures_by_sequence ON departures (account_id, owner_id, seq);

CREATE INDEX departures_by_age ON departures (at_ms);
