-- Which heads of the newest diffs differ the most?
-- per_head is JSON: [[sample, head, mean_abs, max_abs, bit_equal], …].
SELECT d.suite, d.name, h.value ->> 0 AS sample, h.value ->> 1 AS head, h.value ->> 2 AS mean_abs,
  h.value ->> 3 AS max_abs
FROM v_diffs AS d, json_each(d.per_head) AS h
WHERE d.run_id = (SELECT run_id FROM v_runs WHERE diffs > 0 ORDER BY run_order DESC LIMIT 1)
  AND NOT (h.value ->> 4)
ORDER BY max_abs DESC
LIMIT 20;
