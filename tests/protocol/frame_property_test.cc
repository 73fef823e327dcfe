// Whatever is put into frames comes out of them, however the stream is cut.
#include "protocol/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace gcoord::protocol {
namespace {

using Bytes = std::vector<std::byte>;

struct Sent {
  RequestSlot slot;
  Bytes payload;
};

Bytes bytes_from(const std::vector<std::uint8_t>& values) {
  Bytes bytes;
  std::ranges::transform(values, std::back_inserter(bytes), [](std::uint8_t value) {
    return static_cast<std::byte>(value);
  });
  return bytes;
}

// A slot whose every field is arbitrary; the builder sets the payload reference.
RequestSlot any_slot() {
  const auto words =
      *rc::gen::container<std::vector<std::uint64_t>>(8, rc::gen::arbitrary<std::uint64_t>());
  RequestSlot slot;
  std::memcpy(static_cast<void*>(&slot), words.data(), sizeof(slot));
  return slot;
}

std::vector<Sent> any_batch() {
  const auto count = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<Sent> batch;
  for (std::size_t index = 0; index < count; ++index) {
    batch.push_back({any_slot(), bytes_from(*rc::gen::arbitrary<std::vector<std::uint8_t>>())});
  }
  return batch;
}

void expect_same(const Sent& sent, const FrameView& frame, std::size_t index) {
  const RequestSlot slot = frame.request(index);
  RC_ASSERT(slot.kind == sent.slot.kind);
  RC_ASSERT(slot.request_id == sent.slot.request_id);
  RC_ASSERT(slot.token == sent.slot.token);
  RC_ASSERT(slot.ttl_ms == sent.slot.ttl_ms);
  RC_ASSERT(std::ranges::equal(frame.payload(slot), sent.payload));
}

TEST(FrameProperty, WhatIsPutInComesOutHoweverTheStreamIsCut) {
  const bool held = rc::check([] {
    const auto batch_count = *rc::gen::inRange<std::size_t>(1, 5);
    FrameBuilder builder{FrameDirection::Requests};
    std::vector<Sent> sent;
    Bytes stream;
    for (std::size_t index = 0; index < batch_count; ++index) {
      for (Sent& each : any_batch()) {
        builder.add(each.slot, each.payload);
        sent.push_back(std::move(each));
      }
      builder.finish(stream);
    }
    FrameDecoder decoder{FrameDirection::Requests};
    FrameView frame;
    std::size_t seen = 0;
    for (std::size_t start = 0; start < stream.size();) {
      const auto piece = std::min(*rc::gen::inRange<std::size_t>(1, 200), stream.size() - start);
      decoder.append(std::span{stream}.subspan(start, piece));
      start += piece;
      while (decoder.next(frame) == DecodeStep::Frame) {
        for (std::size_t index = 0; index < frame.slot_count(); ++index) {
          expect_same(sent.at(seen++), frame, index);
        }
      }
      RC_ASSERT(decoder.bad() == BadFrame::None);
    }
    RC_ASSERT(seen == sent.size());
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace gcoord::protocol
