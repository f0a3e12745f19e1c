-- Which subscriptions an account once owned: who looks at it is told why they went.
CREATE INDEX transitions_former_owner ON transitions (state_before)
  WHERE cause = 'owner' AND state_before <> 'none';
