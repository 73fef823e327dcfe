// Messages about the coordinator as nodes that are not trusted may send them, to nodes of each
// method while time passes. What one of them sends must be of the right form and for another node.
//
// An input is a row of parts: a byte for who sends it and how much time goes by first, a byte for
// how long the message is, and the message.
#include "common/assert.h"
#include "server/peers/coordinator_driver.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <array>
#include <memory>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::array kNodes = {NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}};
constexpr std::uint32_t kSelf = 2;
// Messages that one may call forth: a question to each, and an answer.
constexpr std::uint64_t kMostSent = 2 * kNodes.size();

class LoneOffice {
 public:
  explicit LoneOffice(CoordinatorMethod method)
      : office_({.node = NodeId{kSelf}, .nodes = {kNodes.begin(), kNodes.end()}, .method = method},
                metrics_,
                {.peers = [] { return peers(); },
                 .send = [this](NodeId to, auto message) { on_sent(to, message); }}) {}

  void pass(std::uint64_t ticks) {
    now_ = now_ + ticks;
    office_.on_tick(now_);
  }

  void receive(NodeId from, std::span<const std::byte> message) {
    const std::uint64_t before = sent_;
    office_.on_message(from, message, now_);
    GCOORD_ASSERT(sent_ - before <= kMostSent);
    const NodeId coordinator = office_.coordinator();
    GCOORD_ASSERT(coordinator.value <= kNodes.size());
    GCOORD_ASSERT(office_.view().others.size() < kNodes.size());
  }

 private:
  static std::vector<CoordinatorPeer> peers() {
    std::vector<CoordinatorPeer> peers;
    for (const NodeId node : kNodes) {
      if (node != NodeId{kSelf}) {
        peers.push_back({node, Incarnation{1}, true, true});
      }
    }
    return peers;
  }

  void on_sent(NodeId to, std::span<const std::byte> message) {
    ++sent_;
    const auto decoded = decode_coordinator(message);
    GCOORD_ASSERT(decoded.has_value());
    GCOORD_ASSERT(decoded->hops <= kNodes.size() + 1);
    GCOORD_ASSERT(to != NodeId{kSelf});
    GCOORD_ASSERT(std::ranges::find(kNodes, to) != kNodes.end());
  }

  MetricsRegistry metrics_;
  Tick now_{1000};
  std::uint64_t sent_ = 0;
  CoordinatorDriver office_;
};

void judge(CoordinatorMethod method, std::span<const std::byte> input) {
  LoneOffice office{method};
  office.pass(1);
  while (input.size() >= 2) {
    const auto first = static_cast<std::uint8_t>(input[0]);
    const std::size_t length =
        std::min<std::size_t>(static_cast<std::uint8_t>(input[1]), input.size() - 2);
    office.pass((first >> 4) * std::uint64_t{40});
    office.receive(NodeId{first & 7u}, input.subspan(2, length));
    input = input.subspan(2 + length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> input(byte_count);
  std::transform(bytes, bytes + byte_count, input.begin(), [](auto b) { return std::byte{b}; });
  for (const auto method :
       {CoordinatorMethod::Raft, CoordinatorMethod::Bully, CoordinatorMethod::Ring}) {
    judge(method, input);
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  for (const auto method :
       {CoordinatorMethod::Raft, CoordinatorMethod::Bully, CoordinatorMethod::Ring}) {
    FuzzInput seed;
    for (std::uint8_t word = 1; word <= kCoordinatorWordLast; ++word) {
      for (const NodeId from : {NodeId{1}, NodeId{4}}) {
        const auto message = encode_coordinator({method, CoordinatorWord{word}, 1, from});
        seed.push_back(static_cast<std::uint8_t>(from.value | 0x80u));
        seed.push_back(static_cast<std::uint8_t>(message.size()));
        for (const std::byte b : message) {
          seed.push_back(static_cast<std::uint8_t>(b));
        }
      }
    }
    seeds.push_back(seed);
  }
  return seeds;
}
