-- Which cases have become slower since they were first timed?
-- Many small steps that each stay under a nightly limit add up here.
WITH timed AS (
  SELECT case_id, provider_options, machine, machine_class, time_ratio,
    row_number() OVER (series ORDER BY run_order) AS from_first,
    row_number() OVER (series ORDER BY run_order DESC) AS from_last
  FROM v_history
  WHERE time_ratio > 0
  WINDOW series AS (PARTITION BY case_id, provider_options, machine_class))
SELECT case_id, provider_options, machine, count(*) AS runs,
  avg(time_ratio) FILTER (WHERE from_first <= 3) AS first_ratio,
  avg(time_ratio) FILTER (WHERE from_last <= 3) AS last_ratio,
  avg(time_ratio) FILTER (WHERE from_last <= 3)
    / avg(time_ratio) FILTER (WHERE from_first <= 3) AS times_slower
FROM timed
GROUP BY case_id, provider_options, machine_class
HAVING runs > 1
ORDER BY times_slower DESC
LIMIT 20;
