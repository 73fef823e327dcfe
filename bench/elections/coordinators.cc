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
using nlohmann::ordered_json;

constexpr std::uint64_t kTicksMax = 100'000;

Result<ordered_json> measured(Network& network, std::uint8_t failed) {
  Traffic traffic;
  if (!network.run(kTicksMax, traffic)) {
    return Status{StatusCode::Internal, "an election came to no end"};
  }
  for (std::uint8_t place = 0; place < network.node_count(); ++place) {
    if (place != failed && network.row(place).coordinator != network.row(failed == 0).coordinator) {
      return Status{StatusCode::Internal, "the nodes follow different coordinators"};
    }
  }
  return ordered_json{{"messages", traffic.sum()},
                      {"election", traffic.of(MessageKind::Election)},
                      {"answer", traffic.of(MessageKind::Answer)},
                      {"coordinator", traffic.of(MessageKind::Coordinator)},
                      {"hops", traffic.ticks}};
}

// The highest one leads and fails; the node at `finder` finds out.
Result<ordered_json> bully_after_failure(std::uint8_t count, std::uint8_t finder) {
  Network network{{.method = Method::Bully, .ranks = coordinator::ranks_rising(count)}};
  const auto highest = static_cast<std::uint8_t>(count - 1);
  Traffic traffic;
  network.stand(highest);
  network.run(kTicksMax, traffic);
  network.fail(highest);
  network.suspect(finder, highest);
  return measured(network, highest);
}

Result<ordered_json> bullies(std::uint8_t count) {
  GCOORD_TRY(const ordered_json worst, bully_after_failure(count, 0));
  GCOORD_TRY(const ordered_json best,
             bully_after_failure(count, static_cast<std::uint8_t>(count - 2)));
  return ordered_json{{"method", "bully"},
                      {"nodes", count},
                      {"the_lowest_finds_the_failure", worst},
                      {"the_next_one_finds_it", best}};
}

Result<ordered_json> ring_of(std::vector<std::uint8_t> ranks, bool all) {
  Network network{{.method = Method::Ring, .ranks = std::move(ranks)}};
  network.stand(0);
  for (std::uint8_t place = 1; all && place < network.node_count(); ++place) {
    network.stand(place);
  }
  return measured(network, coordinator::kNoCoordinator);
}

Result<ordered_json> ring(std::uint8_t count) {
  GCOORD_TRY(const ordered_json worst, ring_of(coordinator::ranks_falling(count), true));
  GCOORD_TRY(const ordered_json best, ring_of(coordinator::ranks_rising(count), true));
  GCOORD_TRY(const ordered_json single, ring_of(coordinator::ranks_rising(count), false));
  return ordered_json{{"method", "ring"},
                      {"nodes", count},
                      {"all_stand_ranks_falling", worst},
                      {"all_stand_ranks_rising", best},
                      {"one_stands", single}};
}

BenchResult by_node_count(Result<ordered_json> (*run)(std::uint8_t)) {
  ordered_json elections = ordered_json::array();
  for (const std::uint32_t count : {3u, 5u, 8u, 16u, 32u, 64u}) {
    GCOORD_TRY(ordered_json counted, run(static_cast<std::uint8_t>(count)));
    std::fprintf(stderr, "  %s\n", counted.dump().c_str());
    elections.push_back(std::move(counted));
  }
  return ordered_json{{"elections", elections}};
}

}  // namespace

BenchResult bench_bully(const BenchOptions&) {
  return by_node_count(&bullies);
}

BenchResult bench_ring(const BenchOptions&) {
  return by_node_count(&ring);
}

}  // namespace gcoord::bench
