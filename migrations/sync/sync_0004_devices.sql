-- Devices sign each other in and out: what they state of a key is kept as it was signed.
--
-- The first key of an account has no statement, since the account's id is made of it. Revoked keys
-- stay, so that none comes back and what they signed can be told; they are read one at a time.

ALTER TABLE device_keys ADD COLUMN statement_created_s INTEGER;

ALTER TABLE device_keys ADD COLUMN statement_proof BLOB;

ALTER TABLE device_keys ADD COLUMN statement_author BLOB;

ALTER TABLE device_keys ADD COLUMN statement_signature BLOB;

ALTER TABLE device_keys ADD COLUMN revocation_created_s INTEGER;

ALTER TABLE device_keys ADD COLUMN revocation_author BLOB;

ALTER TABLE device_keys ADD COLUMN revocation_signature BLOB;

CREATE INDEX device_keys_live ON device_keys (account_id, added_ms) WHERE revoked_ms IS NULL;
