-- What a job waits for, since when, and since when its provider has given no answer.
--
-- next_due_ms is set while a reader is at work and more was asked for meanwhile: due_ms is then
-- that of what it reads. unsettled_since_ms is when the oldest need that no read has settled was
-- first due; a failure moves due_ms, never this. failing_since_ms is when the failures began that
-- no kept answer has ended.
ALTER TABLE jobs ADD COLUMN next_due_ms INTEGER;

ALTER TABLE jobs ADD COLUMN unsettled_since_ms INTEGER;

ALTER TABLE jobs ADD COLUMN failing_since_ms INTEGER;

UPDATE jobs SET unsettled_since_ms = due_ms WHERE due_ms IS NOT NULL;

-- When the failures of before began was not kept: they are known as of their last.
UPDATE jobs SET failing_since_ms = due_ms WHERE due_ms IS NOT NULL AND attempts > 0;
