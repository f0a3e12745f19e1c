-- Cursors carry a code under this key, so that no client makes one up and every program knows its own.
-- The first program to start writes it.
ALTER TABLE history ADD COLUMN cursor_key BLOB;
