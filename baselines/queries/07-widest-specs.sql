-- Which rounding specs widen sigma the most over the strict one?
-- The wider, the more could hide in it.
SELECT kernel, dtype, max(widening) AS widening, judged_spec, case_id
FROM v_latest
WHERE status = 'ok'
GROUP BY kernel, dtype, judged_spec
ORDER BY widening DESC
LIMIT 20;
