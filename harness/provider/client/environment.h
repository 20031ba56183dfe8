// Selects the environment variables that workers receive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Returns true if the name suggests a secret: it contains TOKEN, SECRET or PASSWORD, or begins with
// ACTIONS_ (GitHub runners), in upper or lower case.
bool looks_like_secret(std::string_view name);

// Returns true if workers receive `variable` ("NAME=value"): it does not look secret, or `pass_env`
// has its name.
bool reaches_workers(std::string_view variable, const std::vector<std::string>& pass_env);

}  // namespace plumbline
