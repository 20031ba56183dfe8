-- What differs between the two newest commits: verdicts, bits, errors, times?
-- `plumbline compare` takes any two; 0.05 is what no time is expected to move by itself.
WITH named AS (
  SELECT code_commit, row_number() OVER (ORDER BY max(run_order) DESC) AS place,
    max(run_order) AS newest
  FROM v_runs
  WHERE outcomes > 0
  GROUP BY code_commit),
side AS (
  SELECT n.place, h.case_id, h.provider_options, h.machine_class, h.machine, h.suite, h.verdict,
    h.output_digest, h.rms, h.time_ratio, h.code_commit, max(h.run_order) AS newest
  FROM named AS n
  CROSS JOIN v_runs AS r ON r.code_commit = n.code_commit
  CROSS JOIN v_history AS h ON h.run_id = r.run_id
  WHERE n.place <= 2
  GROUP BY n.place, h.case_id, h.provider_options, h.machine_class, h.suite)
SELECT b.case_id, b.provider_options, b.machine, a.code_commit AS commit_before,
  b.code_commit AS commit_now, a.verdict AS verdict_before, b.verdict AS verdict_now,
  a.output_digest <> b.output_digest AS other_bits, b.rms / nullif(a.rms, 0) AS rms_times,
  b.time_ratio / nullif(a.time_ratio, 0) AS time_times
FROM side AS b JOIN side AS a
  ON a.place = 2 AND a.case_id = b.case_id AND a.provider_options = b.provider_options
  AND a.machine_class = b.machine_class AND a.suite = b.suite
WHERE b.place = 1 AND (a.verdict <> b.verdict OR a.output_digest <> b.output_digest
  OR abs(b.time_ratio / nullif(a.time_ratio, 0) - 1) > 0.05)
ORDER BY b.verdict = a.verdict, time_times DESC, rms_times DESC, b.case_id;
