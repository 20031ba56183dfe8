-- Which pairs of dtype and mask has a kernel never been run with, though others have?
WITH kernels AS (SELECT DISTINCT kernel FROM v_coverage),
pairs AS (SELECT DISTINCT dtype, mask FROM v_coverage)
SELECT kernel, dtype, mask
FROM kernels CROSS JOIN pairs
WHERE NOT EXISTS (
  SELECT 1 FROM v_coverage AS c
  WHERE c.kernel = kernels.kernel AND c.dtype = pairs.dtype AND c.mask = pairs.mask)
ORDER BY kernel, dtype, mask;
