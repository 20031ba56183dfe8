-- What throughput does each timed case achieve, and which share of the peak is that?
SELECT case_id, provider_options, machine, time_ns / 1e6 AS milliseconds,
  flops_per_second / 1e12 AS teraflops, flops_share, bytes_per_second / 1e9 AS gigabytes_per_second,
  bytes_share
FROM v_latest
WHERE timed
ORDER BY coalesce(flops_share, 0) DESC, milliseconds DESC;
