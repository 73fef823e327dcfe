// Line-up of watches: those that have everything stand with their target, all others in one list.
//
// Those of the list are served in turn, so that one with much to catch up holds up nobody. One
// thread.
#pragma once

#include "common/assert.h"
#include "server/watch/watch.h"

#include <cstddef>
#include <cstdint>
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

  // Calls visit(watch) for those that are behind, each in its turn, from where the budget ended the
  // last time; visit may remove the watch.
  template <typename Visit>
  void for_each_in_turn(const std::size_t& budget, const Visit& visit) {
    for (std::size_t count = behind_.size(); count > 0 && budget > 0 && !behind_.empty(); --count) {
      turn_ = turn_ < behind_.size() ? turn_ : 0;
      Watch& watch = *behind_[turn_];
      const std::uint64_t number = watch.number;
      visit(watch);
      // If it left the list, another has its place.
      turn_ += turn_ < behind_.size() && behind_[turn_]->number == number ? 1 : 0;
    }
  }

 private:
  std::vector<Watch*> behind_;
  std::size_t turn_ = 0;
};

}  // namespace gcoord::server
