#include "server/resident/node/host_lane.h"

#include "common/assert.h"
#include "server/device_turn/store.h"
#include "server/resident/node/lock_turn_service.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gcoord::server {
namespace {

using netcore::Band;

// The slots of an event, and of the next one.
constexpr std::uint64_t kSlotsAhead = 3;
constexpr std::size_t kCacheLineBytes = 64;

template <typename T>
T from_words(const std::uint32_t* words) {
  static_assert(sizeof(T) == netcore::kSlotBytes);
  T value;
  std::memcpy(static_cast<void*>(&value), words, sizeof value);
  return value;
}

}  // namespace

HostLane::HostLane(const netcore::GpuChannelDevice& end,
                   std::uint32_t lane,
                   const ResidentNames& names)
    : to_(netcore::open_sender(end, Band::Rpc, lane)),
      from_(netcore::open_receiver(end, Band::Rpc, lane)),
      wires_(netcore::wires_of(end, Band::Rpc, lane)),
      names_(names) {}

bool HostLane::push(const TurnRequest* requests, std::uint32_t count) {
  if (to_.credit_up_to(count) < count) {
    return false;
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    const netcore::Reservation place = to_.reserve(1);
    GCOORD_ASSERT(place.slot_count == 1);
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &requests[k], sizeof words);
    to_.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  }
  return true;
}

bool HostLane::push_entries(ShardId shard,
                            std::uint64_t tag_first,
                            std::span<const locks::LockEntry> entries) {
  const auto count = static_cast<std::uint32_t>(entries.size());
  if (to_.credit_up_to(count) < count) {
    return false;
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    const netcore::Reservation place = to_.reserve(1);
    GCOORD_ASSERT(place.slot_count == 1);
    TurnRequest request{.shard = shard, .head = entries[k].head, .tag = tag_first + k};
    std::copy(std::begin(entries[k].word), std::end(entries[k].word), std::begin(request.word));
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &request, sizeof words);
    to_.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  }
  return true;
}

// The first packet of the next slot that the lane brings.
const netcore::Packet& HostLane::front() const {
  const std::uint64_t cursor = from_.state().credit.received;
  return wires_.own_slots[netcore::slot_place(cursor, wires_.slot_shift)].packet[0];
}

// One load in place of six, as long as the packet lies there that showed the last look that its
// slot is not whole.
bool HostLane::is_quiet() const {
  return quiet_ && netcore::SystemOrder::take(front()).stamp == in_front_;
}

void HostLane::note_nothing() {
  const std::uint64_t cursor = from_.state().credit.received;
  in_front_ = netcore::SystemOrder::take(front()).stamp;
  quiet_ = in_front_ != netcore::stamp_at(wires_, cursor);
}

// What a device wrote lies in memory, not in this processor's caches; while one event is dealt
// with, the two slots of the one behind the next come nearer.
void HostLane::prefetch_ahead() const {
  const std::uint64_t ahead = from_.state().credit.received + kSlotsAhead;
  const auto* const bytes = reinterpret_cast<const std::byte*>(
      &wires_.own_slots[netcore::slot_place(ahead, wires_.slot_shift)]);
  __builtin_prefetch(bytes);
  __builtin_prefetch(bytes + kCacheLineBytes);
}

const HostEventSlot* HostLane::pull() {
  for (;;) {
    if (noops_given_ < noops_.count) {
      next_noop();
      return &told_;
    }
    if (is_quiet()) {
      return nullptr;
    }
    const netcore::SlotTile tile = from_.poll(1);
    if (tile.slot_count == 0) {
      note_nothing();
      return nullptr;
    }
    quiet_ = false;
    const bool whole = take_slot(tile);
    from_.release(tile);
    prefetch_ahead();
    if (whole) {
      return &told_;
    }
  }
}

// Whether what it belongs to is whole by it.
bool HostLane::take_slot(const netcore::SlotTile& tile) {
  std::uint32_t words[netcore::kSlotWords];
  tile.for_each_word(
      [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
  if (missing_ != 0) {
    const bool stores = told_.reply.verdict == TurnVerdict::Store;
    locks::LockEntry& entry = stores ? told_.stores.emplace_back() : told_.entry;
    entry = from_words<locks::LockEntry>(words);
    return --missing_ == 0;
  }
  const auto verdict =
      static_cast<TurnVerdict>(words[offsetof(TurnReply, verdict) / sizeof words[0]]);
  if (verdict != TurnVerdict::Noops) {
    return begin(from_words<TurnReply>(words));
  }
  noops_ = from_words<HostNoops>(words);
  noops_given_ = 0;
  told_.impossible = noops_.count == 0 || noops_.count > kNoopsPerSlot;
  noops_.count = told_.impossible ? 0 : noops_.count;
  return told_.impossible;
}

// A reply of verdict None is a place that the device did not need.
bool HostLane::begin(const TurnReply& reply) {
  const TurnVerdict verdict = reply.verdict;
  const bool decided = verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told;
  const std::uint32_t stores = verdict == TurnVerdict::Store ? reply.detail & ~kStoreSnapshot : 0;
  told_.stores.clear();
  told_.reply = reply;
  told_.reply.leader = names_.id(reply.leader);
  // Of a Store the leader is the vote, which must not get lost; else it may be what a peer said.
  const bool votes = verdict == TurnVerdict::Store && reply.leader.value > names_.count();
  told_.impossible = stores > kStageMax || votes;
  missing_ = told_.impossible ? 0 : decided ? 1 : stores;
  return missing_ == 0 && (verdict != TurnVerdict::None || told_.impossible);
}

void HostLane::next_noop() {
  const HostNoop& noop = noops_.noop[noops_given_++];
  TurnReply& reply = told_.reply;
  reply = TurnReply{};
  reply.shard = shard_of_row(noop.row);
  reply.verdict = TurnVerdict::Told;
  reply.index = noop.index;
  reply.term = Term{noop.own_term};
  reply.tag = noop.own_term == 0 ? 0 : own_term_tag(reply.term);
  told_.entry = LockTurnService::noop();
  told_.stores.clear();
  told_.impossible = false;
}

}  // namespace gcoord::server
