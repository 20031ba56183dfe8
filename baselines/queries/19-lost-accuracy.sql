-- Which kernels lost accuracy in the last 30 days, in how many cases, and by how much?
-- Each case's newest rms error over its first one in that time; in units of sigma.
WITH recent AS (
  SELECT run_id FROM v_runs
  WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs)),
compared AS (
  SELECT kernel, dtype, case_id, rms AS rms_before, max(rms_now, 1e-9) AS rms_now,
    rms_now / rms AS times_worse
  FROM (
    SELECT kernel, dtype, case_id, rms, row_number() OVER series AS place,
      last_value(rms) OVER (series ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        AS rms_now
    FROM v_history
    WHERE run_id IN (
        SELECT run_id FROM (SELECT run_id, row_number() OVER (ORDER BY run_order) AS from_first,
            row_number() OVER (ORDER BY run_order DESC) AS from_last
          FROM v_runs WHERE run_id IN recent AND outcomes > 0)
        WHERE from_first <= 3 OR from_last <= 3)
      AND status = 'ok'
    WINDOW series AS (
      PARTITION BY case_id, provider_options, machine_class ORDER BY run_order, suite))
  WHERE place = 1 AND rms > 0)
SELECT kernel, dtype, count(*) AS cases, count(*) FILTER (WHERE times_worse > 1.02) AS cases_worse,
  avg(rms_before) AS mean_rms_before, avg(rms_now) AS mean_rms_now,
  max(times_worse) AS largest_times_worse, case_id AS worst_case
FROM compared
GROUP BY kernel, dtype
HAVING cases_worse > 0
ORDER BY mean_rms_now / mean_rms_before DESC;
