// Registers PTX like the code that compilers add to a program.
#include "tests/cudart/program.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "emulator/ptx/fat_binary.h"

namespace plumbline::cudart::test {

Program::Program(const std::string& ptx, const std::string& for_arch) {
  ::setenv("PLUMBLINE_PTX_CACHE", "ptx_cache", 0);
  auto entry = ptx::ptx_entry(".version 8.0\n.target " + for_arch + "\n.address_size 64\n" + ptx);
  EXPECT_TRUE(entry) << entry.error();
  auto bytes = ptx::write_fat_binary(std::vector{*entry});
  EXPECT_TRUE(bytes) << bytes.error();
  bytes_ = std::move(*bytes);
  wrapper_.data = bytes_.data();
  handle_ = __cudaRegisterFatBinary(&wrapper_);
  __cudaRegisterFatBinaryEnd(handle_);
}
Program::~Program() { __cudaUnregisterFatBinary(handle_); }

const void* Program::kernel(const char* name) {
  stubs_.push_back(std::make_unique<char>());
  __cudaRegisterFunction(handle_, stubs_.back().get(), nullptr, name, -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  return stubs_.back().get();
}
char* Program::variable(const char* name, std::size_t bytes) {
  stubs_.push_back(std::make_unique<char>());
  __cudaRegisterVar(handle_, stubs_.back().get(), nullptr, name, 0, bytes, 0, 0);
  return stubs_.back().get();
}

void use(const char* arch) {
  plumbline_cudart_settings settings{};
  settings.struct_size = sizeof settings;
  std::strncpy(settings.arch, arch, sizeof settings.arch - 1);
  EXPECT_EQ(plumbline_cudart_configure(&settings), nullptr);
}

}  // namespace plumbline::cudart::test
