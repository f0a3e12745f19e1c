-- When a device opened its last session, at most a day late; of those of before this was kept, the day
-- on which it came to be.
ALTER TABLE device_keys ADD COLUMN last_session_ms INTEGER NOT NULL DEFAULT 1795392000000;

CREATE INDEX device_keys_idle ON device_keys (last_session_ms) WHERE revoked_ms IS NULL;
