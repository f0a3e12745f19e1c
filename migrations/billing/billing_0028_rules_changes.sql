-- After which change of the rules a subscription was derived, beside under which: rules that come back are another
-- change, and what was decided under others in between is derived again.
ALTER TABLE subscriptions ADD COLUMN rules_change INTEGER NOT NULL DEFAULT 0;
