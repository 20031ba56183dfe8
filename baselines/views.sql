-- The public interface of the database of runs; README.md documents every column. The views are
-- recreated when this text changes, so a view may gain columns without a migration. Views named v_…
-- belong to plumbline; other views are left alone.

-- Runs, newest last by run_order.
CREATE VIEW v_runs AS
SELECT
  r.run_id, r.run_order, r.started_at, r.finished_at, r.finished_at IS NOT NULL AS finished,
  r.complete, r.exit_code,
  CASE WHEN r.finished_at IS NULL THEN (SELECT state FROM run_state WHERE exit_code = 3)
    ELSE (SELECT s.state FROM run_state AS s WHERE s.exit_code = r.exit_code) END AS state,
  r.planned_cases, r.clock_behind_s, r.purpose, r.shard, r.selection, r.night_id, r.code_commit,
  r.host,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class,
  m.device_kind, m.machine_arch, m.model, m.memory_bytes, m.clock_policy, r.compiler, r.flags,
  r.versions_json, r.command_line,
  (SELECT count(*) FROM outcome AS o WHERE o.run_id = r.run_id) AS outcomes,
  CASE WHEN r.finished_at IS NULL THEN
    max(0, r.planned_cases - (SELECT count(*) FROM outcome AS o WHERE o.run_id = r.run_id))
    ELSE 0 END AS missing_cases,
  (SELECT count(*) FROM verdict AS v CROSS JOIN outcome AS o
   WHERE v.is_failure AND o.run_id = r.run_id AND o.verdict = v.verdict) AS failures,
  (SELECT count(*) FROM diff AS d WHERE d.run_id = r.run_id) AS diffs,
  (SELECT count(*) FROM diff AS d JOIN verdict AS v USING (verdict) WHERE d.run_id = r.run_id
    AND v.is_failure) AS diff_failures
FROM run AS r JOIN machine_class AS m USING (machine_key);

