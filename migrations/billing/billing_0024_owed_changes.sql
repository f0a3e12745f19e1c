-- What a delivery or a decision changed of what a subscription is owed, beside its transitions: a renewal
-- changes neither state nor owner. Like them outside everything that is derived, and only added to.
CREATE TABLE owed_changes (
  object TEXT NOT NULL,
  entry INTEGER NOT NULL,
  noticed_ms INTEGER NOT NULL,
  owed_before TEXT NOT NULL,
  owed_after TEXT NOT NULL,
  PRIMARY KEY (object, entry, noticed_ms)
) STRICT, WITHOUT ROWID;
