-- What does each kernel not take, and why?
SELECT kernel, arch, dtype, out_dtype, layout, mask, cases_unsupported, reasons
FROM v_support
WHERE support <> 'supported'
ORDER BY kernel, arch, dtype, layout, mask;
