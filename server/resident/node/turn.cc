#include "server/resident/node/turn.h"

#include "server/device_turn/loop.h"

#include <optional>
#include <type_traits>
#include <vector>

namespace gcoord::server {
namespace {

// By the code for the service's number of voters.
template <typename Service>
class HostTurn final : public ResidentTurn {
 public:
  explicit HostTurn(ResidentNode& node) : node_(node) {}

  ~HostTurn() override { static_cast<void>(stop(0)); }

  Status prepare() override {
    view_ = view_of(node_.view());
    for (std::uint32_t stripe = 0; stripe < view_.shape.stripe_count; ++stripe) {
      if (!node_.restored()) {
        start_stripe(view_, stripe);
      }
      desks_.push_back(std::make_unique<WorkspaceFor<Service>>());
    }
    return {};
  }

  Status start() override {
    view_ = view_of(node_.view());  // Its channels and pools are others after a rest.
    stripes_.reserve(view_.shape.stripe_count);
    for (std::uint32_t stripe = 0; stripe < view_.shape.stripe_count; ++stripe) {
      stripes_.emplace_back(view_, stripe, *desks_[stripe]);
    }
    TurnTiming timing = node_.options().timing;
    timing.reads_before_readings = 1;  // As turn() promises.
    clock_.emplace(view_, timing);
    rests_ = false;
    node_.note_started();
    return {};
  }

  Result<bool> turn(std::uint64_t now_ns) override {
    if (!clock_.has_value() || rests_) {
      return false;
    }
    bool any = false;
    const bool goes_on = clock_->read(now_ns);
    for (auto& stripe : stripes_) {
      any = stripe.turn() || any;
    }
    if (goes_on) {
      return any;
    }
    GCOORD_TRY(const std::uint64_t word, node_.abort_word());
    rests_ = asks_for_room(word);
    if (rests_) {
      return true;
    }
    return Status{StatusCode::Internal, "the turn was stopped"};
  }

  // What the stripes know rests in the node.
  Status stop(std::uint32_t) override {
    for (auto& stripe : stripes_) {
      stripe.close();
    }
    stripes_.clear();
    clock_.reset();
    return {};
  }

  bool rests() const override { return rests_; }

  bool needs_calls() const override { return true; }

 private:
  static TurnNode<Service> view_of(const ResidentView& view) {
    if constexpr (std::is_same_v<Service, LockTurnService>) {
      return view;
    } else {
      return as_node_of<kVotersOf<Service>>(view);
    }
  }

  ResidentNode& node_;
  TurnNode<Service> view_;
  std::optional<NodeClock<Service>> clock_;
  std::vector<std::unique_ptr<WorkspaceFor<Service>>> desks_;
  std::vector<TurnStripe<Service>> stripes_;
  bool rests_ = false;
};

}  // namespace

std::unique_ptr<ResidentTurn> make_host_turn(ResidentNode& node) {
  switch (node.options().shape.voters) {
    case 5:
      return std::make_unique<HostTurn<ServiceOfVoters<LockTurnService, 5>>>(node);
    case 7:
      return std::make_unique<HostTurn<ServiceOfVoters<LockTurnService, 7>>>(node);
    default:
      return std::make_unique<HostTurn<LockTurnService>>(node);
  }
}

}  // namespace gcoord::server
