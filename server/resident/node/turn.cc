#include "server/resident/node/turn.h"

#include "server/device_turn/loop.h"

#include <array>
#include <optional>
#include <type_traits>
#include <utility>
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
    sent_ = {};
    note_written();
    looks_ = 1 + client_pace(view_.shape.stripe_count, false).most;
    rests_ = false;
    node_.note_started();
    return {};
  }

  Result<bool> turn(std::uint64_t now_ns) override {
    if (!clock_.has_value() || rests_) {
      return false;
    }
    const bool goes_on = clock_->read(now_ns);
    bool any = false;
    for (std::uint32_t look = 0; look < looks_ && !any; ++look) {
      any = turn_stripes();
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

  std::uint32_t take_written() override { return std::exchange(written_, 0); }

 private:
  bool turn_stripes() {
    bool any = false;
    for (auto& stripe : stripes_) {
      any = stripe.turn() || any;
    }
    if (any) {
      note_written();
    }
    return any;
  }

  void note_written() {
    for (std::uint32_t place = 0; place < kPeersOf<Service>; ++place) {
      std::uint64_t sent = 0;
      for (const auto& stripe : stripes_) {
        sent += stripe.sent_to(place);
      }
      written_ |= std::exchange(sent_[place], sent) != sent ? 1u << place : 0u;
    }
  }

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
  std::array<std::uint64_t, kPeersOf<Service>> sent_{};  // As note_written() found it last.
  std::uint32_t written_ = 0;
  // Until whatever lay in a ring when turn() was called was seen, one that was put off included:
  // the caller may sleep then.
  std::uint32_t looks_ = 1;
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