-- Every outcome with its run, case, build and verdict. If a first_seen outcome has a past, its run
-- was stored in a database without that past: the outcome is accepted after `plumbline judge` has
-- compared it. Only runs and cases are joined; other tables are looked up if a query names their
-- columns.
CREATE VIEW v_history AS
SELECT
  -- series and run
  c.case_id, o.provider_options,
  (SELECT m.device_kind || ' ' || m.machine_arch || ' ' || m.model FROM machine_class AS m
   WHERE m.machine_key = o.machine_key) AS machine,
  lower(hex(o.machine_key)) AS machine_class,
  r.run_id, r.run_order, r.started_at, r.finished_at IS NOT NULL AS finished, r.purpose,
  r.night_id, r.code_commit, o.judge_version, o.reference_version, o.inputs_version,
  -- case
  o.suite, o.case_group, o.tier, c.kernel, c.device, o.arch, o.tensor_cores, c.dtype, c.kv_dtype,
  c.out_dtype, c.layout, c.mask, c.window_left, c.window_right, c.lengths, c.padding, c.page_size,
  c.fill, c.law, c.v_law, c.batch, c.heads_q, c.heads_kv, c.seq_q, c.seq_kv, c.head_dim_qk,
  c.head_dim_vo, c.k_scale, c.v_scale, c.scale, c.softcap, c.alibi, c.sinks, c.kv_scales,
  c.scale_block, c.view, c.merge, c.lse, c.seed, c.inputs, o.problem_digest,
  -- what happened, and what is concluded
  o.status, o.verdict,
  (SELECT v.standing FROM verdict AS v WHERE v.verdict = o.verdict) AS standing,
  o.verdict IN (SELECT verdict FROM verdict WHERE is_failure) AS is_failure,
  o.status = 'ok' AND (
    o.verdict IN (SELECT verdict FROM verdict WHERE is_baseline) AND r.finished_at IS NOT NULL
    AND NOT (o.verdict = 'first_seen' AND EXISTS (
      SELECT 1 FROM outcome AS e
      WHERE e.series_key = o.series_key AND e.machine_key = o.machine_key
        AND e.provider_options = o.provider_options AND e.run_order < o.run_order
        AND e.verdict IN (SELECT verdict FROM verdict WHERE is_baseline) AND e.status = 'ok'
        AND e.judge_version = o.judge_version AND e.reference_version = o.reference_version
        AND e.inputs_version = o.inputs_version
        AND NOT EXISTS (SELECT 1 FROM run AS u INDEXED BY run_unfinished
          WHERE u.run_order = e.run_order AND u.finished_at IS NULL)))
    OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id
      AND a.case_key = o.case_key)) AS accepted,
  o.reason, o.percent_of_limit, o.nearest_statistic, o.findings, o.notes, o.confirmation,
  o.limit_peak, o.limit_beyond_output, o.limit_rms, o.limit_lse, o.limit_elsewhere,
  o.pinned_padding_policy, o.pinned_promises,
  -- errors
  o.elements, o.peak, o.beyond_output, o.rms, o.bound, o.max_abs, o.max_rel, o.mean_abs, o.max_ulp,
  o.lse_z, o.lse_max_abs, o.elsewhere, o.shrink_z, o.temperature_z, o.outside_allclose_1e3,
  o.outside_allclose_1e2, o.reference_rows, o.rows_total, o.row_seed, o.widening,
  (SELECT spec FROM rounding_spec WHERE spec_key = o.judged_spec_key) AS judged_spec,
  -- faults
  o.faults_total, o.faults_nan, o.faults_inf, o.faults_unwritten, o.faults_out_of_range,
  o.faults_padded_rows, o.faults_empty_rows, o.faults_inexact, o.faults_fence_bytes,
  o.faults_detail,
  -- the worst element, and where a fault sits
  o.worst_statistic, o.worst_sample, o.worst_head, o.worst_row, o.worst_column, o.worst_got,
  o.worst_got_is_nan, o.worst_expected, o.worst_sigma, o.worst_ulp, o.worst_visible_keys,
  o.worst_share_p, o.worst_share_logit, o.worst_share_s, o.worst_share_exp2,
  o.worst_share_accumulation, o.worst_share_split_partials, o.worst_share_output, o.location_kind,
  o.location_description, o.location_z, o.cause, o.looser_rung, o.head_rms_max,
  o.head_rms_max_sample, o.head_rms_max_head,
  -- bits
  o.output_digest, o.repeat_checked, o.repeat_equal, o.calls, o.call_difference,
  -- time and resources
  o.timed, o.time_ns, o.time_mad_ns, o.time_ratio, o.time_hot_ns, o.time_cpu_ns,
  o.time_sentinel_ns, o.time_rounds, o.second_ratio, o.fresh_ratios, o.flops_per_second,
  o.bytes_per_second, o.flops_share, o.bytes_share, o.time_physics, o.past_times,
  o.time_over_past, nullif(o.gate_finding, '') AS gate_finding, o.gate_nights, o.gate_pool,
  o.gate_level, o.gate_spread, o.gate_limit, o.gate_change, o.gate_deviation,
  o.wall_ms, o.workspace_bytes, o.peak_memory_bytes, o.registers_per_thread,
  o.spill_bytes_per_thread, o.shared_memory_bytes, o.stack_bytes_per_thread,
  -- what ran
  (SELECT build_id FROM build WHERE build_key = o.build_key) AS build_id,
  (SELECT launched FROM build WHERE build_key = o.build_key) AS launched,
  (SELECT spec FROM rounding_spec WHERE spec_key = o.declared_spec_key) AS declared_spec,
  o.padding_policy, o.promise_run_to_run,
  o.promise_batch, o.promise_layout, o.promise_page, o.promise_split, o.promise_prefill_decode,
  o.promise_lse, o.saved_to, o.reused_from, o.device_model, o.device_memory_bytes, o.device_driver,
  o.device_runtime,
  o.expected_issue, o.expected_expires, o.expected_reason
FROM outcome AS o JOIN run AS r USING (run_id) JOIN attention_case AS c USING (case_key);

-- The largest error of every named output of every outcome, in units of sigma, and its limit.
CREATE VIEW v_outputs AS
SELECT c.case_id, o.run_id, o.suite, x.output, x.z, x.max_abs, x.limit_value
FROM (
  SELECT case_key, run_id, suite, 'out' AS output, peak AS z, max_abs, limit_peak AS limit_value
  FROM outcome WHERE status = 'ok'
  UNION ALL
  SELECT case_key, run_id, suite, 'lse', lse_z, lse_max_abs, limit_lse FROM outcome WHERE has_lse
  UNION ALL
  SELECT case_key, run_id, suite, output, z, max_abs, limit_value FROM outcome_output) AS x
JOIN outcome AS o USING (case_key, run_id, suite) JOIN attention_case AS c USING (case_key);

