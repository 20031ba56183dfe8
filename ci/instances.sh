# Sourced by ci/stories.sh and ci/gpu/pack.sh: the files of FlashAttention-2 and the instances of
# FlashInfer that the stories need, for CMake's PLUMBLINE_FLASH_ATTENTION_FILES and
# PLUMBLINE_FLASHINFER_INSTANCES. A case whose kernel is not compiled is refused, and fails.
story_flash_attention="fwd_hdim64_bf16_causal;fwd_hdim64_bf16;fwd_split_hdim64_bf16"
story_flashinfer="ragged_hdim64_bf16;ragged_hdim64_bf16_causal;paged_hdim64_bf16"
story_flashinfer+=";paged_hdim64_bf16_causal;decode_hdim64_bf16;ragged_hdim64_fp16_causal"
story_flashinfer+=";decode_hdim128_fp16;paged_hdim128_fp16"
# For the stories at full size, which a GPU runs, and for cases/compiled/gpu.toml.
full_flash_attention="$story_flash_attention;fwd_hdim128_bf16_causal"
full_flashinfer="$story_flashinfer;ragged_hdim128_bf16_causal;ragged_hdim128_fp16_causal"
