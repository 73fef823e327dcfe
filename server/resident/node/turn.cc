#include "server/resident/node/turn.h"

#include "server/device_turn/loop.h"

#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

class HostTurn final : public ResidentTurn {
 public:
  explicit HostTurn(ResidentNode& node) : node_(node) {}

  ~HostTurn() override { static_cast<void>(stop(0)); }

  Status prepare() override {
    const ResidentView& view = node_.view();
    for (std::uint32_t stripe = 0; stripe < view.shape.stripe_count; ++stripe) {
      if (!node_.restored()) {
        start_stripe(view, stripe);
      }
      desks_.push_back(std::make_unique<StripeWorkspace>());
    }
    return {};
  }

  Status start() override {
    const ResidentView& view = node_.view();
    stripes_.reserve(view.shape.stripe_count);
    for (std::uint32_t stripe = 0; stripe < view.shape.stripe_count; ++stripe) {
      stripes_.emplace_back(view, stripe, *desks_[stripe]);
    }
    TurnTiming timing = node_.options().timing;
    timing.reads_before_readings = 1;  // As turn() promises.
    clock_.emplace(view, timing);
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
  ResidentNode& node_;
  std::optional<NodeClock<LockTurnService>> clock_;
  std::vector<std::unique_ptr<StripeWorkspace>> desks_;
  std::vector<TurnStripe<LockTurnService>> stripes_;
  bool rests_ = false;
};

}  // namespace

std::unique_ptr<ResidentTurn> make_host_turn(ResidentNode& node) {
  return std::make_unique<HostTurn>(node);
}

}  // namespace gcoord::server
