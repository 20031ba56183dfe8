// Bitwise equality of two references.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "harness/reference/reference.h"

namespace plumbline {

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline void expect_same(const Reference& a, const Reference& b) {
  EXPECT_EQ(a.selection.rows, b.selection.rows);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.output_units, b.output_units);
  EXPECT_TRUE(same_bits(a.o, b.o));
  EXPECT_TRUE(same_bits(a.spre, b.spre));
  EXPECT_TRUE(same_bits(a.sigma, b.sigma));
  EXPECT_TRUE(same_bits(a.bound, b.bound));
  EXPECT_TRUE(same_bits(a.lse, b.lse));
  EXPECT_TRUE(same_bits(a.lse_sigma, b.lse_sigma));
  EXPECT_TRUE(same_bits(a.visible, b.visible));
  EXPECT_TRUE(same_bits(a.gradient, b.gradient));
  EXPECT_TRUE(same_bits(a.shrink_variance, b.shrink_variance));
  EXPECT_TRUE(same_bits(a.temperature_variance, b.temperature_variance));
}

}  // namespace plumbline
