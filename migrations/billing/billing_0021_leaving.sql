-- How far billing has come with accounts that are to be gone: 'stopping' (their stores bill no more),
-- 'waiting' (until they are erased), 'erasing', 'erased'.
CREATE TABLE account_deletions (
  account_id BLOB NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  begun_ms INTEGER NOT NULL,
  -- Which asking it follows: who stays may ask again.
  asked_ms INTEGER NOT NULL,
  erased_ms INTEGER
) STRICT, WITHOUT ROWID;
