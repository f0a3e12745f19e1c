-- Objects whose reads fail, and since when: the first failure that no answer has followed.
CREATE TABLE unanswered (
  object TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL
) STRICT;
