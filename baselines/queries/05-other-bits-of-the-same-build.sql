-- Which cases changed their output bits without a new build? A race, or failing hardware.
SELECT case_id, provider_options, machine, started_at, run_id, build_id, previous_digest,
  output_digest
FROM (
  SELECT *, lag(output_digest) OVER series AS previous_digest,
    lag(build_id) OVER series AS previous_build, lag(problem_digest) OVER series AS previous_problem
  FROM v_history
  WHERE status = 'ok'
  WINDOW series AS (
    PARTITION BY case_id, provider_options, machine_class ORDER BY run_order, suite))
WHERE build_id = previous_build AND problem_digest = previous_problem
  AND output_digest <> previous_digest
ORDER BY started_at DESC, case_id;
