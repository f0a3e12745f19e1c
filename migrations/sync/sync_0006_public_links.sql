-- Public links: ciphertext that an account publishes for whoever has the URL. Its key stays in the URL's fragment,
-- which no browser sends.

-- A published content. `id` is its owner's own name for it. `token_hash` is the hash of the secret in its URL. `seq` is
-- the number of the owner's sequence under which the content was stored, and `version` rises with each content.
-- `cache_seconds` is for how long others may keep a copy; 0: not at all. The owner's request writes the row. The row
-- goes when the owner or an operator revokes the link, after `expires_ms`, and with the account.
CREATE TABLE public_links (
  owner_id BLOB NOT NULL REFERENCES accounts (id),
  id BLOB NOT NULL CHECK (length(id) = 16),
  token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  seq INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  object_id BLOB NOT NULL UNIQUE,
  content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
  cache_seconds INTEGER NOT NULL CHECK (cache_seconds >= 0),
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  PRIMARY KEY (owner_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX public_links_by_sequence ON public_links (owner_id, seq);

CREATE INDEX public_links_by_expiry ON public_links (expires_ms, owner_id) WHERE expires_ms IS NOT NULL;
