// The exports of the stand-in for plumbline_cuda.so: our kernels' provider with additional options.
#include "kernels/attention/provider.h"
#include "tests/gpu/stand_in/stand_in.h"

namespace plumbline::stand_in {
namespace {

bool set(Settings& s, std::string_view option) {
  using Wrong = Settings::Wrong;
  constexpr std::string_view model = "stand_in_model=";
  if (option.starts_with(model)) {
    s.model = option.substr(model.size());
  } else if (option == "stand_in=default_stream") {
    s.wrong = Wrong::default_stream;
  } else if (option == "stand_in=merge_on_default") {
    s.wrong = Wrong::merge_on_default;
  } else if (option == "stand_in=illegal_access") {
    s.wrong = Wrong::illegal_access;
  } else if (option == "stand_in=waits") {
    s.wrong = Wrong::waits;
  } else if (option == "stand_in=plans_on_stream") {
    s.wrong = Wrong::plans_on_stream;
  } else if (option == "stand_in=table_1") {
    s.first_table = true;
  } else if (option == "stand_in=no_driver") {
    s.no_driver = true;
  } else if (option == "stand_in=busy") {
    s.busy = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Settings& settings() {
  static Settings current;
  return current;
}

std::string take_settings(std::string_view options) {
  settings() = {};
  std::string rest;
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    if (set(settings(), option)) continue;
    if (!rest.empty()) rest += ',';
    rest += option;
  }
  return rest;
}

namespace {
// The work that prepare left on its stream.
struct Left {
  void* stream = nullptr;
  bool is_done = false;
};
Left& left() {
  static Left of_prepare;
  return of_prepare;
}

struct StandIn : attention::Attention {
  static attention::Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                                 const plumbline_tensors& tensors, const plumbline_device& where,
                                 std::uint64_t& workspace_bytes) {
    if (settings().wrong == Settings::Wrong::plans_on_stream) {
      left() = {provider::planning_stream(tensors), false};
      device().enqueue(left().stream, [] {
        left().is_done = true;
        return codes::success;
      });
    }
    return Attention::prepare(kernel, problem, tensors, where, workspace_bytes);
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void* stream) {
    if (settings().wrong == Settings::Wrong::plans_on_stream &&
        (stream == nullptr || stream != left().stream || !left().is_done))
      throw provider::Refused(PLUMBLINE_ERROR,
                              "prepare had another stream, or nobody waited for it");
    Attention::run(plan, tensors, stream);
  }
  static std::string set_options(std::string_view text) {
    return Attention::set_options(take_settings(text));
  }
};
}  // namespace

}  // namespace plumbline::stand_in

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::stand_in::StandIn>(abi_version, options);
}
