-- Everything that coffer-billing keeps. Verified deliveries and operators' decisions are facts and stay.
-- Mirrors, links, subscriptions and entitlements are derived from them, and can be derived again.
--
-- An object is named by one text, provider:environment:kind:id, e.g. stripe:live:invoice:in_1. Times are
-- milliseconds since 1970 in UTC, ids of accounts are 16 bytes. Deliveries and decisions share one sequence
-- of numbers; a column `entry` or `delivery` refers to it.
--
-- SQLite builds a table of its own for each row that it checks against `IN` with more than two values. So
-- tables that every delivery writes check with `OR`.

-- One row: the last number given to a delivery or a decision. Taking the next number locks the row, so the
-- writers of several instances follow each other, numbers rise in commit order, and what is read afterwards
-- is current.
CREATE TABLE sequence (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last_number INTEGER NOT NULL
) STRICT;

INSERT INTO sequence (id, last_number) VALUES (1, 0);

-- A verified delivery of a store, or an answer to a read. The ledger writes it before the store gets its
-- 2xx. `sealed` is the compressed and encrypted request. Two fingerprints under one delivery id are an
-- alarm (`conflicting`). A redelivery only counts up. Rows stay for ever; when an account is erased, its
-- deliveries lose their content.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  environment TEXT NOT NULL
    CHECK (environment = 'live' OR environment = 'sandbox' OR environment = 'unknown'),
  delivery_id TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  type TEXT NOT NULL,
  api_version TEXT,
  object TEXT,
  created_ms INTEGER,
  received_ms INTEGER NOT NULL,
  decoder INTEGER NOT NULL,
  disposition TEXT NOT NULL
    CHECK (disposition = 'joined' OR disposition = 'recorded' OR disposition = 'foreign'
      OR disposition = 'premature' OR disposition = 'undecodable'),
  conflicting INTEGER NOT NULL,
  redelivery_count INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  proof TEXT,
  redelivered_ms INTEGER,
  error TEXT
) STRICT;

CREATE UNIQUE INDEX deliveries_id ON deliveries (provider, environment, delivery_id, fingerprint);

CREATE INDEX deliveries_object ON deliveries (object, id) WHERE object IS NOT NULL;

CREATE INDEX deliveries_type ON deliveries (type, id);

CREATE INDEX deliveries_without_effect ON deliveries (id)
  WHERE disposition = 'foreign' OR disposition = 'premature' OR disposition = 'undecodable';

CREATE INDEX deliveries_sandbox ON deliveries (id) WHERE environment = 'sandbox';

CREATE INDEX deliveries_conflicting ON deliveries (received_ms, id) WHERE conflicting > 0;

CREATE INDEX deliveries_undecodable ON deliveries (received_ms, id)
  WHERE disposition = 'undecodable';

-- The newest content of a store's object, or several contents that contradict each other: all that no other
-- content outdates. The ledger writes a row when a delivery brings something newer, and removes the
-- outdated one.
CREATE TABLE mirrors (
  object TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  as_of_from_ms INTEGER NOT NULL,
  as_of_to_ms INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (object, delivery)
) STRICT;

-- How objects belong together: an invoice is part of a subscription, a purchase continues another.
-- `delivery` is the first that reported it. Rows stay.
CREATE TABLE links (
  target TEXT NOT NULL,
  kind TEXT NOT NULL
    CHECK (kind = 'part' OR kind = 'bridge' OR kind = 'successor' OR kind = 'predecessor'),
  origin TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  PRIMARY KEY (target, kind, origin)
) STRICT, WITHOUT ROWID;

-- Why an object was to be read again, and which delivery asked; 0 for an operator. The job that reads it is
-- in `jobs`. Rows stay, so an alarm asks once.
CREATE TABLE read_requests (
  object TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (object, delivery, reason)
) STRICT, WITHOUT ROWID;

-- A decision of an operator or an account: grants, claims, transfers, quotas and deletions. Rows are never
-- changed. `sequence` orders them among the deliveries.
CREATE TABLE decisions (
  id BLOB PRIMARY KEY,
  sequence INTEGER NOT NULL UNIQUE,
  kind TEXT NOT NULL
    CHECK (kind = 'grant' OR kind = 'ungrant' OR kind = 'claim' OR kind = 'transfer'
      OR kind = 'account_deleted' OR kind = 'quota' OR kind = 'quota_cleared'),
  account_id BLOB NOT NULL,
  object TEXT,
  decided_ms INTEGER NOT NULL,
  content TEXT NOT NULL
) STRICT;