-- Every timed outcome: its samples, and the level and limit of its series.
CREATE VIEW v_times AS
SELECT
  c.case_id, o.provider_options,
  (SELECT m.device_kind || ' ' || m.machine_arch || ' ' || m.model FROM machine_class AS m
   WHERE m.machine_key = o.machine_key) AS machine,
  lower(hex(o.machine_key)) AS machine_class,
  r.run_id, r.run_order, r.started_at, r.night_id, r.code_commit, o.suite, c.kernel, o.arch,
  c.dtype, o.status, o.verdict, o.confirmation, o.time_ratio, o.time_ns, o.time_mad_ns,
  o.time_cpu_ns, o.time_sentinel_ns, o.time_hot_ns, o.second_ratio, o.fresh_ratios, o.time_rounds,
  nullif(o.gate_finding, '') AS gate_finding, o.gate_nights, o.gate_level, o.gate_limit,
  o.gate_change,
  EXISTS (SELECT 1 FROM night_times AS n WHERE n.run_id = o.run_id
    AND n.machine_key = o.machine_key AND n.suspect) AS suspect
FROM outcome AS o JOIN run AS r USING (run_id) JOIN attention_case AS c USING (case_key)
WHERE o.timed;

-- Every timed series with its first and its last times: each the mean of at most three runs.
CREATE VIEW v_timed_series AS
WITH series AS MATERIALIZED (
  SELECT DISTINCT l.series_key, l.machine_key, l.provider_options,
    (SELECT c.case_id FROM attention_case AS c WHERE c.series_key = l.series_key
     ORDER BY c.case_id LIMIT 1) AS case_id
  FROM latest_outcome AS l
  WHERE EXISTS (SELECT 1 FROM outcome AS o WHERE o.timed AND o.series_key = l.series_key
    AND o.machine_key = l.machine_key AND o.provider_options = l.provider_options))
SELECT
  s.case_id, s.provider_options,
  (SELECT m.device_kind || ' ' || m.machine_arch || ' ' || m.model FROM machine_class AS m
   WHERE m.machine_key = s.machine_key) AS machine,
  lower(hex(s.machine_key)) AS machine_class,
  (SELECT count(DISTINCT o.run_order) FROM outcome AS o WHERE o.timed
     AND o.series_key = s.series_key AND o.machine_key = s.machine_key
     AND o.provider_options = s.provider_options) AS runs,
  (SELECT avg(time_ratio) FROM (SELECT o.time_ratio FROM outcome AS o WHERE o.timed
     AND o.series_key = s.series_key AND o.machine_key = s.machine_key
     AND o.provider_options = s.provider_options ORDER BY o.run_order LIMIT 3)) AS first_ratio,
  (SELECT avg(time_ratio) FROM (SELECT o.time_ratio FROM outcome AS o WHERE o.timed
     AND o.series_key = s.series_key AND o.machine_key = s.machine_key
     AND o.provider_options = s.provider_options ORDER BY o.run_order DESC LIMIT 3)) AS last_ratio
FROM series AS s;

-- The rms error of every (sample, head) of an outcome, as JSON: [0.97, 1.02, …], sample by sample;
-- null for NaN and infinity, 0 if no row of the head was compared. Stored as little-endian float32,
-- which SQL decodes from hexadecimal digits: exponent and fraction; no value is negative.
CREATE VIEW v_head_rms AS
SELECT
  c.case_id, r.run_id, r.run_order, r.started_at, o.suite, c.kernel, o.arch, c.dtype, c.batch,
  c.heads_q, o.verdict,
  length(o.head_rms) / 4 AS heads, o.head_rms_max, o.head_rms_max_sample, o.head_rms_max_head,
  (WITH RECURSIVE
    word(i, digits) AS (
      SELECT 0, hex(substr(o.head_rms, 1, 4)) WHERE length(o.head_rms) > 0
      UNION ALL SELECT i + 1, hex(substr(o.head_rms, 4 * i + 5, 4)) FROM word
        WHERE 4 * i + 8 <= length(o.head_rms)),
    bits(i, b) AS (
      SELECT i,
        (instr('123456789ABCDEF', substr(digits, 7, 1)) << 28)
          | (instr('123456789ABCDEF', substr(digits, 8, 1)) << 24)
        | (instr('123456789ABCDEF', substr(digits, 5, 1)) << 20)
          | (instr('123456789ABCDEF', substr(digits, 6, 1)) << 16)
        | (instr('123456789ABCDEF', substr(digits, 3, 1)) << 12)
          | (instr('123456789ABCDEF', substr(digits, 4, 1)) << 8)
        | (instr('123456789ABCDEF', substr(digits, 1, 1)) << 4)
          | instr('123456789ABCDEF', substr(digits, 2, 1))
      FROM word),
    number(i, exponent, fraction) AS (SELECT i, ((b >> 23) & 255) - 127,
      1.0 + (b & 8388607) / 8388608.0 FROM bits)
   SELECT json_group_array(CASE
     WHEN exponent = 128 THEN NULL
     WHEN exponent > 60 THEN 1e18
     WHEN exponent < -60 THEN 0.0
     WHEN exponent >= 0 THEN round(fraction * (1 << exponent), 6)
     ELSE round(fraction / (1 << -exponent), 6) END)
   FROM number) AS head_rms
