-- Claims of purchases that no read has proven yet. A claim that is proven becomes a decision, one
-- whose purchase the store does not know is told so once; either way its row goes.
CREATE TABLE claims (
  object TEXT NOT NULL,
  account_id BLOB NOT NULL,
  claimed_ms INTEGER NOT NULL,
  unknown_ms INTEGER,
  PRIMARY KEY (object, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX claims_account ON claims (account_id);

CREATE INDEX claims_unknown ON claims (unknown_ms) WHERE unknown_ms IS NOT NULL;

-- Whose turn a job is: 0 for what stores and operators told; what a client alone says exists comes
-- in a lane of its own, by its number among the unread claims of its account.
ALTER TABLE jobs ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;

DROP INDEX jobs_due;

CREATE INDEX jobs_due ON jobs (kind, turn, due_ms, object) WHERE due_ms IS NOT NULL;
