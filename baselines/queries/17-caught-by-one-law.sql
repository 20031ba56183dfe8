-- Under each input law: how many kernels fail in some case, and which of them fail under no other?
-- docs/input-laws.md describes the laws.
WITH failing AS (
  SELECT DISTINCT kernel,
    CASE WHEN v_law = 'normal' THEN 'law=' || law ELSE 'v_law=' || v_law END AS inputs
  FROM v_latest
  WHERE is_failure)
SELECT inputs, count(*) AS fail,
  group_concat(kernel, ' ') FILTER (WHERE kernel IN (
    SELECT kernel FROM failing GROUP BY kernel HAVING count(*) = 1)) AS under_no_other
FROM failing
GROUP BY inputs
ORDER BY inputs;
