-- Where did two cases of one problem differ in their bits in the last 30 days?
-- max_sigma tells whether rounding explains it.
SELECT started_at, suite, name, verdict, heads - heads_bit_equal AS heads_that_differ, heads,
  bit_equal_share, max_abs, max_sigma, max_ulp
FROM v_diffs
WHERE bit_equal_share < 1
  AND run_id IN (
    SELECT run_id FROM v_runs
    WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
ORDER BY run_order DESC, max_sigma DESC;