FROM outcome AS o
JOIN run AS r USING (run_id)
JOIN attention_case AS c USING (case_key);

-- The error histogram and map of every outcome, as JSON. histogram: [41], counts of elements whose
-- e / sigma is nearest to (i - 20) / 4; the ends include all beyond. spre_ratios: counts of
-- spre / sigma in 32 classes; spre is sigma before output rounding. map: [map_rows, map_columns],
-- the largest |e| / sigma; null if nothing was compared, "NaN" for NaN. SQL decodes the bytes from
-- hexadecimal digits.
CREATE VIEW v_error_pictures AS
SELECT
  c.case_id, r.run_id, r.run_order, r.started_at, o.suite, c.kernel, o.arch, c.dtype, o.verdict,
  o.elements,
  (WITH RECURSIVE word(i, digits) AS (
     SELECT 0, hex(substr(o.error_histogram, 1, 4)) WHERE length(o.error_histogram) > 0
     UNION ALL SELECT i + 1, hex(substr(o.error_histogram, 4 * i + 5, 4)) FROM word
       WHERE 4 * i + 8 <= length(o.error_histogram))
   SELECT json_group_array(
     (instr('123456789ABCDEF', substr(digits, 7, 1)) << 28)
     | (instr('123456789ABCDEF', substr(digits, 8, 1)) << 24)
     | (instr('123456789ABCDEF', substr(digits, 5, 1)) << 20)
     | (instr('123456789ABCDEF', substr(digits, 6, 1)) << 16)
     | (instr('123456789ABCDEF', substr(digits, 3, 1)) << 12)
     | (instr('123456789ABCDEF', substr(digits, 4, 1)) << 8)
     | (instr('123456789ABCDEF', substr(digits, 1, 1)) << 4)
     | instr('123456789ABCDEF', substr(digits, 2, 1)))
   FROM word) AS histogram,
  (WITH RECURSIVE word(i, digits) AS (
     SELECT 0, hex(substr(o.spre_ratios, 1, 4)) WHERE length(o.spre_ratios) > 0
     UNION ALL SELECT i + 1, hex(substr(o.spre_ratios, 4 * i + 5, 4)) FROM word
       WHERE 4 * i + 8 <= length(o.spre_ratios))
   SELECT json_group_array(
     (instr('123456789ABCDEF', substr(digits, 7, 1)) << 28)
     | (instr('123456789ABCDEF', substr(digits, 8, 1)) << 24)
     | (instr('123456789ABCDEF', substr(digits, 5, 1)) << 20)
     | (instr('123456789ABCDEF', substr(digits, 6, 1)) << 16)
     | (instr('123456789ABCDEF', substr(digits, 3, 1)) << 12)
     | (instr('123456789ABCDEF', substr(digits, 4, 1)) << 8)
     | (instr('123456789ABCDEF', substr(digits, 1, 1)) << 4)
     | instr('123456789ABCDEF', substr(digits, 2, 1)))
   FROM word) AS spre_ratios,
  o.error_map_rows AS map_rows, o.error_map_columns AS map_columns,
  (WITH RECURSIVE part(i, digits) AS (
     SELECT 0, hex(substr(o.error_map, 1, 1)) WHERE length(o.error_map) > 0
     UNION ALL SELECT i + 1, hex(substr(o.error_map, i + 2, 1)) FROM part
       WHERE i + 2 <= length(o.error_map)),
   coded(i, code) AS (
     SELECT i, (instr('123456789ABCDEF', substr(digits, 1, 1)) << 4)
       | instr('123456789ABCDEF', substr(digits, 2, 1)) FROM part)
   SELECT json_group_array(CASE code WHEN 0 THEN NULL WHEN 255 THEN 'NaN' ELSE
     -- 2^((code - 65) / 16): a power of two, and one of sixteen steps to the next
     round((1 << ((code - 1) / 16)) / 16.0 * json_extract(
       '[1.0, 1.04427, 1.09051, 1.13879, 1.18921, 1.24186, 1.29684, 1.35426, 1.41421, 1.47683,
       1.54221, 1.61049, 1.68179, 1.75625, 1.83401, 1.91521]',
       '$[' || ((code - 1) % 16) || ']'), 4) END)
   FROM coded) AS map
FROM outcome AS o
JOIN run AS r USING (run_id)
JOIN attention_case AS c USING (case_key);

