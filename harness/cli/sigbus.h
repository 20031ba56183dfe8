// SIGBUS: the end of a program whose mapped file was cut short.
#pragma once

namespace plumbline::cli {

// Makes SIGBUS end this program with exit code 3 and a message that names the file. SIGBUS occurs
// if another process shortens a mapped file: a database, or memory shared with a worker.
void install_sigbus_handler();

}  // namespace plumbline::cli
