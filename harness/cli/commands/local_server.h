// A web server for this machine only, on cpp-httplib. Requests are limited in size and time, and
// all valid ones reach a single function.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "harness/base/error.h"

namespace plumbline::cli {

// A GET or HEAD request that names this server as its host.
struct LocalRequest {
  std::string path;  // as sent, without "?" and the query
  std::multimap<std::string, std::string> query;
};

struct LocalAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  std::map<std::string, std::string> headers = {};
  // The Content-Security-Policy. frame-ancestors, base-uri and form-action are always 'none'.
  std::string policy = "default-src 'none'";
};

struct RequestCounts {
  std::size_t answered = 0, refused = 0;  // refused: status 400 or more
};

// Serves 127.0.0.1:`port` until `stop` is set; port 0 takes a free one. `ready` receives the port.
// Threads call `answer` concurrently. A request with another method or host, or that is not HTTP,
// is refused before it reaches `answer`. Errors: the port is not available.
Result<RequestCounts> serve_locally(int port,
                                    const std::function<LocalAnswer(const LocalRequest&)>& answer,
                                    const std::function<void(int port)>& ready,
                                    const std::atomic<bool>& stop);

}  // namespace plumbline::cli
