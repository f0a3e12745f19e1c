-- Who asked for the deletion: its owner or an operator. NULL: asked for before this was kept.
ALTER TABLE account_deletions ADD COLUMN asked_by TEXT CHECK (asked_by IN ('owner', 'operator'));
