-- Where do two cases of one problem differ in their bits, and does rounding explain it?
SELECT started_at, suite, name, verdict, heads - heads_bit_equal AS heads_that_differ, heads,
  bit_equal_share, max_abs, max_sigma, max_ulp
FROM v_diffs
WHERE bit_equal_share < 1
ORDER BY run_order DESC, max_sigma DESC;
