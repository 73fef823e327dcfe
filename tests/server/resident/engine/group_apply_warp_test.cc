// As group_apply_test.cc, by groups of 32 members, as on a device: members that decide a command
// each, tell the host side by side, and meet wherever a device's do.
#include "server/device_turn/loop.h"
#include "server/resident/node/turn.h"
#include "tests/server/resident/engine/group_apply_world.h"
#include "tests/server/warp_twin/warp_twin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

// In place of the host's turn.
class WarpTurn final : public ResidentTurn {
 public:
  explicit WarpTurn(ResidentNode& node) : node_(node) {}

  ~WarpTurn() override { static_cast<void>(stop(0)); }

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
    ends_ = false;
    for (std::uint32_t stripe = 0; stripe < desks_.size(); ++stripe) {
      // As shared memory is when a kernel begins.
      std::memset(static_cast<void*>(desks_[stripe].get()), 0xa5, sizeof(StripeWorkspace));
      const std::vector<std::function<void()>> bodies{[this, stripe] { work(stripe); }};
      blocks_.push_back(std::make_unique<twin::Block>(bodies));
    }
    round();
    clock_.emplace(node_.view(), node_.options().timing);
    node_.note_started();
    return {};
  }

  Result<bool> turn(std::uint64_t now_ns) override {
    worked_ = false;
    const bool goes_on = clock_->read(now_ns);
    round();
    if (!goes_on) {
      return Status{StatusCode::Internal, "the turn was stopped"};
    }
    return worked_;
  }

  Status stop(std::uint32_t) override {
    ends_ = true;
    round();
    blocks_.clear();
    clock_.reset();
    return {};
  }

  bool rests() const override { return false; }

  bool needs_calls() const override { return true; }

 private:
  void work(std::uint32_t number) {
    TurnStripe<LockTurnService> stripe(node_.view(), number, *desks_[number]);
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

  ResidentNode& node_;
  std::optional<NodeClock<LockTurnService>> clock_;
  std::vector<std::unique_ptr<StripeWorkspace>> desks_;
  std::vector<std::unique_ptr<twin::Block>> blocks_;
  bool worked_ = false;
  bool ends_ = false;
};

class GroupApplyOfWarps : public testing::Test {
 protected:
  void SetUp() override {
    ResidentWorld::make_turn = [](ResidentNode& node) -> std::unique_ptr<ResidentTurn> {
      return std::make_unique<WarpTurn>(node);
    };
  }
};

TEST_F(GroupApplyOfWarps, CommandsOfOneShardAreAnsweredInOrderByAllThreeNodes) {
  expect_pairs_in_windows(100);
}

TEST_F(GroupApplyOfWarps, WhatWindowsCannotHoldIsAppliedAsEver) {
  expect_mixed_as_wanted(5, 300);
}

}  // namespace
}  // namespace gcoord::server
