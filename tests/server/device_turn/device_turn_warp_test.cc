// The turn of a node by groups of 32 members, as on a device: looks that find many slots, ballots
// and exchanges in which members differ, and the ways that only those take.
#include "chaos/device_turn/counting_service.h"
#include "server/device_turn/turn.h"
#include "tests/server/device_turn/deadline_scenario.h"
#include "tests/server/device_turn/pages_scenarios.h"
#include "tests/server/turn_scenarios.h"
#include "tests/server/warp_twin/warp_twin.h"

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace gcoord::server {
namespace {

using chaos::CountingService;

// In place of HostNode, of as many voters as the service says.
template <typename Service>
class WarpNode {
 public:
  WarpNode(TurnCluster& cluster, std::uint32_t n)
      : node_(node_of(cluster.node(n))), clock_(node_, cluster.timing(n)) {
    std::vector<std::function<void()>> bodies;
    for (std::uint32_t stripe = 0; stripe < node_.shape.stripe_count; ++stripe) {
      desks_.push_back(std::make_unique<WorkspaceFor<Service>>());
      // As shared memory is when a kernel begins.
      std::memset(static_cast<void*>(desks_.back().get()), 0xa5, sizeof(WorkspaceFor<Service>));
      bodies.emplace_back([this, stripe] { work(stripe); });
      if (bodies.size() == node_.shape.block_stripes || stripe + 1 == node_.shape.stripe_count) {
        blocks_.push_back(std::make_unique<twin::Block>(bodies));
        bodies.clear();
      }
    }
    round();
  }

  ~WarpNode() {
    ends_ = true;
    round();
  }

  bool turn(std::uint64_t now_ns) {
    clock_.read(now_ns);
    worked_ = false;
    round();
    return worked_;
  }

 private:
  void work(std::uint32_t number) {
    TurnStripe<Service> stripe(node_, number, *desks_[number]);
    twin::rest();
    while (!ends_) {
      worked_ = stripe.turn() || worked_;
      twin::rest();
    }
    stripe.close();
  }

  void round() {
    for (auto& block : blocks_) {
      block->round();
    }
  }

  static TurnNode<Service> node_of(const chaos::CountingNode& node) {
    if constexpr (std::is_same_v<Service, CountingService>) {
      return node;
    } else {
      return as_node_of<kVotersOf<Service>>(node);
    }
  }

  const TurnNode<Service> node_;
  NodeClock<Service> clock_;
  std::vector<std::unique_ptr<WorkspaceFor<Service>>> desks_;
  std::vector<std::unique_ptr<twin::Block>> blocks_;
  bool worked_ = false;
  bool ends_ = false;
};

struct Warps {
  using Node = WarpNode<CountingService>;
  static constexpr std::uint32_t kVoters = 3;
  static constexpr FedNodes kFed{.shard_count = 23,
                                 .block_stripes = 2,
                                 .turns_to_elect = 1500,
                                 .turns_fed = 600,
                                 .turns_to_agree = 900,
                                 .commands_min = 50};
  static constexpr DryNodes kDry{
      .stripe_count = 1, .seeds = 1, .rounds = 8, .turns_to_rest = 12'000};
};

struct WarpsOfFive {
  using Node = WarpNode<ServiceOfVoters<CountingService, 5>>;
  static constexpr std::uint32_t kVoters = 5;
  static constexpr FedNodes kFed{.shard_count = 13,
                                 .block_stripes = 2,
                                 .turns_to_elect = 2500,
                                 .turns_fed = 1000,
                                 .turns_to_agree = 1500,
                                 .commands_min = 20};
};

struct WarpsOfSeven {
  using Node = WarpNode<ServiceOfVoters<CountingService, 7>>;
  static constexpr std::uint32_t kVoters = 7;
  static constexpr FedNodes kFed{.shard_count = 9,
                                 .block_stripes = 1,
                                 .turns_to_elect = 3500,
                                 .turns_fed = 1400,
                                 .turns_to_agree = 2100,
                                 .commands_min = 20};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfWarps, TurnOfNodes, Warps);
INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfFiveWarps, TurnOfNodes, WarpsOfFive);
INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfSevenWarps, TurnOfNodes, WarpsOfSeven);
INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfWarps, PagesOfNodes, Warps);

// 32 members that bring a row each.
class WarpGroup {
 public:
  explicit WarpGroup(DeadlineModel& model)
      : model_(model), first_(model.turn()), block_({[this] { work(); }}) {
    block_.round();
  }

  ~WarpGroup() {
    ends_ = true;
    block_.round();
  }

  const DeadlineModel::Turn& turn() const { return first_; }

  void scan() {
    notes_ = false;
    opens_ = false;
    block_.round();
  }

  void note(bool opens) {
    notes_ = true;
    opens_ = opens;
    block_.round();
  }

 private:
  void work() {
    std::optional<DeadlineModel::Turn> turn(model_.turn());
    open_scan(*turn);
    twin::rest();
    while (!ends_) {
      if (opens_) {
        const DeadlineModel::Turn after = model_.turn_after(*turn);
        turn.emplace(after);
        open_scan(*turn);
      }
      notes_ ? model_.note(*turn) : DeadlineModel::scan(*turn);
      if (twin::rank() == 0) {
        first_.state = turn->state;
      }
      twin::rest();
    }
  }

  DeadlineModel& model_;
  DeadlineModel::Turn first_;  // As the first member knows it.
  bool notes_ = false;
  bool opens_ = false;
  bool ends_ = false;
  twin::Block block_;  // Last: its members use the others.
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfWarps, TurnDeadlines, WarpGroup);

}  // namespace
}  // namespace gcoord::server
