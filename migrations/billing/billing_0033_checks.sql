-- For each row SQLite makes a table of its own out of `IN` with more than two values: what every delivery writes
-- is checked by `OR`. And a transition is small and found by its object alone: it is kept with its key, once.
DROP INDEX deliveries_id;

DROP INDEX deliveries_object;

DROP INDEX deliveries_type;

DROP INDEX deliveries_without_effect;

DROP INDEX deliveries_sandbox;

DROP INDEX deliveries_conflicting;

DROP INDEX deliveries_undecodable;

ALTER TABLE deliveries RENAME TO deliveries_before;

CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  environment TEXT NOT NULL
    CHECK (environment = 'live' OR environment = 'sandbox' OR environment = 'unknown'),
  delivery_id TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  type TEXT NOT NULL,
  api_version TEXT,
  object TEXT,
  created_ms INTEGER,
  received_ms INTEGER NOT NULL,
  decoder INTEGER NOT NULL,
  disposition TEXT NOT NULL
    CHECK (disposition = 'joined' OR disposition = 'recorded' OR disposition = 'foreign'
      OR disposition = 'premature' OR disposition = 'undecodable'),
  conflicting INTEGER NOT NULL,
  redelivery_count INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  proof TEXT,
  redelivered_ms INTEGER,
  error TEXT
) STRICT;

INSERT INTO deliveries
  (id, provider, environment, delivery_id, fingerprint, type, api_version, object, created_ms,
    received_ms, decoder, disposition, conflicting, redelivery_count, sealed, proof, redelivered_ms,
    error)
SELECT id, provider, environment, delivery_id, fingerprint, type, api_version, object, created_ms,
  received_ms, decoder, disposition, conflicting, redelivery_count, sealed, proof, redelivered_ms,
  error
FROM deliveries_before;

DROP TABLE deliveries_before;

CREATE UNIQUE INDEX deliveries_id
  ON deliveries (provider, environment, delivery_id, fingerprint);

CREATE INDEX deliveries_object ON deliveries (object, id) WHERE object IS NOT NULL;

CREATE INDEX deliveries_type ON deliveries (type, id);

CREATE INDEX deliveries_without_effect ON deliveries (id)
  WHERE disposition = 'foreign' OR disposition = 'premature' OR disposition = 'undecodable';

CREATE INDEX deliveries_sandbox ON deliveries (id) WHERE environment = 'sandbox';

CREATE INDEX deliveries_conflicting ON deliveries (received_ms, id) WHERE conflicting > 0;

CREATE INDEX deliveries_undecodable ON deliveries (received_ms, id)
  WHERE disposition = 'undecodable';

ALTER TABLE links RENAME TO links_before;

CREATE TABLE links (
  target TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind = 'part' OR kind = 'bridge' OR kind = 'successor' OR kind = 'predecessor'),
  origin TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  PRIMARY KEY (target, kind, origin)
) STRICT, WITHOUT ROWID;

INSERT INTO links (target, kind, origin, delivery)
SELECT target, kind, origin, delivery FROM links_before;

DROP TABLE links_before;

DROP INDEX transitions_former_owner;

ALTER TABLE transitions RENAME TO transitions_before;

CREATE TABLE transitions (
  object TEXT NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL
    CHECK (cause = 'clock' OR cause = 'fact' OR cause = 'policy' OR cause = 'owner'),
  state_before TEXT NOT NULL,
  state_after TEXT NOT NULL,
  entry INTEGER,
  noticed_ms INTEGER,
  PRIMARY KEY (object, number)
) STRICT, WITHOUT ROWID;

INSERT INTO transitions
  (object, number, at_ms, cause, state_before, state_after, entry, noticed_ms)
SELECT object, number, at_ms, cause, state_before, state_after, entry, noticed_ms
FROM transitions_before;

DROP TABLE transitions_before;

CREATE INDEX transitions_former_owner ON transitions (state_before)
  WHERE cause = 'owner' AND state_before <> 'none';
