-- The links to a file, whoever's they are: an id is not given again while one is left.
CREATE INDEX files_by_link_target ON files (target_id) WHERE deleted = 0 AND target_id IS NOT NULL;
