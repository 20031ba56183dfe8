-- How does the error of each dtype move from day to day?
-- In units of sigma, so that dtypes can be compared.
SELECT substr(started_at, 1, 10) AS day, dtype, count(*) AS outcomes, avg(rms) AS mean_rms,
  max(peak) AS largest_peak, max(percent_of_limit) AS largest_percent_of_limit
FROM v_history
WHERE status = 'ok' AND faults_total = 0
GROUP BY day, dtype
ORDER BY day DESC, dtype;
