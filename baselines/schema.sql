-- The database of runs. Tables are private and may change; the views of views.sql are the public
-- interface (README.md).
--
-- The number is that of this schema, which PRAGMA user_version tells of a file. This file stays as
-- it is: each change is one file migrations/<number>.sql, and plumbline migrates a file that it
-- opens for writing. It refuses files of an earlier number than this, unharmed.
PRAGMA user_version = 13;

-- Keys of 16 bytes are XXH3-128 of a canonical text of what they name, so that shards from many
-- machines merge in any order into the same rows. Nothing that a user sees is numbered. Tables are
-- STRICT: SQLite turns NaN into NULL, and NOT NULL or CHECK then refuses it, so a NaN statistic is
-- stored as +Inf (9e999) beside the fault counts that tell. NULL means "not measured", never
-- "failed".

CREATE TABLE meta(
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The program's own words: filled from its enumerators when a file is opened, so that SQL never
-- spells out which verdicts fail.
CREATE TABLE verdict(
  verdict TEXT NOT NULL PRIMARY KEY,
  is_failure INTEGER NOT NULL,
  is_baseline INTEGER NOT NULL  -- an outcome with this verdict may be compared with later
) STRICT, WITHOUT ROWID;

-- Declared identity of a kind of machine: one part of a series' key.
CREATE TABLE machine_class(
  machine_key BLOB NOT NULL PRIMARY KEY CHECK (length(machine_key) = 16),
  device_kind TEXT NOT NULL,
  machine_arch TEXT NOT NULL,
  model TEXT NOT NULL,
  memory_bytes INTEGER NOT NULL,
  clock_policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A problem x a kernel x a device: another part; the third is outcome.provider_options. From
-- `inputs` on one column for each row of harness/problem/problem_fields.h; kv_dtype and out_dtype
-- are resolved.
CREATE TABLE attention_case(
  case_key BLOB NOT NULL PRIMARY KEY CHECK (length(case_key) = 16),
  case_id TEXT NOT NULL UNIQUE,
  -- Names the case without the ordinal of its device, so that cuda:0 and cuda:1 of one model share
  -- a series: a case on a machine class, by a provider with the same options.
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  kernel TEXT NOT NULL,
  device TEXT NOT NULL,
  inputs TEXT NOT NULL,  -- recorded in a file; '' where a law generates them
  dtype TEXT NOT NULL,
  kv_dtype TEXT NOT NULL,
  out_dtype TEXT NOT NULL,
  batch INTEGER NOT NULL,
  heads_q INTEGER NOT NULL,
  heads_kv INTEGER NOT NULL,
  seq_q INTEGER NOT NULL,
  seq_kv INTEGER NOT NULL,
  head_dim_qk INTEGER NOT NULL,
  head_dim_vo INTEGER NOT NULL,
  mask TEXT NOT NULL,
  window_left INTEGER NOT NULL,
  window_right INTEGER NOT NULL,
  layout TEXT NOT NULL,
  lengths TEXT NOT NULL,
  padding TEXT NOT NULL,
  page_size INTEGER NOT NULL,
  fill TEXT NOT NULL,
  law TEXT NOT NULL,
  v_law TEXT NOT NULL,
  k_scale REAL NOT NULL,
  v_scale REAL NOT NULL,
  scale REAL NOT NULL,
  softcap REAL NOT NULL,
  alibi TEXT NOT NULL,
  sinks TEXT NOT NULL,
  kv_scales TEXT NOT NULL,
  scale_block INTEGER NOT NULL,
  view TEXT NOT NULL,
  merge TEXT NOT NULL,
  lse INTEGER NOT NULL,
  seed INTEGER NOT NULL  -- the 64 bits of an unsigned number
) STRICT, WITHOUT ROWID;
CREATE INDEX attention_case_by_series ON attention_case(series_key);

CREATE TABLE build(
  build_key BLOB NOT NULL PRIMARY KEY CHECK (length(build_key) = 16),
  build_kernel TEXT NOT NULL,
  build_id TEXT NOT NULL,
  launched TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE rounding_spec(
  spec_key BLOB NOT NULL PRIMARY KEY CHECK (length(spec_key) = 16),
  spec TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE run(
  run_id TEXT NOT NULL PRIMARY KEY,
  run_order TEXT NOT NULL,  -- sorts runs by start, then by the moment they were recorded
  started_at TEXT NOT NULL,
  finished_at TEXT,
  exit_code INTEGER,
  complete INTEGER CHECK ((complete IS NULL) = (finished_at IS NULL)),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  code_commit TEXT NOT NULL,
  host TEXT NOT NULL,
  compiler TEXT NOT NULL,
  flags TEXT NOT NULL,
  versions_json TEXT NOT NULL CHECK (versions_json = '' OR json_valid(versions_json)),
  command_line TEXT NOT NULL,
  shard TEXT NOT NULL,
  purpose TEXT NOT NULL,
  -- What of the suites' cases the run was asked for: runs of one selection should hold the same
  -- cases.
  selection TEXT NOT NULL,
  -- Shared by all runs of one night, over all machines; '' where a run is no part of one.
  night_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_by_night ON run(night_id) WHERE night_id <> '';
CREATE UNIQUE INDEX run_by_order ON run(run_order);
CREATE INDEX run_unfinished ON run(run_order) WHERE finished_at IS NULL;
CREATE INDEX run_that_confirms ON run(run_order) WHERE purpose = 'confirm';
CREATE INDEX run_by_machine ON run(machine_key, run_order);

-- One wide row an outcome: 20,000 in 0.13 s where a row per metric takes 1.6 s. Groups of columns
-- that were not measured are NULL together.
CREATE TABLE outcome(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  suite TEXT NOT NULL,
  -- Copies of attention_case.series_key and run.run_order, so that one index holds each series in
  -- the order of time.
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  run_order TEXT NOT NULL,
  build_key BLOB NOT NULL REFERENCES build(build_key),
  -- Of what the case ran on: a GPU is a machine class of its own (run.machine_key is that of the
  -- host).
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  declared_spec_key BLOB NOT NULL REFERENCES rounding_spec(spec_key),
  judged_spec_key BLOB NOT NULL REFERENCES rounding_spec(spec_key),
  arch TEXT NOT NULL,
  judge_version INTEGER NOT NULL,  -- of the measurement; judging again does not change it
  reference_version INTEGER NOT NULL,
  inputs_version INTEGER NOT NULL,
  head_rms_max REAL CHECK ((head_rms_max IS NULL) = (length(head_rms) = 0)),
  head_rms_max_sample INTEGER CHECK ((head_rms_max_sample IS NULL) = (length(head_rms) = 0)),
  head_rms_max_head INTEGER CHECK ((head_rms_max_head IS NULL) = (length(head_rms) = 0)),

  case_group TEXT NOT NULL,
  tier TEXT NOT NULL,
  problem_digest TEXT NOT NULL,
  -- Of the kernel's provider, as given behind its file, '' for none: a part of the series' key.
  provider_options TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  tensor_cores TEXT NOT NULL,
  padding_policy TEXT NOT NULL,
  promise_run_to_run TEXT NOT NULL,
  promise_batch TEXT NOT NULL,
  promise_layout TEXT NOT NULL,
  promise_page TEXT NOT NULL,
  promise_split TEXT NOT NULL,
  promise_prefill_decode TEXT NOT NULL,
  promise_lse TEXT NOT NULL,
  registers_per_thread INTEGER,
  spill_bytes_per_thread INTEGER,
  shared_memory_bytes INTEGER,
  stack_bytes_per_thread INTEGER,
  -- The architecture that a kernel says it ran on, where its device's name leaves it open; '' else.
  device_arch TEXT NOT NULL,
  -- Of the GPU, as its worker tells it: '' and NULL on the host itself, or where the worker does
  -- not tell.
  device_model TEXT NOT NULL,
  device_memory_bytes INTEGER,
  device_driver TEXT NOT NULL,
  device_runtime TEXT NOT NULL,
  device_facts_arch TEXT NOT NULL,
  workspace_bytes INTEGER NOT NULL,
  -- errors, in units of sigma unless the name says otherwise; NULL unless status is ok
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  peak REAL CHECK ((peak IS NOT NULL) = (status = 'ok')),
  beyond_output REAL CHECK ((beyond_output IS NOT NULL) = (status = 'ok')),
  rms REAL CHECK ((rms IS NOT NULL) = (status = 'ok')),
  bound REAL CHECK ((bound IS NOT NULL) = (status = 'ok')),
  max_abs REAL CHECK ((max_abs IS NOT NULL) = (status = 'ok')),
  max_rel REAL CHECK ((max_rel IS NOT NULL) = (status = 'ok')),
  mean_abs REAL CHECK ((mean_abs IS NOT NULL) = (status = 'ok')),
  max_ulp REAL CHECK ((max_ulp IS NOT NULL) = (status = 'ok')),
  outside_allclose_1e3 REAL CHECK ((outside_allclose_1e3 IS NOT NULL) = (status = 'ok')),
  outside_allclose_1e2 REAL CHECK ((outside_allclose_1e2 IS NOT NULL) = (status = 'ok')),
  has_lse INTEGER NOT NULL,
  lse_z REAL CHECK ((lse_z IS NOT NULL) = has_lse),
  lse_max_abs REAL CHECK ((lse_max_abs IS NOT NULL) = has_lse),
  -- whether rows have no reference; `elsewhere` is of these
  has_elsewhere INTEGER NOT NULL,
  elsewhere REAL CHECK ((elsewhere IS NOT NULL) = has_elsewhere),
  has_suite_scores INTEGER NOT NULL,
  shrink_z REAL CHECK ((shrink_z IS NOT NULL) = has_suite_scores),
  temperature_z REAL CHECK ((temperature_z IS NOT NULL) = has_suite_scores),
  faults_nan INTEGER NOT NULL,
  faults_inf INTEGER NOT NULL,
  faults_unwritten INTEGER NOT NULL,
  faults_out_of_range INTEGER NOT NULL,
  faults_padded_rows INTEGER NOT NULL,
  faults_empty_rows INTEGER NOT NULL,
  faults_inexact INTEGER NOT NULL,
  faults_fence_bytes INTEGER NOT NULL,
  faults_detail TEXT NOT NULL,
  worst_statistic TEXT NOT NULL,
  has_worst INTEGER NOT NULL,
  worst_sample INTEGER CHECK ((worst_sample IS NOT NULL) = has_worst),
  worst_head INTEGER CHECK ((worst_head IS NOT NULL) = has_worst),
  worst_row INTEGER CHECK ((worst_row IS NOT NULL) = has_worst),
  worst_column INTEGER CHECK ((worst_column IS NOT NULL) = has_worst),
  worst_got_is_nan INTEGER CHECK ((worst_got_is_nan IS NOT NULL) = has_worst),
  worst_got REAL CHECK ((worst_got IS NOT NULL) = has_worst),
  worst_expected REAL CHECK ((worst_expected IS NOT NULL) = has_worst),
  worst_sigma REAL CHECK ((worst_sigma IS NOT NULL) = has_worst),
  worst_ulp REAL CHECK ((worst_ulp IS NOT NULL) = has_worst),
  worst_share_p REAL CHECK ((worst_share_p IS NOT NULL) = has_worst),
  worst_share_logit REAL CHECK ((worst_share_logit IS NOT NULL) = has_worst),
  worst_share_s REAL CHECK ((worst_share_s IS NOT NULL) = has_worst),
  worst_share_exp2 REAL CHECK ((worst_share_exp2 IS NOT NULL) = has_worst),
  worst_share_accumulation REAL CHECK ((worst_share_accumulation IS NOT NULL) = has_worst),
  worst_share_split_partials REAL CHECK ((worst_share_split_partials IS NOT NULL) = has_worst),
  worst_share_output REAL CHECK ((worst_share_output IS NOT NULL) = has_worst),
  worst_visible_keys INTEGER CHECK ((worst_visible_keys IS NOT NULL) = has_worst),
  location_kind TEXT NOT NULL,
  location_description TEXT NOT NULL,
  location_z REAL NOT NULL,
  -- one sentence for people: what a failure is put down to; '' where nobody knows
  cause TEXT NOT NULL,
  -- the rung of the ladder that permits more and would explain the failure; '' if none does
  looser_rung TEXT NOT NULL,
  -- little-endian float32, (sample, head) row major
  head_rms BLOB NOT NULL CHECK (length(head_rms) % 4 = 0),
  -- What the errors look like (harness/outcome/error_picture.h), '' where nothing was compared:
  -- counts as little-endian uint32, the map a byte a part, row by row.
  error_histogram BLOB NOT NULL CHECK (length(error_histogram) IN (0, 4 * 41)),
  spre_ratios BLOB NOT NULL CHECK (length(spre_ratios) IN (0, 4 * 32)),
  error_map_rows INTEGER NOT NULL CHECK (error_map_rows BETWEEN 0 AND 16),
  error_map_columns INTEGER NOT NULL CHECK (error_map_columns BETWEEN 0 AND 16),
  error_map BLOB NOT NULL CHECK (length(error_map) = error_map_rows * error_map_columns),
  reference_rows INTEGER NOT NULL,
  rows_total INTEGER NOT NULL,
  -- of the rows that change from night to night; 0: none were compared
  row_seed INTEGER NOT NULL DEFAULT 0,
  widening REAL NOT NULL,
  output_digest TEXT NOT NULL,
  repeat_checked INTEGER NOT NULL,
  repeat_equal INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  time_ns REAL CHECK ((time_ns IS NOT NULL) = timed),
  time_mad_ns REAL CHECK ((time_mad_ns IS NOT NULL) = timed),
  time_ratio REAL CHECK ((time_ratio IS NOT NULL) = timed),
  time_hot_ns REAL,           -- NULL unless timed on a GPU
  -- Every sample: [{"kernel_ns": […], …}, …], one object a worker process (harness/outcome/times.h)
  time_rounds TEXT NOT NULL CHECK (json_valid(time_rounds)),
  -- Ratios of the fresh processes that were asked about a candidate.
  fresh_ratios TEXT NOT NULL CHECK (json_valid(fresh_ratios)),
  time_cpu_ns REAL,
  time_sentinel_ns REAL,
  flops_per_second REAL,
  bytes_per_second REAL,
  flops_share REAL,
  bytes_share REAL,
  time_physics REAL,  -- the least time that any kernel needs over the one taken
  second_ratio REAL,  -- of a second measurement in the same night
  peak_memory_bytes INTEGER,  -- NULL unless timed
  wall_ms REAL NOT NULL,
  saved_to TEXT NOT NULL,
  -- The case whose outcome was taken over because a kernel without tensor cores gives the same bits
  -- on every architecture; '' where the case itself was measured.
  reused_from TEXT NOT NULL,
  -- What the suite expected of the case (its entry expect_failure); '' where it expected nothing.
  expected_issue TEXT NOT NULL,
  expected_expires TEXT NOT NULL,
  expected_reason TEXT NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  -- What the contract held the outcome to, up to 1e7 elements; NULL and '' where there was no
  -- contract to hold it to.
  limit_peak REAL,
  limit_beyond_output REAL,
  limit_rms REAL,
  limit_lse REAL,
  limit_elsewhere REAL,
  pinned_padding_policy TEXT NOT NULL,
  pinned_promises TEXT NOT NULL,
  -- Of a timed outcome, what its series took before: how many runs, and this time over their
  -- median.
  past_times INTEGER,
  time_over_past REAL,
  -- Whether fresh processes were asked about a regression: 'confirmed', 'refuted' or 'disagree'; ''
  -- where nobody could be asked.
  confirmation TEXT NOT NULL,
  -- What the gate concluded of the time, '' where it did not look; level and limit are ratios to
  -- the sentinel, spread and change relative.
  gate_finding TEXT NOT NULL,
  gate_nights INTEGER CHECK ((gate_nights IS NOT NULL) = (gate_finding <> '')),
  gate_pool INTEGER,
  gate_level REAL,
  gate_spread REAL,
  gate_limit REAL,
  gate_change REAL,
  gate_deviation REAL,

  faults_total INTEGER NOT NULL AS (
    faults_nan + faults_inf + faults_unwritten + faults_out_of_range + faults_padded_rows +
    faults_empty_rows + faults_inexact + faults_fence_bytes),
  UNIQUE (case_key, run_id, suite)
) STRICT;
CREATE INDEX outcome_by_run ON outcome(run_id, verdict, suite);
CREATE INDEX outcome_by_verdict ON outcome(verdict);
CREATE INDEX outcome_in_time ON outcome(
  series_key, machine_key, provider_options, run_order DESC, suite, verdict);
-- Everything that the time gate asks of the past stands in the index itself, also its condition
-- (which SQLite would otherwise look up in the row): a series' sixty nights are a few neighbouring
-- pages, where its outcomes are sixty.
CREATE INDEX outcome_timed ON outcome(
  series_key, machine_key, provider_options, run_order DESC, suite, verdict, status, judge_version,
  reference_version, inputs_version, time_ratio, fresh_ratios, gate_finding, confirmation, run_id,
  case_key, timed) WHERE timed;

-- The newest outcome of every series in each suite and under each name of the case (cuda:0 and
-- cuda:1 share a series), so that asking for the newest reads a row or two a series. The triggers
-- keep it, whoever stores, merges or deletes outcomes.
CREATE TABLE latest_outcome(
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  provider_options TEXT NOT NULL,
  suite TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  run_order TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES run(run_id),
  PRIMARY KEY (series_key, machine_key, provider_options, suite, case_key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER latest_outcome_is_stored AFTER INSERT ON outcome
BEGIN
  INSERT INTO latest_outcome VALUES (
    NEW.series_key, NEW.machine_key, NEW.provider_options, NEW.suite, NEW.case_key, NEW.run_order,
    NEW.run_id)
  ON CONFLICT (series_key, machine_key, provider_options, suite, case_key) DO UPDATE SET
    run_order = excluded.run_order, run_id = excluded.run_id
  WHERE excluded.run_order > latest_outcome.run_order;
END;
CREATE TRIGGER latest_outcome_is_deleted AFTER DELETE ON outcome
WHEN EXISTS (
  SELECT 1 FROM latest_outcome AS l
  WHERE l.series_key = OLD.series_key AND l.machine_key = OLD.machine_key
    AND l.provider_options = OLD.provider_options AND l.suite = OLD.suite
    AND l.case_key = OLD.case_key AND l.run_order = OLD.run_order)
BEGIN
  DELETE FROM latest_outcome
  WHERE series_key = OLD.series_key AND machine_key = OLD.machine_key
    AND provider_options = OLD.provider_options AND suite = OLD.suite AND case_key = OLD.case_key;
  INSERT INTO latest_outcome
  SELECT series_key, machine_key, provider_options, suite, case_key, run_order, run_id
  FROM outcome
  WHERE series_key = OLD.series_key AND machine_key = OLD.machine_key
    AND provider_options = OLD.provider_options AND suite = OLD.suite AND case_key = OLD.case_key
  ORDER BY run_order DESC LIMIT 1;
END;
-- A case of a run that is stored again may have moved to another series.
CREATE TRIGGER latest_outcome_has_moved
AFTER UPDATE OF series_key, machine_key, provider_options, run_order ON outcome
WHEN (OLD.series_key, OLD.machine_key, OLD.provider_options, OLD.run_order)
  IS NOT (NEW.series_key, NEW.machine_key, NEW.provider_options, NEW.run_order)
BEGIN
  DELETE FROM latest_outcome
  WHERE series_key IN (OLD.series_key, NEW.series_key) AND suite = NEW.suite
    AND case_key = NEW.case_key;
  INSERT INTO latest_outcome
  SELECT series_key, machine_key, provider_options, suite, case_key, max(run_order), run_id
  FROM outcome
  WHERE series_key IN (OLD.series_key, NEW.series_key) AND suite = NEW.suite
    AND case_key = NEW.case_key
  GROUP BY series_key, machine_key, provider_options;
END;

-- What happened to a night, append-only: opened, closed, suspect, measured again, set aside.
CREATE TABLE night_event(
  event_key BLOB NOT NULL PRIMARY KEY CHECK (length(event_key) = 16),
  night_id TEXT NOT NULL CHECK (night_id <> ''),
  kind TEXT NOT NULL
    CHECK (kind IN ('opened', 'closed', 'suspect', 'measured again', 'set aside')),
  happened_at TEXT NOT NULL,
  who TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX night_event_by_night ON night_event(night_id);
CREATE TRIGGER night_event_is_never_changed BEFORE UPDATE ON night_event
BEGIN SELECT RAISE(ABORT, 'night_event rows are append-only'); END;

-- How the times of one run on one machine class stood together, and what was expected by chance.
CREATE TABLE night_times(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  series INTEGER NOT NULL,       -- timed series with enough of a past to be gated
  common_shift REAL NOT NULL,    -- relative, of all series together
  shift_limit REAL NOT NULL,
  suspect INTEGER NOT NULL,      -- none of the run's times is a baseline
  why TEXT NOT NULL,
  fresh INTEGER NOT NULL,        -- fresh processes asked about a candidate
  candidates INTEGER NOT NULL,
  confirmed INTEGER NOT NULL,
  expected_false_alerts REAL NOT NULL,
  second_pairs INTEGER NOT NULL,   -- cases measured twice
  second_alarms INTEGER NOT NULL,  -- of those, how many would have been a candidate
  load REAL NOT NULL,              -- the largest load average seen while timing
  UNIQUE (run_id, machine_key)
) STRICT;

CREATE TABLE diff(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  judge_version INTEGER NOT NULL,
  reference_version INTEGER NOT NULL,
  inputs_version INTEGER NOT NULL,
  suite TEXT NOT NULL,
  name TEXT NOT NULL,
  tier TEXT NOT NULL,
  expect TEXT NOT NULL,
  case_a TEXT NOT NULL,
  case_b TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  compared_rows INTEGER CHECK ((compared_rows IS NOT NULL) = (status = 'ok')),
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  max_abs REAL CHECK ((max_abs IS NOT NULL) = (status = 'ok')),
  mean_abs REAL CHECK ((mean_abs IS NOT NULL) = (status = 'ok')),
  max_rel REAL CHECK ((max_rel IS NOT NULL) = (status = 'ok')),
  mean_rel REAL CHECK ((mean_rel IS NOT NULL) = (status = 'ok')),
  max_sigma REAL CHECK ((max_sigma IS NOT NULL) = (status = 'ok')),
  max_ulp REAL CHECK ((max_ulp IS NOT NULL) = (status = 'ok')),
  max_rel_expected REAL CHECK ((max_rel_expected IS NOT NULL) = (status = 'ok')),
  rms_output REAL CHECK ((rms_output IS NOT NULL) = (status = 'ok')),
  max_abs_sample INTEGER CHECK ((max_abs_sample IS NOT NULL) = (status = 'ok')),
  max_abs_head INTEGER CHECK ((max_abs_head IS NOT NULL) = (status = 'ok')),
  max_abs_row INTEGER CHECK ((max_abs_row IS NOT NULL) = (status = 'ok')),
  max_abs_column INTEGER CHECK ((max_abs_column IS NOT NULL) = (status = 'ok')),
  max_rel_sample INTEGER CHECK ((max_rel_sample IS NOT NULL) = (status = 'ok')),
  max_rel_head INTEGER CHECK ((max_rel_head IS NOT NULL) = (status = 'ok')),
  max_rel_row INTEGER CHECK ((max_rel_row IS NOT NULL) = (status = 'ok')),
  max_rel_column INTEGER CHECK ((max_rel_column IS NOT NULL) = (status = 'ok')),
  bit_equal_share REAL CHECK ((bit_equal_share IS NOT NULL) = (status = 'ok')),
  heads INTEGER CHECK ((heads IS NOT NULL) = (status = 'ok')),
  heads_bit_equal INTEGER CHECK ((heads_bit_equal IS NOT NULL) = (status = 'ok')),
  rms_a REAL CHECK ((rms_a IS NOT NULL) = (status = 'ok')),
  rms_b REAL CHECK ((rms_b IS NOT NULL) = (status = 'ok')),
  -- [[sample, head, mean_abs, max_abs, bit_equal], …]
  per_head TEXT NOT NULL CHECK (json_valid(per_head)),
  time_ns_a REAL NOT NULL,                              -- 0 unless timed
  time_ns_b REAL NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  UNIQUE (run_id, suite, name, case_a, case_b)
) STRICT;

-- Invariances. One row for each of a case that ran: the same rows asked for in other ways.
-- `promise` is the stronger of the pinned and the declared one. NULL: nothing was compared
-- (status), or all bits are the same (statistic and what follows). column_index NULL: the LSE.
CREATE TABLE invariance(
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
  statistic TEXT CHECK (statistic IN ('out', 'lse')),
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

-- Statistics over a suite, per kernel and dtype.
CREATE TABLE suite_score(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  suite TEXT NOT NULL,
  kernel TEXT NOT NULL,
  dtype TEXT NOT NULL,
  statistic TEXT NOT NULL,
  cases INTEGER NOT NULL,
  value REAL NOT NULL,
  limit_value REAL NOT NULL,
  status TEXT NOT NULL,
  UNIQUE (run_id, suite, kernel, dtype, statistic)
) STRICT;

-- What each compiled kernel takes of each architecture, by ptxas and cuda_occupancy.h: no GPU is
-- needed. Per thread: registers, stack and spills; per block: threads and shared memory. NULL:
-- unknown, or (verdict missing) not compiled.
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
  verdict TEXT NOT NULL CHECK (verdict IN (
    'pass', 'improved', 'changed', 'first_seen', 'regressed', 'missing', 'not comparable')),
  why TEXT NOT NULL,
  UNIQUE (run_id, source, kernel, launch, arch)
) STRICT;

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

-- Re-baselining is explicit and append-only. accepted_case holds what the glob matched when the row
-- was written.
CREATE TABLE accept(
  accept_key BLOB NOT NULL PRIMARY KEY CHECK (length(accept_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  accepted_by TEXT NOT NULL CHECK (accepted_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  accepted_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accepted_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  accept_key BLOB NOT NULL REFERENCES accept(accept_key),
  PRIMARY KEY (run_id, case_key, accept_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX accepted_case_by_case ON accepted_case(case_key);

CREATE TRIGGER accept_is_never_changed BEFORE UPDATE ON accept
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accept_is_never_deleted BEFORE DELETE ON accept
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accepted_case_is_never_changed BEFORE UPDATE ON accepted_case
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accepted_case_is_never_deleted BEFORE DELETE ON accepted_case
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;

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
CREATE TRIGGER pin_is_never_changed BEFORE UPDATE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pin_is_never_deleted BEFORE DELETE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_changed BEFORE UPDATE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_deleted BEFORE DELETE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;

-- Somebody has seen a regression and says why it stays for now: it is listed and fails no run until
-- it gets worse or the day comes. Append-only; the outcome is no baseline.
CREATE TABLE acknowledgement(
  acknowledgement_key BLOB NOT NULL PRIMARY KEY CHECK (length(acknowledgement_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  acknowledged_by TEXT NOT NULL CHECK (acknowledged_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  acknowledged_at TEXT NOT NULL,
  until TEXT NOT NULL  -- "2027-01-30"; '' = without an end
) STRICT, WITHOUT ROWID;
CREATE TABLE acknowledged_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  acknowledgement_key BLOB NOT NULL REFERENCES acknowledgement(acknowledgement_key),
  PRIMARY KEY (case_key, run_id, acknowledgement_key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER acknowledgement_is_never_changed BEFORE UPDATE ON acknowledgement
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledgement_is_never_deleted BEFORE DELETE ON acknowledgement
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledged_case_is_never_changed BEFORE UPDATE ON acknowledged_case
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledged_case_is_never_deleted BEFORE DELETE ON acknowledged_case
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
