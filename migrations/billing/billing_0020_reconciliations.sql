-- Runs that compare what is known with what a store tells again; one is open for each store at most.
-- step is the list gone through, place where its next page begins; since_ms is from when on things are
-- asked for, null: from ever. Everything that is counted is of this run.
CREATE TABLE reconciliations (
  provider TEXT NOT NULL,
  number INTEGER NOT NULL,
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),
  began_ms INTEGER NOT NULL,
  since_ms INTEGER,
  step TEXT NOT NULL,
  place TEXT,
  pages INTEGER NOT NULL,
  examined INTEGER NOT NULL,
  agreed INTEGER NOT NULL,
  repaired INTEGER NOT NULL,
  disputed INTEGER NOT NULL,
  unreachable INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  PRIMARY KEY (provider, number)
) STRICT, WITHOUT ROWID;

-- What the open run has had read and not judged yet; before is what was derived of it then.
CREATE TABLE reconciled_reads (
  provider TEXT NOT NULL,
  object TEXT NOT NULL,
  asked_ms INTEGER NOT NULL,
  before TEXT NOT NULL,
  PRIMARY KEY (provider, object)
) STRICT, WITHOUT ROWID;
