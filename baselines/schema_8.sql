-- Schema 8: a verdict is named `first_seen` where it was `new`, and `unconfirmed` comes: a
-- regression that could not be confirmed where it was found. The verdicts of all rows are renamed;
-- kernel_resources, whose check names the words, is written anew.
INSERT OR IGNORE INTO verdict(verdict, is_failure, is_baseline) VALUES ('first_seen', 0, 1), ('unconfirmed', 0, 0);
UPDATE outcome SET verdict = 'first_seen' WHERE verdict = 'new';
UPDATE diff SET verdict = 'first_seen' WHERE verdict = 'new';
UPDATE invariance SET verdict = 'first_seen' WHERE verdict = 'new';
DELETE FROM verdict WHERE verdict = 'new';

CREATE TEMP TABLE resources_of_schema_7 AS SELECT * FROM kernel_resources;
DROP TABLE kernel_resources;
CREATE TABLE kernel_resources(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  source TEXT NOT NULL,
  kernel TEXT NOT NULL,
  launch TEXT NOT NULL,
  arch TEXT NOT NULL,
  toolkit TEXT NOT NULL,
  threads INTEGER,
  registers INTEGER,
  stack_bytes INTEGER,
  spill_store_bytes INTEGER,
  spill_load_bytes INTEGER,
  static_shared_bytes INTEGER,
  dynamic_shared_bytes INTEGER,
  constant_bytes INTEGER,
  barriers INTEGER,
  active_warps INTEGER,
  most_warps INTEGER,
  limited_by TEXT,
  tensor_cores INTEGER,
  predicted_registers REAL,
  predicted_shared_bytes INTEGER,
  verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'improved', 'changed', 'first_seen', 'regressed', 'missing', 'not comparable')),
  why TEXT NOT NULL,
  UNIQUE (run_id, source, kernel, launch, arch)
) STRICT;
UPDATE resources_of_schema_7 SET verdict = 'first_seen' WHERE verdict = 'new';
INSERT INTO kernel_resources SELECT * FROM resources_of_schema_7;
DROP TABLE resources_of_schema_7;

-- What of the suites' cases a run was asked for: runs of one selection should hold the same cases.
-- '' where an older plumbline stored the run.
ALTER TABLE run ADD COLUMN selection TEXT NOT NULL DEFAULT '';

-- A series is a case on a machine class, and a GPU is a machine class of its own: the class stands
-- with each outcome (run.machine_key is that of the host), and series_key names the case without
-- the ordinal of its device, so that cuda:0 and cuda:1 of one model share a series.
ALTER TABLE attention_case ADD COLUMN series_key BLOB;
CREATE INDEX attention_case_by_series ON attention_case(series_key);
ALTER TABLE outcome ADD COLUMN machine_key BLOB REFERENCES machine_class(machine_key);
UPDATE outcome SET machine_key = (SELECT machine_key FROM run WHERE run.run_id = outcome.run_id);
-- Of the GPU: '' and NULL on the host itself, or where the worker does not tell.
ALTER TABLE outcome ADD COLUMN device_model TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN device_memory_bytes INTEGER;
ALTER TABLE outcome ADD COLUMN device_driver TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN device_runtime TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN time_hot_ns REAL;  -- NULL unless timed on a GPU

-- What the contract held the outcome to, up to 1e7 elements; NULL and '' where an older plumbline
-- judged it.
ALTER TABLE outcome ADD COLUMN limit_peak REAL;
ALTER TABLE outcome ADD COLUMN limit_beyond_output REAL;
ALTER TABLE outcome ADD COLUMN limit_rms REAL;
ALTER TABLE outcome ADD COLUMN limit_lse REAL;
ALTER TABLE outcome ADD COLUMN pinned_padding_policy TEXT NOT NULL DEFAULT '';
ALTER TABLE outcome ADD COLUMN pinned_promises TEXT NOT NULL DEFAULT '';
-- Of a timed outcome, what its series took before: how many runs, and this time over their median.
ALTER TABLE outcome ADD COLUMN past_times INTEGER;
ALTER TABLE outcome ADD COLUMN time_over_past REAL;
-- Whether fresh processes were asked about a regression: 'confirmed', 'refuted' or 'disagree'; ''
-- where nobody could be asked.
ALTER TABLE outcome ADD COLUMN confirmation TEXT NOT NULL DEFAULT '';
UPDATE outcome SET confirmation = 'confirmed' WHERE verdict = 'regressed';

-- What is different about the cases of a run beside their verdicts: a case that vanished or is
-- refused now, a contract that became looser, … Written anew when the run is judged again.
CREATE TABLE run_change(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  suite TEXT NOT NULL,
  case_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  value REAL,
  limit_value REAL,
  explanation TEXT NOT NULL,
  is_failure INTEGER NOT NULL,
  UNIQUE (run_id, suite, case_id, kind)
) STRICT;

-- Outcomes that later runs are measured against for as long as no other pin of their series comes.
-- As explicit and append-only as accepts.
CREATE TABLE pin(
  pin_key BLOB NOT NULL PRIMARY KEY CHECK (length(pin_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  pinned_by TEXT NOT NULL CHECK (pinned_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  pinned_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE pinned_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  pin_key BLOB NOT NULL REFERENCES pin(pin_key),
  PRIMARY KEY (case_key, run_id, pin_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX accepted_case_by_case ON accepted_case(case_key);
CREATE TRIGGER pin_is_never_changed BEFORE UPDATE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pin_is_never_deleted BEFORE DELETE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_changed BEFORE UPDATE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_deleted BEFORE DELETE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
