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
#include <vector>

namespace gcoord::server {
namespace {

using chaos::CountingService;

// In place of HostNode.
class WarpNode {
 public:
  WarpNode(TurnCluster& cluster, std::uint32_t n)
      : node_(cluster.node(n)), clock_(node_, cluster.timing(n)) {
    std::vector<std::function<void()>> bodies;
    for (std::uint32_t stripe = 0; stripe < node_.shape.stripe_count; ++stripe) {
      desks_.push_back(std::make_unique<StripeWorkspace>());
      // As shared memory is when a kernel begins.
      std::memset(static_cast<void*>(desks_.back().get()), 0xa5, sizeof(StripeWorkspace));
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
    TurnStripe<CountingService> stripe(node_, number, *desks_[number]);
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

  const chaos::CountingNode& node_;
  NodeClock<CountingService> clock_;
  std::vector<std::unique_ptr<StripeWorkspace>> desks_;
  std::vector<std::unique_ptr<twin::Block>> blocks_;
  bool worked_ = false;
  bool ends_ = false;
};

struct Warps {
  using Node = WarpNode;
  static constexpr FedNodes kFed{.shard_count = 23,
                                 .block_stripes = 2,
                                 .turns_to_elect = 1500,
                                 .turns_fed = 600,
                                 .turns_to_agree = 900,
                                 .commands_min = 50};
  static constexpr DryNodes kDry{
      .stripe_count = 1, .seeds = 1, .rounds = 8, .turns_to_rest = 12'000};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfWarps, TurnOfNodes, Warps);
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
