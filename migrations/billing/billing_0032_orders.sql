-- What operators ordered of a store, each named by the entry of the audit log that asked for it. coffer-billing has
-- it done, and notes what came of it. `doubted`: it may have been done; what is read next says it.
CREATE TABLE orders (
  number INTEGER NOT NULL PRIMARY KEY,
  subscription TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('stop_renewal', 'end', 'refund', 'extend')),
  payment TEXT,
  amount TEXT,
  currency TEXT,
  days INTEGER,
  cause TEXT,
  known_refunds INTEGER,
  known_end_ms INTEGER,
  state TEXT NOT NULL CHECK (state IN ('open', 'doubted', 'done', 'failed')),
  asked_ms INTEGER NOT NULL,
  tried_ms INTEGER,
  read_number INTEGER,
  answer TEXT,
  closed_ms INTEGER,
  closing_number INTEGER
) STRICT;

-- One of a kind at a time: a second could be the first, given twice.
CREATE UNIQUE INDEX orders_open ON orders (subscription, kind) WHERE state IN ('open', 'doubted');

CREATE INDEX orders_waiting ON orders (asked_ms, number) WHERE state IN ('open', 'doubted');

CREATE INDEX orders_subscription ON orders (subscription, number);
