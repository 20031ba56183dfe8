// Recognizes secret variables by name.
#include "harness/provider/client/environment.h"

#include <algorithm>
#include <cctype>

namespace plumbline {

bool looks_like_secret(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto has = [&](std::string_view word) { return upper.find(word) != std::string::npos; };
  return has("TOKEN") || has("SECRET") || has("PASSWORD") || upper.starts_with("ACTIONS_");
}

bool reaches_workers(std::string_view variable, const std::vector<std::string>& pass_env) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return !looks_like_secret(name) || std::ranges::find(pass_env, name) != pass_env.end();
}

}  // namespace plumbline
