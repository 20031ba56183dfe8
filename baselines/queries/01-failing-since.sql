-- Since when does each case fail that fails now, and between which commits did it break?
SELECT r.case_id, r.machine, r.verdict, f.started_at AS failing_since,
  r.previous_commit AS last_good_commit, f.code_commit AS first_bad_commit
FROM v_regressions AS r
JOIN v_latest AS l
  ON l.case_id = r.case_id AND l.machine_class = r.machine_class AND l.run_id = r.run_id
JOIN v_runs AS f ON f.run_order = r.failing_since
WHERE NOT r.accepted
ORDER BY r.failing_since, r.case_id;
