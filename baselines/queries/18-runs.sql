-- The runs of this database, newest first: what `show`, `compare` and `judge` take as RUN.
SELECT substr(run_id, 1, 8) AS run, started_at, purpose, finished, exit_code,
  substr(code_commit, 1, 12) AS code_commit, command_line
FROM v_runs
ORDER BY run_order DESC;
