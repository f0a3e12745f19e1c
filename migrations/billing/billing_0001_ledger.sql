-- The ledger: sources are kept for ever, everything else is derived from them and a policy.
-- Objects are named by one text: provider:partition:kind:id, e.g. stripe:live:invoice:in_1.

-- One row. Taking the next source's number is also taking the turn: on PostgreSQL the row's lock
-- makes the writers of several instances follow each other, so that numbers rise in commit order
-- and what is read after it is current.
CREATE TABLE turn (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last_source INTEGER NOT NULL
) STRICT;

INSERT INTO turn (id, last_source) VALUES (1, 0);

-- Verified deliveries, whatever they hold. One delivery id with two fingerprints is an alarm.
CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  realm TEXT NOT NULL CHECK (realm IN ('live', 'sandbox', 'unknown')),
  delivery_id TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  type TEXT NOT NULL,
  api_version TEXT,
  object TEXT,
  created_ms INTEGER,
  received_ms INTEGER NOT NULL,
  decoder INTEGER NOT NULL,
  disposition TEXT NOT NULL CHECK (disposition IN
    ('joined', 'recorded', 'foreign', 'premature', 'undecodable')),
  conflicting INTEGER NOT NULL,
  redelivery_count INTEGER NOT NULL,
  sealed BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX sources_delivery ON sources (provider, realm, delivery_id, fingerprint);

-- Every maximal value of every mirrored object.
CREATE TABLE mirrors (
  object TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  as_of_from_ms INTEGER NOT NULL,
  as_of_to_ms INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (object, source_id)
) STRICT;

CREATE TABLE links (
  origin TEXT NOT NULL,
  target TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  PRIMARY KEY (target, origin)
) STRICT, WITHOUT ROWID;

-- What we decided ourselves, in the order of the database.
CREATE TABLE decisions (
  id BLOB PRIMARY KEY,
  sequence INTEGER NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN
    ('grant', 'ungrant', 'claim', 'transfer', 'account_deleted')),
  account_id BLOB NOT NULL,
  object TEXT,
  decided_ms INTEGER NOT NULL,
  content TEXT NOT NULL
) STRICT;

-- Objects to be read from their provider again, and why.
CREATE TABLE hints (
  object TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (object, source_id, reason)
) STRICT, WITHOUT ROWID;

-- Derived. The coverage is what the policy and the catalogue of these versions make of the facts.
CREATE TABLE subscriptions (
  object TEXT PRIMARY KEY,
  realm TEXT NOT NULL,
  owner BLOB,
  owner_evidence TEXT NOT NULL,
  label TEXT NOT NULL,
  will_renew INTEGER NOT NULL CHECK (will_renew IN (0, 1)),
  dirty INTEGER NOT NULL CHECK (dirty IN (0, 1)),
  coverage TEXT NOT NULL,
  policy_version TEXT NOT NULL,
  catalogue_version TEXT NOT NULL,
  transition_count INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX subscriptions_owner ON subscriptions (owner, realm) WHERE owner IS NOT NULL;

-- An audit log, outside everything that is derived.
CREATE TABLE transitions (
  object TEXT NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL CHECK (cause IN ('clock', 'fact', 'policy', 'owner')),
  state_before TEXT NOT NULL,
  state_after TEXT NOT NULL,
  source_id INTEGER,
  PRIMARY KEY (object, number)
) STRICT;

-- The schedule of every account that ever owned a subscription; sync reads it at each write.
CREATE TABLE entitlements (
  account_id BLOB NOT NULL,
  from_ms INTEGER NOT NULL,
  cap_bytes INTEGER NOT NULL,
  plan TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (account_id, from_ms)
) STRICT, WITHOUT ROWID;
