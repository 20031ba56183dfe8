-- Which outcomes are baselines because a user accepted them?
SELECT a.accepted_at, a.accepted_by, a.reason, a.case_id, h.verdict,
  h.percent_of_limit, h.code_commit
FROM v_accepted AS a
CROSS JOIN v_history AS h ON h.case_id = a.case_id AND h.run_id = a.run_id
ORDER BY a.accepted_at DESC, a.case_id;
