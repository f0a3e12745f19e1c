-- Items of background work that fail by themselves: each waits, the longer the more often it failed, while the
-- others go on. account_id is whose it is; the row goes once the item is done.
CREATE TABLE failing_items (
  queue TEXT NOT NULL,
  item BLOB NOT NULL CHECK (length(item) = 16),
  account_id BLOB CHECK (length(account_id) = 16),
  failure_count INTEGER NOT NULL CHECK (failure_count > 0),
  since_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (queue, item)
) STRICT, WITHOUT ROWID;

CREATE INDEX failing_items_since ON failing_items (since_ms, queue, item);
