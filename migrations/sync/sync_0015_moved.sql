-- 1: another Coffer has the account, so that no store is told to bill it no more.
ALTER TABLE account_deletions ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
