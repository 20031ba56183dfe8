// Which variables of plumbline's environment reach the kernels that it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Whether a variable of this name may hold what only its job should know: it contains TOKEN, SECRET
// or PASSWORD, in any case of letters, or begins with ACTIONS_, as what a runner of GitHub gives
// to actions does.
bool looks_like_secret(std::string_view name);

// Whether workers get `variable` ("NAME=value"): it looks like no secret, or `pass_env` has it.
bool reaches_workers(std::string_view variable, const std::vector<std::string>& pass_env);

}  // namespace plumbline
