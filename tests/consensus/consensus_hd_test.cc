// Host+device leaves of consensus, run on both.
#include "consensus/device/packed_row.h"
#include "consensus/device/packed_words.h"
#include "consensus/device/row_copy.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/quorum.h"
#include "consensus/step/row_digest.h"
#include "consensus/step/step_row.h"
#include "tests/consensus/draw.h"
#include "tests/hd_test.h"

#include <cstring>

namespace gcoord::consensus {

GCOORD_HD inline Configuration voters_of(Draw& draw, SlotMask voters, std::uint32_t weight_max) {
  Configuration configuration;
  configuration.voters = voters;
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool member = has_slot(voters, slot);
    configuration.node[slot] = NodeId{member ? slot + 1 : 0};
    configuration.weight[slot] = static_cast<std::uint8_t>(member ? 1 + draw.below(weight_max) : 0);
  }
  return configuration;
}

// A row of a replica in the middle of its life; every field within what a step can make of it.
GCOORD_HD inline RowCopy ordinary_row(Draw& draw) {
  RowCopy row{};
  row.hot.deadline = draw.once_in(2) ? kTickNever : Tick{draw.below(1000)};
  row.hot.term = Term{1 + draw.below(1000)};
  row.hot.leader = NodeId{draw.below(4)};
  row.hot.vote = NodeId{draw.below(4)};
  row.hot.leader_incarnation = Incarnation{draw.below(9)};
  row.hot.role = static_cast<Role>(draw.below(4));
  row.hot.self_slot = draw.once_in(8) ? kSlotNone : static_cast<std::uint8_t>(draw.below(3));
  row.hot.flags = static_cast<std::uint8_t>(draw.below(128));
  row.log.floor = LogIndex{draw.word() >> 8};
  row.log.floor_term = Term{1};
  row.log.last = row.log.floor + draw.below(1000);
  row.log.commit = row.log.last - draw.below(10);
  row.log.applied = row.log.commit - draw.below(10);
  row.log.verified = draw.once_in(2) ? LogIndex{} : row.log.last - draw.below(5);
  row.log.configuration_pending = draw.once_in(2) ? LogIndex{} : row.log.floor;
  row.log.run_count = draw.below(kPackedRuns + 1);
  row.runs.start_offset[0] = row.log.run_count > 0 ? 1 : 0;
  row.runs.start_offset[1] = row.log.run_count > 1 ? 2 + draw.below(100) : 0;
  row.runs.term_offset[1] = row.log.run_count > 1 ? 1 + draw.below(100) : 0;
  return row;
}

GCOORD_HD inline void add_ordinary_parts(Draw& draw, RowCopy& row) {
  row.storage.durable = row.log.last - draw.below(20);
  row.storage.persist_from = row.log.last + 1 - draw.below(20);
  row.storage.pending_last = row.log.last - draw.below(20);
  row.storage.durable_term = draw.once_in(4) ? Term{} : row.hot.term - draw.below(2);
  row.storage.durable_vote = NodeId{draw.below(4)};
  row.storage.request_pending = static_cast<std::uint8_t>(draw.below(2));
  row.storage.apply_pending = static_cast<std::uint8_t>(draw.below(2));
  row.election.leader_since = Tick{draw.below(100000)};
  row.election.prevote_term = draw.once_in(2) ? Term{} : row.hot.term + draw.below(3);
  row.election.granted = static_cast<SlotMask>(draw.below(8));
  row.election.answer = static_cast<SlotMask>(draw.below(256));
  row.election.campaign_count = static_cast<std::uint8_t>(draw.below(256));
  row.election.transfer_target =
      draw.once_in(2) ? kSlotNone : static_cast<std::uint8_t>(draw.below(3));
  row.configuration = voters_of(draw, 0b111, 1);
  for (std::uint32_t slot = 0; slot < kPackedSlots; ++slot) {
    row.progress[slot].match = draw.once_in(2) ? LogIndex{} : row.log.last - draw.below(50);
    row.progress[slot].next = draw.once_in(4) ? LogIndex{} : row.log.last + 1 - draw.below(50);
    row.progress[slot].acked_session = draw.below(1000);
    row.progress[slot].state = static_cast<ProgressState>(draw.below(3));
    row.progress[slot].flags = static_cast<std::uint8_t>(draw.below(32));
  }
}