-- The newest outcome of every series, with the columns of v_history.
CREATE VIEW v_latest AS
SELECT h.*
FROM attention_case AS lc
JOIN latest_outcome AS l ON l.series_key = lc.series_key AND l.case_key = lc.case_key
CROSS JOIN v_history AS h
WHERE h.case_id = lc.case_id AND h.run_id = l.run_id AND h.suite = l.suite
  AND NOT EXISTS (
    SELECT 1 FROM latest_outcome AS n
    WHERE n.series_key = l.series_key AND n.machine_key = l.machine_key
      AND n.provider_options = l.provider_options
      AND (n.run_order, n.suite, n.case_key) > (l.run_order, l.suite, l.case_key));

-- The newest outcome of every series, in the 25 columns that users need most; v_latest has all.
CREATE VIEW v_cases AS
SELECT
  case_id, machine, suite, kernel, arch, dtype, mask, layout, batch, heads_q, heads_kv, seq_q,
  seq_kv, head_dim_qk, verdict, is_failure,
  CASE WHEN cause <> '' THEN cause ELSE coalesce(findings ->> '$[0].text', reason) END AS cause,
  percent_of_limit, nearest_statistic, rms, time_ns, gate_change, run_id, started_at, code_commit
FROM v_latest;

-- Every failure, with the previous accepted outcome of its series and the first failure since then.
CREATE VIEW v_regressions AS
SELECT
  c.case_id, o.provider_options,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class,
  r.run_id, r.run_order, r.started_at, r.code_commit, o.suite, o.case_group, o.tier, c.kernel,
  c.dtype, c.layout, c.mask, o.arch,
  o.status, o.verdict, EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id
  AND a.case_key = o.case_key) AS accepted,
  o.reason, o.findings, o.percent_of_limit, o.nearest_statistic, o.rms, o.peak, o.time_ratio,
  o.output_digest, b.build_id, o.location_description, o.cause, o.looser_rung,
  p.run_id AS previous_run_id,
  pr.started_at AS previous_started_at, pr.code_commit AS previous_commit,
  p.verdict AS previous_verdict, p.percent_of_limit AS previous_percent_of_limit,
  p.rms AS previous_rms, p.peak AS previous_peak, p.time_ratio AS previous_time_ratio,
  p.output_digest AS previous_output_digest, pb.build_id AS previous_build_id,
  (SELECT f.run_order FROM outcome AS f
   WHERE f.series_key = o.series_key AND f.machine_key = o.machine_key
     AND f.provider_options = o.provider_options AND f.run_order <= o.run_order
     AND f.run_order > coalesce(p.run_order, '')
     AND f.verdict IN (SELECT verdict FROM verdict WHERE is_failure)
   ORDER BY f.run_order LIMIT 1) AS failing_since
FROM outcome AS o
JOIN run AS r ON r.run_id = o.run_id
JOIN machine_class AS m ON m.machine_key = o.machine_key
JOIN attention_case AS c ON c.case_key = o.case_key
JOIN build AS b ON b.build_key = o.build_key
LEFT JOIN outcome AS p ON p.rowid = (
  SELECT x.rowid FROM outcome AS x
  WHERE x.series_key = o.series_key AND x.machine_key = o.machine_key
    AND x.provider_options = o.provider_options AND x.run_order < o.run_order
    AND (x.verdict IN (SELECT verdict FROM verdict WHERE is_baseline)
      OR x.run_order IN (
        SELECT ar.run_order FROM attention_case AS ac
        JOIN accepted_case AS a ON a.case_key = ac.case_key
        JOIN run AS ar ON ar.run_id = a.run_id
        WHERE ac.series_key = o.series_key))
    AND x.status = 'ok'
    AND x.judge_version = o.judge_version AND x.reference_version = o.reference_version
    AND x.inputs_version = o.inputs_version
    AND (x.verdict IN (SELECT verdict FROM verdict WHERE is_baseline)
      AND NOT EXISTS (SELECT 1 FROM run AS u INDEXED BY run_unfinished
        WHERE u.run_order = x.run_order AND u.finished_at IS NULL)
      AND NOT (x.verdict = 'first_seen' AND EXISTS (
        SELECT 1 FROM outcome AS e
        WHERE e.series_key = x.series_key AND e.machine_key = x.machine_key
          AND e.provider_options = x.provider_options AND e.run_order < x.run_order
          AND e.verdict IN (SELECT verdict FROM verdict WHERE is_baseline) AND e.status = 'ok'
          AND e.judge_version = x.judge_version AND e.reference_version = x.reference_version
          AND e.inputs_version = x.inputs_version
          AND NOT EXISTS (SELECT 1 FROM run AS u INDEXED BY run_unfinished
            WHERE u.run_order = e.run_order AND u.finished_at IS NULL)))
      OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = x.run_id
        AND a.case_key = x.case_key))
  ORDER BY x.run_order DESC, x.suite LIMIT 1)
