// The command of the package plumbline-attention: `plumbline` without kernels.
#pragma once

namespace plumbline::cli {

// `plumbline check`, and `plumbline diff` of two dumps, with the options, texts and exit codes of
// the whole program. Any other command is answered with the package that has it.
int run_judge(int argc, const char* const* argv);

}  // namespace plumbline::cli
