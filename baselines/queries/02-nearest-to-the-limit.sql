-- Which case of each kernel is nearest to its limit, and in which statistic?
SELECT kernel, max(percent_of_limit) AS percent_of_limit, nearest_statistic, case_id
FROM v_latest
WHERE status = 'ok'
GROUP BY kernel
ORDER BY percent_of_limit DESC;
