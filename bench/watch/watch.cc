#include "bench/watch/watch.h"

#include "bench/cluster/running_cluster.h"
#include "bench/load/others.h"
#include "bench/report/metrics_scrape.h"
#include "bench/report/results_file.h"
#include "bench/watch/watch_audience.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>

namespace gcoord::bench {

namespace {

using std::chrono::steady_clock;

constexpr std::array<std::uint32_t, 5> kLevels = {1, 1'000, 10'000, 100'000, 1'000'000};
constexpr std::uint32_t kWatchesOfConnection = 1'000;
constexpr const char* kName = "bench/watched";

// Resident memory of a process, in bytes.
std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Status of(const client::Status& status) {
  return status.ok() ? Status{} : Status{static_cast<StatusCode>(status.code()), status.message()};
}

// Takes the name or gives it back, in turns.
class Changer {
 public:
  explicit Changer(client::Session& session) : session_(session) {}

  Status change() {
    if (lock_) {
      const auto released = lock_->release();
      lock_.reset();
      return of(released);
    }
    auto lock = session_.acquire(kName);
    if (lock.ok()) {
      lock_ = std::move(lock).value();
    }
    return of(lock.status());
  }

 private:
  client::Session& session_;
  std::optional<client::Lock> lock_;
};

struct Level {
  Latencies commit;
  Latencies told;
  std::uint64_t changes = 0;
  double seconds = 0;
};

Result<Level> run(WatchAudience& audience, Changer& changer, std::chrono::milliseconds measured) {
  Level level;
  const auto begin = steady_clock::now();
  while (level.changes == 0 || steady_clock::now() - begin < measured) {
    const auto asked_at = steady_clock::now();
    audience.expect(asked_at);
    GCOORD_TRY_STATUS(changer.change());
    level.commit.add(steady_clock::now() - asked_at);
    if (!audience.await()) {
      return Status{StatusCode::Unavailable, "a watch was not told, or has ended"};
    }
    ++level.changes;
  }
  level.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
  level.told = audience.told();
  return level;
}

// What other clients of the cluster feel of the changes, beside the same without them.
Result<Json> measure_others(RunningCluster& cluster, WatchAudience& audience, Changer& changer) {
  constexpr std::chrono::milliseconds kLength{3000};
  const auto endpoints = cluster.nodes().endpoints();
  GCOORD_TRY(Json before, run_others(endpoints, kLength, "before"));
  auto beside = std::async(std::launch::async, [&endpoints, kLength] {
    return run_others(endpoints, kLength, "during");
  });
  const auto changed = run(audience, changer, kLength);
  auto during = beside.get();
  GCOORD_TRY_STATUS(changed.status());
  GCOORD_TRY_STATUS(during.status());
  const double ratio = others_ratio(before, during.value());
  return Json{{"before", std::move(before)},
              {"during", std::move(during).value()},
              {"changes_during", changed.value().changes},
              {"p99_ratio", rounded(ratio)}};
}

// Until the node has let go of the watches of a level before, whose connections are closed.
Status await_none(RunningCluster& cluster) {
  const auto until = steady_clock::now() + kStartTimeout;
  while (steady_clock::now() < until) {
    GCOORD_TRY(const auto metrics, scrape_metrics(cluster.nodes().metrics_port(1)));
    const auto found = metrics.find("gcoord_server_watches");
    if (found == metrics.end() || found->second == 0) {
      return Status{};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return Status{StatusCode::DeadlineExceeded, "a node keeps watches whose connections are closed"};
}

Result<Json> measure(const BenchOptions& options,
                     RunningCluster& cluster,
                     Changer& changer,
                     std::uint32_t watches) {
  GCOORD_TRY_STATUS(await_none(cluster));
  const pid_t node = cluster.nodes().pid(1);
  const std::uint32_t connections = std::max(1u, watches / kWatchesOfConnection);
  const std::uint64_t before = resident_bytes(node);
  GCOORD_TRY(const auto audience,
             WatchAudience::open({.address = cluster.nodes().endpoints().front(),
                                  .name = kName,
                                  .connections = connections,
                                  .watches = watches}));
  GCOORD_TRY(const Level level, run(*audience, changer, options.measured));
  const std::uint64_t after = resident_bytes(node);
  GCOORD_TRY(Json others, measure_others(cluster, *audience, changer));
  const double bytes = after > before ? static_cast<double>(after - before) : 0.0;
  const double events = static_cast<double>(level.changes) * watches;
  std::fprintf(stderr,
               "  %u watches: told p50 %.2f ms, p99 %.2f ms (commit p50 %.2f ms), %.0f events/s\n",
               watches,
               level.told.at_ms(0.5),
               level.told.at_ms(0.99),
               level.commit.at_ms(0.5),
               events / level.seconds);
  return Json{{"watches", watches},
              {"connections", connections},
              {"changes", level.changes},
              {"others", std::move(others)},
              {"commit_p50_ms", rounded(level.commit.at_ms(0.5))},
              {"commit_p99_ms", rounded(level.commit.at_ms(0.99))},
              {"told_p50_ms", rounded(level.told.at_ms(0.5))},
              {"told_p99_ms", rounded(level.told.at_ms(0.99))},
              {"events_per_s", rounded(events / level.seconds)},
              {"memory_bytes_per_watch", rounded(bytes / watches)}};
}

}  // namespace

BenchResult bench_watch(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  auto session = cluster->watcher().open_session({.ttl = kStartTimeout, .on_event = {}});
  if (!session.ok()) {
    return of(session.status());
  }
  Changer changer(session.value());
  Json levels = Json::array();
  for (const std::uint32_t watches : kLevels) {
    if (watches > options.watches) {
      break;
    }
    GCOORD_TRY(Json level, measure(options, *cluster, changer, watches));
    levels.push_back(std::move(level));
  }
  const double p50 = number_of(levels.back()["told_p50_ms"]).value();
  const double p99 = number_of(levels.back()["told_p99_ms"]).value();
  return Json{{"seconds", std::chrono::duration<double>(options.measured).count()},
              {"shards", options.shards},
              {"node_cores", options.node_cores},
              {"levels", std::move(levels)},
              {"told_p50_ms", p50},
              {"told_p99_ms", p99}};
}

}  // namespace gcoord::bench
