-- Which cases have become slower since they were first timed?
-- Many small steps that each stay under a nightly limit add up here.
SELECT case_id, provider_options, machine, runs, first_ratio, last_ratio,
  last_ratio / first_ratio AS times_slower
FROM v_timed_series
WHERE runs > 1
ORDER BY times_slower DESC
LIMIT 20;
