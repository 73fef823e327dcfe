// What a steady step is given (step_plain.h), most of it as a busy row has it, and how the turn of
// a row in a hurry has it stepped. Host and device.
#pragma once

#include "common/assert.h"
#include "consensus/step/step_plain.h"
#include "tests/consensus/plain_samples.h"

#include <cstdint>

namespace gcoord::consensus {

// All that a step is given.
template <std::uint32_t kVoters>
struct GivenOf {
  RowCopy row;
  InboxHead in;
  Message message[2];
  PeerLiveness peer[kVoters - 1];
  StepInput input;
};

using Given = GivenOf<kPlainSlots>;

// How a cluster keeps what it promised.
template <std::uint32_t kVoters>
GCOORD_HD void draw_mode(Draw& draw, GivenOf<kVoters>& given) {
  StepInput& input = given.input;
  input.lives_end = draw.once_in(4) ? 1 : 0;
  if (draw.once_in(2)) {
    input.durability = Durability::Memory;
    given.row.storage.durable = given.row.log.last;
    given.row.storage.request_pending = 0;
    given.in.storage_ack.present = 0;
  } else {
    input.stored_at_once = draw.below(2);
  }
  for (PeerLiveness& peer : given.peer) {
    peer.lives_by_start = in_memory_mode(input) ? 1 : 0;
    peer.life_session = draw.once_in(15) ? 2 : draw.below(2);
  }
}

// Limits that are reached now and then.
GCOORD_HD inline void draw_limits(Draw& draw, StepLimits& limits) {
  limits.window_entries = draw.once_in(6) ? 1 + draw.below(3) : limits.window_entries;
  limits.message_entries = draw.once_in(6) ? 1 + draw.below(2) : limits.message_entries;
  limits.uncommitted_entries = draw.once_in(6) ? 1 + draw.below(6) : limits.uncommitted_entries;
}

// What a row that replicates looks like for most of its life.
template <std::uint32_t kVoters>
GCOORD_HD void make_calm(Draw& draw, GivenOf<kVoters>& given) {
  const LogIndex last = given.row.log.last;
  if (given.row.hot.role == Role::Leader && given.row.hot.deadline <= kNow) {
    given.row.hot.deadline = kNow + 1 + draw.below(10);
  }
  for (Progress& progress : given.row.progress) {
    progress.state = ProgressState::Replicate;
    progress.acked_session = given.row.hot.role == Role::Leader ? 1 : progress.acked_session;
  }
  if (given.row.hot.role == Role::Follower) {
    given.message[0].index = last;
    given.message[1].index = last + given.message[0].count;
  }
  for (PeerLiveness& peer : given.peer) {
    peer.live = 1;
    peer.life_session = 0;
  }
}

template <std::uint32_t kVoters>
GCOORD_HD void draw_given(Draw& draw, GivenOf<kVoters>& given) {
  const NodeId self = some_node(draw, kVoters);
  const NodeId leader = draw.once_in(2) ? self : some_node(draw, kVoters);
  given.row = some_row<kVoters>(draw, self, leader);
  given.in = some_inbox(draw, given.row);
  for (Message& message : given.message) {
    message = some_message<kVoters>(draw, given.row, self, leader);
  }
  fill_peers(draw, self, given.peer);
  given.input = {};
  given.input.tick = kNow;
  given.input.seed = 1;
  given.input.self = self;
  given.input.peer = given.peer;
  given.input.peer_count = kVoters - 1;
  draw_mode(draw, given);
  draw_limits(draw, given.input.limits);
  if (draw.once_in(2)) {
    make_calm(draw, given);
  }
}

// What a plain step moves, and no more: the rest of a row that is kept stays where it is
// (copy_plain in server/device_turn/row.h).
template <std::uint32_t kVoters>
GCOORD_HD void keep_moved(ShardRef from, ShardRef to) {
  to.hot().flags = from.hot().flags;
  to.hot().deadline = from.hot().deadline;
  to.log() = from.log();
  to.runs().start_offset[0] = from.runs().start_offset[0];
  to.runs().term_offset[0] = from.runs().term_offset[0];
  to.storage() = from.storage();
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    to.progress(slot) = from.progress(slot);
  }
}

// As the turn of a row in a hurry steps it (server/device_turn/single_row.h): in parts, with its
// progress in an array of its own.
template <Role role, std::uint32_t kVoters>
GCOORD_HD Stepped step_steadily_as(const GivenOf<kVoters>& given) {
  Stepped stepped{given.row, {}};
  RowCopy own = given.row;
  Progress progress[kVoters];
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    progress[slot] = own.progress[slot];
  }
  const RowParts parts{
      own.hot, own.log, own.runs, own.storage, own.election, own.configuration, progress};
  InboxHead in = given.in;
  const StepArrays arrays{.configuration = &own.configuration,
                          .stored = stepped.out.stored,
                          .sink = sink_of(stepped.out.message, kOutboxMessages)};
  const ShardRef shard = ref_of(parts, ShardId{7}, kVoters);
  const Message* messages = given.message;
  const bool steady =
      step_steady<role, kVoters>(shard, in, messages, stepped.out, arrays, given.input);
  GCOORD_ASSERT(steady == (stepped.out.beyond_plain == 0));
  if (steady) {
    keep_moved<kVoters>(shard, ref_of(stepped.row, ShardId{7}, kVoters));
  }
  return stepped;
}

template <std::uint32_t kVoters>
GCOORD_HD Stepped step_steadily(const GivenOf<kVoters>& given) {
  return given.row.hot.role == Role::Leader ? step_steadily_as<Role::Leader>(given)
                                            : step_steadily_as<Role::Follower>(given);
}

}  // namespace gcoord::consensus
