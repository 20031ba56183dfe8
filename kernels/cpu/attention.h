// The algorithms of the CPU kernels: how much workspace each needs, and how it runs. A run
// computes everything in one thread, with the bits depending only on the problem, the inputs and
// the Variant.
#pragma once

#include "kernels/cpu/sequences.h"

namespace plumbline::cpu {

// Tiled online softmax (FlashAttention), with KV splits merged by LSE where variant.splits > 1
// (flash decoding). `problem` is an Attention's: its totals are filled in.
std::uint64_t online_softmax_workspace(const plumbline_problem& problem, const Variant& variant);
void online_softmax(const Attention& attention, const Variant& variant, std::byte* workspace);

// A whole row of S, then softmax, then P V.
std::uint64_t naive_workspace(const plumbline_problem& problem, const Variant& variant);
void naive(const Attention& attention, const Variant& variant, std::byte* workspace);

// Padded layouts: valid rows gathered into ragged buffers, online softmax on those, rows put back
// and padded rows zeroed.
std::uint64_t unpad_workspace(const plumbline_problem& problem, const Variant& variant);
void unpad(const Attention& attention, const Variant& variant, std::byte* workspace);

// Not attention: the states of a token's parts, of which `k` has the LSE and `v` the O, merged.
std::uint64_t merge_workspace(const plumbline_problem& problem, const Variant& variant);
void merge(const Attention& states, const Variant& variant, std::byte* workspace);

}  // namespace plumbline::cpu
