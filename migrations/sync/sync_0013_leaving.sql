-- Accounts whose owners, or an operator, want them gone: from erase_ms on they are erased, slice by slice;
-- without it once they are exported.
-- suspended_ms is what the account's own was before. When all is erased the row stays, so that nothing
-- of it comes back: an id and times, nothing personal.
CREATE TABLE account_deletions (
  account_id BLOB NOT NULL PRIMARY KEY CHECK (length(account_id) = 16),
  asked_ms INTEGER NOT NULL,
  erase_ms INTEGER,
  suspended_ms INTEGER,
  begun_ms INTEGER,
  erased_ms INTEGER,
  forgotten_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX account_deletions_open ON account_deletions (erase_ms, account_id)
  WHERE erased_ms IS NULL;

CREATE INDEX account_deletions_exporting ON account_deletions (asked_ms, account_id)
  WHERE erase_ms IS NULL;

CREATE INDEX account_deletions_remembered ON account_deletions (erased_ms, account_id)
  WHERE erased_ms IS NOT NULL AND forgotten_ms IS NULL;

CREATE INDEX account_deletions_asked ON account_deletions (asked_ms, account_id);

CREATE INDEX blocks_blocked ON blocks (blocked_id, account_id);
