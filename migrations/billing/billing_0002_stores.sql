-- The App Store and Google Play join: links say how objects hang together, decisions are read by
-- object and by account, and a derived row knows what it is while it owes nothing.

CREATE TABLE object_links (
  target TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('part', 'bridge', 'successor', 'predecessor')),
  origin TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  PRIMARY KEY (target, kind, origin)
) STRICT, WITHOUT ROWID;

-- What belongs to an invoice belongs to its subscription.
INSERT INTO object_links (target, kind, origin, source_id)
  SELECT target,
    CASE WHEN substr(origin, 1, 20) = 'stripe:live:invoice:'
      OR substr(origin, 1, 23) = 'stripe:sandbox:invoice:' THEN 'bridge' ELSE 'part' END,
    origin, source_id
  FROM links;

DROP TABLE links;

ALTER TABLE object_links RENAME TO links;

CREATE INDEX decisions_object ON decisions (object, kind) WHERE object IS NOT NULL;

CREATE INDEX decisions_account ON decisions (account_id, kind);

-- Filled when the new rules derive every subscription again, at the next start.
ALTER TABLE subscriptions ADD COLUMN label_without_access TEXT NOT NULL DEFAULT 'expired';

-- Accounts that pay for two subscriptions at once, and since when: reported, never summed.
CREATE TABLE double_payments (
  account_id BLOB PRIMARY KEY,
  since_ms INTEGER NOT NULL
) STRICT;