CREATE INDEX decisions_object ON decisions (object, kind) WHERE object IS NOT NULL;

CREATE INDEX decisions_account ON decisions (account_id, kind);

-- Derived: what the facts about a subscription mean under the rules in force: owner, state, and the periods
-- it is entitled to (`coverage`). `attention` is the text of its rows in that table. It is written when
-- something changed.
CREATE TABLE subscriptions (
  object TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  owner BLOB,
  owner_evidence TEXT NOT NULL,
  label TEXT NOT NULL,
  will_renew INTEGER NOT NULL CHECK (will_renew IN (0, 1)),
  dirty INTEGER NOT NULL CHECK (dirty IN (0, 1)),
  coverage TEXT NOT NULL,
  policy_version TEXT NOT NULL,
  catalogue_version TEXT NOT NULL,
  transition_count INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  label_without_access TEXT NOT NULL DEFAULT 'expired',
  rules TEXT NOT NULL DEFAULT '',
  attention TEXT NOT NULL DEFAULT '',
  rules_change INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX subscriptions_owner ON subscriptions (owner, environment) WHERE owner IS NOT NULL;

-- A change of a subscription's state, of its owner or of what it entitles to: when it came true (`at_ms`),
-- when it was noticed, and the entry that caused it. `owed_before` and `owed_after` are what it entitled to
-- and does not any more, and the reverse, where an entry changed that. A renewal changes that alone: its two
-- states are the same. It is a history for people, and nothing is derived from it. Rows stay.
CREATE TABLE transitions (
  object TEXT NOT NULL,
  number INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  cause TEXT NOT NULL
    CHECK (cause = 'clock' OR cause = 'fact' OR cause = 'policy' OR cause = 'owner'),
  state_before TEXT NOT NULL,
  state_after TEXT NOT NULL,
  entry INTEGER,
  noticed_ms INTEGER NOT NULL,
  owed_before TEXT,
  owed_after TEXT,
  PRIMARY KEY (object, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX transitions_former_owner ON transitions (state_before)
  WHERE cause = 'owner' AND state_before <> 'none';

-- Something about a subscription that needs attention, as its derivation found it. `until_ms` is when it
-- settles by itself. A row goes when the derivation finds it no more.
CREATE TABLE attention (
  object TEXT NOT NULL,
  kind TEXT NOT NULL,
  about TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (object, kind, about)
) STRICT, WITHOUT ROWID;

CREATE INDEX attention_kind ON attention (kind, until_ms, since_ms, object);

-- Derived: the quota of an account from a time on. coffer-sync reads it at each write. `shrunk_ms` is since
-- when the quota is smaller than before, to find accounts above it.
CREATE TABLE entitlements (
  account_id BLOB NOT NULL,
  from_ms INTEGER NOT NULL,
  cap_bytes INTEGER NOT NULL,
  plan TEXT NOT NULL,
  reason TEXT NOT NULL,
  shrunk_ms INTEGER,
  PRIMARY KEY (account_id, from_ms)
) STRICT, WITHOUT ROWID;

CREATE INDEX entitlements_shrunk ON entitlements (shrunk_ms, account_id, from_ms, cap_bytes)
  WHERE shrunk_ms IS NOT NULL;

-- What an account could store in the past, where its schedule now says something else. Rows are only added,
-- without a gap for each account. From the end of its last row the schedule is the history.
CREATE TABLE held (
  account_id BLOB NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  cap_bytes INTEGER NOT NULL,
  plan TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (account_id, from_ms),
  CHECK (from_ms < to_ms)
) STRICT, WITHOUT ROWID;

-- An account that pays for two subscriptions at once, and since when. The row goes when it does not any
-- more.
CREATE TABLE double_payments (
  account_id BLOB PRIMARY KEY,
  since_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX double_payments_since ON double_payments (since_ms, account_id);

-- An account that owns a paid subscription and did not exist when it was derived. It may have been created
-- since: readers look into sync.accounts too.
CREATE TABLE unknown_accounts (
  account_id BLOB NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An object to be read from its store, or other work with retries; a row for each ever asked for. It is
-- open while requested > committed and it is not dead, and `due_ms` is set exactly then. While
-- `lease_until_ms` is set, a worker has the generation `issued`. `next_due_ms`: more was asked for
-- meanwhile. `unsettled_since_ms`: since when the oldest request waits. `failing_since_ms`: since when
-- attempts fail. `lane` 0 is for stores and operators; clients' claims queue in lanes of their own. `trace`
-- is the W3C traceparent of the request that asked. A row goes only when no worker can still have its
-- generation, so none is issued twice.
CREATE TABLE jobs (
  kind TEXT NOT NULL,
  object TEXT NOT NULL,
  payload BLOB,
  requested INTEGER NOT NULL,
  issued INTEGER NOT NULL,
  committed INTEGER NOT NULL,
  settle_after_ms INTEGER,
  confirmations INTEGER NOT NULL,
  due_ms INTEGER,
  held_until_ms INTEGER,
  lease_until_ms INTEGER,
  attempts INTEGER NOT NULL,
  refusals INTEGER NOT NULL,
  dead INTEGER NOT NULL CHECK (dead IN (0, 1)),
  last_error TEXT,
  next_due_ms INTEGER,
  unsettled_since_ms INTEGER,
  failing_since_ms INTEGER,
  lane INTEGER NOT NULL DEFAULT 0,
  trace TEXT,
  shallow INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, object),
  CHECK (committed <= issued AND requested <= issued + 1),
  CHECK ((due_ms IS NOT NULL AND requested > committed AND dead = 0)
    OR (due_ms IS NULL AND (requested <= committed OR dead = 1)))
) STRICT;

CREATE INDEX jobs_dead ON jobs (kind, object) WHERE dead = 1;

CREATE INDEX jobs_due ON jobs (kind, lane, due_ms, object) WHERE due_ms IS NOT NULL;

CREATE INDEX jobs_failing ON jobs (kind, object) WHERE failing_since_ms IS NOT NULL;

-- An object whose reads fail, and since when. The row goes with the first answer.
CREATE TABLE unanswered (
  object TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL
) STRICT;

-- A store's announcement that its answers do not show yet, and since when. The row goes once they do.
CREATE TABLE unconfirmed (
  object TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unconfirmed_since ON unconfirmed (since_ms, object);

-- A number or name that finds an object. Personal terms are stored as a keyed code. Rows go when the
-- account is erased.
CREATE TABLE search_terms (
  term BLOB NOT NULL,
  object TEXT NOT NULL,
  PRIMARY KEY (term, object)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_terms_object ON search_terms (object);

-- A secret or key that proved deliveries, as a digest, with the first and the last time; the last is exact
-- to the hour.
CREATE TABLE proofs (
  provider TEXT NOT NULL,
  proof TEXT NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, proof)
) STRICT, WITHOUT ROWID;

-- One of the last deliveries that were refused, without any of its content.
CREATE TABLE refusals (
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  provider TEXT NOT NULL,
  reason TEXT NOT NULL,
  request TEXT NOT NULL
) STRICT;

-- How many deliveries were refused, by store and reason.
CREATE TABLE refusal_counts (
  provider TEXT NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, reason)
) STRICT, WITHOUT ROWID;

-- A claim whose purchase no read has confirmed yet. If the store confirms it, it becomes a decision; if the
-- store does not know it (`unknown_ms`), the client is told once. In both cases the row goes.
CREATE TABLE claims (
  object TEXT NOT NULL,
  account_id BLOB NOT NULL,
  claimed_ms INTEGER NOT NULL,
  unknown_ms INTEGER,
  PRIMARY KEY (object, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX claims_account ON claims (account_id);

CREATE INDEX claims_unknown ON claims (unknown_ms) WHERE unknown_ms IS NOT NULL;

-- A claim of a purchase that belongs, or may belong, to another account: the newest of each account. Rows
-- go after a month.
CREATE TABLE refused_claims (
  object TEXT NOT NULL,
  account_id BLOB NOT NULL,
  refused_ms INTEGER NOT NULL,
  PRIMARY KEY (object, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX refused_claims_time ON refused_claims (refused_ms, object);

CREATE INDEX refused_claims_account ON refused_claims (account_id);

-- Every plan catalogue under which anything was derived, by the digest of its content. Rows stay.
CREATE TABLE catalogues (
  digest TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  content TEXT NOT NULL,
  first_used_ms INTEGER NOT NULL
) STRICT;

-- The catalogues that operators applied, one after the other; the last one is in force. Rows stay.
CREATE TABLE catalogues_of_record (
  number INTEGER PRIMARY KEY,
  digest TEXT NOT NULL,
  version TEXT NOT NULL,
  content TEXT NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT;

-- A plan as it last was, also after a catalogue dropped it: customers keep what they paid for.
CREATE TABLE sold_plans (
  plan TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  adds INTEGER NOT NULL CHECK (adds IN (0, 1)),
  catalogue TEXT NOT NULL
) STRICT;

-- The plan that a product or price last meant. `sold_as` is the product of a price.
CREATE TABLE sold_products (
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  sold_as TEXT,
  plan TEXT NOT NULL,
  catalogue TEXT NOT NULL,
  PRIMARY KEY (provider, id)
) STRICT, WITHOUT ROWID;

-- A price that a product was ever listed at: who paid it keeps the plan when the price rises.
CREATE TABLE sold_prices (
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  amount INTEGER NOT NULL,
  currency TEXT NOT NULL,
  per TEXT NOT NULL CHECK (per IN ('month', 'year')),
  PRIMARY KEY (provider, id, amount, currency, per)
) STRICT, WITHOUT ROWID;

-- A subscription that uses a product which the catalogue does not list any more, and until when it is
-- entitled to it.
CREATE TABLE unmapped_products (
  object TEXT NOT NULL,
  provider TEXT NOT NULL,
  product TEXT NOT NULL,
  owed_until_ms INTEGER NOT NULL,
  PRIMARY KEY (object, provider, product)
) STRICT, WITHOUT ROWID;

-- One row, once a server has started: the rules under which everything is derived. `number` grows with each
-- change; `applied` says whether every subscription was derived under them.
CREATE TABLE rules_in_force (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest TEXT NOT NULL,
  catalogue TEXT NOT NULL,
  content TEXT NOT NULL,
  applied INTEGER NOT NULL CHECK (applied IN (0, 1)),
  since_ms INTEGER NOT NULL
) STRICT;

-- A billing operation that an account asked for at Stripe, step by step. It is open while `closed_ms` is
-- not set. Of the operations that buy or change (`exclusive`) an account has one at a time. `client_action`
-- is sealed, because it opens a page or confirms a payment. Each account keeps its latest finished flows.
CREATE TABLE flows (
  id BLOB PRIMARY KEY,
  account_id BLOB NOT NULL,
  kind TEXT NOT NULL,
  asked TEXT NOT NULL,
  exclusive INTEGER NOT NULL CHECK (exclusive IN (0, 1)),
  step TEXT NOT NULL,
  state TEXT NOT NULL,
  status TEXT NOT NULL,
  problem TEXT,
  client_action BLOB,
  revision INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  step_ms INTEGER NOT NULL,
  closed_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX flows_exclusive ON flows (account_id) WHERE closed_ms IS NULL AND exclusive = 1;

CREATE INDEX flows_account ON flows (account_id, created_ms, id);

CREATE INDEX flows_open ON flows (step_ms, id) WHERE closed_ms IS NULL;

-- An account's customer at Stripe. If Stripe deleted the customer, `customer` is NULL and `number` makes
-- the next one different.
CREATE TABLE customers (
  account_id BLOB PRIMARY KEY,
  customer TEXT,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An order of an operator to a store, named by its entry in the audit log. coffer-billing sends it and
-- records the result. `doubted`: it may have been done, and the next read shows it. Rows stay.
CREATE TABLE orders (
  number INTEGER NOT NULL PRIMARY KEY,
  subscription TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('stop_renewal', 'end', 'refund', 'extend')),
  payment TEXT,
  amount TEXT,
  currency TEXT,
  days INTEGER,
  cause TEXT,
  known_refunds INTEGER,
  known_end_ms INTEGER,
  state TEXT NOT NULL CHECK (state IN ('open', 'doubted', 'done', 'failed')),
  asked_ms INTEGER NOT NULL,
  tried_ms INTEGER,
  read_number INTEGER,
  answer TEXT,
  closed_ms INTEGER,
  closing_number INTEGER
) STRICT;

-- One of a kind at a time: a second could be the first, given twice.
CREATE UNIQUE INDEX orders_open ON orders (subscription, kind) WHERE state IN ('open', 'doubted');

CREATE INDEX orders_waiting ON orders (asked_ms, number) WHERE state IN ('open', 'doubted');

CREATE INDEX orders_subscription ON orders (subscription, number);

-- A notice to the app's server with the body that was sent. `due_ms` is the next attempt; NULL: delivered
-- or failed permanently. Rows go after a month.
CREATE TABLE notices (
  account_id BLOB NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  body TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_ms INTEGER,
  delivered_ms INTEGER,
  last_error TEXT,
  PRIMARY KEY (account_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_made ON notices (made_ms, account_id, number);

CREATE INDEX notices_waiting ON notices (due_ms, account_id, number) WHERE due_ms IS NOT NULL;

-- One row while notices are configured: their receiver. `disabled_ms` is when it answered 410.
CREATE TABLE notice_receiver (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  url_digest TEXT NOT NULL,
  disabled_ms INTEGER
) STRICT;

-- An account that agreed that a store may be told about its usage when it asks for a refund, and since
-- when.
CREATE TABLE refund_consents (
  account_id BLOB NOT NULL PRIMARY KEY,
  given_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A store's latest question before a refund of a payment, and the answer. `answered_ms` is when it was
-- settled, also by silence.
CREATE TABLE refund_questions (
  payment TEXT NOT NULL PRIMARY KEY,
  asked_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  account_id BLOB,
  answered_ms INTEGER,
  answer TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX refund_questions_asked ON refund_questions (asked_ms, payment);

CREATE INDEX refund_questions_account ON refund_questions (account_id, asked_ms, payment)
  WHERE account_id IS NOT NULL;

-- A run that compares the ledger with a store; at most one of a store is open. `step` and `place` are where
-- it goes on, `since_ms` from when on it asks (NULL: everything). The last hundred of each store stay.
CREATE TABLE reconciliations (
  provider TEXT NOT NULL,
  number INTEGER NOT NULL,
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),
  began_ms INTEGER NOT NULL,
  since_ms INTEGER,
  step TEXT NOT NULL,
  place TEXT,
  pages INTEGER NOT NULL,
  examined INTEGER NOT NULL,
  agreed INTEGER NOT NULL,
  repaired INTEGER NOT NULL,
  disputed INTEGER NOT NULL,
  unreachable INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  PRIMARY KEY (provider, number)
) STRICT, WITHOUT ROWID;

-- A read that the open run asked for and has not judged yet. `before` is what was derived before it.
CREATE TABLE reconciled_reads (
  provider TEXT NOT NULL,
  object TEXT NOT NULL,
  asked_ms INTEGER NOT NULL,
  before TEXT NOT NULL,
  PRIMARY KEY (provider, object)
) STRICT, WITHOUT ROWID;

-- What a reconciliation repaired: `subject` is '#' and the number of a lost delivery, or the object whose
-- read changed something. It stays as long as its run.
CREATE TABLE repairs (
  provider TEXT NOT NULL,
  run INTEGER NOT NULL,
  subject TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  found_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, run, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX repairs_found ON repairs (found_ms, provider, subject);

-- How far billing is with deleting an account: 'stopping' (stores are asked to stop billing), 'waiting',
-- 'erasing', 'erased'. `asked_ms` says which request it follows. The row stays, so that nothing of the
-- account comes back.
CREATE TABLE account_deletions (
  account_id BLOB NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  begun_ms INTEGER NOT NULL,
  asked_ms INTEGER NOT NULL,
  erased_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX account_deletions_asked ON account_deletions (asked_ms);

-- An action of an operator on what billing keeps, written in the transaction of the action. Rows are never
-- changed. Each digest covers the row and the digest before it, so a changed, missing or added row breaks
-- the chain.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  act TEXT NOT NULL,
  subject TEXT NOT NULL,
  account_id BLOB,
  former_account_id BLOB,
  reason TEXT NOT NULL,
  state_before TEXT NOT NULL,
  state_after TEXT NOT NULL,
  digest BLOB NOT NULL
) STRICT;

CREATE INDEX audit_by_time ON audit (at_ms, number);

CREATE INDEX audit_by_account ON audit (account_id, at_ms, number) WHERE account_id IS NOT NULL;

CREATE INDEX audit_by_former_account ON audit (former_account_id, at_ms, number)
  WHERE former_account_id IS NOT NULL;

-- One row from the first action on: the end of the chain. Its lock makes actions follow each other.
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;
