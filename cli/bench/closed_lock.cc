#include "cli/bench/closed_lock.h"

#include "cli/bench/node_cost.h"
#include "cli/load/batch_load.h"
#include "cli/load/closed_load.h"
#include "cli/load/lock_load.h"
#include "cli/terminal/signal_closes.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <csignal>
#include <memory>

namespace gcoord::cli {

namespace {

double ms(std::uint32_t us) {
  return us / 1000.0;
}

Json results_json(const ClosedLockFlags& flags, const LockLoadResults& results, const Json& cost) {
  const double rate =
      results.seconds > 0 ? static_cast<double>(results.pairs) / results.seconds : 0;
  return {{"clients", flags.clients},
          {"pipeline", flags.pipeline},
          {"batch", std::max(flags.batch, 1u)},
          {"names", flags.shared_name ? "shared" : "distinct"},
          {"seconds", rounded(results.seconds)},
          {"pairs", std::to_string(results.pairs)},
          {"pairs_per_s", rounded(rate)},
          {"acquire_p50_ms", ms(percentile(results.acquire_us, 50))},
          {"acquire_p99_ms", ms(percentile(results.acquire_us, 99))},
          {"acquire_max_ms", ms(percentile(results.acquire_us, 100))},
          {"release_p50_ms", ms(percentile(results.release_us, 50))},
          {"release_p99_ms", ms(percentile(results.release_us, 99))},
          {"errors", std::to_string(results.errors)},
          {"first_error", results.first_error},
          {"node_cost", cost}};
}

// A script that measures must notice that some requests failed: their times are not in the figures.
protocol::ExitCode exit_code_of(const LockLoadResults& results) {
  if (results.pairs == 0) {
    return protocol::ExitCode::Unavailable;
  }
  return results.errors == 0 ? protocol::ExitCode::Ok : protocol::ExitCode::Negative;
}

// Runs the load and prints its results.
int run_load(Context& context, const ClosedLockFlags& flags, ClosedLoad& load) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};  // Before any thread starts.
  auto client = context.connect_to_all();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const SignalCloses interrupted{signals, [&load] { load.stop(); }};
  if (const client::Status opened = load.open(*client); !opened.ok()) {
    return context.fail(*client, opened);
  }
  NodeCostMeter meter(*client);
  const LockLoadResults results = load.run(flags.length);
  const Json cost = meter.cost(results.pairs);
  load.close();
  context.output().print_facts(results_json(flags, results, cost));
  return interrupted.signal() != 0 ? 128 + interrupted.signal()
                                   : static_cast<int>(exit_code_of(results));
}

}  // namespace

int bench_closed_lock(Context& context, const ClosedLockFlags& flags) {
  if (flags.batch != 0) {
    BatchLoad load({.clients = flags.clients, .batch = flags.batch, .ttl = flags.ttl});
    return run_load(context, flags, load);
  }
  std::unique_ptr<History> history;
  if (!flags.history.empty()) {
    auto opened = History::open(flags.history);
    if (!opened.ok()) {
      return context.fail(opened.status());
    }
    history = std::move(opened).value();
  }
  LockLoadOptions load_options;
  load_options.clients = flags.clients;
  load_options.pipeline = flags.pipeline;
  load_options.shared_name = flags.shared_name;
  load_options.ttl = flags.ttl;
  LockLoad load(load_options, history.get());
  return run_load(context, flags, load);
}

}  // namespace gcoord::cli
