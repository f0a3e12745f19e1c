-- What reconciliations repaired: subject is '#' and the number of a delivery that had been lost, or the
-- object whose read changed what was derived; what changed between since_ms and found_ms is told by
-- transitions and owed_changes. Kept as long as its run is.
CREATE TABLE repairs (
  provider TEXT NOT NULL,
  run INTEGER NOT NULL,
  subject TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  found_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, run, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX repairs_found ON repairs (found_ms, provider, subject);
