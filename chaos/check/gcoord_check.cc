// gcoord-check: judges what clients were told and what nodes decided, from files alone.
//
// stdout has the verdicts; with --json its last line is all of them as one object. Exit codes: 0
// everything that could be judged is right, 1 something is not, or is undecided, 2 usage.
#include "chaos/check/checks.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

const std::map<std::string, ModelKind> kModels = {{"lock", ModelKind::Lock},
                                                  {"lease", ModelKind::Lease},
                                                  {"register", ModelKind::Register},
                                                  {"counter", ModelKind::Counter},
                                                  {"guarded", ModelKind::Guarded}};

struct Arguments {
  std::vector<std::string> histories;
  std::vector<std::string> traces;
  std::string model;
  double seconds = 60;
  std::uint64_t memory_mib = 2048;
  bool json = false;
};

int refuse(const Status& status) {
  std::fprintf(stderr, "gcoord-check: %s\n", status.to_string().c_str());
  return 2;
}

int judge(const Arguments& arguments) {
  History history;
  for (const std::string& file : arguments.histories) {
    if (const Status read = read_history(file, history); !read.ok()) {
      return refuse(read);
    }
  }
  Trace trace;
  for (const std::string& file : arguments.traces) {
    if (const Status read = read_trace(file, trace); !read.ok()) {
      return refuse(read);
    }
  }
  LinearOptions options;
  options.model = arguments.model.empty() ? ModelKind::ByOperations : kModels.at(arguments.model);
  options.bounds.time_max =
      std::chrono::milliseconds{static_cast<long long>(arguments.seconds * 1000)};
  options.bounds.memory_bytes_max = arguments.memory_mib << 20;
  const CheckSummary summary = check_run(history, trace, options);
  std::fputs(to_text(summary).c_str(), stdout);
  if (arguments.json) {
    std::printf("%s\n", to_json(summary).dump().c_str());
  }
  return summary.verdict == Verdict::Ok ? 0 : 1;
}

int main_of(int argc, char** argv) {
  CLI::App app{
      "check histories of clients and traces of nodes (invariants of docs/internals/testing.md)",
      "gcoord-check"};
  Arguments arguments;
  std::vector<std::string> models;
  for (const auto& [name, kind] : kModels) {
    models.push_back(name);
  }
  app.add_option(
         "HISTORY", arguments.histories, "files written by `--history`; they are checked together")
      ->type_name("FILE");
  app.add_option("--trace",
                 arguments.traces,
                 "files written by `gcoordd --trace`, one for each start of a node")
      ->type_name("FILE");
  app.add_option(
         "--model", arguments.model, "model of every key (default: derived from its operations)")
      ->check(CLI::IsMember(models));
  app.add_option("--seconds", arguments.seconds, "time limit of the search (default 60)")
      ->check(CLI::Range(0.1, 86'400.0));
  app.add_option("--memory-mib", arguments.memory_mib, "memory limit of the search (default 2048)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--json", arguments.json, "print the result as one JSON object on the last line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (arguments.histories.empty() && arguments.traces.empty()) {
    return refuse({StatusCode::InvalidArgument, "give a HISTORY or a --trace; see --help"});
  }
  return judge(arguments);
}

}  // namespace
}  // namespace gcoord::chaos

int main(int argc, char** argv) {
  return gcoord::chaos::main_of(argc, argv);
}
