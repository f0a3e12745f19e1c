-- What accounts have asked to be done at Stripe, step by step. A flow is open while closed_ms is not
-- set; of those that buy or change an account has one at a time. What a client must do meanwhile is
-- sealed, since it opens a page or confirms a payment.
CREATE TABLE flows (
  id BLOB PRIMARY KEY,
  account_id BLOB NOT NULL,
  kind TEXT NOT NULL,
  asked TEXT NOT NULL,
  exclusive INTEGER NOT NULL CHECK (exclusive IN (0, 1)),
  step TEXT NOT NULL,
  state TEXT NOT NULL,
  status TEXT NOT NULL,
  problem TEXT,
  client_action BLOB,
  revision INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  step_ms INTEGER NOT NULL,
  closed_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX flows_exclusive ON flows (account_id)
  WHERE closed_ms IS NULL AND exclusive = 1;
CREATE INDEX flows_account ON flows (account_id, created_ms, id);
CREATE INDEX flows_open ON flows (step_ms, id) WHERE closed_ms IS NULL;

-- The one customer of an account at Stripe. Where Stripe has it no more the id goes, and the number
-- makes the next one another.
CREATE TABLE customers (
  account_id BLOB PRIMARY KEY,
  customer TEXT,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
