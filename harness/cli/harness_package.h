// The package that has the commands that the judge program lacks.
#pragma once

namespace plumbline::cli {

inline constexpr const char* harness_package_remedy =
    "pip install 'plumbline-attention[run]', or the wheel plumbline_attention_harness that "
    "ci/wheel.sh makes";

}  // namespace plumbline::cli
