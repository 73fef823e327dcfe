// What a scan of deadlines must find, and a stripe of rows that are stepped at random for it.
//
// The model knows every row's deadline and which rows lie in the ring; a group of any size does
// what a turn does with them (device_turn_deadlines.h).
#pragma once

#include "chaos/device_turn/turn_cluster.h"
#include "common/random.h"
#include "server/device_turn/deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace gcoord::server {

class DeadlineModel {
 public:
  using Turn = StripeTurn<chaos::CountingService>;

  DeadlineModel(std::uint32_t rows, std::uint64_t seed)
      : cluster_(made_for(rows, seed)), node_(cluster_->node(0)), random_(seed) {
    desk_.reading.input.tick = Tick{1};
    for (std::uint32_t row = 0; row < rows; ++row) {
      node_.table.deadline[row] = some_deadline();
    }
  }

  // A member's own copy of the turn.
  Turn turn() {
    return {node_,
            desk_,
            node_.scratch_of(0),
            0,
            rows_of_stripe(node_.shape, 0),
            StripeStateOf<kTurnPeers>{},
            stripe_rows(node_.shape)};
  }

  // The same of a group that begins where another one has left.
  Turn turn_after(const Turn& left) {
    Turn turn = this->turn();
    turn.state.deadline_next = left.state.deadline_next;
    return turn;
  }

  // --- What the group does; all members call it

  static void scan(Turn& turn) {
    turn.state.due_count = 0;
    scan_deadlines(turn);
  }

  // Takes note of the rows that were stepped, at most as many as a turn has places.
  void note(Turn& turn) {
    const auto count = static_cast<std::uint32_t>(stepped_.size());
    if (count == 1) {
      note_deadline(turn, stepped_[0].first, stepped_[0].second);
      return;
    }
    for (std::uint32_t base = 0; base < count; base += warp_lanes()) {
      const std::uint32_t at = base + warp_rank();
      const auto& [row, deadline] = stepped_[at < count ? at : 0];
      note_deadlines(turn, at < count, row, deadline);
    }
  }

  // --- What the test does in between

  void pass_time() { desk_.reading.input.tick = desk_.reading.input.tick + below(4); }

  // Whether a scan found what it had to, by what one member knows then.
  void expect_found(const Turn& turn) {
    std::set<std::uint32_t> due;
    Tick next = kTickNever;
    for (std::uint32_t row = 0; row < node_.shape.shard_count; ++row) {
      const Tick deadline = node_.table.deadline[row];
      const bool come = deadline <= turn.tick();
      if (come && queued_.count(row) == 0) {
        due.insert(row);
      }
      next = come ? next : min_id(next, deadline);
    }
    std::set<std::uint32_t> found;
    for (std::uint32_t k = 0; k < turn.state.due_count; ++k) {
      EXPECT_TRUE(found.insert(due_at(turn, k)).second) << "twice in the ring";
    }
    EXPECT_EQ(found, due);
    EXPECT_LE(turn.state.deadline_next, next);
    found_ += found.size();
    queued_.insert(found.begin(), found.end());
  }

  // Steps some of the rows that are queued, and a few others.
  void step_rows() {
    stepped_.clear();
    for (auto row = queued_.begin(); row != queued_.end() && stepped_.size() < 24;) {
      if (below(4) == 0) {
        ++row;
        continue;
      }
      node_.flags[*row] = static_cast<std::uint8_t>(node_.flags[*row] & ~kTurnQueued);
      step(*row);
      row = queued_.erase(row);
    }
    for (std::uint32_t k = below(std::min(node_.shape.shard_count, 64u) / 8 + 2); k != 0; --k) {
      const std::uint32_t row = below(node_.shape.shard_count);
      const bool known = std::any_of(
          stepped_.begin(), stepped_.end(), [row](const auto& one) { return one.first == row; });
      if (queued_.count(row) == 0 && !known) {
        step(row);
      }
    }
  }

  std::uint64_t found() const { return found_; }

 private:
  static std::unique_ptr<chaos::TurnCluster> made_for(std::uint32_t rows, std::uint64_t seed) {
    chaos::TurnClusterOptions options;
    options.shape = {.shard_count = rows,
                     .stripe_count = 1,
                     .log_slots = 32,
                     .entries_max = 16,
                     .wide_count = 64};
    options.seed = seed;
    auto made = chaos::make_host_turn_cluster(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return std::move(made).value();
  }

  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(random_, 1, ++drawn_), bound);
  }

  // Most are some ticks ahead, some are none.
  Tick some_deadline() {
    const Tick tick = desk_.reading.input.tick;
    return below(8) == 0 ? kTickNever : tick + (1 + below(50));
  }

  void step(std::uint32_t row) {
    const Tick deadline = some_deadline();
    node_.table.deadline[row] = deadline;
    stepped_.emplace_back(row, deadline);
  }

  std::unique_ptr<chaos::TurnCluster> cluster_;
  const chaos::CountingNode& node_;
  StripeWorkspace desk_{};
  std::uint64_t random_;
  std::uint64_t drawn_ = 0;
  std::set<std::uint32_t> queued_;
  std::vector<std::pair<std::uint32_t, Tick>> stepped_;
  std::uint64_t found_ = 0;
};

// Stripes of a few rows, of as many as there are words for, and of several runs a group.
inline constexpr std::uint32_t kScannedRows[] = {3, 61, 640, 4'097, 20'003};

}  // namespace gcoord::server