LEFT JOIN run AS pr ON pr.run_id = p.run_id
LEFT JOIN build AS pb ON pb.build_key = p.build_key
WHERE o.verdict IN (SELECT verdict FROM verdict WHERE is_failure);

-- Cases that have run, by suite, kernel and dimension, with the verdicts of their newest outcomes.
CREATE VIEW v_coverage AS
SELECT
  o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout,
  count(DISTINCT o.case_key) AS cases, count(*) AS outcomes,
  sum(v.standing = 'fine') AS fine,
  sum(v.is_failure) AS failures,
  sum(o.verdict = 'unsupported') AS unsupported,
  sum(o.verdict = 'ambiguous') AS ambiguous,
  sum(o.verdict = 'unconfirmed') AS unconfirmed,
  sum(o.timed) AS timed,
  max(r.started_at) AS last_started_at
FROM latest_outcome AS l
CROSS JOIN outcome AS o ON o.case_key = l.case_key AND o.run_id = l.run_id AND o.suite = l.suite
CROSS JOIN run AS r ON r.run_id = o.run_id
CROSS JOIN attention_case AS c ON c.case_key = o.case_key
CROSS JOIN verdict AS v ON v.verdict = o.verdict
GROUP BY o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout;

-- The features that each kernel supports, by its newest outcomes. A crash is not a refusal.
CREATE VIEW v_support AS
SELECT
  kernel, arch, dtype, kv_dtype, out_dtype, layout, mask,
  CASE sum(status = 'unsupported') WHEN 0 THEN 'supported' WHEN count(*) THEN 'unsupported'
    ELSE 'mixed' END AS support,
  sum(status <> 'unsupported') AS cases_supported,
  sum(status = 'unsupported') AS cases_unsupported,
  group_concat(DISTINCT CASE WHEN status = 'unsupported' THEN reason END) AS reasons
FROM v_latest
GROUP BY kernel, arch, dtype, kv_dtype, out_dtype, layout, mask;

-- Every comparison of two cases. per_head is JSON: [[sample, head, mean_abs, max_abs, bit_equal],
-- …].
CREATE VIEW v_diffs AS
SELECT
  d.run_id, r.run_order, r.started_at, r.code_commit,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class, d.judge_version, d.reference_version,
    d.inputs_version,
  d.suite, d.name, d.tier, d.expect, d.case_a, d.case_b, d.status, d.verdict, v.is_failure,
  d.reason, d.percent_of_limit, d.nearest_statistic, d.findings, d.notes, d.compared_rows,
  d.elements, d.max_abs, d.mean_abs, d.max_rel, d.mean_rel, d.max_sigma, d.max_ulp,
  d.max_rel_expected, d.rms_output, d.max_abs_sample, d.max_abs_head, d.max_abs_row,
  d.max_abs_column, d.max_rel_sample, d.max_rel_head, d.max_rel_row, d.max_rel_column,
  d.bit_equal_share, d.heads, d.heads_bit_equal, d.per_head, d.rms_a, d.rms_b,
  nullif(d.time_ns_a, 0.0) AS time_ns_a, nullif(d.time_ns_b, 0.0) AS time_ns_b
FROM diff AS d
JOIN run AS r USING (run_id)
JOIN machine_class AS m USING (machine_key)
JOIN verdict AS v USING (verdict);

-- The sides of timed diffs over sequence lengths: time and memory of each. crossover_seq is the
-- shortest measured length from which the side that is faster at the longest length stays faster.
CREATE VIEW v_crossover AS
WITH side AS (
  SELECT
    d.run_id, d.suite, d.name, ca.dtype, ca.mask, ca.padding, ca.batch, ca.kernel AS kernel_a,
    cb.kernel AS kernel_b,
    max(ca.seq_q, ca.seq_kv) AS seq, d.time_ns_a, d.time_ns_b,
      oa.peak_memory_bytes AS peak_memory_bytes_a,
    ob.peak_memory_bytes AS peak_memory_bytes_b, d.time_ns_b < d.time_ns_a AS b_is_faster
  FROM diff AS d
  JOIN attention_case AS ca ON ca.case_id = d.case_a
  JOIN attention_case AS cb ON cb.case_id = d.case_b
  LEFT JOIN outcome AS oa ON oa.run_id = d.run_id AND oa.suite = d.suite
    AND oa.case_key = ca.case_key
  LEFT JOIN outcome AS ob ON ob.run_id = d.run_id AND ob.suite = d.suite
    AND ob.case_key = cb.case_key
  WHERE d.status = 'ok' AND d.time_ns_a > 0 AND d.time_ns_b > 0),
