-- Who agreed that a store may be told of their usage when they ask for their money back, and since when.
CREATE TABLE refund_consents (
  account_id BLOB NOT NULL PRIMARY KEY,
  given_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What stores asked before a refund, by the payment, and what they were told: the latest of each.
-- answered_ms is when it was settled, if only by silence.
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
