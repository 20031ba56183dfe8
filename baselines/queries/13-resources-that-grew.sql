-- Which kernels need more registers, spills or shared memory than one build earlier?
-- Builds of the last 30 days.
WITH build AS (
  SELECT kernel, arch, launched, build_id, min(run_order) AS since,
    max(registers_per_thread) AS registers, max(spill_bytes_per_thread) AS spills,
    max(shared_memory_bytes) AS shared_memory
  FROM v_history
  WHERE status = 'ok' AND registers_per_thread IS NOT NULL
    AND run_id IN (
      SELECT run_id FROM v_runs
      WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
  GROUP BY kernel, arch, launched, build_id),
change AS (
  SELECT *, lag(registers) OVER builds AS registers_before,
    lag(spills) OVER builds AS spills_before, lag(shared_memory) OVER builds AS shared_memory_before
  FROM build
  WINDOW builds AS (PARTITION BY kernel, arch, launched ORDER BY since))
SELECT kernel, arch, launched, build_id, registers_before, registers, spills_before, spills,
  shared_memory_before, shared_memory
FROM change
WHERE registers > registers_before OR spills > spills_before
  OR shared_memory > shared_memory_before
ORDER BY since DESC;
