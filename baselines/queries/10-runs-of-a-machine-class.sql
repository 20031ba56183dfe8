-- What has run on the machine class of the newest run?
SELECT started_at, run_id, purpose, shard, code_commit, host, outcomes, failures,
  finished, exit_code
FROM v_runs
WHERE machine_class = (SELECT machine_class FROM v_runs ORDER BY run_order DESC LIMIT 1)
ORDER BY run_order DESC
LIMIT 50;
