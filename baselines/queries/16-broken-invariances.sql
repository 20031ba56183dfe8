-- Which kernels break an invariance, in how many cases of their newest run, by how much at worst?
SELECT kernel, device, invariance, promise, count(*) FILTER (WHERE is_failure) AS broken,
  count(*) AS cases, max(coalesce(sigmas, 0)) AS standard_deviations,
  max(coalesce(ulps, 0)) AS ulps
FROM v_invariances AS i
WHERE status <> 'unsupported'
  AND run_order = (
    SELECT max(run_order) FROM v_invariances AS n
    WHERE n.kernel = i.kernel AND n.device = i.device)
GROUP BY kernel, device, invariance, promise
HAVING broken > 0
ORDER BY kernel, device, invariance;