HD_TEST(PackedRow, GivesBackAnOrdinaryRow) {
  Draw draw(seed);
  RowCopy row = ordinary_row(draw);
  add_ordinary_parts(draw, row);
  PackedRow packed;
  const ShardRef shard = ref_of(row, ShardId{1}, kReplicaSlots);
  HD_EXPECT(pack(shard, packed));
  RowCopy copy{};
  const ShardRef again = ref_of(copy, ShardId{1}, kReplicaSlots);
  unpack(packed, row.hot.deadline, again);
  HD_EXPECT(role_of(packed) == row.hot.role);
  HD_EXPECT(row_digest(shard) == row_digest(again));
}

// memcmp, which no device has.
GCOORD_HD bool equal_bytes(const PackedRow& a, const PackedRow& b) {
  const auto* left = reinterpret_cast<const unsigned char*>(&a);
  const auto* right = reinterpret_cast<const unsigned char*>(&b);
  for (std::size_t i = 0; i < sizeof a; ++i) {
    if (left[i] != right[i]) {
      return false;
    }
  }
  return true;
}

// Registers and memory agree about where each field lies.
HD_TEST(PackedWords, AreTheBytesOfTheRow) {
  Draw draw(seed);
  RowCopy row = ordinary_row(draw);
  add_ordinary_parts(draw, row);
  PackedRow packed;
  HD_EXPECT(pack(ref_of(row, ShardId{1}, kReplicaSlots), packed));
  packed.run_start = static_cast<std::uint32_t>(draw.word());
  packed.rejected = static_cast<SlotMask>(draw.word());
  packed.confirmed = static_cast<SlotMask>(draw.word());
  packed.learners = static_cast<SlotMask>(draw.word());
  PackedRow memory{};
  store_packed(packed, memory);
  HD_EXPECT(equal_bytes(memory, packed));
  const PackedRow loaded = load_packed(memory);
  HD_EXPECT(equal_bytes(loaded, packed));
  PackedRow moved{};
  store_packed_moving(packed, moved);
  HD_EXPECT(moved.term == 0 && moved.last_ahead == packed.last_ahead);
}

// Every way of being exceptional, one at a time.
HD_TEST(PackedRow, RefusesWhatItCannotSay) {
  Draw draw(seed);
  RowCopy row = ordinary_row(draw);
  add_ordinary_parts(draw, row);
  switch (seed % 12) {
    case 0:
      row.hot.leader = NodeId{1u << 16};
      break;
    case 1:
      row.log.commit = row.log.last - (1u << 16);
      row.log.applied = row.log.commit;
      break;
    case 2:
      row.log.run_count = kPackedRuns + 1;
      break;
    case 3:
      row.storage.durable = row.log.last - ((1u << 16) - 1);
      break;
    case 4:
      row.election.read_sequence = 1;
      break;
    case 5:
      row.election.leader_since = Tick{std::uint64_t{1} << kTickBits};
      break;
    case 6:
      row.election.guest = NodeId{9};
      break;
    case 7:
      row.configuration.voters_outgoing = 0b011;
      break;
    case 8:
      row.configuration.weight[1] = 2;
      break;
    case 9:
      row.configuration.node[kPackedSlots] = NodeId{4};
      break;
    case 10:
      row.progress[0].acked_session = 1u << kSessionBits;
      break;
    default:
      row.progress[kPackedSlots].next = LogIndex{1};
      break;
  }
  PackedRow packed;
  HD_EXPECT(!pack(ref_of(row, ShardId{1}, kReplicaSlots), packed));
}

