// Replies that a client decodes: every payload that a node sends it, whatever was asked.
//
// The first byte of an input picks the decoder, the rest is the payload. What decodes must encode
// to something that decodes, and hold no more than its bytes and the protocol's bounds allow.
// Frames, with their checksums, are client_frame_fuzz.cc's.
#include "client/net/failure.h"
#include "common/assert.h"
#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/hello.h"
#include "protocol/lease_messages.h"
#include "protocol/ledger/prune_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/session_messages.h"
#include "protocol/watch_messages.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace {

using namespace gcoord;            // NOLINT: a program of its own.
using namespace gcoord::protocol;  // NOLINT

using Bytes = std::vector<std::byte>;
using Payload = std::span<const std::byte>;

template <auto Decode, auto Encode>
void round_trip(Payload payload) {
  const auto decoded = Decode(payload);
  if (decoded.ok()) {
    GCOORD_ASSERT(Decode(Encode(decoded.value())).ok());
  }
}

Bytes welcome_bytes(const Welcome& welcome) {
  return encode(welcome);
}

void judge_welcome(Payload payload) {
  round_trip<decode_welcome, welcome_bytes>(payload);
  const auto welcome = decode_welcome(payload);
  if (!welcome.ok()) {
    return;
  }
  const Welcome& told = welcome.value();
  std::set<std::uint32_t> ids;
  for (const NodeAddress& node : told.nodes) {
    ids.insert(node.node.value);
    GCOORD_ASSERT(node.address.size() <= kAddressBytesMax);
  }
  GCOORD_ASSERT(told.shard_count > 0 && told.shard_count <= kShardsMax);
  GCOORD_ASSERT(!told.nodes.empty() && told.nodes.size() <= kNodesMax);
  GCOORD_ASSERT(ids.size() == told.nodes.size() && !ids.contains(0));
  GCOORD_ASSERT(told.tick_ms <= kPeriodMsMax && told.election_ms <= kPeriodMsMax);
}

void judge_leader_map(Payload payload) {
  round_trip<decode_leader_map, encode_leader_map>(payload);
  const auto map = decode_leader_map(payload);
  GCOORD_ASSERT(!map.ok() || map.value().leaders.size() <= kLeaderMapShardsMax);
}

void judge_losses(Payload payload) {
  const auto losses = decode_losses(payload);
  if (losses.ok()) {
    GCOORD_ASSERT(losses.value().size() <= kLossesMax);
    GCOORD_ASSERT(decode_losses(encode_losses(losses.value())).ok());
  }
}

void judge_read_reply(Payload payload) {
  const auto reply = decode_lock_read_reply(payload);
  if (reply.ok()) {
    GCOORD_ASSERT(reply.value().names.size() <= kReadNamesMax);
    GCOORD_ASSERT(reply.value().shards.size() <= kReadShardsMax);
  }
}

void judge_reason(Payload payload) {
  GCOORD_ASSERT(client::reason_in(payload).size() <= kReasonBytesMax);
}

void judge_watch(Payload payload) {
  static_cast<void>(decode_watch_message(payload));
}

// Never renumber: inputs that are kept name their decoder by its place.
constexpr std::array kJudges = {
    &judge_welcome,
    &judge_leader_map,
    &judge_losses,
    &judge_read_reply,
    &judge_reason,
    &judge_watch,
    &round_trip<decode_keep_alive_reply, encode_keep_alive_reply>,
    &round_trip<decode_verdicts, encode_verdicts>,
    &round_trip<decode_lock_row, encode_lock_row>,
    &round_trip<decode_lock_details, encode_lock_details>,
    &round_trip<decode_list_page, encode_list_page>,
    &round_trip<decode_candidates, encode_candidates>,
    &round_trip<decode_session, encode_session>,
    &round_trip<decode_session_page, encode_session_page>,
    &round_trip<decode_past_reply, encode_past_reply>,
    &round_trip<decode_read_page, encode_read_page>,
    &round_trip<decode_ledger_pruned, encode_ledger_pruned>,
};

FuzzInput input_of(std::size_t judge, const Bytes& payload) {
  FuzzInput input{static_cast<std::uint8_t>(judge)};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(payload.data());
  input.insert(input.end(), bytes, bytes + payload.size());
  return input;
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  const Welcome welcome{.version = 1,
                        .features = kFeatures,
                        .cluster = ClusterId{77},
                        .node = NodeId{1},
                        .shard_count = 1024,
                        .tick_ms = 10,
                        .election_ms = 1000,
                        .ttl_ms_min = kTtlMsMin,
                        .ttl_ms_max = kTtlMsMax,
                        .nodes = {{NodeId{1}, "127.0.0.1:1"}, {NodeId{2}, ""}}};
  const LockRow row{
      .name = "a", .token = FencingToken{7}, .waiter_count = 1, .waiters = {{SessionId{1}, {}, 2}}};
  const std::vector<KeepAliveEntry> entries{{SessionId{1}, KeepAliveState::Renewed, 7}};
  const std::vector<CheckVerdict> verdicts{CheckVerdict::Valid, CheckVerdict::Free};
  const std::vector<LossEntry> losses{{FencingToken{1}, LogIndex{2}, ShardId{3}, "a"}};
  const LockReadReply read{.question = ReadQuestion::Row,
                           .shards = {{.shard = ShardId{1}, .index = LogIndex{9}, .age_ms = 5}},
                           .names = {{.answered = true, .present = true, .row = row}}};
  const SessionRow session{.session = SessionId{9}, .ttl_ms = 1000, .registration_count = 1};
  const Bytes reason(3000, std::byte{0xc3});
  return {input_of(0, encode(welcome)),
          input_of(1, encode_leader_map({ShardId{0}, std::vector<NodeId>(16, NodeId{2})})),
          input_of(2, encode_losses(losses)),
          input_of(3, encode_lock_read_reply(read)),
          input_of(4, reason),
          input_of(5, encode_watch_progress({.last = true, .revisions = {{ShardId{1}, {}}}})),
          input_of(6, encode_keep_alive_reply(entries)),
          input_of(7, encode_verdicts(verdicts)),
          input_of(8, encode_lock_row(row)),
          input_of(9, encode_lock_details(row)),
          input_of(10, encode_list_page({.rows = {row}, .next_cursor = "x"})),
          input_of(12, encode_session({session, {"a", "b"}})),
          input_of(13, encode_session_page({1, 1, {session}})),
          input_of(14,
                   encode_past_reply(
                       {.shard = ShardId{1}, .index = LogIndex{4}, .present = true, .row = row})),
          input_of(15, encode_read_page({.page = {.rows = {row}}, .shards = read.shards})),
          input_of(16, encode_ledger_pruned({1, 2, 3, 4}))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  if (byte_count != 0) {
    const auto* payload = reinterpret_cast<const std::byte*>(bytes + 1);
    kJudges[bytes[0] % kJudges.size()](Payload{payload, byte_count - 1});
  }
  return 0;
}
