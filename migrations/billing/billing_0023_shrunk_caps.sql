-- Whose cap shrank last, and to what, is read from the index alone: attention compares ten thousand of them
-- with what is stored, and each lay on a page of its own.
DROP INDEX entitlements_shrunk;

CREATE INDEX entitlements_shrunk ON entitlements (shrunk_ms, account_id, from_ms, cap_bytes)
  WHERE shrunk_ms IS NOT NULL;
