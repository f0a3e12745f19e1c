-- Jobs that fail, of which attention tells.
CREATE INDEX jobs_failing ON jobs (kind, object) WHERE failing_since_ms IS NOT NULL;
