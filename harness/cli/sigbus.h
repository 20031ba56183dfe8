// The end of a program whose mapped file was cut short.
#pragma once

namespace plumbline::cli {

// From now on SIGBUS, which another process causes that shortens a mapped file (a database, memory
// shared with a worker), ends this program with exit code 3 and a message that names the file.
void end_with_words_on_sigbus();

}  // namespace plumbline::cli
