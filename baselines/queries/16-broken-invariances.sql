-- Which kernels break an invariance, in how many cases of their newest run, by how much at worst?
WITH newest AS MATERIALIZED (
  SELECT kernel AS newest_kernel, device AS newest_device, max(run_order) AS newest_run
  FROM v_invariances WHERE status <> 'unsupported'
  GROUP BY kernel, device)
SELECT kernel, device, invariance, promise, count(*) FILTER (WHERE is_failure) AS broken,
  count(*) AS cases, max(coalesce(sigmas, 0)) AS standard_deviations,
  max(coalesce(ulps, 0)) AS ulps
FROM newest CROSS JOIN v_invariances
WHERE run_order = newest_run AND kernel = newest_kernel AND device = newest_device
  AND status <> 'unsupported'
GROUP BY kernel, device, invariance, promise
HAVING broken > 0
ORDER BY kernel, device, invariance;