compared AS (
  SELECT *, first_value(b_is_faster) OVER by_length_down AS b_is_faster_at_longest FROM side
  WINDOW by_length_down AS (PARTITION BY run_id, suite, name, dtype, mask, padding, batch,
    kernel_a, kernel_b ORDER BY seq DESC)),
lost AS (
  SELECT *, max(CASE WHEN b_is_faster <> b_is_faster_at_longest
    THEN seq END) OVER everywhere AS longest_lost FROM compared
  WINDOW everywhere AS (PARTITION BY run_id, suite, name, dtype, mask, padding, batch, kernel_a,
    kernel_b))
SELECT
  l.run_id, r.run_order, r.started_at, r.code_commit, l.suite, l.name, l.dtype, l.mask, l.padding,
  l.batch, l.kernel_a, l.kernel_b, l.seq,
  l.time_ns_a, l.time_ns_b, l.time_ns_a / l.time_ns_b AS time_ratio, l.peak_memory_bytes_a,
  l.peak_memory_bytes_b,
  CASE WHEN l.b_is_faster THEN l.kernel_b ELSE l.kernel_a END AS faster,
  CASE WHEN l.b_is_faster_at_longest THEN l.kernel_b ELSE l.kernel_a END AS faster_at_longest,
  min(CASE WHEN l.seq > coalesce(l.longest_lost, -1) THEN l.seq END) OVER (
    PARTITION BY l.run_id, l.suite, l.name, l.dtype, l.mask, l.padding, l.batch, l.kernel_a,
      l.kernel_b) AS crossover_seq
FROM lost AS l JOIN run AS r USING (run_id);

-- Statistics over a suite (shrink, temperature, drift of the median) per kernel and dtype.
CREATE VIEW v_suite_scores AS
SELECT s.run_id, r.run_order, r.started_at, r.code_commit, s.suite, s.kernel, s.dtype, s.statistic,
  s.cases, s.value, s.limit_value, s.status
FROM suite_score AS s JOIN run AS r USING (run_id);

-- The same rows computed by different calls: what the kernel promises and what was found.
-- `agreement`: bitwise, rounding, beyond; NULL: nothing was compared. A statistic with column_index
-- NULL is of the LSE.
CREATE VIEW v_invariances AS
SELECT
  i.run_id, r.run_order, r.started_at, r.code_commit,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class, i.judge_version, i.suite, i.tier, c.case_id,
    c.kernel, c.device, c.dtype, c.layout, c.mask,
  i.invariance, i.promise,
  CASE WHEN i.status <> 'ok' THEN NULL WHEN i.other_bits = 0 THEN 'bitwise'
    WHEN i.sigmas <= i.limit_value THEN 'rounding' ELSE 'beyond' END
    AS agreement,
  i.status, i.verdict, v.is_failure, i.reason, i.calls, i.calls_refused, i.elements, i.other_bits,
  i.statistic, i.sample, i.head, i.row_index, i.column_index, i.value_a, i.value_b, i.sigmas,
  i.limit_value, i.ulps, i.problem_a, i.problem_b, i.percent_of_limit, i.findings, i.notes,
  i.wall_ms
FROM invariance AS i
JOIN run AS r USING (run_id)
JOIN machine_class AS m USING (machine_key)
JOIN attention_case AS c USING (case_key)
JOIN verdict AS v USING (verdict);

-- Outcomes accepted as baselines, by whom, when and why.
CREATE VIEW v_accepted AS
SELECT a.run_id, a.case_glob, a.accepted_by, a.reason, a.accepted_at, c.case_id
FROM accept AS a JOIN accepted_case AS k USING (accept_key)
  JOIN attention_case AS c USING (case_key);

-- Pinned outcomes, by whom, when and why. Later runs are compared with the newest pin of their
-- series.
CREATE VIEW v_pinned AS
SELECT p.run_id, p.case_glob, p.pinned_by, p.reason, p.pinned_at, c.case_id
FROM pin AS p JOIN pinned_case AS k USING (pin_key) JOIN attention_case AS c USING (case_key);

-- Changes of the cases of a run other than their verdicts. `accepted`: a user accepted the case.
CREATE VIEW v_changes AS
SELECT
  x.run_id, r.run_order, r.started_at, r.code_commit, x.suite, x.case_id, x.kind, x.value,
  x.limit_value, x.explanation, x.standing, x.standing = 'failure' AS is_failure,
  EXISTS (SELECT 1 FROM accepted_case AS a JOIN attention_case AS c USING (case_key)
    WHERE a.run_id = x.run_id AND c.case_id = x.case_id)
    AS accepted
FROM run_change AS x JOIN run AS r USING (run_id);

