// plumbline serve: serves the page of a live database to programs on this machine.
#include <fmt/format.h>

#include <cstdio>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/live_page.h"
#include "harness/cli/commands/local_server.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

// A port without a service in /etc/services.
constexpr int default_port = 7586;
constexpr const char* json_type = "application/json";

struct ServeOptions {
  DatabaseOption database;
  std::string run, format = "text";
  int port = default_port;
};

LocalAnswer plain(int status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

LocalAnswer report_answer(LivePage& page) {
  auto moment = page.now();
  if (!moment) return plain(500, to_string(moment.error()));
  return {.type = json_type,
          .body = std::move(moment->json),
          .headers = {{"Plumbline-Report", moment->id}}};
}

// Accepts row=N and optionally report=ID, the report that the page shows; each only once.
LocalAnswer case_answer(LivePage& page, const std::multimap<std::string, std::string>& query) {
  const auto only = [&](const std::string& name) -> std::optional<std::string> {
    if (query.count(name) != 1) return std::nullopt;
    return query.find(name)->second;
  };
  const auto row_text = only("row");
  const auto row = row_text ? parse_unsigned(*row_text) : std::nullopt;
  const std::string id = only("report").value_or("");
  if (!row || query.size() != 1 + query.count("report") || query.count("report") > 1)
    return plain(400, "Request /api/case?row=N; N = 0, 1, … is a row of the report's cases.");
  auto found = page.detail(id, *row);
  if (!found) return plain(500, to_string(found.error()));
  switch (found->lack) {
    case LivePage::Lack::row:
      return plain(404, "The report has no such row.");
    case LivePage::Lack::moment:
      return plain(409, "The database has changed since that report: load the page again.");
    case LivePage::Lack::none:
      break;
  }
  return {.type = json_type, .body = std::move(found->json)};
}

LocalAnswer answer(const std::string& page_template, LivePage& page, const LocalRequest& request) {
  // Sends no script policy: the page has its own, which allows its only script by hash.
  if (request.path == "/" && request.query.empty())
    return {.type = "text/html; charset=utf-8", .body = page_template, .policy = ""};
  if (request.path == "/api/report" && request.query.empty()) return report_answer(page);
  if (request.path == "/api/case") return case_answer(page, request.query);
  return plain(404, "There is /, /api/report and /api/case?row=N.");
}

int serve(const ServeOptions& options) {
  {
    const auto store = need(options.database.open(true));
    const auto subject = need(page_subject(*store, options.run), exit_usage);
  }
  const auto page_template = read_template();
  LivePage page(options.database, options.run);
  const auto first = need(page.now());
  const bool is_json = options.format == "json";
  const std::atomic<bool>& stop = stop_on_signals();
  std::string url;
  const auto tally = serve_locally(
      options.port,
      [&](const LocalRequest& request) { return answer(page_template, page, request); },
      [&](int port) {
        url = fmt::format("http://127.0.0.1:{}/", port);
        std::FILE* const to = is_json ? stderr : stdout;
        fmt::print(to, "{}\n", url);
        if (!is_json)
          fmt::print(to, "{}, {} outcomes of {}; Ctrl-C ends it\n", first.label, first.outcomes,
                     options.database.path.string());
        std::fflush(to);
      },
      stop);
  if (!tally) return report_errors(tally.error(), exit_infrastructure);
  if (is_json)
    print_json(json_text({{"url", url},
                          {"of", first.label},
                          {"answered", tally->answered},
                          {"refused", tally->refused}}));
  return exit_fine;
}

}  // namespace

void add_serve(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, serve, "serve",
               "Show the page of `report` over a database that is being written");
  command.add_option("run", options.run,
                     "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, "
                     "night:ID; commit:SHA. Default: newest night; without nights, newest run. "
                     "Reloading the page shows a newer one");
  command.add_option("--port", options.port, "N", "Port of 127.0.0.1; 0 takes any that is free")
      .check(from_to(0, 65535))
      .capture_default_str();
  options.database.add_to(command);
  add_format(command, options.format, {"text", "json"},
             "json: the address goes to stderr at once, and the envelope to stdout at the end");
  command.footer(
      "Only programs of this machine reach the server, and it only reads the database.\n"
      "It prints its address when it is ready; Ctrl-C ends it. For a database on HOST:\n"
      "  ssh -L 7586:localhost:7586 HOST plumbline serve\n"
      "Examples:\n"
      "  plumbline serve\n"
      "  plumbline serve latest --db history.db\n"
      "  plumbline serve --port 0");
}

}  // namespace plumbline::cli
