-- Keys that an operator added for an account whose devices are lost: no key of the account signed them in.
ALTER TABLE device_keys ADD COLUMN by_operator INTEGER NOT NULL DEFAULT 0 CHECK (by_operator IN (0, 1));
