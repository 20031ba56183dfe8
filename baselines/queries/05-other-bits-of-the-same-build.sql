-- Which cases changed their output bits in the last 14 days without a new build?
-- A race, or failing hardware.
WITH recent AS (
  SELECT run_id FROM v_runs
  WHERE started_at >= (SELECT date(max(started_at), '-14 days') FROM v_runs))
SELECT case_id, provider_options, machine, started_at, run_id, build_id, previous_digest,
  output_digest
FROM (
  SELECT case_id, provider_options, machine, started_at, run_id, build_id, problem_digest,
    output_digest, lag(output_digest) OVER series AS previous_digest,
    lag(build_id) OVER series AS previous_build, lag(problem_digest) OVER series AS previous_problem
  FROM v_history
  WHERE run_id IN recent AND status = 'ok'
  WINDOW series AS (
    PARTITION BY case_id, provider_options, machine_class ORDER BY run_order, suite))
WHERE build_id = previous_build AND problem_digest = previous_problem
  AND output_digest <> previous_digest
ORDER BY started_at DESC, case_id;
