// The instances of a kernel that is compiled for every dtype that a tensor may have.
#pragma once

#include "kernels/attention/elements.cuh"
#include "kernels/attention/instances.h"

namespace plumbline::attention {

// `Family` has name, tensor_cores, Tiling<Element, HeadDim>, and kernel<Tiling>().
template <class Family>
class EveryDtype {
 public:
  static std::span<const Instance> instances() {
    static const Instance all[] = {
        of<Float, 64>(),        of<Float, 128>(),   of<Float, 256>(),    of<Half, 64>(),
        of<Half, 128>(),        of<Half, 256>(),    of<BFloat16, 64>(),  of<BFloat16, 128>(),
        of<BFloat16, 256>(),    of_fp8<Half, 64>(), of_fp8<Half, 128>(), of_fp8<BFloat16, 64>(),
        of_fp8<BFloat16, 128>()};
    return all;
  }

 private:
  template <class Tiling>
  static Instance tiled() {
    return instance<Tiling>(Family::name, Family::tensor_cores, Family::template kernel<Tiling>());
  }
  template <class Element, int HeadDim>
  static Instance of() {
    return tiled<typename Family::template Tiling<Element, HeadDim>>();
  }
  template <class Element, int HeadDim>
  static Instance of_fp8() {
    return tiled<WithFp8<typename Family::template Tiling<Element, HeadDim>>>();
  }
};

}  // namespace plumbline::attention
