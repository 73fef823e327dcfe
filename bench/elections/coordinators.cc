#include "bench/elections/coordinators.h"

#include "membership/coordinator/network.h"

#include <cstdio>
#include <string>

namespace gcoord::bench {

namespace {

using coordinator::MessageKind;
using coordinator::Method;
using coordinator::Network;
using coordinator::Traffic;

constexpr std::uint64_t kTicksMax = 100'000;

Result<Json> measured(Network& network, std::uint8_t failed) {
  Traffic traffic;
  if (!network.run(kTicksMax, traffic)) {
    return Status{StatusCode::Internal, "an election came to no end"};
  }
  for (std::uint8_t place = 0; place < network.node_count(); ++place) {
    if (place != failed && network.row(place).coordinator != network.row(failed == 0).coordinator) {
      return Status{StatusCode::Internal, "the nodes follow different coordinators"};
    }
  }
  return Json{{"messages", traffic.sum()},
              {"election", traffic.of(MessageKind::Election)},
              {"answer", traffic.of(MessageKind::Answer)},
              {"coordinator", traffic.of(MessageKind::Coordinator)},
              {"hops", traffic.ticks}};
}

// The highest one leads and fails; the node at `finder` finds out.
Result<Json> bully_after_failure(std::uint8_t count, std::uint8_t finder) {
  Network network{{.method = Method::Bully, .ranks = coordinator::ranks_rising(count)}};
  const auto highest = static_cast<std::uint8_t>(count - 1);
  Traffic traffic;
  network.stand(highest);
  network.run(kTicksMax, traffic);
  network.fail(highest);
  network.suspect(finder, highest);
  return measured(network, highest);
}

Result<Json> bullies(std::uint8_t count) {
  GCOORD_TRY(const Json worst, bully_after_failure(count, 0));
  GCOORD_TRY(const Json best, bully_after_failure(count, static_cast<std::uint8_t>(count - 2)));
  return Json{{"method", "bully"},
              {"nodes", count},
              {"the_lowest_finds_the_failure", worst},
              {"the_next_one_finds_it", best}};
}

Result<Json> ring_of(std::vector<std::uint8_t> ranks, bool all) {
  Network network{{.method = Method::Ring, .ranks = std::move(ranks)}};
  network.stand(0);
  for (std::uint8_t place = 1; all && place < network.node_count(); ++place) {
    network.stand(place);
  }
  return measured(network, coordinator::kNoCoordinator);
}

Result<Json> ring(std::uint8_t count) {
  GCOORD_TRY(const Json worst, ring_of(coordinator::ranks_falling(count), true));
  GCOORD_TRY(const Json best, ring_of(coordinator::ranks_rising(count), true));
  GCOORD_TRY(const Json single, ring_of(coordinator::ranks_rising(count), false));
  return Json{{"method", "ring"},
              {"nodes", count},
              {"all_stand_ranks_falling", worst},
              {"all_stand_ranks_rising", best},
              {"one_stands", single}};
}

BenchResult by_node_count(Result<Json> (*run)(std::uint8_t)) {
  Json elections = Json::array();
  for (const std::uint32_t count : {3u, 5u, 8u, 16u, 32u, 64u}) {
    GCOORD_TRY(Json counted, run(static_cast<std::uint8_t>(count)));
    std::fprintf(stderr, "  %s\n", counted.dump().c_str());
    elections.push_back(std::move(counted));
  }
  return Json{{"elections", elections}};
}

}  // namespace

BenchResult bench_bully(const BenchOptions&) {
  return by_node_count(&bullies);
}

BenchResult bench_ring(const BenchOptions&) {
  return by_node_count(&ring);
}

}  // namespace gcoord::bench
