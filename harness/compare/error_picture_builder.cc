// Counts errors in histogram bins, classes of spre / sigma and cells of the heat map.
#include "harness/compare/error_picture_builder.h"

#include <algorithm>
#include <cmath>

#include "harness/base/maximum.h"

namespace plumbline {
namespace {

constexpr double nothing_yet = -1;

void count(std::vector<std::uint32_t>& counts, double place) {
  const auto last = static_cast<double>(counts.size() - 1);
  ++counts[static_cast<std::size_t>(std::clamp(place, 0.0, last))];
}

}  // namespace

ErrorPictureBuilder::ErrorPictureBuilder(const Geometry& geometry, std::int64_t columns)
    : columns_(columns) {
  for (std::int64_t sample = 0; sample < geometry.problem().batch; ++sample)
    longest_ = std::max(longest_, geometry.length_q(sample));
  picture_.histogram.assign(ErrorPicture::bins, 0);
  picture_.spre_ratios.assign(ErrorPicture::ratio_classes, 0);
  picture_.map_rows = std::min<std::int64_t>(ErrorPicture::max_parts, longest_);
  picture_.map_columns = std::min<std::int64_t>(ErrorPicture::max_parts, columns);
  largest_.assign(static_cast<std::size_t>(picture_.map_rows * picture_.map_columns), nothing_yet);
}

void ErrorPictureBuilder::add(std::int64_t row, std::int64_t column, double z, double spre_ratio) {
  empty_ = false;
  if (!std::isnan(z))
    count(picture_.histogram, z / ErrorPicture::bin_width + 0.5 * ErrorPicture::bins);
  count(picture_.spre_ratios, spre_ratio * ErrorPicture::ratio_classes);
  const std::int64_t part = row * picture_.map_rows / longest_ * picture_.map_columns +
                            column * picture_.map_columns / columns_;
  double& largest = largest_[static_cast<std::size_t>(part)];
  if (const double size = std::abs(z); exceeds(size, largest)) largest = size;
}

ErrorPicture ErrorPictureBuilder::finish() const {
  if (empty_) return {};
  ErrorPicture picture = picture_;
  for (const double largest : largest_)
    picture.map.push_back(largest == nothing_yet ? std::uint8_t{0} : map_code(largest));
  return picture;
}

}  // namespace plumbline
