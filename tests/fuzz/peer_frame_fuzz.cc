// Bytes on the peer port: as a stream from a stranger, as greetings, and as frames on a live
// channel.
//
// Mutated checksums would stop almost every input at the first check, so each input is judged
// twice: as it is, and with its checksums made right, as somebody who knows the format would send
// it.
#include "common/crc32c.h"
#include "netcore/channel/channel.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/transport/greeting.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace gcoord;           // NOLINT: a program of its own.
using namespace gcoord::netcore;  // NOLINT

struct CheckingEvents final : ChannelEvents {
  void on_slots(Band band, std::span<const Slot> slots, const PayloadView& payloads) override {
    std::size_t extent_count = 0;
    for (const PayloadExtent extent : payloads) {
      GCOORD_ASSERT(extent.slot_index < slots.size());
      GCOORD_ASSERT(extent.bytes.size() <= kExtentBytesMax[static_cast<std::size_t>(band)]);
      // Reads every byte, so that the address sanitizer sees one too many.
      sum += crc32c(extent.bytes);
      ++extent_count;
    }
    GCOORD_ASSERT(extent_count == payloads.size());
    sum += crc32c(std::as_bytes(slots));
  }

  void on_heartbeat(const Heartbeat& /*heartbeat*/) override { ++sum; }

  std::uint64_t sum = 0;
};

ChannelOptions channel_options(std::uint32_t self, std::uint32_t peer) {
  ChannelOptions options;
  options.cluster = ClusterId{7};
  options.self = NodeId{self};
  options.peer = NodeId{peer};
  options.self_incarnation = Incarnation{1};
  options.peer_incarnation = Incarnation{1};
  options.epoch = 3;
  options.own_ring_slots = {64, 64, 64, 64};
  options.peer_ring_slots = {64, 64, 64, 64};
  options.unsent_bytes_max = 1 << 20;
  return options;
}

void judge(std::span<const std::byte> bytes) {
  FrameView frame;
  if (decode_frame(bytes, frame) != DropReason::None) {
    return;
  }
  Greeting greeting;
  Refusal refusal;
  static_cast<void>(decode_refusal(frame, refusal));
  if (decode_greeting(frame, greeting) == DropReason::None) {
    Greeting self;
    self.from = {ClusterId{7}, NodeId{1}, Incarnation{1}, DirectoryId{1}};
    CallerRecord record;
    record.is_configured = true;
    static_cast<void>(judge_hello(greeting, self, record));
    GCOORD_ASSERT(next_epoch(greeting, Incarnation{1}, 9) > 9);
  }
  Channel channel{channel_options(1, 2)};
  CheckingEvents events;
  static_cast<void>(channel.on_frame(frame, events));
  static_cast<void>(channel.on_frame(frame, events));
  // Whatever was applied, credit stays within its ring.
  for (std::size_t i = 0; i < kBandCount; ++i) {
    GCOORD_ASSERT(channel.credit(static_cast<Band>(i)) <= 64);
  }
}

void sign(std::span<std::byte> bytes) {
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.magic = kFrameMagic;
  header.version = kFrameVersion;
  header.body_bytes = static_cast<std::uint32_t>(bytes.size() - kFrameHeaderBytes);
  header.body_crc32c = crc32c(bytes.subspan(kFrameHeaderBytes));
  header.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&header), 60});
  std::memcpy(bytes.data(), &header, sizeof(header));
}

FuzzInput to_input(std::span<const std::byte> bytes) {
  FuzzInput input(bytes.size());
  std::memcpy(input.data(), bytes.data(), bytes.size());
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::size_t length = std::min(byte_count, kFrameBytesMax);
  AlignedBytes copy{std::max<std::size_t>(length, kFrameHeaderBytes)};
  std::transform(bytes, bytes + length, copy.data(), [](std::uint8_t b) { return std::byte{b}; });
  judge({copy.data(), length});
  const std::size_t whole_lines = length / kSlotBytes * kSlotBytes;
  if (whole_lines >= kFrameHeaderBytes) {
    sign({copy.data(), whole_lines});
    judge({copy.data(), whole_lines});
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  Channel sender{channel_options(2, 1)};
  const std::vector<Slot> slots(5, Slot{});
  const std::vector<std::byte> payload(100);
  const std::vector<PayloadExtent> extents = {{0, payload}, {0, payload}, {4, payload}};
  sender.send(Band::Consensus, slots, extents);
  sender.send(Band::Bulk, slots, {});
  sender.heartbeat({Incarnation{1}, Tick{5}, Tick{4}, Incarnation{1}, 1});
  std::array<std::span<const std::byte>, 16> frames;
  const std::size_t count = sender.collect(frames);
  for (std::size_t i = 0; i < count; ++i) {
    seeds.push_back(to_input(frames[i]));
  }
  Greeting hello;
  hello.from = {ClusterId{7}, NodeId{2}, Incarnation{1}, DirectoryId{5}};
  hello.to = NodeId{1};
  hello.epoch = 4;
  hello.ring_slots = {8, 8, 8, 8};
  std::array<std::byte, kGreetingBytes> greeting;
  encode_greeting(FrameKind::Hello, hello, greeting);
  seeds.push_back(to_input(greeting));
  std::array<std::byte, kStrangerBytesMax> refusal;
  const std::size_t length = encode_refusal(hello, {RefusalCode::NotAdmitted, "no"}, refusal);
  seeds.push_back(to_input(std::span{refusal}.first(length)));
  return seeds;
}
