// The special function unit of a real GPU, for comparison with emulator/ptx/special_functions.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plumbline::testing {

// The instructions of the unit: our name, and that of the PTX ISA. Operands and results are 32-bit
// words; 16-bit ones are the low half of a word.
#define PLUMBLINE_SPECIAL_OF_ONE(X)    \
  X(ex2_ftz, "ex2.approx.ftz.f32")     \
  X(rcp_ftz, "rcp.approx.ftz.f32")     \
  X(rsqrt_ftz, "rsqrt.approx.ftz.f32") \
  X(lg2_ftz, "lg2.approx.ftz.f32")     \
  X(sqrt_ftz, "sqrt.approx.ftz.f32")   \
  X(ex2, "ex2.approx.f32")             \
  X(rcp, "rcp.approx.f32")             \
  X(rsqrt, "rsqrt.approx.f32")         \
  X(lg2, "lg2.approx.f32")             \
  X(sqrt, "sqrt.approx.f32")           \
  X(tanh, "tanh.approx.f32")           \
  X(sin, "sin.approx.f32")             \
  X(cos, "cos.approx.f32")
#define PLUMBLINE_SPECIAL_OF_TWO(X)   \
  X(div_full, "div.full.f32")         \
  X(div_full_ftz, "div.full.ftz.f32") \
  X(div_approx, "div.approx.f32")     \
  X(div_approx_ftz, "div.approx.ftz.f32")
#define PLUMBLINE_SPECIAL_OF_F16(X) \
  X(ex2_f16, "ex2.approx.f16")      \
  X(tanh_f16, "tanh.approx.f16")
#define PLUMBLINE_SPECIAL_OF_BF16(X) \
  X(ex2_bf16, "ex2.approx.ftz.bf16") \
  X(tanh_bf16, "tanh.approx.bf16")
#define PLUMBLINE_SPECIAL(X)  \
  PLUMBLINE_SPECIAL_OF_ONE(X) \
  PLUMBLINE_SPECIAL_OF_TWO(X) \
  PLUMBLINE_SPECIAL_OF_F16(X) \
  PLUMBLINE_SPECIAL_OF_BF16(X)

enum class Special : std::uint8_t {
#define PLUMBLINE_NAME(name, ptx) name,
  PLUMBLINE_SPECIAL(PLUMBLINE_NAME)
#undef PLUMBLINE_NAME
};

// The operands of instruction i: a[i], and for two operands b[i]. If a is null: the word first + i
// * stride, modulo 2^32.
struct SpecialOperands {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  std::uint32_t first = 0, stride = 1;
};

// GPU 0, with buffers on host and device for `capacity` instructions. error() and run() return an
// error if memory or a call fails, otherwise "".
class GpuSpecialUnit {
 public:
  explicit GpuSpecialUnit(std::size_t capacity);
  ~GpuSpecialUnit();
  GpuSpecialUnit(const GpuSpecialUnit&) = delete;
  GpuSpecialUnit& operator=(const GpuSpecialUnit&) = delete;

  const std::string& error() const { return error_; }
  std::uint32_t* words() const { return host_; }  // `capacity` words, page-locked
  // Runs `count` instructions, at most `capacity`; `results` is host memory.
  std::string run(Special, const SpecialOperands&, std::size_t count, std::uint32_t* results);

 private:
  std::size_t capacity_;
  std::string error_;
  std::uint32_t *host_ = nullptr, *a_ = nullptr, *b_ = nullptr, *results_ = nullptr;
};

}  // namespace plumbline::testing
