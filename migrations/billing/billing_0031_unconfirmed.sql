-- What a store announced of a purchase, and since when, while its answers do not show it; a row goes once they do.
CREATE TABLE unconfirmed (
  object TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unconfirmed_since ON unconfirmed (since_ms, object);
