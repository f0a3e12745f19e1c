-- Who may see a file, beside the many whose shares of it have ended.
CREATE INDEX shares_live ON shares (file_id, account_id) WHERE state IN ('pending', 'accepted');
