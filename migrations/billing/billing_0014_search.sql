-- What operators look for: deliveries by what they speak of, kind and effect; purchases by what customers quote.

-- What proved the sender, e.g. a digest of the secret; unknown of rows of before. And when it came last
-- again, if it did.
ALTER TABLE deliveries ADD COLUMN proof TEXT;

ALTER TABLE deliveries ADD COLUMN redelivered_ms INTEGER;

CREATE INDEX deliveries_object ON deliveries (object, id) WHERE object IS NOT NULL;

CREATE INDEX deliveries_type ON deliveries (type, id);

CREATE INDEX deliveries_without_effect ON deliveries (id)
  WHERE disposition IN ('foreign', 'premature', 'undecodable');

CREATE INDEX deliveries_sandbox ON deliveries (id) WHERE environment = 'sandbox';

-- What names an object and is no key of one: a number as it is, what is personal as a keyed code.
CREATE TABLE search_terms (
  term BLOB NOT NULL,
  object TEXT NOT NULL,
  PRIMARY KEY (term, object)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_terms_object ON search_terms (object);

-- The last deliveries that were refused, without anything that was in them, and how many there were.
CREATE TABLE refusals (
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  provider TEXT NOT NULL,
  reason TEXT NOT NULL,
  request TEXT NOT NULL
) STRICT;

CREATE TABLE refusal_counts (
  provider TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, reason)
) STRICT, WITHOUT ROWID;
