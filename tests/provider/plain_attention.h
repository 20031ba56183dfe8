// Plain fp32 attention for every layout, mask and window of the C ABI, one row after the other.
#pragma once

#include <stdint.h>

#include "plumbline_provider.h"

// Applied to each P = exp(s - m) before the product with V; the denominator sums the original P.
typedef float (*round_p_function)(float p);

// Returns why plain_attention does not support a problem; nullptr if it does.
const char* plain_attention_refusal(const plumbline_problem& problem);

// Writes every element of every valid row, and no padded row. Returns false if a dtype is not fp32,
// fp16 or bf16.
bool plain_attention(const plumbline_problem& problem, const plumbline_tensors& tensors,
                     round_p_function round_p);
