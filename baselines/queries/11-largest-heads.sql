-- Which single heads have the largest error? One bad head vanishes in the rms of a large tensor.
SELECT case_id, machine, head_rms_max_sample AS sample, head_rms_max_head AS head,
  head_rms_max AS head_rms, rms, head_rms_max / rms AS times_rms
FROM v_latest
WHERE head_rms_max IS NOT NULL
ORDER BY head_rms_max DESC
LIMIT 20;
