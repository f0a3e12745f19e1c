-- What proved deliveries, e.g. the digest of a webhook's secret, and when; the last time to the hour.
CREATE TABLE proofs (
  provider TEXT NOT NULL,
  proof TEXT NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, proof)
) STRICT, WITHOUT ROWID;
