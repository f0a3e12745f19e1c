-- Accounts that own what is paid for and that did not exist when it was derived. One that is opened later stays
-- listed here, and is told of no more: whoever reads this asks sync.accounts, too.
CREATE TABLE unknown_accounts (
  account_id BLOB NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
