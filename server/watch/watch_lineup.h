// Line-up of watches: those that have everything stand with their target, all others in one list.
//
// Those of the list are served in turn, so that one with much to catch up holds up nobody. One
// thread.
#pragma once

#include "common/assert.h"
#include "server/watch/watch.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::server {

class WatchLineup {
 public:
  // One that is Replaying or Behind.
  void add(Watch& watch) {
    watch.place = behind_.size();
    behind_.push_back(&watch);
  }

  void remove(const Watch& watch) {
    auto& list = watch.stage == WatchStage::Live ? watch.target->live : behind_;
    GCOORD_ASSERT(list[watch.place] == &watch);
    list[watch.place] = list.back();
    list[watch.place]->place = watch.place;
    list.pop_back();
  }

  void make_live(Watch& watch) {
    remove(watch);
    watch.stage = WatchStage::Live;
    watch.place = watch.target->live.size();
    watch.target->live.push_back(&watch);
  }

  void make_behind(Watch& watch, std::uint64_t cursor) {
    remove(watch);
    watch.stage = WatchStage::Behind;
    watch.cursor = cursor;
    add(watch);
  }

  // Replaying or Behind.
  const std::vector<Watch*>& behind() const { return behind_; }

  // Calls visit(watch) for those that are behind, each once a round and in its turn, until the
  // budget is spent; a call costs one of it, and visit may spend more. The next call goes on in the
  // round, or begins another one. visit may remove the watch, and says whether it could go on at
  // once. Whether somebody could: one of the round, or those whose turn is yet to come.
  template <typename Visit>
  bool for_each_in_turn(std::size_t& budget, const Visit& visit) {
    if (round_left_ == 0) {
      round_left_ = behind_.size();
    }
    for (; round_left_ > 0 && budget > 0 && !behind_.empty(); --round_left_) {
      --budget;
      turn_ = turn_ < behind_.size() ? turn_ : 0;
      Watch& watch = *behind_[turn_];
      const std::uint64_t number = watch.number;
      again_ = visit(watch) || again_;
      // If it left the list, another has its place.
      turn_ += turn_ < behind_.size() && behind_[turn_]->number == number ? 1 : 0;
    }
    if (behind_.empty()) {
      round_left_ = 0;
    }
    return round_left_ > 0 || std::exchange(again_, false);
  }

 private:
  std::vector<Watch*> behind_;
  std::size_t turn_ = 0;
  std::size_t round_left_ = 0;
  bool again_ = false;
};

}  // namespace gcoord::server
