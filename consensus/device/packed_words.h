// A packed row between memory and registers, field by field.
//
// What: eight wide accesses of 16 bytes, and shifts between their words and the fields. Why not a
// copy of the bytes: on a device a struct that is copied as bytes lies in a thread's own memory,
// which shares cache and bandwidth with everything that is loaded; a struct that is only ever
// touched by field becomes registers. Little-endian, as in memory; consensus_hd_test holds both
// ways against the bytes. Pure but for the row in memory; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/device/packed_row.h"
#include "consensus/step/message_tiles.h"

#include <cstdint>

namespace gcoord::consensus {

// Four fields of 16 bits as a word, the first one lowest.
GCOORD_HD constexpr std::uint64_t word_of_four(std::uint64_t one,
                                               std::uint64_t two,
                                               std::uint64_t three,
                                               std::uint64_t four) {
  return one | two << 16 | three << 32 | four << 48;
}

GCOORD_HD constexpr std::uint16_t field16(std::uint64_t word, std::uint32_t k) {
  return static_cast<std::uint16_t>(word >> 16 * k);
}

GCOORD_HD constexpr std::uint8_t field8(std::uint64_t word, std::uint32_t k) {
  return static_cast<std::uint8_t>(word >> 8 * k);
}

GCOORD_HD constexpr std::uint32_t low32(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

GCOORD_HD constexpr std::uint32_t high32(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

GCOORD_HD constexpr std::uint64_t word_of_two(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}

GCOORD_HD inline MessageChunk load_packed_chunk(const PackedRow& from, std::uint32_t chunk) {
  return load_chunk(reinterpret_cast<const MessageChunk*>(&from) + chunk);
}

GCOORD_HD inline void store_packed_chunk(PackedRow& to,
                                         std::uint32_t chunk,
                                         std::uint64_t low,
                                         std::uint64_t high) {
  store_chunk(reinterpret_cast<MessageChunk*>(&to) + chunk, low, high);
}

// --- The first half

GCOORD_HD inline void load_names(const PackedRow& from, PackedRow& packed) {
  const MessageChunk zero = load_packed_chunk(from, 0);
  packed.term = zero.word[0];
  packed.floor = zero.word[1];
  const MessageChunk one = load_packed_chunk(from, 1);
  packed.leader_since = one.word[0];
  packed.leader_incarnation = low32(one.word[1]);
  packed.configuration_from = high32(one.word[1]);
  const MessageChunk two = load_packed_chunk(from, 2);
  packed.leader = field16(two.word[0], 0);
  packed.vote = field16(two.word[0], 1);
  packed.durable_vote = field16(two.word[0], 2);
  packed.floor_term_back = field16(two.word[0], 3);
  packed.durable_term_back = field16(two.word[1], 0);
  packed.prevote_term_back = field16(two.word[1], 1);
  packed.asked_term_back = field16(two.word[1], 2);
  packed.resigned_term_back = field16(two.word[1], 3);
}

GCOORD_HD inline void load_masks(const PackedRow& from, PackedRow& packed) {
  const MessageChunk three = load_packed_chunk(from, 3);
  packed.granted = field8(three.word[0], 0);
  packed.rejected = field8(three.word[0], 1);
  packed.vote_reply = field8(three.word[0], 2);
  packed.prevote_grant = field8(three.word[0], 3);
  packed.prevote_reject = field8(three.word[0], 4);
  packed.append_reject = field8(three.word[0], 5);
  packed.answer = field8(three.word[0], 6);
  packed.confirmed = field8(three.word[0], 7);
  packed.voters = field8(three.word[1], 0);
  packed.learners = field8(three.word[1], 1);
  packed.node[0] = field16(three.word[1], 1);
  packed.node[1] = field16(three.word[1], 2);
  packed.node[2] = field16(three.word[1], 3);
}

GCOORD_HD inline std::uint64_t word_of_masks(const PackedRow& packed) {
  const std::uint32_t low = packed.granted | std::uint32_t{packed.rejected} << 8 |
                            std::uint32_t{packed.vote_reply} << 16 |
                            std::uint32_t{packed.prevote_grant} << 24;
  const std::uint32_t high = packed.prevote_reject | std::uint32_t{packed.append_reject} << 8 |
                             std::uint32_t{packed.answer} << 16 |
                             std::uint32_t{packed.confirmed} << 24;
  return word_of_two(low, high);
}

GCOORD_HD inline void store_still(const PackedRow& packed, PackedRow& to) {
  store_packed_chunk(to, 0, packed.term, packed.floor);
  store_packed_chunk(to,
                     1,
                     packed.leader_since,
                     word_of_two(packed.leader_incarnation, packed.configuration_from));
  store_packed_chunk(
      to,
      2,
      word_of_four(packed.leader, packed.vote, packed.durable_vote, packed.floor_term_back),
      word_of_four(packed.durable_term_back,
                   packed.prevote_term_back,
                   packed.asked_term_back,
                   packed.resigned_term_back));
  store_packed_chunk(to,
                     3,
                     word_of_masks(packed),
                     word_of_four(packed.voters | static_cast<std::uint32_t>(packed.learners) << 8,
                                  packed.node[0],
                                  packed.node[1],
                                  packed.node[2]));
}

// --- The second half

GCOORD_HD inline void load_moving(const PackedRow& from, PackedRow& packed) {
  const MessageChunk four = load_packed_chunk(from, 4);
  packed.run_start = low32(four.word[0]);
  packed.run_term[0] = field16(four.word[0], 2);
  packed.run_term[1] = field16(four.word[0], 3);
  packed.slots = field16(four.word[1], 0);
  packed.bits = field16(four.word[1], 1);
  packed.last_ahead = high32(four.word[1]);
  const MessageChunk five = load_packed_chunk(from, 5);
  packed.commit_back = field16(five.word[0], 0);
  packed.applied_back = field16(five.word[0], 1);
  packed.verified_back = field16(five.word[0], 2);
  packed.durable_back = field16(five.word[0], 3);
  packed.persist_back = field16(five.word[1], 0);
  packed.pending_back = field16(five.word[1], 1);
  packed.progress[0].match_back = high32(five.word[1]);
  const MessageChunk six = load_packed_chunk(from, 6);
  packed.progress[0].next_back = low32(six.word[0]);
  packed.progress[0].session_state = high32(six.word[0]);
  packed.progress[1].match_back = low32(six.word[1]);
  packed.progress[1].next_back = high32(six.word[1]);
  const MessageChunk seven = load_packed_chunk(from, 7);
  packed.progress[1].session_state = low32(seven.word[0]);
  packed.progress[2].match_back = high32(seven.word[0]);
  packed.progress[2].next_back = low32(seven.word[1]);
  packed.progress[2].session_state = high32(seven.word[1]);
}

GCOORD_HD inline void store_packed_moving(const PackedRow& packed, PackedRow& to) {
  store_packed_chunk(
      to,
      4,
      word_of_two(packed.run_start,
                  packed.run_term[0] | static_cast<std::uint32_t>(packed.run_term[1]) << 16),
      word_of_two(packed.slots | static_cast<std::uint32_t>(packed.bits) << 16, packed.last_ahead));
  store_packed_chunk(
      to,
      5,
      word_of_four(
          packed.commit_back, packed.applied_back, packed.verified_back, packed.durable_back),
      word_of_two(packed.persist_back | static_cast<std::uint32_t>(packed.pending_back) << 16,
                  packed.progress[0].match_back));
  store_packed_chunk(to,
                     6,
                     word_of_two(packed.progress[0].next_back, packed.progress[0].session_state),
                     word_of_two(packed.progress[1].match_back, packed.progress[1].next_back));
  store_packed_chunk(to,
                     7,
                     word_of_two(packed.progress[1].session_state, packed.progress[2].match_back),
                     word_of_two(packed.progress[2].next_back, packed.progress[2].session_state));
}

// --- Members beside the row, a chunk each

GCOORD_HD inline PackedSlot load_packed_slot(const PackedSlot& from) {
  const MessageChunk chunk = load_chunk(&from);
  PackedSlot slot;
  slot.progress.match_back = low32(chunk.word[0]);
  slot.progress.next_back = high32(chunk.word[0]);
  slot.progress.session_state = low32(chunk.word[1]);
  slot.node = field16(chunk.word[1], 2);
  slot.weight = field16(chunk.word[1], 3);
  return slot;
}

GCOORD_HD inline void store_packed_slot(const PackedSlot& slot, PackedSlot& to) {
  store_chunk(&to,
              word_of_two(slot.progress.match_back, slot.progress.next_back),
              word_of_two(slot.progress.session_state,
                          slot.node | static_cast<std::uint32_t>(slot.weight) << 16));
}

// --- Both

GCOORD_HD inline PackedRow load_packed(const PackedRow& from) {
  PackedRow packed;
  load_names(from, packed);
  load_masks(from, packed);
  load_moving(from, packed);
  return packed;
}

GCOORD_HD inline void store_packed(const PackedRow& packed, PackedRow& to) {
  store_still(packed, to);
  store_packed_moving(packed, to);
}

}  // namespace gcoord::consensus
