-- When did each case become slower (or faster), and with which commit?
-- The night of the last 60 days with the largest step between the nights before and after it.
WITH night AS (
  SELECT case_id, provider_options, machine, machine_class, started_at, code_commit, time_ratio,
    time_ns, count(*) OVER before AS nights_before, avg(time_ratio) OVER before AS ratio_before,
    count(*) OVER since AS nights_since, avg(time_ratio) OVER since AS ratio_since
  FROM v_times
  WHERE status = 'ok' AND run_id IN (
    SELECT run_id FROM v_runs
    WHERE started_at >= (SELECT date(max(started_at), '-60 days') FROM v_runs))
  WINDOW series AS (PARTITION BY case_id, provider_options, machine_class ORDER BY run_order),
    before AS (series ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING),
    since AS (series ROWS BETWEEN CURRENT ROW AND 6 FOLLOWING))
SELECT case_id, provider_options, machine, started_at AS since, code_commit AS first_commit,
  ratio_before, ratio_since,
  max(max(ratio_since / ratio_before, ratio_before / ratio_since)) AS times_changed,
  time_ns / 1e6 AS milliseconds
FROM night
WHERE nights_before >= 3 AND nights_since >= 2
GROUP BY case_id, provider_options, machine_class
ORDER BY times_changed DESC
LIMIT 30;
