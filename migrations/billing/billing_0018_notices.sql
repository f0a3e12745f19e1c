-- What apps are told of changes: the body that was sent, one row for each, until a month has passed.
-- due_ms is when it is sent next; null: it arrived, or was given up.
CREATE TABLE notices (
  account_id BLOB NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  body TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_ms INTEGER,
  delivered_ms INTEGER,
  last_error TEXT,
  PRIMARY KEY (account_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_made ON notices (made_ms, account_id, number);

CREATE INDEX notices_waiting ON notices (due_ms, account_id, number) WHERE due_ms IS NOT NULL;

-- Where they go; a row as long as a coffer-billing is configured to send any. disabled_ms is when the
-- receiver answered that it wants no more (410).
CREATE TABLE notice_receiver (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  url_digest TEXT NOT NULL,
  disabled_ms INTEGER
) STRICT;
