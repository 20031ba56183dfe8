// Collects the picture of an output's errors, element by element.
#pragma once

#include <vector>

#include "harness/outcome/error_picture.h"
#include "harness/problem/geometry.h"

namespace plumbline {

class PictureOfErrors {
 public:
  // `columns` of the output: head_dim_vo.
  PictureOfErrors(const Geometry& geometry, std::int64_t columns);

  // Of an element in a row of its sample: e / sigma, and spre / sigma.
  void add(std::int64_t row, std::int64_t column, double z, double spre_ratio);
  // Of all that were added; an empty one of none.
  ErrorPicture finish() const;

 private:
  std::int64_t longest_ = 1, columns_ = 1;
  ErrorPicture picture_;
  std::vector<double> largest_;  // [map_rows, map_columns]; negative: nothing yet
  bool empty_ = true;
};

}  // namespace plumbline
