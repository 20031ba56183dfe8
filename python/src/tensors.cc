// Makes contiguous bytes of NumPy, PyTorch or JAX arrays, and names their dtypes.
#include "python/src/tensors.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace nb = nanobind;

namespace plumbline::python {
namespace {

using Array = nb::ndarray<nb::ro>;

std::string dtype_name(const nb::dlpack::dtype& dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) throw nb::type_error("arrays of vectors (DLPack lanes) are not accepted");
  switch (static_cast<Code>(dtype.code)) {
    case Code::Float:
      return fmt::format("F{}", dtype.bits);
    case Code::Bfloat:
      return fmt::format("BF{}", dtype.bits);
    case Code::Int:
      return fmt::format("I{}", dtype.bits);
    case Code::UInt:
      return fmt::format("U{}", dtype.bits);
    case Code::Bool:
      return "BOOL";
    case Code::Float8_E4M3FN:
      return "F8_E4M3";
    case Code::Float8_E5M2:
      return "F8_E5M2";
    default:
      throw nb::type_error(
          fmt::format("an array of DLPack type code {} with {} bits is not accepted", dtype.code,
                      dtype.bits)
              .c_str());
  }
}

// Copies dimension `dimension` and those behind it; returns where the next byte goes.
char* copy(const Array& array, std::size_t dimension, const char* from, std::size_t item,
           char* to) {
  if (dimension == array.ndim()) {
    std::memcpy(to, from, item);
    return to + item;
  }
  const auto extent = static_cast<std::int64_t>(array.shape(dimension));
  const std::int64_t step = array.stride(dimension) * static_cast<std::int64_t>(item);
  if (dimension + 1 == array.ndim() && step == static_cast<std::int64_t>(item)) {
    std::memcpy(to, from, static_cast<std::size_t>(extent) * item);
    return to + static_cast<std::size_t>(extent) * item;
  }
  for (std::int64_t i = 0; i < extent; ++i)
    to = copy(array, dimension + 1, from + i * step, item, to);
  return to;
}

}  // namespace

nb::tuple contiguous(const nb::object& array, const std::string& dtype) {
  Array view;
  if (!nb::try_cast(array, view) || !view.is_valid()) {
    throw nb::type_error(fmt::format("{} is neither a DLPack array nor a buffer that can be read",
                                     nb::type_name(array.type()).c_str())
                             .c_str());
  }
  if (view.device_type() != nb::device::cpu::value) {
    throw nb::type_error("the array does not lie in host memory; copy it to the CPU");
  }
  const std::size_t item = view.itemsize();
  nb::list shape;
  for (std::size_t i = 0; i < view.ndim(); ++i)
    shape.append(static_cast<std::int64_t>(view.shape(i)));
  nb::object bytes =
      nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(view.nbytes())));
  if (!bytes.is_valid()) throw nb::python_error();
  if (view.nbytes() > 0)
    copy(view, 0, static_cast<const char*>(view.data()), item, PyBytes_AS_STRING(bytes.ptr()));
  return nb::make_tuple(dtype.empty() ? dtype_name(view.dtype()) : dtype, nb::tuple(shape), bytes);
}

std::map<std::string, TensorData> tensors_of(const nb::dict& tensors) {
  std::map<std::string, TensorData> result;
  for (const auto& [name, value] : tensors) {
    const auto tensor = nb::cast<nb::tuple>(value);
    const auto bytes = nb::cast<nb::bytes>(tensor[2]);
    result[nb::cast<std::string>(name)] = {
        nb::cast<std::string>(tensor[0]), nb::cast<std::vector<std::int64_t>>(tensor[1]),
        reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
  }
  return result;
}

}  // namespace plumbline::python
