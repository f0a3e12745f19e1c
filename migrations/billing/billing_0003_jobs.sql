-- What is still to be read from a provider, one row for each object ever read or to be read.
-- Rows stay: a generation number is never issued twice. A job is open while needed > committed
-- and it is not dead; due_ms is set exactly then. While lease_until_ms is set, the reader with the
-- generation last issued is at work.
CREATE TABLE jobs (
  kind TEXT NOT NULL,
  object TEXT NOT NULL,
  payload BLOB,
  needed INTEGER NOT NULL,
  issued INTEGER NOT NULL,
  committed INTEGER NOT NULL,
  settle_after_ms INTEGER,
  confirmations INTEGER NOT NULL,
  due_ms INTEGER,
  held_until_ms INTEGER,
  lease_until_ms INTEGER,
  attempts INTEGER NOT NULL,
  refusals INTEGER NOT NULL,
  dead INTEGER NOT NULL CHECK (dead IN (0, 1)),
  last_error TEXT,
  PRIMARY KEY (kind, object),
  CHECK (committed <= issued AND needed <= issued + 1),
  CHECK ((due_ms IS NOT NULL AND needed > committed AND dead = 0)
    OR (due_ms IS NULL AND (needed <= committed OR dead = 1)))
) STRICT;

CREATE INDEX jobs_due ON jobs (kind, due_ms, object) WHERE due_ms IS NOT NULL;
CREATE INDEX jobs_dead ON jobs (kind, object) WHERE dead = 1;
