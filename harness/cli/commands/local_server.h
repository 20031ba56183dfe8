// A web server for this machine alone, on cpp-httplib: what it hears and how long it listens is
// bounded, and what is asked reaches one function only.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "harness/base/error.h"

namespace plumbline::cli {

// A request of the method GET or HEAD that named this server as its host.
struct LocalRequest {
  std::string path;  // as it was sent, without what follows "?"
  std::multimap<std::string, std::string> query;
};

struct LocalAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  std::map<std::string, std::string> headers = {};
  // Beside frame-ancestors, base-uri and form-action, which are 'none' in each.
  std::string policy = "default-src 'none'";
};

struct LocalTally {
  std::size_t answered = 0, refused = 0;  // refused: with a status of 400 or more
};

// Answers by `answer`, which threads call at once, until `stop` is set. 127.0.0.1:`port`, or a free
// port where that is 0; `ready` is told which. Every other method, other host, or request that is
// no HTTP is refused before `answer` sees it. Errors: the port cannot be had.
Result<LocalTally> serve_locally(int port,
                                 const std::function<LocalAnswer(const LocalRequest&)>& answer,
                                 const std::function<void(int port)>& ready,
                                 const std::atomic<bool>& stop);

}  // namespace plumbline::cli
