// gcoordctl bench queue: what a hand-over of one lock costs, by the length of its queue.
#include "cli/load/closed_load.h"
#include "cli/load/queue_load.h"
#include "cli/terminal/command.h"
#include "cli/terminal/signal_closes.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <numeric>

namespace gcoord::cli {

namespace {

struct QueueFlags {
  std::uint32_t waiters = 1000;
  std::uint32_t handovers = 1000;
  std::string name = "bench/queue";
};

Json queue_json(const QueueFlags& flags, const QueueLoadResults& results) {
  const std::vector<std::uint32_t>& us = results.handover_us;
  const double sum = std::accumulate(us.begin(), us.end(), 0.0);
  return {{"waiters", flags.waiters},
          {"enqueue_s", rounded(results.enqueue_seconds)},
          {"releases", std::to_string(results.releases)},
          {"grants", std::to_string(results.grants)},
          {"order_known", results.order_known},
          {"out_of_order", std::to_string(results.out_of_order)},
          {"waiters_left", std::to_string(results.waiters_left)},
          {"handover_mean_us", rounded(sum / static_cast<double>(us.size()))},
          {"handover_p50_us", percentile(us, 50)},
          {"handover_p99_us", percentile(us, 99)},
          {"handover_max_us", percentile(us, 100)}};
}

int bench_queue(Context& context, const QueueFlags& flags) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};  // Before any thread starts.
  auto client = context.connect_to_all();
  if (!client.has_value()) {
    return context.exit_code();
  }
  QueueLoad load(*client,
                 {.name = flags.name,
                  .waiters = flags.waiters,
                  .handovers = std::min(flags.handovers, flags.waiters)});
  const SignalCloses interrupted{signals, [&load] { load.stop(); }};
  const client::Status queued = load.queue_up();
  const auto results = queued.ok() ? load.hand_on() : client::Result<QueueLoadResults>{queued};
  if (interrupted.signal() != 0) {
    load.close();
    return 128 + interrupted.signal();
  }
  if (!results.ok()) {
    return context.fail(*client, results.status());
  }
  context.output().print_facts(queue_json(flags, results.value()));
  return static_cast<int>(results.value().exact(flags.waiters) ? protocol::ExitCode::Ok
                                                               : protocol::ExitCode::Negative);
}

}  // namespace

void add_bench_queue_command(Command& bench, Context& context) {
  auto flags = std::make_shared<QueueFlags>();
  Command* queue = bench.add_subcommand(
      "queue", "pass one lock along a queue; exit 1 unless each release woke only the next waiter");
  queue->add_option("--waiters", flags->waiters, "length of the queue (default 1000)")
      ->in_range(1, 1'000'000)
      ->type_name("N");
  queue->add_option("--handovers", flags->handovers, "number of hand-overs (default 1000)")
      ->in_range(1, 1'000'000)
      ->type_name("K");
  queue->add_option("--name", flags->name, "name of the lock (default bench/queue)");
  queue->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return bench_queue(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
