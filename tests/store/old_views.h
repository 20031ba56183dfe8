// The views as they were before the index of series in time and the table of newest outcomes
// existed. Random histories must give the same rows in the current views.
#pragma once

namespace plumbline {

inline constexpr const char* old_views = R"sql(
CREATE TEMP VIEW old_history AS
SELECT c.case_id, o.provider_options, lower(hex(o.machine_key)) AS machine_class, r.run_id,
  o.suite, o.status = 'ok' AND (v.is_baseline AND r.finished_at IS NOT NULL
    AND NOT (o.verdict = 'first_seen' AND EXISTS (
      SELECT 1
      FROM attention_case AS ec JOIN outcome AS e ON e.case_key = ec.case_key
        JOIN run AS er ON er.run_id = e.run_id
      JOIN verdict AS ev ON ev.verdict = e.verdict
      WHERE ec.series_key = c.series_key AND e.machine_key = o.machine_key
        AND e.provider_options = o.provider_options AND er.run_order < r.run_order
        AND er.finished_at IS NOT NULL AND ev.is_baseline AND e.status = 'ok'
          AND e.judge_version = o.judge_version
        AND e.reference_version = o.reference_version AND e.inputs_version = o.inputs_version))
    OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id
      AND a.case_key = o.case_key)) AS accepted
FROM outcome AS o JOIN run AS r USING (run_id) JOIN attention_case AS c USING (case_key)
JOIN verdict AS v USING (verdict);

CREATE TEMP VIEW old_latest AS
WITH newest AS MATERIALIZED (
  SELECT c.case_id AS newest_case, o.run_id AS newest_run, o.suite AS newest_suite,
    max(r.run_order || ' ' || o.suite)
  FROM outcome AS o JOIN run AS r USING (run_id) JOIN attention_case AS c USING (case_key)
  GROUP BY c.series_key, o.machine_key, o.provider_options)
SELECT h.* FROM newest CROSS JOIN old_history AS h
WHERE h.case_id = newest_case AND h.run_id = newest_run AND h.suite = newest_suite;

CREATE TEMP VIEW old_coverage AS
WITH newest AS MATERIALIZED (
  SELECT o.case_key AS newest_case, o.run_id AS newest_run, o.suite AS newest_suite,
    max(r.run_order)
  FROM outcome AS o JOIN run AS r USING (run_id)
  GROUP BY o.case_key, o.machine_key, o.provider_options, o.suite)
SELECT
  o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout,
  count(DISTINCT o.case_key) AS cases, count(*) AS outcomes,
  sum(NOT v.is_failure AND o.verdict NOT IN ('unsupported', 'ambiguous', 'unconfirmed')) AS fine,
  sum(v.is_failure) AS failures,
  sum(o.verdict = 'unsupported') AS unsupported,
  sum(o.verdict = 'ambiguous') AS ambiguous,
  sum(o.verdict = 'unconfirmed') AS unconfirmed,
  sum(o.timed) AS timed,
  max(r.started_at) AS last_started_at
FROM newest
CROSS JOIN outcome AS o ON o.case_key = newest_case AND o.run_id = newest_run
  AND o.suite = newest_suite
JOIN run AS r ON r.run_id = o.run_id
JOIN attention_case AS c ON c.case_key = o.case_key
JOIN verdict AS v ON v.verdict = o.verdict
GROUP BY o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout;

CREATE TEMP VIEW old_regressions AS
WITH failure AS (
  SELECT
    o.rowid AS failed,
    (SELECT p.rowid
     FROM attention_case AS pc JOIN outcome AS p ON p.case_key = pc.case_key
       JOIN run AS pr ON pr.run_id = p.run_id
     JOIN verdict AS pv ON pv.verdict = p.verdict
     WHERE pc.series_key = oc.series_key AND p.machine_key = o.machine_key
       AND p.provider_options = o.provider_options AND pr.run_order < r.run_order
       AND p.status = 'ok'
       AND p.judge_version = o.judge_version AND p.reference_version = o.reference_version
         AND p.inputs_version = o.inputs_version
       AND (pv.is_baseline AND pr.finished_at IS NOT NULL
         AND NOT (p.verdict = 'first_seen' AND EXISTS (
          SELECT 1
          FROM attention_case AS ec JOIN outcome AS e ON e.case_key = ec.case_key
            JOIN run AS er ON er.run_id = e.run_id
          JOIN verdict AS ev ON ev.verdict = e.verdict
          WHERE ec.series_key = pc.series_key AND e.machine_key = p.machine_key
            AND e.provider_options = p.provider_options AND er.run_order < pr.run_order
            AND er.finished_at IS NOT NULL AND ev.is_baseline AND e.status = 'ok'
              AND e.judge_version = p.judge_version
            AND e.reference_version = p.reference_version AND e.inputs_version = p.inputs_version))
         OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = p.run_id
           AND a.case_key = p.case_key))
     ORDER BY pr.run_order DESC, p.suite LIMIT 1) AS previous
  FROM outcome AS o JOIN run AS r USING (run_id) JOIN verdict AS v ON v.verdict = o.verdict
  JOIN attention_case AS oc ON oc.case_key = o.case_key
  WHERE v.is_failure)
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
  pr.run_id AS previous_run_id,
  pr.started_at AS previous_started_at, pr.code_commit AS previous_commit,
  p.verdict AS previous_verdict, p.percent_of_limit AS previous_percent_of_limit,
  p.rms AS previous_rms, p.peak AS previous_peak, p.time_ratio AS previous_time_ratio,
  p.output_digest AS previous_output_digest, pb.build_id AS previous_build_id,
  (SELECT min(fr.run_order)
   FROM attention_case AS fc JOIN outcome AS f ON f.case_key = fc.case_key
     JOIN run AS fr ON fr.run_id = f.run_id
   JOIN verdict AS fv ON fv.verdict = f.verdict
   WHERE fc.series_key = c.series_key AND f.machine_key = o.machine_key
     AND f.provider_options = o.provider_options AND fv.is_failure
     AND fr.run_order <= r.run_order
     AND fr.run_order > coalesce(pr.run_order, '')) AS failing_since
FROM failure
JOIN outcome AS o ON o.rowid = failed
JOIN run AS r ON r.run_id = o.run_id
JOIN machine_class AS m ON m.machine_key = o.machine_key
JOIN attention_case AS c ON c.case_key = o.case_key
JOIN build AS b ON b.build_key = o.build_key
LEFT JOIN outcome AS p ON p.rowid = previous
LEFT JOIN run AS pr ON pr.run_id = p.run_id
LEFT JOIN build AS pb ON pb.build_key = p.build_key;
)sql";

}  // namespace plumbline
