-- Which cases were not the same from night to night, in the last 30 days?
-- Fresh processes disagreed, or failures came and went.
WITH unsteady AS MATERIALIZED (
  SELECT DISTINCT case_id FROM v_history
  WHERE run_id IN (
      SELECT run_id FROM v_runs
      WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
    AND (standing IN ('failure', 'open')
      OR confirmation IN ('refuted', 'disagree'))),
night AS (
  SELECT h.case_id, h.provider_options, h.machine, h.machine_class, h.verdict,
    h.confirmation IN ('refuted', 'disagree') OR h.verdict = 'ambiguous' AS doubtful,
    h.is_failure, lag(h.is_failure, 1, h.is_failure) OVER (
      PARTITION BY h.case_id, h.provider_options, h.machine_class, h.suite
      ORDER BY h.run_order) AS failed_before
  FROM unsteady CROSS JOIN v_history AS h ON h.case_id = unsteady.case_id
  WHERE h.started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
SELECT case_id, provider_options, machine, count(*) AS outcomes, sum(is_failure) AS failures,
  sum(doubtful) AS doubtful, sum(is_failure <> failed_before) AS changes
FROM night
GROUP BY case_id, provider_options, machine_class
HAVING changes > 1 OR doubtful > 0
ORDER BY changes + doubtful DESC, case_id
LIMIT 50;
