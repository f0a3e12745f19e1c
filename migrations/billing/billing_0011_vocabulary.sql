-- One word for each thing: what arrived, or a read answered, is a delivery; live and sandbox are
-- environments; what is still to be read is requested; a job has a lane, not a turn.

ALTER TABLE sources RENAME TO deliveries;

ALTER TABLE deliveries RENAME COLUMN realm TO environment;

DROP INDEX sources_delivery;

CREATE UNIQUE INDEX deliveries_id
  ON deliveries (provider, environment, delivery_id, fingerprint);

ALTER TABLE mirrors RENAME COLUMN source_id TO delivery;

ALTER TABLE links RENAME COLUMN source_id TO delivery;

-- The number of the delivery or of the decision that a transition comes from.
ALTER TABLE transitions RENAME COLUMN source_id TO entry;

ALTER TABLE hints RENAME TO read_requests;

ALTER TABLE read_requests RENAME COLUMN source_id TO delivery;

ALTER TABLE subscriptions RENAME COLUMN realm TO environment;

-- Deliveries and decisions are numbered together.
ALTER TABLE turn RENAME TO sequence;

ALTER TABLE sequence RENAME COLUMN last_source TO last_number;

ALTER TABLE jobs RENAME COLUMN needed TO requested;

ALTER TABLE jobs RENAME COLUMN turn TO lane;

-- The rules in force name the environment that grants, too. Their digest changes with it, so that the
-- next start derives everything again.
UPDATE rules_in_force SET content = replace(content, '"realm":', '"environment":');
