-- How does the error of each dtype move from day to day, over the last 30 days?
-- In units of sigma, so that dtypes can be compared.
SELECT substr(started_at, 1, 10) AS day, dtype, count(*) AS outcomes, avg(rms) AS mean_rms,
  max(peak) AS largest_peak, max(percent_of_limit) AS largest_percent_of_limit
FROM v_history
WHERE status = 'ok' AND faults_total = 0
  AND run_id IN (
    SELECT run_id FROM v_runs
    WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
GROUP BY day, dtype
ORDER BY day DESC, dtype;
