// gcoordctl bench lock: lock and unlock as fast as the cluster answers, and what that was.
#include "cli/load/lock_load.h"
#include "cli/terminal/command.h"
#include "cli/terminal/signal_closes.h"
#include "protocol/error_codes.h"

#include <csignal>
#include <memory>

namespace gcoord::cli {

namespace {

struct BenchOptions {
  std::uint32_t clients = 16;
  std::uint32_t pipeline = 1;
  std::string seconds = "5";
  std::string names = "distinct";
  std::string ttl = "10s";
  std::string history;
};

double ms(std::uint32_t us) {
  return us / 1000.0;
}

Json results_json(const BenchOptions& options, const LockLoadResults& results) {
  const double rate =
      results.seconds > 0 ? static_cast<double>(results.pairs) / results.seconds : 0;
  return {{"clients", options.clients},
          {"pipeline", options.pipeline},
          {"names", options.names},
          {"seconds", rounded(results.seconds)},
          {"pairs", std::to_string(results.pairs)},
          {"pairs_per_s", rounded(rate)},
          {"acquire_p50_ms", ms(percentile(results.acquire_us, 50))},
          {"acquire_p99_ms", ms(percentile(results.acquire_us, 99))},
          {"acquire_max_ms", ms(percentile(results.acquire_us, 100))},
          {"release_p50_ms", ms(percentile(results.release_us, 50))},
          {"release_p99_ms", ms(percentile(results.release_us, 99))},
          {"errors", std::to_string(results.errors)},
          {"first_error", results.first_error}};
}

// A script that measures must notice that some requests failed: their times are not in the figures.
protocol::ExitCode exit_code_of(const LockLoadResults& results) {
  if (results.pairs == 0) {
    return protocol::ExitCode::Unavailable;
  }
  return results.errors == 0 ? protocol::ExitCode::Ok : protocol::ExitCode::Negative;
}

int bench_lock(Context& context, const BenchOptions& options) {
  // A number is seconds, as the option's name says.
  const bool number = options.seconds.find_first_not_of("0123456789.") == std::string::npos;
  const auto length = context.duration("--seconds", options.seconds + (number ? "s" : ""));
  const auto ttl = context.duration("--ttl", options.ttl);
  if (!length.has_value() || !ttl.has_value()) {
    return context.exit_code();
  }
  std::unique_ptr<History> history;
  if (!options.history.empty()) {
    auto opened = History::open(options.history);
    if (!opened.ok()) {
      return context.fail(opened.status());
    }
    history = std::move(opened).value();
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};  // Before any thread starts.
  auto client = context.connect_to_all();
  if (!client.has_value()) {
    return context.exit_code();
  }
  LockLoadOptions load_options;
  load_options.clients = options.clients;
  load_options.pipeline = options.pipeline;
  load_options.shared_name = options.names == "shared";
  load_options.ttl = *ttl;
  LockLoad load(load_options, history.get());
  const SignalCloses interrupted{signals, [&load] { load.stop(); }};
  if (const client::Status opened = load.open(*client); !opened.ok()) {
    return context.fail(*client, opened);
  }
  const LockLoadResults results = load.run(*length);
  load.close();
  context.output().print_facts(results_json(options, results));
  return interrupted.signal() != 0 ? 128 + interrupted.signal()
                                   : static_cast<int>(exit_code_of(results));
}

}  // namespace

void add_bench_commands(Command& app, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  Command* bench =
      app.add_subcommand("bench", "measure the cluster's performance")->require_subcommand(1);
  Command* lock =
      bench->add_subcommand("lock", "lock and unlock in a closed loop; exit 1 if a request failed");
  lock->add_option("--clients", options->clients, "number of sessions (default 16)")
      ->in_range(1, 100'000)
      ->type_name("N");
  lock->add_option(
          "--pipeline", options->pipeline, "lock requests in flight per session (default 1)")
      ->in_range(1, 1'000)
      ->type_name("P");
  lock->add_option(
          "--seconds", options->seconds, "duration of the measurement in seconds (default 5)")
      ->type_name("S");
  lock->add_option("--names",
                   options->names,
                   "lock names of the sessions: distinct or shared (default distinct)")
      ->one_of({"distinct", "shared"});
  lock->add_option("--ttl", options->ttl, "TTL of the sessions (default 10s)")->type_name("TIME");
  lock->add_option(
          "--history", options->history, "write every operation to this file as a line of JSON")
      ->type_name("FILE");
  lock->callback([&context, options] {
    context.choose([options](Context& chosen) { return bench_lock(chosen, *options); });
  });
  add_bench_queue_command(*bench, context);
}

}  // namespace gcoord::cli
