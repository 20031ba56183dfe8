-- Which pairs of dtype and mask has a kernel never been run with, though others have?
WITH covered AS MATERIALIZED (SELECT DISTINCT kernel, dtype, mask FROM v_coverage),
kernels AS (SELECT DISTINCT kernel FROM covered),
pairs AS (SELECT DISTINCT dtype, mask FROM covered)
SELECT kernel, dtype, mask FROM kernels CROSS JOIN pairs
EXCEPT SELECT kernel, dtype, mask FROM covered
ORDER BY kernel, dtype, mask;
