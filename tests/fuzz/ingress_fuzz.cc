// Requests in the ingress lane of a stripe, and frames of clients on their way there, as somebody
// who is not trusted may write them (docs/adr/0144): a device takes nothing that could not be a
// command of its shard, and what an I/O thread prepares is what the loop's thread would make.
#include "common/assert.h"
#include "locks/commands/entry.h"
#include "protocol/frame.h"
#include "protocol/lock_messages.h"
#include "server/ingress/lock_command.h"
#include "server/ingress/prepared_requests.h"
#include "server/resident/node/lock_ingress.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::uint32_t kShards = 8;
constexpr protocol::RequestLimits kLimits{kShards, 100, 60'000};

// Slots of 64 bytes, as a lane brings them; a pass holds until the next one.
void judge_lane(std::span<const std::byte> bytes) {
  TurnPass pass;
  for (; bytes.size() >= sizeof(TurnRequest); bytes = bytes.subspan(sizeof(TurnRequest))) {
    TurnRequest request;
    std::memcpy(static_cast<void*>(&request), bytes.data(), sizeof request);
    if (request.tag == kPassTag) {
      pass = pass_of(request);
      continue;
    }
    const IngressFault fault = ingress_fault(request, pass, kShards);
    GCOORD_ASSERT(static_cast<std::uint32_t>(fault) < kIngressFaults);
    const locks::LockEntry entry = entry_of_request(request);
    if (fault != IngressFault::None || locks::is_nothing_to_locks(entry.kind())) {
      continue;
    }
    const locks::LockCommand command = locks::command_of(entry);
    GCOORD_ASSERT(locks::is_entry_command(command));
    GCOORD_ASSERT(!has_name_hash(command.kind) ||
                  shard_of(command.name_hash, kShards) == request.shard);
    GCOORD_ASSERT((needs_of(command.kind) & pass.withheld) == 0);
    GCOORD_ASSERT(!is_of_node(command.kind) || pass.principal == 0);
  }
}

void judge_frame(const protocol::FrameView& frame, PreparedRequests& prepared) {
  prepared.next_frame();
  for (std::size_t k = 0; k < frame.slot_count(); ++k) {
    const PreparedRequest* const found = prepared.at(k);
    const protocol::RequestSlot slot = frame.request(k);
    GCOORD_ASSERT(found == nullptr || is_plain_lock_request(slot.kind));
    if (found == nullptr) {
      continue;
    }
    const auto payload = frame.payload(slot);
    GCOORD_ASSERT(found->error == protocol::check_request(slot, payload, kLimits));
    if (found->error != protocol::ErrorCode::None) {
      GCOORD_ASSERT(found->entries.empty());
      continue;
    }
    const locks::LockCommand command = lock_command(slot, payload);
    GCOORD_ASSERT(std::memcmp(&command, &found->command, sizeof command) == 0);
    const ShardId shard = shard_of(command.name_hash, kShards);
    for (const locks::LockEntry& entry : found->entries) {
      TurnRequest request{.shard = shard, .head = entry.head, .tag = 1};
      std::memcpy(request.word, entry.word, sizeof request.word);
      GCOORD_ASSERT(ingress_fault(request, {}, kShards) == IngressFault::None);
    }
  }
}

// A stream, all of whose frames come in one read.
void judge_stream(std::span<const std::byte> bytes) {
  protocol::FrameDecoder decoder{protocol::FrameDirection::Requests};
  PreparedRequests prepared{IngressRules{kLimits, true}};
  decoder.append(bytes);
  std::vector<protocol::FrameView> frames;
  protocol::FrameView frame;
  while (decoder.next(frame) == protocol::DecodeStep::Frame) {
    prepared.add(frame);
    frames.push_back(frame);
  }
  prepared.seal();
  for (const protocol::FrameView& each : frames) {
    judge_frame(each, prepared);
  }
}

// The same without the checksums of a frame, which a mutation hardly hits: slots of 64 bytes, each
// with the name behind all of them.
void judge_slots(std::span<const std::byte> bytes) {
  protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  const std::size_t name_bytes = std::min<std::size_t>(bytes.size() % 200, bytes.size());
  const auto name = bytes.last(name_bytes);
  for (auto left = bytes; left.size() >= protocol::kSlotBytes;
       left = left.subspan(protocol::kSlotBytes)) {
    protocol::RequestSlot slot;
    std::memcpy(static_cast<void*>(&slot), left.data(), sizeof slot);
    builder.add(slot, name);
  }
  if (!builder.empty()) {
    std::vector<std::byte> frame;
    builder.finish(frame);
    judge_stream(frame);
  }
}

FuzzInput input_of(std::uint8_t way, std::span<const std::byte> bytes) {
  FuzzInput input(1 + bytes.size());
  input[0] = way;
  std::memcpy(input.data() + 1, bytes.data(), bytes.size());
  return input;
}

std::vector<std::byte> slots_of(const locks::LockCommand& command, const TurnPass& pass) {
  std::vector<TurnRequest> requests{pass_request(pass)};
  for (const locks::LockEntry& entry : locks::entries_of(command)) {
    TurnRequest request{
        .shard = shard_of(command.name_hash, kShards), .head = entry.head, .tag = requests.size()};
    std::memcpy(request.word, entry.word, sizeof request.word);
    requests.push_back(request);
  }
  const auto bytes = std::as_bytes(std::span{requests});
  return {bytes.begin(), bytes.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  if (byte_count == 0) {
    return 0;
  }
  const auto rest = std::as_bytes(std::span{bytes, byte_count}).subspan(1);
  switch (bytes[0] % 3) {
    case 0:
      judge_lane(rest);
      break;
    case 1:
      judge_stream(rest);
      break;
    default:
      judge_slots(rest);
      break;
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::string name = "orders/" + std::string(60, 'x');
  const locks::LockCommand acquire = locks::make_acquire({.session = SessionId{9},
                                                          .sequence = RequestSequence{7},
                                                          .acked_below = RequestSequence{3},
                                                          .name = name,
                                                          .wait = true,
                                                          .ttl_ms = 5000});
  const locks::LockCommand release = locks::make_release({.session = SessionId{9},
                                                          .sequence = RequestSequence{8},
                                                          .acked_below = RequestSequence{7},
                                                          .name_hash = hash_name(name),
                                                          .token = FencingToken{70}});
  protocol::LockAcquire asked;
  asked.caller = {SessionId{9}, RequestSequence{7}, RequestSequence{3}};
  asked.ttl_ms = 5000;
  const protocol::RequestSlot slot = protocol::to_slot(asked);
  protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  std::vector<std::byte> stream;
  builder.add(slot, protocol::bytes_of(name));
  builder.finish(stream);
  const std::vector<std::byte> alone(std::as_bytes(std::span{&slot, 1}).begin(),
                                     std::as_bytes(std::span{&slot, 1}).end());
  std::vector<std::byte> named = alone;
  const auto name_bytes = protocol::bytes_of(name);
  named.insert(named.end(), name_bytes.begin(), name_bytes.end());
  return {input_of(0, slots_of(acquire, {})),
          input_of(0, slots_of(release, {3, ~std::uint64_t{0}})),
          input_of(1, stream),
          input_of(2, alone),
          input_of(2, named)};
}
