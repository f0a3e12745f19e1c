-- Message logs: what the devices of an account append to, and read from each other. The order of messages is
-- that of the clocks of the devices that made them, so the tables hold no meaning of their own: contents, names
-- and keys are ciphertext.

-- A log. `epoch_id` is the epoch that takes messages. `name` and `key` are for the account's devices; the server
-- reads neither.
CREATE TABLE logs (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  epoch_id BLOB NOT NULL UNIQUE,
  name BLOB NOT NULL,
  key BLOB,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logs_by_owner ON logs (owner_id, created_ms, id);

-- The messages of a log from one beginning on. `message_count` is the number of the latest one, too, because
-- messages of an epoch are only added. `bytes` is what they are charged with. `ended_ms`: it takes no more
-- messages and is charged no more, and its rows wait to be deleted, in slices. `snapshot` is what a device wrote
-- about the state that the epoch begins with, and `horizon` the latest timestamp of that state: the epoch takes
-- only later ones.
CREATE TABLE log_epochs (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  log_id BLOB NOT NULL,
  message_count INTEGER NOT NULL CHECK (message_count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  horizon BLOB CHECK (length(horizon) = 26),
  snapshot BLOB,
  ended_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX log_epochs_by_owner ON log_epochs (owner_id, id);

CREATE INDEX log_epochs_ended ON log_epochs (ended_ms, id) WHERE ended_ms IS NOT NULL;

-- A message. `stamp` is its timestamp: eight bytes of milliseconds since 1970, two of the counter, and the 16 of
-- the node, so the order of the bytes is that of the texts. The first content with a timestamp stays. `number`
-- counts the messages of the epoch from 1 on, as they arrived.
CREATE TABLE log_messages (
  epoch_id BLOB NOT NULL,
  stamp BLOB NOT NULL CHECK (length(stamp) = 26),
  number INTEGER NOT NULL CHECK (number > 0),
  content BLOB NOT NULL,
  PRIMARY KEY (epoch_id, stamp)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX log_messages_by_number ON log_messages (epoch_id, number);

-- Four levels of an epoch's trie of hashes. `path` is the place in base 3 below which they are. `hashes` has five
-- bytes for each place that has a hash: the place's number, and the hash.
CREATE TABLE log_trie_pages (
  epoch_id BLOB NOT NULL,
  path TEXT NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (epoch_id, path)
) STRICT, WITHOUT ROWID;
