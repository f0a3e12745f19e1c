-- A share's version is the number of its last change; `seq` is the number under which it was told last.
-- A share is told again without having changed, and then whoever holds it holds the same version.
ALTER TABLE shares ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

UPDATE shares SET version = seq;
