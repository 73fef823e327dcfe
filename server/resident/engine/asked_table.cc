#include "server/resident/engine/asked_table.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kPlacesFirst = 1024;

}  // namespace

AskedTable::AskedTable(std::uint32_t shard_count) : places_(kPlacesFirst), riders_(1) {
  first_.resize(shard_count);
}

// Tags that have different places in a table have different ones in a larger table, too.
void AskedTable::grow() {
  std::vector<Place> larger(2 * places_.size());
  for (const Place& each : places_) {
    if (each.tag != 0) {
      larger[each.tag & (larger.size() - 1)] = each;
    }
  }
  places_ = std::move(larger);
}

std::uint64_t AskedTable::add(const Asked& asked, std::uint32_t before, std::uint64_t stamp) {
  if (2 * (count_ + 1) > places_.size()) {
    grow();
  }
  std::uint64_t order = order_last_ + before + 1;
  // Half of the places are free. The counts of pieces do not reach below 0.
  while (place(order).tag != 0 || (stamp != 0 && (order & kStampCountMask) < before)) {
    ++order;
  }
  order_last_ = order;
  tag_last_ = stamp == 0 ? order : stamp | (order & kStampCountMask);
  if (stamp != 0) {
    stamp_least_ = stamped_first_ == 0 ? stamp : std::min(stamp_least_, stamp);
    stamp_most_ = std::max(stamp_most_, stamp);
    stamped_first_ = stamped_first_ == 0 ? order - before : stamped_first_;
  }
  ++count_;
  Place& added = place(tag_last_);
  added = {.tag = tag_last_, .order = order, .asked = asked};
  link(added);
  return tag_last_;
}

bool AskedTable::was_given(std::uint64_t tag) const {
  if (!stamp_of(tag)) {
    return tag != 0 && tag <= order_last_;
  }
  const std::uint64_t stamp = tag & ~kStampCountMask;
  const std::uint64_t since = (order_last_ - tag) & kStampCountMask;
  return stamped_first_ != 0 && stamp >= stamp_least_ && stamp <= stamp_most_ &&
         since <= order_last_ - stamped_first_;
}

void AskedTable::link(Place& added) {
  std::uint64_t& first = first_[added.asked.shard.value];
  if (first == 0) {
    first = added.next = added.previous = added.tag;
    return;
  }
  Place& head = place(first);
  added.next = first;
  added.previous = head.previous;
  place(head.previous).next = added.tag;
  head.previous = added.tag;
}

void AskedTable::unlink(const Place& ended) {
  std::uint64_t& first = first_[ended.asked.shard.value];
  if (ended.next == ended.tag) {
    first = 0;
    return;
  }
  place(ended.previous).next = ended.next;
  place(ended.next).previous = ended.previous;
  first = first == ended.tag ? ended.next : first;
}

void AskedTable::ride(std::uint64_t read, std::uint64_t cookie) {
  GCOORD_ASSERT(has(read));
  std::uint32_t rider = rider_free_;
  if (rider == 0) {
    rider = static_cast<std::uint32_t>(riders_.size());
    riders_.emplace_back();
  } else {
    rider_free_ = riders_[rider].next;
  }
  riders_[rider] = {.cookie = cookie};
  Place& shared = place(read);
  if (shared.asked.rider == 0) {
    shared.asked.rider = rider;
  } else {
    riders_[shared.last_rider].next = rider;
  }
  shared.last_rider = rider;
}

std::optional<Asked> AskedTable::take(std::uint64_t tag) {
  if (!has(tag)) {
    return std::nullopt;
  }
  Place& ended = place(tag);
  unlink(ended);
  ended.tag = 0;
  --count_;
  return ended.asked;
}

bool AskedTable::next_rider(Asked& asked) {
  if (asked.rider == 0) {
    return false;
  }
  Rider& rider = riders_[asked.rider];
  asked.cookie = rider.cookie;
  const std::uint32_t next = std::exchange(rider.next, rider_free_);
  rider_free_ = std::exchange(asked.rider, next);
  return true;
}

}  // namespace gcoord::server