HD_TEST(MessageTiles, GiveBackEveryMessageOfEveryPlace) {
  constexpr std::uint32_t kPlanes = 2;
  alignas(16) std::byte memory[kTilePlaces * kPlanes * sizeof(Message)];
  const MessageTiles tiles{memory, kTilePlaces, kPlanes};
  Draw draw(seed);
  const std::uint32_t place = draw.below(kTilePlaces);
  Message sent[kPlanes];
  for (std::uint32_t k = 0; k < kPlanes; ++k) {
    sent[k].shard = ShardId{seed};
    sent[k].to = NodeId{draw.below(9)};
    sent[k].index = LogIndex{draw.word()};
    sent[k].context = draw.word();
    tiles.sink(place).store(k, sent[k]);
  }
  for (std::uint32_t k = 0; k < kPlanes; ++k) {
    const MessageSink sink = tiles.sink(place);
    const MessageSlot lies{sink.chunk(k, 0), sink.chunk_stride};
    const Message read = lies.load();
    HD_EXPECT(read.shard == sent[k].shard && read.to == sent[k].to);
    HD_EXPECT(read.index == sent[k].index && read.context == sent[k].context);
    HD_EXPECT(lies.receiver() == sent[k].to && lies.kind() == sent[k].kind);
  }
}

// Chunks side by side are a message as it lies in memory and on the wire.
HD_TEST(MessageTiles, FillAnArrayOfMessages) {
  Draw draw(seed);
  Message sent;
  sent.shard = ShardId{draw.below(1u << 31)};
  sent.kind = static_cast<MessageKind>(draw.below(12));
  sent.flags = static_cast<std::uint8_t>(draw.below(256));
  sent.count = static_cast<std::uint16_t>(draw.below(1u << 16));
  sent.from = NodeId{draw.below(1u << 31)};
  sent.to = NodeId{draw.below(1u << 31)};
  sent.term = Term{draw.word()};
  sent.commit = LogIndex{draw.word()};
  sent.entry_term = draw.word();
  Message lies;
  sink_of(&lies, 1).store(0, sent);
  HD_EXPECT(lies.shard == sent.shard && lies.kind == sent.kind && lies.flags == sent.flags);
  HD_EXPECT(lies.count == sent.count && lies.from == sent.from && lies.to == sent.to);
  HD_EXPECT(lies.term == sent.term && lies.index == sent.index);
  HD_EXPECT(lies.log_term == sent.log_term && lies.commit == sent.commit);
  HD_EXPECT(lies.entry_term == sent.entry_term && lies.context == sent.context);
}

// The quorum of weights, counted voter by voter.
HD_TEST(Quorum, IsMoreThanHalfOfTheWeight) {
  Draw draw(seed);
  const auto voters = static_cast<SlotMask>(1 + draw.below(255));
  const Configuration configuration = voters_of(draw, voters, 3);
  const auto agree = static_cast<SlotMask>(draw.below(256));
  std::uint32_t sum = 0;
  std::uint32_t total = 0;
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    total += configuration.weight[slot];
    sum += has_slot(agree, slot) ? configuration.weight[slot] : 0u;
  }
  HD_EXPECT(is_quorum(configuration, agree) == (2 * sum > total));
}

// The index that a quorum has: that of the voter with which the weight passes one half, from the
// largest down.
HD_TEST(Quorum, ReachesWhatAMajorityReached) {
  Draw draw(seed);
  const auto voters = static_cast<SlotMask>(1 + draw.below(255));
  const Configuration configuration = voters_of(draw, voters, 3);
  std::uint64_t match[kReplicaSlots];
  for (std::uint64_t& value : match) {
    value = draw.below(6);
  }
  std::uint64_t expected = 0;
  for (std::uint64_t value = 1; value < 6; ++value) {
    SlotMask reached = 0;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      reached = static_cast<SlotMask>(reached | (match[slot] >= value ? slot_bit(slot) : 0));
    }
    expected = is_quorum(configuration, reached) ? value : expected;
  }
  HD_EXPECT(committed_index(configuration, match).value == expected);
}

// The slots in their order, rotated by the shard; with holes in the configuration, too.
HD_TEST(CampaignOrder, RotatesTheSlotsByTheShard) {
  Draw draw(seed);
  const auto shard = static_cast<std::uint32_t>(draw.word());
  const std::uint32_t voters = 1 + draw.below(kReplicaSlots);
  const CampaignOrder order{voters, shard % voters};
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    HD_EXPECT(rank_of(order, slot) == (slot + voters - shard % voters) % voters);
  }
  HD_EXPECT(rank_of(order, kSlotNone) == 0);
  HD_EXPECT(rank_of(CampaignOrder{}, 0) == 0);
}

}  // namespace gcoord::consensus
