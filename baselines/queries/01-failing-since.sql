-- Since when does each case fail that fails now, and between which commits did it break?
WITH failing AS MATERIALIZED (
  SELECT case_id, provider_options, machine_class, run_id FROM v_latest WHERE is_failure)
SELECT r.case_id, r.machine, r.verdict, f.started_at AS failing_since,
  r.previous_commit AS last_good_commit, f.code_commit AS first_bad_commit
FROM failing AS l
CROSS JOIN v_regressions AS r ON r.case_id = l.case_id AND r.run_id = l.run_id
  AND r.machine_class = l.machine_class AND r.provider_options = l.provider_options
JOIN v_runs AS f ON f.run_order = r.failing_since
WHERE NOT r.accepted
ORDER BY r.failing_since, r.case_id;
