-- Every price that a product was ever listed at: who has paid one keeps what it bought, though the
-- catalogue asks for more by now.
CREATE TABLE sold_prices (
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  amount INTEGER NOT NULL,
  currency TEXT NOT NULL,
  per TEXT NOT NULL CHECK (per IN ('month', 'year')),
  PRIMARY KEY (provider, id, amount, currency, per)
) STRICT, WITHOUT ROWID;
