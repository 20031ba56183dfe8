// cpp-httplib parses the head of a request and writes the response. No body is read, and the
// library's handlers for files, forms and patterns are not used.
#include "harness/cli/commands/local_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

namespace plumbline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_bytes = 32 * 1024;  // per request; the library limits only parts
constexpr std::chrono::seconds request_timeout{3}, response_timeout{60}, drain_timeout{1};
// A silent connection occupies a thread for `request_timeout`.
constexpr std::size_t threads = 64;
constexpr int poll_ms = 100;

// A connection whose whole request must arrive within `request_timeout`. The library's own timeouts
// start again with each byte.
class BoundedStream : public httplib::Stream {
 public:
  BoundedStream(socket_t socket, const std::atomic<bool>& stop)
      : socket_(socket), stop_(stop), ask_until_(Clock::now() + request_timeout) {}

  bool is_readable() const override { return at_ < end_ || wait(POLLIN, ask_until_); }
  bool is_writable() const override { return wait(POLLOUT, answer_until()); }

  ssize_t read(char* to, std::size_t size) override {
    if (at_ == end_) {
      if (received_ >= max_bytes || !wait(POLLIN, ask_until_)) return -1;
      const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (got <= 0) return got;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
      received_ += end_;
      // The library ends a line at a NUL, so it would read only half of "127.0.0.1\0.evil".
      if (std::find(buffer_.begin(), buffer_.begin() + got, '\0') != buffer_.begin() + got)
        return -1;
    }
    const std::size_t taken = std::min(size, end_ - at_);
    std::copy_n(buffer_.data() + at_, taken, to);
    at_ += taken;
    return static_cast<ssize_t>(taken);
  }

  // Sends everything, because the library takes a partial write for a failure.
  ssize_t write(const char* from, std::size_t size) override {
    const auto until = answer_until();
    std::size_t sent = 0;
    while (sent < size) {
      if (!wait(POLLOUT, until)) return -1;
      const ssize_t some = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (some < 0 && errno != EAGAIN && errno != EINTR) return -1;
      if (some > 0) sent += static_cast<std::size_t>(some);
    }
    return static_cast<ssize_t>(size);
  }

  // Reads and drops the rest of the request. Closing a socket with unread bytes resets the
  // connection, and the client would lose the response.
  void leave() {
    ::shutdown(socket_, SHUT_WR);
    const auto until = Clock::now() + drain_timeout;
    for (std::size_t bytes = 0; bytes < 1024 * max_bytes && wait(POLLIN, until);) {
      const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (got <= 0) break;
      bytes += static_cast<std::size_t>(got);
    }
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = "", port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "", port = 0; }
  socket_t socket() const override { return socket_; }

 private:
  // The time runs from the first byte of the response.
  Clock::time_point answer_until() const {
    if (answer_until_ == Clock::time_point{}) answer_until_ = Clock::now() + response_timeout;
    return answer_until_;
  }
  bool wait(short events, Clock::time_point until) const {
    while (!stop_ && Clock::now() < until) {
      pollfd one{socket_, events, 0};
      const int found = ::poll(&one, 1, poll_ms);
      if (found > 0) return true;
      if (found < 0 && errno != EINTR) return false;
    }
    return false;
  }

  socket_t socket_;
  const std::atomic<bool>& stop_;
  Clock::time_point ask_until_;
  mutable Clock::time_point answer_until_;
  std::array<char, 4096> buffer_{};
  std::size_t at_ = 0, end_ = 0, received_ = 0;
};

class BoundedServer : public httplib::Server {
 public:
  explicit BoundedServer(const std::atomic<bool>& stop) : stop_(stop) {}

 private:
  // One request per connection, so that no byte of a request is read as part of the next one.
  bool process_and_close_socket(socket_t socket) override {
    BoundedStream stream(socket, stop_);
    bool closed = false;
    const bool done = process_request(stream, true, closed, [](httplib::Request& request) {
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");  // local, so not compressed
      request.headers.erase("Expect");           // bodies are not read
    });
    stream.leave();
    ::close(socket);
    return done;
  }

  const std::atomic<bool>& stop_;
};

LocalAnswer refusal(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

// Returns the refusal of a request, if any. A foreign host name that leads here is refused, because
// pages of that host could read this server (DNS rebinding).
std::optional<LocalAnswer> refuse(const httplib::Request& request, int port) {
  if (request.get_header_value_count("Host") != 1)
    return refusal(400, "A request must have exactly one Host header.");
  const std::string host = request.get_header_value("Host");
  const auto is = [&](const char* name) {
    return host == fmt::format("{}:{}", name, port) || (port == 80 && host == name);
  };
  if (!is("127.0.0.1") && !is("localhost") && !is("[::1]"))
    return refusal(421, fmt::format("Use http://127.0.0.1:{}/, not another host.", port));
  if (request.method != "GET" && request.method != "HEAD") {
    auto answer = refusal(405, "This server only reads: GET and HEAD.");
    answer.headers["Allow"] = "GET, HEAD";
    return answer;
  }
  // No path here needs a percent sign, and the library takes %u0031 for a digit.
  if (request.target.find('%') != std::string::npos)
    return refusal(404, "Nothing here has a name with a percent sign.");
  return std::nullopt;
}

void write(LocalAnswer answer, httplib::Response& response) {
  response.status = answer.status;
  response.headers.erase("Content-Security-Policy");
  response.set_header("Content-Security-Policy",
                      answer.policy + (answer.policy.empty() ? "" : "; ") +
                          "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.set_content(answer.body, answer.type);
}

}  // namespace

Result<RequestCounts> serve_locally(int port,
                                    const std::function<LocalAnswer(const LocalRequest&)>& answer,
                                    const std::function<void(int)>& ready,
                                    const std::atomic<bool>& stop) {
  BoundedServer server(stop);
  std::atomic<std::size_t> answered{0}, refused{0};
  int bound = port;
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
  // The library's default, SO_REUSEPORT, would let two servers share a port unnoticed.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cache-Control", "no-store"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"}});
  // Runs for every path, before the library reads a body.
  server.set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
    auto refusing = refuse(request, bound);
    write(refusing ? std::move(*refusing)
                   : answer({request.target.substr(0, request.target.find('?')), request.params}),
          response);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        write(refusal(500, "plumbline: internal error"), response);
      });
  const httplib::Server::HandlerWithResponse explain = [](const httplib::Request&,
                                                          httplib::Response& response) {
    if (response.body.empty())
      write(refusal(response.status, "plumbline serve cannot read this request."), response);
    return httplib::Server::HandlerResponse::Handled;
  };
  server.set_error_handler(explain);
  server.set_logger([&](const httplib::Request&, const httplib::Response& response) {
    ++(response.status < 400 ? answered : refused);
  });

  const char* const here = "127.0.0.1";
  if (port == 0) {
    bound = server.bind_to_any_port(here);
  } else if (!server.bind_to_port(here, port)) {
    bound = -1;
  }
  if (bound <= 0) {
    return fail(fmt::format("port {} of 127.0.0.1 cannot be used: {}", port, std::strerror(errno)),
                "choose another port with --port; --port 0 takes any free port");
  }
  std::atomic<bool> ended{false};
  std::thread listening([&] {
    server.listen_after_bind();
    ended = true;
  });
  ready(bound);
  while (!stop && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(poll_ms));
  // Repeated, because stop() has no effect before the server listens.
  while (!ended) {
    server.stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  listening.join();
  if (!stop)
    return fail("the server stopped listening", "start it again; `ulimit -n` bounds its sockets");
  return RequestCounts{answered, refused};
}

}  // namespace plumbline::cli
