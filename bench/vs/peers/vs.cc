#include "bench/vs/peers/vs.h"

#include "bench/cluster/core_set.h"
#include "bench/report/busy_share.h"
#include "bench/report/results_file.h"
#include "bench/vs/comparison.h"
#include "bench/vs/peers/etcd_peer.h"
#include "bench/vs/peers/gcoord_peer.h"
#include "bench/vs/peers/redis_peer.h"
#include "bench/vs/peers/zookeeper_peer.h"

#include <algorithm>
#include <sstream>

namespace gcoord::bench {

namespace {

// A brief look: enough to see that everything runs, too short for figures that anybody quotes.
constexpr std::chrono::milliseconds kQuickMeasured{1000};
constexpr std::chrono::milliseconds kQuickTried{400};
constexpr std::chrono::milliseconds kQuickWarmUp{300};
constexpr std::chrono::milliseconds kQuickSettled{1000};

// How long nothing of ours runs, before and after, to see whether others keep the machine busy.
constexpr std::chrono::milliseconds kAlone{2000};

std::vector<std::unique_ptr<Peer>> all_peers(const BenchOptions& options) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(make_gcoord_peer(options));
  peers.push_back(make_etcd_peer("3.4", "etcd"));
  peers.push_back(make_etcd_peer("3.5", options.etcd35));
  peers.push_back(make_zookeeper_peer());
  peers.push_back(make_redis_peer("always"));
  peers.push_back(make_redis_peer("everysec"));
  return peers;
}

// Those that were named, in the order of the table; InvalidArgument for a name that nobody has.
Result<std::vector<std::unique_ptr<Peer>>> named_peers(const BenchOptions& options) {
  auto peers = all_peers(options);
  if (options.peers == "all") {
    return peers;
  }
  std::vector<std::unique_ptr<Peer>> named;
  std::istringstream names{options.peers};
  std::string known;
  for (const auto& peer : peers) {
    known += " " + peer->name();
  }
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::find_if(peers.begin(), peers.end(), [&name](const auto& peer) {
      return peer && peer->name() == name;
    });
    if (found == peers.end()) {
      return Status{StatusCode::InvalidArgument, "no peer is " + name + "; there are:" + known};
    }
    named.push_back(std::move(*found));
  }
  return named;
}

ComparisonOptions comparison_options(const BenchOptions& options) {
  ComparisonOptions comparison{.directory = options.directory,
                               .rounds = options.runs,
                               .clients = options.clients,
                               .measured = options.measured};
  if (options.quick) {
    comparison.rounds = 1;
    comparison.settled = kQuickSettled;
    comparison.warm_up = kQuickWarmUp;
    comparison.measured = kQuickMeasured;
    comparison.tried = kQuickTried;
  }
  return comparison;
}

}  // namespace

BenchResult bench_vs(const BenchOptions& options) {
  GCOORD_TRY(const OnCores there, OnCores::of(options.node_cores));
  GCOORD_TRY(const auto peers, named_peers(options));
  const double busy_before = busy_share_over(kAlone);
  GCOORD_TRY(Json compared, compare(peers, comparison_options(options)));
  Json result{{"quick", options.quick},
              {"busy_before", rounded(busy_before)},
              {"busy_after", rounded(busy_share_over(kAlone))},
              {"cores", options.node_cores.empty() ? "all" : options.node_cores},
              {"method",
               "peers in turn, each run in a fresh cluster on loopback, all data on one disk, "
               "servers and clients on the same cores; the best of the ways that were tried first "
               "in the same run"}};
  merge_members(result, compared);
  return result;
}

}  // namespace gcoord::bench
