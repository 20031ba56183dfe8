-- What did the newest night find: failures, what is unconfirmed, what got faster or better?
WITH newest AS (SELECT night_id, run_id FROM v_runs WHERE outcomes > 0
  ORDER BY run_order DESC LIMIT 1)
SELECT h.verdict, h.case_id, h.provider_options, h.machine, h.gate_finding, h.confirmation,
  h.gate_level, h.time_ratio, h.percent_of_limit, h.findings ->> '$[0].text' AS why
FROM v_history AS h
WHERE h.run_id IN (
    SELECT r.run_id FROM v_runs AS r JOIN newest AS n
    ON r.run_id = n.run_id OR (r.night_id <> '' AND r.night_id = n.night_id))
  AND (h.standing IN ('failure', 'open')
    OR h.verdict IN ('acknowledged', 'improved')
    OR h.gate_finding IN ('slower', 'faster', 'drifted'))
ORDER BY h.is_failure DESC, h.verdict, h.case_id;
