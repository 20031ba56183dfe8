#!/usr/bin/env bash
# Runs the five stories (reduced) on their original systems, without a GPU: FlashAttention-2,
# FlashInfer and CUTLASS's fused attention from their own source, on the emulator, and Transformers.
# Prints the figures of docs/stories.md. The first run compiles their instances for about half an
# hour; the stories then take two minutes of one processor.
#   ci/stories.sh [more options of `plumbline run`]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ "${1:-}" == -h || "${1:-}" == --help ]] && { sed -n '2,6p' "$0" | cut -c3-; exit 0; }
ci/setup.sh
ci/setup.sh --providers
ci/setup.sh --python
source "$source_directory/ci/instances.sh"
cmake --preset "$preset" -DPLUMBLINE_FLASH_ATTENTION_FILES="$story_flash_attention" \
  -DPLUMBLINE_FLASHINFER_INSTANCES="$story_flashinfer" >/dev/null
cmake --build --preset "$preset" --target programs plumbline_compiled_flash_attention \
  plumbline_compiled_flashinfer plumbline_compiled_cutlass
mkdir -p out
code=0
"$plumbline" run cases/stories/compiled/*.toml --tier pr --db out/stories.db \
  --provider compiled_flash_attention --provider compiled_flashinfer --provider compiled_cutlass \
  --provider transformers --provider transformers_emulated "$@" || code=$?
echo
"$plumbline" query --db out/stories.db "
  SELECT suite, kernel, dtype, seq_kv, k_scale, max_abs, mean_abs,
    100 * outside_allclose_1e3 AS outside_1e3_percent,
    100 * outside_allclose_1e2 AS outside_1e2_percent, percent_of_limit, status
  FROM v_latest WHERE suite LIKE 's2%' OR suite LIKE 's5%'
  ORDER BY suite, kernel, dtype, seq_kv, mask, k_scale"
echo
"$plumbline" query --db out/stories.db "
  SELECT suite, name, max_abs, mean_abs, max_rel, mean_rel, max_sigma, heads_bit_equal, heads,
    rms_a, rms_b
  FROM v_diffs WHERE run_id = (SELECT run_id FROM v_runs ORDER BY run_order DESC LIMIT 1)
  ORDER BY suite, name"
echo
"$plumbline" query --db out/stories.db "
  SELECT kernel, dtype, head_dim_vo, seq_kv, registers_per_thread, shared_memory_bytes
  FROM v_latest WHERE suite LIKE 's4%' ORDER BY kernel"
exit "$code"
