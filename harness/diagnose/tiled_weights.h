// Explanations of an error by roundings of P that depend on tiles of keys.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "harness/diagnose/explanation_ranking.h"

namespace plumbline {

inline constexpr std::array coarser_dtypes{DType::tf32, DType::f16, DType::bf16, DType::e4m3};

// Returns the kind of a rounding in a ranking. Roundings of one tensor to equally many bits have
// one kind.
std::string kind_of(std::string_view what, DType dtype);
// Returns true if `dtype` is coarser than P of the judged spec and a kernel may round P to it. A
// kernel that widens fp8 K and V to the dtype of Q has P in the dtype of Q, not in fp8.
bool may_be_p(const FailingOutput& failing, DType dtype);
// Adds these explanations: P in a coarser dtype; small P flushed to zero; P lost because the
// maximum starts too high or is taken over hidden keys. A kernel rounds P relative to the largest
// logit from the start of the split to the end of the tile, so several sizes of tiles and splits
// are tried.
void add_tiled_weights(const FailingOutput& failing, ExplanationRanking& ranking);

}  // namespace plumbline
