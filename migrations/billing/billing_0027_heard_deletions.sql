-- Which deletion was asked for last of those that billing has heard of: what is newer is looked through for those
-- that coffer-sync erased before billing did.
CREATE INDEX account_deletions_asked ON account_deletions (asked_ms);
