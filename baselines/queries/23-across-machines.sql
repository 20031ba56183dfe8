-- How do kernels compare across GPU models and hosts: failures, errors, throughput?
SELECT kernel, dtype, machine, count(*) AS cases, sum(is_failure) AS failures,
  sum(verdict = 'unsupported') AS unsupported, avg(rms) AS mean_rms,
  max(percent_of_limit) FILTER (WHERE status = 'ok') AS largest_percent_of_limit,
  count(DISTINCT output_digest) AS digests, avg(time_ns) / 1e6 AS mean_milliseconds,
  max(flops_per_second) / 1e12 AS best_teraflops, max(flops_share) AS best_flops_share
FROM v_latest
GROUP BY kernel, dtype, machine_class
ORDER BY kernel, dtype, machine;
