-- What an account keeps on disk beyond what it is charged for.
--
-- `kept_bytes` are those of its objects in garbage. `created_until_ms` is when the records that it made
-- are forgotten at the pace which its cap allows.
ALTER TABLE garbage ADD COLUMN owner_id BLOB;

ALTER TABLE garbage ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

CREATE INDEX garbage_by_owner ON garbage (owner_id, since_ms);

ALTER TABLE accounts ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE accounts ADD COLUMN created_until_ms INTEGER NOT NULL DEFAULT 0;

CREATE INDEX accounts_by_kept ON accounts (kept_bytes) WHERE kept_bytes > 0;
