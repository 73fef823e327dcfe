// What two compilations of the step gave, piece by piece. Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/row_digest.h"
#include "tests/consensus/plain_samples.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::consensus {

// f(one's, other's) for everything that both gave.
template <typename F>
GCOORD_HD void for_each_pair(const OutboxHead& one, const OutboxHead& other, const F& f) {
  f(one.again, other.again);
  f(one.snapshot_installed, other.snapshot_installed);
  f(one.cause, other.cause);
  f(one.proposal, other.proposal);
  f(one.configuration, other.configuration);
  f(one.read, other.read);
  f(one.beyond_plain, other.beyond_plain);
  f(one.dropped, other.dropped);
  f(one.accepted.first, other.accepted.first);
  f(one.accepted.count, other.accepted.count);
  f(one.accepted.kind, other.accepted.kind);
  f(one.own_entry.first, other.own_entry.first);
  f(one.own_entry.count, other.own_entry.count);
  f(one.own_entry.kind, other.own_entry.kind);
  f(one.configuration_index, other.configuration_index);
  f(one.read_sequence, other.read_sequence);
  f(one.read_index, other.read_index);
  f(one.storage.term, other.storage.term);
  f(one.storage.vote, other.storage.vote);
  f(one.storage.present, other.storage.present);
  f(one.storage.snapshot, other.storage.snapshot);
  f(one.storage.first, other.storage.first);
  f(one.storage.last, other.storage.last);
  f(one.storage.commit, other.storage.commit);
  f(one.apply.first, other.apply.first);
  f(one.apply.last, other.apply.last);
  f(one.message_count, other.message_count);
}

GCOORD_HD inline MessageChunk chunk_of(const Message& message, std::uint32_t chunk) {
  return load_chunk(reinterpret_cast<const std::byte*>(&message) + chunk * sizeof(MessageChunk));
}

template <typename F>
GCOORD_HD void for_each_pair(Stepped& one, Stepped& other, const F& f) {
  // Slots that a row does not have stay as they were drawn.
  f(row_digest(ref_of(one.row, ShardId{7}, kReplicaSlots)),
    row_digest(ref_of(other.row, ShardId{7}, kReplicaSlots)));
  for_each_pair(
      static_cast<const OutboxHead&>(one.out), static_cast<const OutboxHead&>(other.out), f);
  for (std::uint32_t k = 0; k < one.out.message_count && k < other.out.message_count; ++k) {
    for (std::uint32_t chunk = 0; chunk < kMessageChunks; ++chunk) {
      const MessageChunk first = chunk_of(one.out.message[k], chunk);
      const MessageChunk second = chunk_of(other.out.message[k], chunk);
      f(first.word[0], second.word[0]);
      f(first.word[1], second.word[1]);
    }
  }
  for (std::uint32_t k = 0; k < kInboxMessages; ++k) {
    f(one.out.stored[k], other.out.stored[k]);
  }
}

GCOORD_HD inline bool is_equal(Stepped& one, Stepped& other) {
  bool equal = true;
  for_each_pair(one, other, [&equal](const auto& a, const auto& b) { equal = equal & (a == b); });
  return equal;
}

}  // namespace gcoord::consensus
