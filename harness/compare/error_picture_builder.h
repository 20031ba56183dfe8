// Collects the error histogram and heat map of an output, element by element.
#pragma once

#include <vector>

#include "harness/outcome/error_picture.h"
#include "harness/problem/geometry.h"

namespace plumbline {

class ErrorPictureBuilder {
 public:
  // `columns`: head_dim_vo.
  ErrorPictureBuilder(const Geometry& geometry, std::int64_t columns);

  // Adds an element of a sample's row: z = e / sigma, spre_ratio = spre / sigma.
  void add(std::int64_t row, std::int64_t column, double z, double spre_ratio);
  // Returns the picture of all added elements; an empty one if there are none.
  ErrorPicture finish() const;

 private:
  std::int64_t longest_ = 1, columns_ = 1;
  ErrorPicture picture_;
  std::vector<double> largest_;  // [map_rows, map_columns]; negative: no element yet
  bool empty_ = true;
};

}  // namespace plumbline
