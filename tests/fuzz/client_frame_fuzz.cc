// Bytes on the client port, in both directions: frames, slots, and every payload.
//
// Mutated checksums would stop almost every input at the first check, so each input is judged
// twice: as it is, and with its checksums made right, as somebody who knows the format would send
// it.
#include "common/crc32c.h"
#include "common/name_hash.h"
#include "locks/commands/command.h"
#include "protocol/election_messages.h"
#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/ledger/snapshot_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "protocol/session_messages.h"
#include "protocol/validate.h"
#include "protocol/watch_messages.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

namespace {

using namespace gcoord;            // NOLINT: a program of its own.
using namespace gcoord::protocol;  // NOLINT

using Bytes = std::vector<std::byte>;

// What decodes must encode again to something that decodes.
template <typename Decode, typename Encode>
void round_trip(std::span<const std::byte> payload, Decode decode, Encode encode) {
  const auto decoded = decode(payload);
  if (decoded.ok()) {
    const Bytes again = encode(decoded.value());
    GCOORD_ASSERT(decode(again).ok());
  }
}

// What the protocol admits, the log can hold: a leader encodes it without looking again.
void judge_command(const locks::LockCommand& command) {
  Bytes bytes;
  locks::encode(command, bytes);
  GCOORD_ASSERT(locks::decode(bytes).ok());
}

locks::ReleaseFields holder_of(const RequestSlot& slot, std::string_view name) {
  const Caller caller = caller_of(slot);
  return {caller.session,
          caller.sequence,
          caller.acked_below,
          hash_name(name),
          FencingToken{slot.token},
          slot.has(RequestFlag::ByToken)};
}

void judge_request(const RequestSlot& slot, std::span<const std::byte> payload) {
  const ErrorCode code = check_request(slot, payload, {.shard_count = 64});
  GCOORD_ASSERT(code == ErrorCode::None || find_error(static_cast<std::uint32_t>(code)) != nullptr);
  if (code != ErrorCode::None) {
    return;
  }
  const std::string_view name = text_of(payload);
  const Caller caller = caller_of(slot);
  if (slot.kind == RequestKind::LockAcquire) {
    const LockAcquire acquire = acquire_from_slot(slot);
    judge_command(locks::make_acquire({caller.session,
                                       caller.sequence,
                                       caller.acked_below,
                                       name,
                                       acquire.wait_ms != 0,
                                       acquire.ttl_ms}));
  } else if (slot.kind == RequestKind::LockAcquireHold) {
    const LockHold hold = decode_hold(payload).value();
    judge_command(locks::make_acquire_hold(
        {.acquire = {caller.session, caller.sequence, caller.acked_below, hold.name, true, 100},
         .ask = {.flags = hold.flags, .permits = hold.permits, .limit = hold.limit},
         .text = {hold.name.data(), hold.name.size() + hold.note.size()}}));
  } else if (slot.kind == RequestKind::LockRelease) {
    judge_command(locks::make_release({caller.session,
                                       caller.sequence,
                                       caller.acked_below,
                                       hash_name(name),
                                       FencingToken{slot.token},
                                       slot.has(RequestFlag::ByToken)}));
  } else if (slot.kind == RequestKind::ElectProclaim) {
    const Proclamation said = decode_proclamation(payload).value();
    judge_command(locks::make_proclaim(holder_of(slot, said.name), said.value));
  } else if (slot.kind == RequestKind::ElectTransfer) {
    const Nomination named = decode_nomination(payload).value();
    judge_command(locks::make_transfer(holder_of(slot, named.name), named.target));
  } else if (slot.kind == RequestKind::LockCancel) {
    judge_command(locks::make_cancel_wait(caller.session, caller.sequence, false));
  } else if (slot.kind == RequestKind::SessionGrant) {
    judge_command(locks::make_register_session(caller.session, slot.ttl_ms));
  } else if (slot.kind == RequestKind::CloseSession) {
    const RequestSequence sequence{std::max<std::uint64_t>(slot.sequence, 1)};
    judge_command(locks::make_close_session(caller.session, sequence));
  }
}

Bytes encode_watch_message(const WatchMessage& message) {
  if (message.kind == WatchMessageKind::Progress) {
    return encode_watch_progress(message.progress);
  }
  Bytes bytes;
  begin_watch_events(bytes);
  for (const WatchBlock& block : message.blocks) {
    append_watch_block(bytes, block);
  }
  return bytes;
}

// What was held before an event may be said in more than one way: encoded again it is the same.
void judge_watch_message(std::span<const std::byte> payload) {
  const auto message = decode_watch_message(payload);
  if (message.ok()) {
    const auto again = decode_watch_message(encode_watch_message(message.value()));
    GCOORD_ASSERT(again.value().blocks == message.value().blocks);
  }
}

void judge_request_payload(std::span<const std::byte> payload) {
  round_trip(payload, decode_hello, [](const Hello& hello) { return encode(hello); });
  round_trip(payload, decode_keep_alive, encode_keep_alive);
  round_trip(payload, decode_check_batch, encode_check_batch);
  round_trip(payload, decode_hold, encode_hold);
  round_trip(payload, decode_proclamation, encode_proclamation);
  round_trip(payload, decode_nomination, encode_nomination);
  round_trip(payload, decode_list_query, encode_list_query);
  round_trip(payload, decode_shard_range, encode_shard_range);
  round_trip(payload, decode_snapshot_read, encode_snapshot_read);
  round_trip(payload, decode_log_levels, encode_log_levels);
  round_trip(payload, decode_watch_query, encode_watch_query);
}

void judge_reply_payload(std::span<const std::byte> payload) {
  round_trip(payload, decode_welcome, [](const Welcome& welcome) { return encode(welcome); });
  round_trip(payload, decode_keep_alive_reply, encode_keep_alive_reply);
  round_trip(payload, decode_verdicts, encode_verdicts);
  round_trip(payload, decode_lock_row, encode_lock_row);
  round_trip(payload, decode_lock_details, encode_lock_details);
  round_trip(payload, decode_list_page, encode_list_page);
  round_trip(payload, decode_leader_map, encode_leader_map);
  round_trip(payload, decode_candidates, encode_candidates);
  judge_watch_message(payload);
}

// Feeds a stream in pieces of the given size and judges all that comes out.
void judge_stream(std::span<const std::byte> stream, FrameDirection direction, std::size_t piece) {
  FrameDecoder decoder{direction};
  FrameView frame;
  for (std::size_t start = 0; start < stream.size(); start += piece) {
    decoder.append(stream.subspan(start, std::min(piece, stream.size() - start)));
    while (decoder.next(frame) == DecodeStep::Frame) {
      for (std::size_t index = 0; index < frame.slot_count(); ++index) {
        if (direction == FrameDirection::Requests) {
          const RequestSlot slot = frame.request(index);
          judge_request(slot, frame.payload(slot));
          judge_request_payload(frame.payload(slot));
        } else {
          judge_reply_payload(frame.payload(frame.reply(index)));
        }
      }
    }
  }
  GCOORD_ASSERT(decoder.capacity_bytes() <= kFrameBytesMax + stream.size());
}

// The stream's first frame with everything right that a program computes for its sender.
Bytes repaired(Bytes stream, FrameDirection direction) {
  FrameHeader header;
  if (stream.size() < kFrameHeaderBytes) {
    return stream;
  }
  std::memcpy(&header, stream.data(), sizeof(header));
  header.magic = kFrameMagic;
  header.version = kFrameVersion;
  header.flags = direction == FrameDirection::Replies ? 1 : 0;
  header.reserved = 0;
  header.frame_bytes = static_cast<std::uint32_t>(stream.size());
  header.body_crc32c = crc32c(std::span{stream}.subspan(kFrameHeaderBytes));
  const auto bytes = std::as_bytes(std::span{&header, 1});
  header.header_crc32c = crc32c(bytes.first(offsetof(FrameHeader, header_crc32c)));
  std::memcpy(stream.data(), &header, sizeof(header));
  return stream;
}

FuzzInput frame_of(const RequestSlot& slot, std::span<const std::byte> payload) {
  FrameBuilder builder{FrameDirection::Requests};
  builder.add(slot, payload);
  builder.add(slot);
  Bytes bytes;
  builder.finish(bytes);
  const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {start, start + bytes.size()};
}

RequestSlot slot_of(RequestKind kind) {
  RequestSlot slot;
  slot.kind = kind;
  slot.session = 9;
  slot.sequence = 2;
  slot.acked_below = 1;
  slot.token = 5;
  slot.ttl_ms = 1000;
  return slot;
}

// What a shard keeps for itself, as somebody may claim it.
std::vector<FuzzInput> claims_of_a_shard() {
  std::vector<FuzzInput> claims;
  for (const RequestKind kind : {RequestKind::LockAcquire,
                                 RequestKind::LockRelease,
                                 RequestKind::LockCancel,
                                 RequestKind::SessionGrant,
                                 RequestKind::CloseSession}) {
    RequestSlot keeper = slot_of(kind);
    keeper.session = kSessionReserved;
    claims.push_back(frame_of(keeper, bytes_of("a")));
    RequestSlot imported = slot_of(kind);
    imported.sequence = ~std::uint64_t{0};
    imported.acked_below = imported.sequence;
    claims.push_back(frame_of(imported, bytes_of("a")));
  }
  return claims;
}

// What is asked for, and events that say in each way what was held before them.
std::vector<FuzzInput> watch_seeds() {
  const WatchPrevious nothing{.before = WatchBefore::Nothing};
  const WatchPrevious held{WatchBefore::Hold, FencingToken{1}, SessionId{5}, "note"};
  const WatchBlock block{
      ShardId{1},
      LogIndex{9},
      {{WatchEventKind::Granted, "a", FencingToken{1}, SessionId{5}, "note", nothing},
       {WatchEventKind::Granted, "a", FencingToken{2}, SessionId{6}, {}, held},
       {WatchEventKind::Granted, "a", FencingToken{3}, SessionId{7}, {}, held},
       {WatchEventKind::Released, "a", FencingToken{1}, SessionId{5}, {}, held},
       {WatchEventKind::ValueChanged, "b", FencingToken{1}, SessionId{5}, "other", held},
       {WatchEventKind::Waiting, "b", {}, SessionId{8}, {}, nothing},
       {WatchEventKind::Left, "b", {}, SessionId{8}, {}, {}}}};
  const WatchMessage events{.kind = WatchMessageKind::Events, .blocks = {block, block}};
  const WatchQuery query{.text = "a", .from = {{ShardId{1}, LogIndex{2}}}};
  return {frame_of(slot_of(RequestKind::WatchOpen), encode_watch_query(query)),
          frame_of(slot_of(RequestKind::WatchOpen), encode_watch_message(events)),
          frame_of(slot_of(RequestKind::WatchOpen),
                   encode_watch_progress({.last = true, .revisions = {{ShardId{1}, {}}}}))};
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  const LockRow row{.name = "a", .waiter_count = 1, .waiters = {{SessionId{1}, {}, 2}}};
  const std::vector<SessionId> sessions{SessionId{1}, SessionId{2}};
  const std::vector<KeepAliveEntry> entries{{SessionId{1}, KeepAliveState::Renewed, 7}};
  const std::vector<TokenCheck> checks{{"a", FencingToken{1}}, {"b", FencingToken{2}}};
  const std::vector<CheckVerdict> verdicts{CheckVerdict::Valid, CheckVerdict::Free};
  const Welcome welcome{.version = 1, .shard_count = 4, .nodes = {{NodeId{1}, "127.0.0.1:1"}}};
  RequestSlot far = slot_of(RequestKind::LockAcquire);
  far.sequence = std::uint64_t{1} << 33;
  std::vector<FuzzInput> seeds{
      frame_of(far, bytes_of("far")),
      frame_of(slot_of(RequestKind::Hello), encode(Hello{.client = "fuzz"})),
      frame_of(slot_of(RequestKind::LockAcquire), bytes_of("jobs/\xc3\xbc")),
      frame_of(slot_of(RequestKind::LockRelease), bytes_of("jobs/train")),
      frame_of(slot_of(RequestKind::KeepAlive), encode_keep_alive(sessions)),
      frame_of(slot_of(RequestKind::LockCheckBatch), encode_check_batch(checks)),
      frame_of(slot_of(RequestKind::LockList), encode_list_query({.prefix = "jobs/"})),
      frame_of(slot_of(RequestKind::LeaderMap), encode_shard_range({ShardId{1}, 2})),
      frame_of(slot_of(RequestKind::SnapshotRead), encode_snapshot_read({3, 512})),
      frame_of(slot_of(RequestKind::LogLevels), encode_log_levels({"info,peers=debug", "ann"})),
      frame_of(slot_of(RequestKind::Hello), encode(welcome)),
      frame_of(slot_of(RequestKind::KeepAlive), encode_keep_alive_reply(entries)),
      frame_of(slot_of(RequestKind::LockCheckBatch), encode_verdicts(verdicts)),
      frame_of(slot_of(RequestKind::LockGet), encode_lock_row(row)),
      frame_of(slot_of(RequestKind::LockAcquireHold),
               encode_hold({.flags = 1, .limit = 9, .name = "jobs", .note = "note"})),
      frame_of(slot_of(RequestKind::ElectProclaim), encode_proclamation({"jobs", "a:1"})),
      frame_of(slot_of(RequestKind::ElectTransfer), encode_nomination({SessionId{2}, "jobs"})),
      frame_of(slot_of(RequestKind::LockList), encode_list_page({{row, row}, "next"})),
      frame_of(slot_of(RequestKind::LeaderMap), encode_leader_map({ShardId{0}, {NodeId{1}}}))};
  std::ranges::move(claims_of_a_shard(), std::back_inserter(seeds));
  std::ranges::move(watch_seeds(), std::back_inserter(seeds));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const auto* start = reinterpret_cast<const std::byte*>(bytes);
  const Bytes stream{start, start + byte_count};
  const std::size_t piece = 1 + byte_count % 97;
  for (const FrameDirection direction : {FrameDirection::Requests, FrameDirection::Replies}) {
    judge_stream(stream, direction, piece);
    judge_stream(repaired(stream, direction), direction, piece);
  }
  return 0;
}
