-- Named outputs: one row for each output of an outcome that has no columns in `outcome`. These are
-- all but out and lse (harness/problem/outputs.h).
CREATE TABLE outcome_output(
  case_key BLOB NOT NULL,
  run_id TEXT NOT NULL,
  suite TEXT NOT NULL,
  output TEXT NOT NULL,
  z REAL NOT NULL,  -- max |error| / sigma
  max_abs REAL NOT NULL,
  limit_value REAL,  -- of z; NULL where there was no contract to hold the outcome to
  UNIQUE (case_key, run_id, suite, output),
  FOREIGN KEY (case_key, run_id, suite) REFERENCES outcome(case_key, run_id, suite)
    ON DELETE CASCADE
) STRICT;
CREATE INDEX outcome_output_by_run ON outcome_output(run_id);
-- A case that a run measures again may return other outputs.
CREATE TRIGGER outcome_output_is_replaced AFTER UPDATE OF output_digest ON outcome
BEGIN
  DELETE FROM outcome_output
  WHERE case_key = NEW.case_key AND run_id = NEW.run_id AND suite = NEW.suite;
END;

-- A difference may be of any row output.
CREATE TABLE invariance_15(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  judge_version INTEGER NOT NULL,
  suite TEXT NOT NULL,
  tier TEXT NOT NULL,
  invariance TEXT NOT NULL,
  promise TEXT NOT NULL CHECK (promise IN ('none', 'rounding', 'bitwise')),
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  calls INTEGER NOT NULL,
  calls_refused INTEGER NOT NULL,
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  other_bits INTEGER CHECK ((other_bits IS NOT NULL) = (status = 'ok')),
  statistic TEXT,  -- out, or a row output's name
  sample INTEGER,
  head INTEGER,
  row_index INTEGER,
  column_index INTEGER,
  value_a REAL,
  value_b REAL,
  sigmas REAL,
  limit_value REAL,
  ulps REAL,
  problem_a TEXT NOT NULL,
  problem_b TEXT NOT NULL,
  wall_ms REAL NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  UNIQUE (run_id, suite, case_key, invariance)
) STRICT;
INSERT INTO invariance_15 SELECT * FROM invariance;
DROP TABLE invariance;
ALTER TABLE invariance_15 RENAME TO invariance;
