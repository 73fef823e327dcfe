// Datagrams of failure detection, as anybody on the network may send them.
#include "common/assert.h"
#include "common/bytes.h"
#include "common/random.h"
#include "common/siphash.h"
#include "membership/detector/detector.h"
#include "membership/detector/message.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <vector>

namespace {

using namespace gcoord;
using namespace gcoord::membership;

constexpr ClusterId kCluster{7};
constexpr NodeId kSelf{1};

FuzzInput input_of(const DetectorMessage& message) {
  const std::vector<std::byte> bytes = encode_message(message, kCluster);
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return std::to_integer<std::uint8_t>(each); });
  return input;
}

DetectorMessage message(MessageKind kind) {
  return {.kind = kind, .from = NodeId{2}, .to = kSelf, .incarnation = Incarnation{1}};
}

// A detector takes whatever decodes, and stays within its bounds.
void take(const DetectorMessage& decoded) {
  Detector detector({.self = kSelf, .incarnation = Incarnation{1}});
  const std::vector<WatchedNode> others{{NodeId{2}, ""}, {NodeId{3}, ""}};
  detector.set_nodes(others, 1);
  detector.set_socket(true);
  for (std::uint64_t now_ms = 1; now_ms < 1000; now_ms += 100) {
    static_cast<void>(detector.on_message(decoded, now_ms));
    detector.advance(now_ms);
    GCOORD_ASSERT(detector.take_outgoing().size() <= 16);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(
      bytes, bytes + byte_count, input.begin(), [](std::uint8_t each) { return std::byte{each}; });
  // Mutations are tagged anew, so that they come beyond the tag.
  if (input.size() >= kMessageBytesMin) {
    const std::span<std::byte> said{input.data(), input.size() - 8};
    store(input.data() + said.size(), siphash({kCluster.value, mix64(kCluster.value)}, said));
  }
  const DecodedMessage decoded = decode_message(input, kCluster, kSelf);
  if (decoded.fault == MessageFault::None) {
    GCOORD_ASSERT(encode_message(decoded.message, kCluster) == input);
    take(decoded.message);
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  DetectorMessage request = message(MessageKind::PingRequest);
  request.about = NodeId{3};
  DetectorMessage relayed = message(MessageKind::Relayed);
  relayed.about = NodeId{3};
  relayed.outcome = Outcome::Refused;
  DetectorMessage ping = message(MessageKind::Ping);
  ping.opinions = {{NodeId{3}, Incarnation{1}, Verdict::Suspect, Cause::Refused},
                   {NodeId{1}, Incarnation{1}, Verdict::Doubted, Cause::Silent}};
  return {
      input_of(ping), input_of(request), input_of(message(MessageKind::Ack)), input_of(relayed)};
}
