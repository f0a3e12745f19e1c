-- Signature chains: who belongs to a group of devices, block by block, each signed by a member.

-- A chain. The account whose device wrote the root owns it, and is charged for all of it: a record, and `bytes` for its
-- blocks. `own` marks the one chain that has the account's own devices. `replaced_*` tell of the last block whose place
-- another one took. The root's request writes the row, and each block changes it. Once `purge_ms` is set, the chain is
-- deleted: its rows go in slices, and this one last.
CREATE TABLE chains (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  own INTEGER NOT NULL CHECK (own = 0 OR own = 1),
  head_epoch INTEGER NOT NULL CHECK (head_epoch >= 0),
  head_hash BLOB NOT NULL CHECK (length(head_hash) = 32),
  member_count INTEGER NOT NULL CHECK (member_count > 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  created_ms INTEGER NOT NULL,
  replaced_epoch INTEGER,
  replaced_hash BLOB,
  replaced_ms INTEGER,
  purge_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX chains_by_owner ON chains (owner_id, id);

CREATE UNIQUE INDEX chains_own ON chains (owner_id) WHERE own = 1 AND purge_ms IS NULL;

CREATE INDEX chains_purged ON chains (purge_ms, id) WHERE purge_ms IS NOT NULL;

-- Chains whose last block another one replaced lately.
CREATE INDEX chains_replaced ON chains (replaced_ms, id) WHERE replaced_ms IS NOT NULL;

-- A block, as its author signed it. `additions` and `removals` have 32 bytes for each key. `commit_id` names the commit
-- that came with it; NULL: none did. The row goes when another block takes its place, and with the chain. It has a rowid,
-- because a block may name many keys.
CREATE TABLE chain_blocks (
  chain_id BLOB NOT NULL REFERENCES chains (id),
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  parent_hash BLOB,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  author_key BLOB NOT NULL CHECK (length(author_key) = 32),
  additions BLOB NOT NULL,
  removals BLOB NOT NULL,
  signature BLOB NOT NULL CHECK (length(signature) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  stored_ms INTEGER NOT NULL,
  commit_id BLOB,
  UNIQUE (chain_id, epoch)
) STRICT;

-- A member at the head: a device, since the block of `added_epoch`. A block that adds it writes the row. The row goes
-- with the block that removes it, with its own block if another takes its place, and with the chain.
CREATE TABLE chain_members (
  chain_id BLOB NOT NULL REFERENCES chains (id),
  public_key BLOB NOT NULL CHECK (length(public_key) = 32),
  added_epoch INTEGER NOT NULL CHECK (added_epoch >= 0),
  PRIMARY KEY (chain_id, public_key)
) STRICT, WITHOUT ROWID;

-- Whether a key is a member anywhere, so that one of an erased account does not come back in another meanwhile.
CREATE INDEX chain_members_by_key ON chain_members (public_key);

-- An account that has members in a chain, and so reads it: how many of its devices are, and the device whose block
-- added the first. Once `left_ms` is set, the account has left: it reads the chain no more, and its devices stay members
-- until a block removes them. The row goes with the last of them, with the account and with the chain.
CREATE TABLE chain_accounts (
  chain_id BLOB NOT NULL REFERENCES chains (id),
  account_id BLOB NOT NULL REFERENCES accounts (id),
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  member_count INTEGER NOT NULL CHECK (member_count > 0),
  added_by BLOB NOT NULL CHECK (length(added_by) = 32),
  left_ms INTEGER,
  PRIMARY KEY (chain_id, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX chain_accounts_by_account ON chain_accounts (account_id, left_ms, owner_id, chain_id);

CREATE INDEX chain_accounts_by_owner ON chain_accounts (owner_id, account_id);
