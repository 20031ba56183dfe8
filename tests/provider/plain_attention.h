// Plain fp32 attention for every layout, mask and window that the C ABI describes. It computes one
// row after the other.
#pragma once

#include <stdint.h>

#include "plumbline_provider.h"

// Applied to each P = exp(s - m) before it is multiplied with V; the denominator sums P as it was.
typedef float (*round_p_function)(float p);

// Why plain_attention does not take a problem; nullptr where it does.
const char* plain_attention_refusal(const plumbline_problem& problem);

// Writes every element of every valid row; leaves padded rows alone. False if a dtype is none of
// fp32, fp16 and bf16.
bool plain_attention(const plumbline_problem& problem, const plumbline_tensors& tensors,
                     round_p_function round_p);
