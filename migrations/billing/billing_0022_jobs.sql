-- The trace (W3C traceparent) of the request that asked for what a job has to do; the job goes on in it.
ALTER TABLE jobs ADD COLUMN trace TEXT;
-- Whether a read may leave out what was compared with the store just now.
ALTER TABLE jobs ADD COLUMN shallow INTEGER NOT NULL DEFAULT 0;
