#include "bench/groups/barrier.h"

#include "bench/cluster/running_cluster.h"
#include "bench/report/latencies.h"
#include "bench/report/results_file.h"
#include "gcoord/client.h"
#include "gcoord/group.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {

namespace {

using std::chrono::steady_clock;

constexpr const char* kName = "bench/barrier";
// Not measured: leaders are found in them, and connections are made.
constexpr std::uint32_t kWarmRounds = 10;

Status of(const client::Status& status) {
  return status.ok() ? Status{} : Status{static_cast<StatusCode>(status.code()), status.message()};
}

// The members of one level. Sessions go before the clients that they belong to.
class Members {
 public:
  static Result<Members> open(const std::vector<std::string>& endpoints,
                              std::uint32_t members,
                              std::uint32_t clients) {
    Members all;
    for (std::uint32_t k = 0; k < clients; ++k) {
      auto client = client::Client::connect({.endpoints = endpoints});
      if (!client.ok()) {
        return of(client.status());
      }
      all.clients_.push_back(std::move(client).value());
    }
    for (std::uint32_t k = 0; k < members; ++k) {
      auto session = all.clients_[k % clients].open_session({.ttl = kStartTimeout, .on_event = {}});
      if (!session.ok()) {
        return of(session.status());
      }
      all.groups_.emplace_back(session.value(), kName);
      all.sessions_.push_back(std::move(session).value());
    }
    return all;
  }

  // One round, all members together.
  Result<std::chrono::nanoseconds> pass() {
    const client::BarrierOptions together{.size = static_cast<std::uint32_t>(groups_.size()),
                                          .timeout = std::chrono::seconds{30}};
    std::vector<client::Future<client::Status>> arrivals;
    arrivals.reserve(groups_.size());
    const auto begin = steady_clock::now();
    for (client::Group& group : groups_) {
      arrivals.push_back(group.barrier_async(together));
    }
    Status failed;
    for (client::Future<client::Status>& arrival : arrivals) {
      const client::Status passed = arrival.get();
      failed = passed.ok() ? failed : of(passed);
    }
    const auto took = steady_clock::now() - begin;
    GCOORD_TRY_STATUS(failed);
    return took;
  }

 private:
  std::vector<client::Client> clients_;
  std::vector<client::Session> sessions_;
  std::vector<client::Group> groups_;
};

Result<Json> measure(const BenchOptions& options,
                     const RunningCluster& cluster,
                     std::uint32_t clients) {
  GCOORD_TRY(auto members, Members::open(cluster.nodes().endpoints(), options.members, clients));
  for (std::uint32_t round = 0; round < kWarmRounds; ++round) {
    GCOORD_TRY_STATUS(members.pass().status());
  }
  Latencies rounds;
  const auto begin = steady_clock::now();
  while (rounds.count() == 0 || steady_clock::now() - begin < options.measured) {
    GCOORD_TRY(const auto took, members.pass());
    rounds.add(took);
  }
  std::fprintf(stderr,
               "  %u members, %u clients: %zu rounds, p50 %.2f ms, p99 %.2f ms\n",
               options.members,
               clients,
               rounds.count(),
               rounds.at_ms(0.5),
               rounds.at_ms(0.99));
  return Json{{"clients", clients},
              {"rounds", rounds.count()},
              {"p50_ms", rounded(rounds.at_ms(0.5))},
              {"p99_ms", rounded(rounds.at_ms(0.99))},
              {"max_ms", rounded(rounds.at_ms(1))}};
}

}  // namespace

BenchResult bench_barrier(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  Json levels = Json::array();
  for (const std::uint32_t clients : {1u, options.members}) {
    GCOORD_TRY(Json level, measure(options, *cluster, clients));
    levels.push_back(std::move(level));
  }
  const double p50 = number_of(levels.back()["p50_ms"]).value();
  const double p99 = number_of(levels.back()["p99_ms"]).value();
  return Json{{"members", options.members},
              {"seconds", std::chrono::duration<double>(options.measured).count()},
              {"shards", options.shards},
              {"levels", std::move(levels)},
              {"p50_ms", p50},
              {"p99_ms", p99}};
}

}  // namespace gcoord::bench