-- Resources of compiled kernels per architecture, judged against the approved ones. The resources
-- do not depend on a machine.
CREATE VIEW v_resources AS
SELECT
  k.run_id, r.run_order, r.started_at, r.code_commit, k.source, k.kernel, k.launch, k.arch,
  k.toolkit, k.threads, k.registers, k.stack_bytes,
  k.spill_store_bytes + k.spill_load_bytes AS spill_bytes, k.spill_store_bytes, k.spill_load_bytes,
  k.static_shared_bytes + coalesce(k.dynamic_shared_bytes, 0) AS shared_bytes,
  k.static_shared_bytes, k.dynamic_shared_bytes, k.constant_bytes, k.barriers, k.active_warps,
  k.most_warps,
  1.0 * k.active_warps / k.most_warps AS occupancy, k.limited_by, k.tensor_cores,
  k.predicted_registers, k.predicted_shared_bytes, k.verdict, k.why
FROM kernel_resources AS k JOIN run AS r USING (run_id);

-- Acknowledged regressions, by whom, until when and why.
CREATE VIEW v_acknowledged AS
SELECT a.run_id, a.case_glob, a.acknowledged_by, a.reason, a.acknowledged_at, a.until, c.case_id
FROM acknowledgement AS a JOIN acknowledged_case AS k USING (acknowledgement_key)
  JOIN attention_case AS c USING (case_key);

-- The events of each night.
CREATE VIEW v_night_events AS
SELECT night_id, kind, happened_at, who, detail FROM night_event;

-- The gated times of each run on each machine class.
CREATE VIEW v_night_times AS
SELECT
  t.run_id, r.run_order, r.started_at, r.night_id, r.code_commit,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class, t.series, t.common_shift, t.shift_limit, t.suspect,
  t.why, t.fresh, t.candidates, t.confirmed, t.expected_false_alerts, t.second_pairs,
  t.second_alarms, t.load
FROM night_times AS t JOIN run AS r USING (run_id)
JOIN machine_class AS m ON m.machine_key = t.machine_key;

-- Nights with figures over all their runs, newest last by began. A night that was only opened has
-- no run. expected_false_alerts: of timing findings; suspect: runs whose times were excluded.
CREATE VIEW v_nights AS
WITH ids AS (
  SELECT night_id FROM run WHERE night_id <> '' UNION SELECT night_id FROM night_event)
SELECT
  i.night_id,
  (SELECT min(happened_at) FROM night_event AS e WHERE e.night_id = i.night_id
    AND e.kind = 'opened') AS opened_at,
  (SELECT max(happened_at) FROM night_event AS e WHERE e.night_id = i.night_id
    AND e.kind = 'closed') AS closed_at,
  coalesce(
    (SELECT min(started_at) FROM run AS r WHERE r.night_id = i.night_id),
    (SELECT min(happened_at) FROM night_event AS e WHERE e.night_id = i.night_id)) AS began,
  (SELECT count(*) FROM run AS r WHERE r.night_id = i.night_id) AS runs,
  (SELECT count(*) FROM run AS r WHERE r.night_id = i.night_id AND r.finished_at IS NULL)
    AS unfinished_runs,
  (SELECT count(*) FROM run AS r WHERE r.night_id = i.night_id AND r.exit_code = 1) AS failing_runs,
  (SELECT s.state FROM run AS r JOIN run_state AS s
    ON s.exit_code = CASE WHEN r.finished_at IS NULL THEN 3 ELSE r.exit_code END
    WHERE r.night_id = i.night_id ORDER BY s.precedence LIMIT 1) AS state,
  (SELECT count(DISTINCT r.machine_key) FROM run AS r WHERE r.night_id = i.night_id) AS machines,
  (SELECT group_concat(code_commit, ' ') FROM (SELECT DISTINCT code_commit FROM run AS r
    WHERE r.night_id = i.night_id)) AS code_commit,
  t.series AS gated_series, t.candidates, t.confirmed, t.expected_false_alerts, t.second_pairs,
  t.second_alarms, t.suspect, t.largest_shift
FROM ids AS i
LEFT JOIN (
  SELECT r.night_id, sum(n.series) AS series, sum(n.candidates) AS candidates,
    sum(n.confirmed) AS confirmed, sum(n.expected_false_alerts) AS expected_false_alerts,
    sum(n.second_pairs) AS second_pairs, sum(n.second_alarms) AS second_alarms,
    sum(n.suspect) AS suspect, max(abs(n.common_shift)) AS largest_shift
  FROM night_times AS n JOIN run AS r USING (run_id)
  WHERE r.night_id <> ''
  GROUP BY r.night_id) AS t USING (night_id);
