-- Reservations name the running program that made them and the request they were made for.
--
-- Whether that program still runs, the object store knows. Reservations of before were made by programs
-- that do not: an object's id is nobody's.
ALTER TABLE reservations ADD COLUMN instance_id BLOB;

ALTER TABLE reservations ADD COLUMN nonce BLOB;

UPDATE reservations SET instance_id = object_id;

CREATE INDEX reservations_by_request ON reservations (actor_key, nonce);
