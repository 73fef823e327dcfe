// Memory that a client shares with a node, as the client may leave it at any moment: words, pieces
// and frames, and what it does to them between two looks of the node.
//
// An input is a row of moments of 96 bytes of words and ring each, the last one of any length. What
// the node takes is judged by the decoder that judges bytes of TCP.
#include "common/assert.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace {

using namespace gcoord;           // NOLINT: a program of its own.
using namespace gcoord::netcore;  // NOLINT

constexpr std::uint32_t kCapacity = kRingBytesMin;

// The words of a moment; behind them lies what the ring begins with.
struct Moment {
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t sleep = 0;
  std::uint64_t wait = 0;
};

// The ring lies on the heap by itself, so that a byte beside it is found.
struct Shared {
  std::unique_ptr<ClientRingPage> page = std::make_unique<ClientRingPage>();
  std::unique_ptr<std::byte[]> request{new std::byte[kCapacity]()};
  std::unique_ptr<std::byte[]> reply{new std::byte[kCapacity]()};
};

void judge_frames(protocol::FrameDecoder& input) {
  protocol::FrameView frame;
  while (input.next(frame) == protocol::DecodeStep::Frame) {
    for (std::size_t index = 0; index < frame.slot_count(); ++index) {
      const protocol::RequestSlot slot = frame.request(index);
      const auto error = protocol::check_request(slot, frame.payload(slot), {.shard_count = 64});
      GCOORD_ASSERT(error == protocol::ErrorCode::None ||
                    protocol::find_error(static_cast<std::uint32_t>(error)) != nullptr);
    }
  }
}

// What the node does in a pass.
class NodeSide {
 public:
  explicit NodeSide(Shared& shared)
      : reader_({&shared.page->request, shared.request.get(), kCapacity}),
        writer_({&shared.page->reply, shared.reply.get(), kCapacity}) {}

  void pass() {
    const bool was_broken = reader_.broken();
    const bool sound = decoder_.bad() == protocol::BadFrame::None;
    const std::size_t waiting = sound ? reader_.waiting_bytes() : 0;
    GCOORD_ASSERT(waiting <= kCapacity && (!was_broken || waiting == 0));
    const std::span<std::byte> room = decoder_.room_for(waiting);
    const RingTaken taken = reader_.take(room.data(), room.size());
    GCOORD_ASSERT(taken.bytes <= waiting);
    GCOORD_ASSERT(!was_broken || (reader_.broken() && taken.bytes == 0));
    decoder_.written(taken.bytes);
    if (sound) {
      judge_frames(decoder_);
    }
    GCOORD_ASSERT(!reader_.arm() || !reader_.broken());
    const std::vector<std::byte> reply(300, std::byte{7});
    const std::uint32_t written = writer_.write(reply.data(), reply.size());
    GCOORD_ASSERT(written <= reply.size() && (written == 0 || !writer_.broken()));
    writer_.publish();
    GCOORD_ASSERT(!writer_.arm() || !writer_.broken());
  }

 private:
  RingReader reader_;
  RingWriter writer_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
};

void take_place(Shared& shared, std::span<const std::byte> bytes) {
  Moment moment;
  std::memcpy(static_cast<void*>(&moment), bytes.data(), std::min(sizeof(moment), bytes.size()));
  shared.page->request.written = moment.written;
  shared.page->request.writer_wait = moment.wait;
  shared.page->reply.read = moment.read;
  shared.page->reply.reader_sleep = moment.sleep;
  if (bytes.size() > sizeof(moment)) {
    const auto ring = bytes.subspan(sizeof(moment));
    std::copy_n(ring.begin(), std::min<std::size_t>(ring.size(), kCapacity), shared.request.get());
  }
}

void judge_request_for_rings(std::span<const std::byte> bytes) {
  std::array<std::byte, sizeof(RingRequest)> request{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), request.size()), request.begin());
  const auto offer = answer_to(request);
  GCOORD_ASSERT(!offer.has_value() || is_sound(offer->shape));
}

FuzzInput ring_of(const std::vector<std::vector<std::byte>>& pieces, std::uint64_t add) {
  Shared shared;
  RingWriter writer{{&shared.page->request, shared.request.get(), kCapacity}};
  for (const auto& piece : pieces) {
    writer.write(piece.data(), piece.size());
  }
  writer.publish();
  const Moment moment{.written = shared.page->request.written + add, .sleep = 1, .wait = 1};
  FuzzInput input(sizeof(moment) + shared.page->request.written);
  std::memcpy(input.data(), &moment, sizeof(moment));
  std::memcpy(input.data() + sizeof(moment), shared.request.get(), shared.page->request.written);
  return input;
}

std::vector<std::byte> frame_of(protocol::RequestKind kind, std::span<const std::byte> payload) {
  protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  protocol::RequestSlot slot;
  slot.kind = kind;
  slot.session = 9;
  slot.sequence = 2;
  slot.acked_below = 1;
  slot.ttl_ms = 1000;
  builder.add(slot, payload);
  std::vector<std::byte> bytes;
  builder.finish(bytes);
  return bytes;
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  const auto hello =
      frame_of(protocol::RequestKind::Hello, protocol::encode(protocol::Hello{.client = "fuzz"}));
  const auto acquire =
      frame_of(protocol::RequestKind::LockAcquire, protocol::bytes_of("jobs/train"));
  std::vector<std::byte> half(acquire.begin(), acquire.begin() + 50);
  std::vector<std::byte> rest(acquire.begin() + 50, acquire.end());
  FuzzInput twice = ring_of({hello}, 0);
  const FuzzInput second = ring_of({hello, half, rest}, 64);
  twice.resize(96);
  twice.insert(twice.end(), second.begin(), second.end());
  FuzzInput request(sizeof(RingRequest));
  const RingRequest honest;
  std::memcpy(request.data(), &honest, sizeof(honest));
  return {ring_of({hello}, 0),
          ring_of({hello, acquire}, 0),
          ring_of({half, rest}, 0),
          ring_of({hello}, kCapacity),
          twice,
          request};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  constexpr std::size_t kMomentBytes = 96;
  const std::span<const std::byte> input{reinterpret_cast<const std::byte*>(bytes), byte_count};
  judge_request_for_rings(input);
  // Once as moments that follow one another, once as one.
  for (const std::size_t step : {kMomentBytes, byte_count + 1}) {
    Shared shared;
    NodeSide node{shared};
    for (std::size_t start = 0; start < input.size(); start += step) {
      take_place(shared, input.subspan(start));
      node.pass();
      node.pass();
    }
  }
  return 0;
}
