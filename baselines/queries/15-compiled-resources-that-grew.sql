-- Which compiled kernels spill more, or keep fewer warps resident, than in the run before?
-- Needs no GPU; a run of another toolkit counts. Runs of the last 30 days.
SELECT kernel, launch, arch, started_at, code_commit, toolkit, registers_before, registers,
  spill_bytes_before, spill_bytes, shared_bytes_before, shared_bytes, occupancy_before, occupancy,
  verdict
FROM (
  SELECT *, lag(registers) OVER series AS registers_before,
    lag(spill_bytes) OVER series AS spill_bytes_before,
    lag(shared_bytes) OVER series AS shared_bytes_before,
    lag(occupancy) OVER series AS occupancy_before
  FROM v_resources
  WHERE verdict <> 'missing'
    AND run_id IN (
      SELECT run_id FROM v_runs
      WHERE started_at >= (SELECT date(max(started_at), '-30 days') FROM v_runs))
  WINDOW series AS (PARTITION BY source, kernel, launch, arch ORDER BY run_order))
WHERE spill_bytes > spill_bytes_before OR occupancy < occupancy_before
  OR shared_bytes > shared_bytes_before
ORDER BY started_at DESC, kernel, launch, arch;
