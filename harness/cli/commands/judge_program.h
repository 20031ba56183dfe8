// The command of the package plumbline-attention: `plumbline` without kernels.
#pragma once

namespace plumbline::cli {

// Runs `plumbline check`, and `plumbline diff` for two dumps, with the options, texts and exit
// codes of the whole program. For any other command, the error names the package that has it.
int run_judge(int argc, const char* const* argv);

}  // namespace plumbline::cli
