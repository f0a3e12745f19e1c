-- What wants a human, and what of the past is told for it.

-- When an edge of a subscription was noticed, beside when it came true. Rows of before bear one time:
-- edges of the clock when they came true, all others when they were noticed.
ALTER TABLE transitions ADD COLUMN noticed_ms INTEGER;

-- What a human should look at of one subscription: as its derivation found it, a row for each thing.
-- until_ms is when it settles by itself; told once, it is told for a month.
CREATE TABLE attention (
  object TEXT NOT NULL,
  kind TEXT NOT NULL,
  about TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (object, kind, about)
) STRICT, WITHOUT ROWID;

CREATE INDEX attention_kind ON attention (kind, until_ms, since_ms, object);

-- The same in short, so that a derivation sees without another read that nothing changed.
ALTER TABLE subscriptions ADD COLUMN attention TEXT NOT NULL DEFAULT '';

-- Whatever may want a human is derived again at the next start.
UPDATE subscriptions SET rules = ''
  WHERE owner IS NULL OR dirty = 1
    OR substr(coverage, length(coverage) - 11) <> '"alarms":[]}'
    OR object IN (SELECT object FROM jobs WHERE kind = 'acknowledge'
      AND (due_ms IS NOT NULL OR dead = 1));

UPDATE rules_in_force SET applied = 0;

-- Claims of a purchase that was, or may have been, somebody else's: the newest of each account.
CREATE TABLE refused_claims (
  object TEXT NOT NULL,
  account_id BLOB NOT NULL,
  refused_ms INTEGER NOT NULL,
  PRIMARY KEY (object, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX refused_claims_time ON refused_claims (refused_ms, object);

CREATE INDEX refused_claims_account ON refused_claims (account_id);

CREATE INDEX double_payments_since ON double_payments (since_ms, account_id);

-- Deliveries that contradict an earlier one of their id, and those that nobody can read.
CREATE INDEX deliveries_conflicting ON deliveries (received_ms, id) WHERE conflicting > 0;

CREATE INDEX deliveries_undecodable ON deliveries (received_ms, id)
  WHERE disposition = 'undecodable';

-- Since when a cap is smaller than before: who may be left with more than the account may store.
ALTER TABLE entitlements ADD COLUMN shrunk_ms INTEGER;

UPDATE entitlements SET shrunk_ms = from_ms
  WHERE reason IN ('payment_failed', 'lapsed', 'grant_revoked', 'refunded', 'disputed')
    OR cap_bytes < (SELECT earlier.cap_bytes FROM entitlements AS earlier
      WHERE earlier.account_id = entitlements.account_id
        AND earlier.from_ms < entitlements.from_ms
      ORDER BY earlier.from_ms DESC LIMIT 1);

CREATE INDEX entitlements_shrunk ON entitlements (shrunk_ms, account_id)
  WHERE shrunk_ms IS NOT NULL;
