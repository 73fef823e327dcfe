// Line-up of watches: those that have everything stand with their target, those that read the ring
// in one list, and those that wait for events made from history in another.
//
// Those that read the ring are served in turn, so that one with much to catch up holds up nobody.
// One thread.
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
    auto& list = list_of(watch);
    watch.place = list.size();
    list.push_back(&watch);
  }

  void remove(const Watch& watch) {
    auto& list = list_of(watch);
    GCOORD_ASSERT(list[watch.place] == &watch);
    list[watch.place] = list.back();
    list[watch.place]->place = watch.place;
    list.pop_back();
  }

  void set_stage(Watch& watch, WatchStage stage) {
    remove(watch);
    watch.stage = stage;
    add(watch);
  }

  void make_behind(Watch& watch, std::uint64_t cursor) {
    set_stage(watch, WatchStage::Behind);
    watch.cursor = cursor;
  }

  bool any_behind() const { return !behind_.empty(); }

  std::size_t replaying_count() const { return replaying_.size(); }

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
  std::vector<Watch*>& list_of(const Watch& watch) {
    switch (watch.stage) {
      case WatchStage::Live:
        return watch.target->live;
      case WatchStage::Replaying:
        return replaying_;
      case WatchStage::Behind:
        break;
    }
    return behind_;
  }

  std::vector<Watch*> behind_;
  std::vector<Watch*> replaying_;
  std::size_t turn_ = 0;
  std::size_t round_left_ = 0;
  bool again_ = false;
};

}  // namespace gcoord::server
