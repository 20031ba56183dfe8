-- Standings, states of runs, planned cases, a clock that is behind, and calls of a case.
-- fine, open, failure, unmeasured
ALTER TABLE verdict ADD COLUMN standing TEXT NOT NULL DEFAULT '';

-- The states of a run, filled as `verdict` is. A run that is not finished has the state of exit
-- code 3.
CREATE TABLE run_state(
  exit_code INTEGER NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  precedence INTEGER NOT NULL  -- of the runs of a night, the state with the smallest counts
) STRICT, WITHOUT ROWID;

-- That the run was to measure; 0 = not known.
ALTER TABLE run ADD COLUMN planned_cases INTEGER NOT NULL DEFAULT 0;
-- Seconds by which the clock was behind the newest run of the database, which this run is ordered
-- after all the same.
ALTER TABLE run ADD COLUMN clock_behind_s INTEGER NOT NULL DEFAULT 0;

ALTER TABLE outcome ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;  -- untimed ones; 0: not known
-- Between the calls, in words; '' = none.
ALTER TABLE outcome ADD COLUMN call_difference TEXT NOT NULL DEFAULT '';

-- failure: fails the run; open: lost coverage, exit 5; fine: told.
ALTER TABLE run_change ADD COLUMN standing TEXT NOT NULL DEFAULT 'fine';
UPDATE run_change SET standing = 'failure' WHERE is_failure;
ALTER TABLE run_change DROP COLUMN is_failure;
