// Arrays of any framework as named tensors: dtype as safetensors names it, shape, contiguous bytes.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "harness/problem/safetensors.h"

namespace plumbline::python {

// (dtype, shape, bytes) of an array in host memory that speaks DLPack or the buffer protocol, made
// contiguous. `dtype` overrides the array's own where NumPy has no name for it ("BF16" seen as
// uint16). Throws nb::type_error for what is no such array.
nanobind::tuple contiguous(const nanobind::object& array, const std::string& dtype);

// A dict of name -> (dtype, shape, bytes). The views live as long as the dict.
std::map<std::string, TensorData> tensors_of(const nanobind::dict& tensors);

}  // namespace plumbline::python
