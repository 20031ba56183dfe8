// The algorithms of the CPU kernels, each with the size of its workspace. A run computes everything
// in one thread. Its bits depend only on the problem, the inputs and the Variant.
#pragma once

#include "kernels/cpu/sequences.h"

namespace plumbline::cpu {

// Tiled online softmax (FlashAttention). If variant.splits > 1, KV splits are merged by LSE (flash
// decoding). `problem` comes from an Attention, so total_q and total_kv are set.
std::uint64_t online_softmax_workspace(const plumbline_problem& problem, const Variant& variant);
void online_softmax(const Attention& attention, const Variant& variant, std::byte* workspace);

// A whole row of S, then softmax, then P V.
std::uint64_t naive_workspace(const plumbline_problem& problem, const Variant& variant);
void naive(const Attention& attention, const Variant& variant, std::byte* workspace);

// For padded layouts: gathers valid rows into ragged buffers, runs the online softmax on them, puts
// the rows back and clears the padded ones.
std::uint64_t unpad_workspace(const plumbline_problem& problem, const Variant& variant);
void unpad(const Attention& attention, const Variant& variant, std::byte* workspace);

// Not attention: merges the partial states of a token. `k` has their LSE and `v` their O.
std::uint64_t merge_workspace(const plumbline_problem& problem, const Variant& variant);
void merge(const Attention& states, const Variant& variant, std::byte* workspace);

}  // namespace plumbline::cpu
