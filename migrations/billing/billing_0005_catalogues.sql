-- What was sold stays known: an edited catalogue takes nothing from who has paid, and everything is
-- derived under one set of rules, those of the coffer-billing that started last.

-- Every catalogue under which anything was derived, by the digest of its content.
CREATE TABLE catalogues (
  digest TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  content TEXT NOT NULL,
  first_used_ms INTEGER NOT NULL
) STRICT;

-- Each plan as it last was, and the catalogue that said so.
CREATE TABLE sold_plans (
  plan TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  adds INTEGER NOT NULL CHECK (adds IN (0, 1)),
  catalogue TEXT NOT NULL
) STRICT;

-- The plan that each product or price last meant; sold_as is the product whose price it is.
CREATE TABLE sold_products (
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  sold_as TEXT,
  plan TEXT NOT NULL,
  catalogue TEXT NOT NULL,
  PRIMARY KEY (provider, id)
) STRICT, WITHOUT ROWID;

-- One row, once a server has started. number grows with each change of the rules; applied says
-- whether everything was derived again under them.
CREATE TABLE rules_in_force (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest TEXT NOT NULL,
  catalogue TEXT NOT NULL,
  content TEXT NOT NULL,
  applied INTEGER NOT NULL CHECK (applied IN (0, 1)),
  since_ms INTEGER NOT NULL
) STRICT;

-- The digest of the rules that a subscription was derived under; empty: unknown ones of before.
ALTER TABLE subscriptions ADD COLUMN rules TEXT NOT NULL DEFAULT '';

-- Which subscriptions live on a product that is listed no more, and until when they are owed it.
CREATE TABLE unmapped_products (
  object TEXT NOT NULL,
  provider TEXT NOT NULL,
  product TEXT NOT NULL,
  owed_until_ms INTEGER NOT NULL,
  PRIMARY KEY (object, provider, product)
) STRICT, WITHOUT ROWID;
