// What an I/O thread makes of requests beforehand is what the loop's thread would make of them.
#include "server/ingress/prepared_requests.h"

#include "common/random.h"
#include "locks/commands/entry.h"
#include "protocol/lock_messages.h"
#include "server/ingress/lock_command.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr protocol::RequestLimits kLimits{8, 100, 60'000};

protocol::RequestSlot acquire_slot(std::uint64_t sequence) {
  protocol::LockAcquire acquire;
  acquire.caller = {SessionId{9}, RequestSequence{sequence}, RequestSequence{1}};
  acquire.wait_ms = sequence % 2 == 0 ? 500 : 0;
  acquire.ttl_ms = 1000;
  return protocol::to_slot(acquire);
}

protocol::RequestSlot release_slot(std::uint64_t sequence) {
  protocol::LockRelease release;
  release.caller = {SessionId{9}, RequestSequence{sequence}, RequestSequence{1}};
  release.token = FencingToken{sequence + 40};
  return protocol::to_slot(release);
}

// Frames as they come, and what was prepared of them.
class Prepared : public testing::Test {
 protected:
  void add(protocol::RequestSlot slot, std::string_view name) {
    builder_.add(slot, protocol::bytes_of(name));
  }

  void end_frame() {
    std::vector<std::byte> bytes;
    builder_.finish(bytes);
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
  }

  void prepare(bool entries = true) {
    prepared_ = PreparedRequests{IngressRules{kLimits, entries}};
    decoder_.append(stream_);
    protocol::FrameView frame;
    while (decoder_.next(frame) == protocol::DecodeStep::Frame) {
      prepared_.add(frame);
      frames_.push_back(frame);
    }
    prepared_.seal();
  }

  void expect_as_the_loop_makes(const protocol::FrameView& frame, std::size_t slot) {
    const protocol::RequestSlot request = frame.request(slot);
    const auto payload = frame.payload(request);
    const PreparedRequest* const prepared = prepared_.at(slot);
    ASSERT_NE(prepared, nullptr);
    ASSERT_EQ(prepared->error, protocol::check_request(request, payload, kLimits));
    if (prepared->error != ErrorCode::None) {
      EXPECT_TRUE(prepared->entries.empty());
      return;
    }
    const locks::LockCommand command = lock_command(request, payload);
    EXPECT_EQ(std::memcmp(&command, &prepared->command, sizeof command), 0);
    const std::vector<locks::LockEntry> entries = locks::entries_of(command);
    ASSERT_EQ(prepared->entries.size(), entries.size());
    EXPECT_EQ(std::memcmp(entries.data(), prepared->entries.data(), prepared->entries.size_bytes()),
              0);
  }

  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
  std::vector<std::byte> stream_;
  std::vector<protocol::FrameView> frames_;
  PreparedRequests prepared_{std::nullopt};
};

TEST_F(Prepared, CommandsAndEntriesAreThoseOfTheLoop) {
  for (std::uint64_t k = 1; k <= 60; ++k) {
    const std::string name = "n" + std::string(random64(1, k, 0) % 128, 'x');
    add(k % 3 == 0 ? release_slot(k) : acquire_slot(k), name);
    if (k % 7 == 0) {
      end_frame();
    }
  }
  end_frame();
  prepare();
  std::size_t count = 0;
  for (const protocol::FrameView& frame : frames_) {
    prepared_.next_frame();
    for (std::size_t slot = 0; slot < frame.slot_count(); ++slot, ++count) {
      expect_as_the_loop_makes(frame, slot);
      EXPECT_EQ(prepared_.at(slot)->way, IngressWay::Prepared);
    }
    EXPECT_EQ(prepared_.at(frame.slot_count()), nullptr);
  }
  EXPECT_EQ(count, 60u);
}

TEST_F(Prepared, WhatIsWrongWithARequestIsKnownBeforehand) {
  add(acquire_slot(0), "a");
  add(acquire_slot(1), "");
  add(acquire_slot(1), "a\nb");
  protocol::RequestSlot slot = acquire_slot(1);
  slot.ttl_ms = 1;
  add(slot, "a");
  slot = release_slot(1);
  slot.token = 0;
  add(slot, "a");
  slot = acquire_slot(1);
  slot.session = protocol::kSessionReserved;
  add(slot, "a");
  end_frame();
  prepare();
  prepared_.next_frame();
  for (std::size_t k = 0; k < frames_.front().slot_count(); ++k) {
    expect_as_the_loop_makes(frames_.front(), k);
    EXPECT_NE(prepared_.at(k)->error, ErrorCode::None) << k;
  }
}

TEST_F(Prepared, OtherKindsKeepTheirPlacesInTheOrder) {
  add(acquire_slot(1), "a");
  protocol::RequestSlot check;
  check.kind = protocol::RequestKind::LockCheck;
  add(check, "a");
  add(release_slot(2), "a");
  end_frame();
  add(check, "b");
  end_frame();
  add(acquire_slot(3), "c");
  end_frame();
  prepare();
  prepared_.next_frame();
  expect_as_the_loop_makes(frames_[0], 0);
  EXPECT_EQ(prepared_.at(1), nullptr);
  expect_as_the_loop_makes(frames_[0], 2);
  prepared_.next_frame();
  EXPECT_EQ(prepared_.at(0), nullptr);
  prepared_.next_frame();
  expect_as_the_loop_makes(frames_[2], 0);
  prepared_.next_frame();
  EXPECT_EQ(prepared_.at(0), nullptr) << "there is no such frame";
}

TEST_F(Prepared, ALongNameHasNoEntriesAndSaysSo) {
  add(acquire_slot(1), std::string(128, 'x'));
  add(acquire_slot(2), std::string(129, 'x'));
  end_frame();
  prepare();
  prepared_.next_frame();
  EXPECT_EQ(prepared_.at(0)->entries.size(), 1 + kPreparedPieces);
  EXPECT_EQ(prepared_.at(1)->way, IngressWay::LongName);
  EXPECT_TRUE(prepared_.at(1)->entries.empty());
  EXPECT_EQ(prepared_.at(1)->command.name_bytes, 129);
}

TEST_F(Prepared, ALogOfAHostGetsNoEntries) {
  add(acquire_slot(1), "a");
  end_frame();
  prepare(false);
  prepared_.next_frame();
  EXPECT_EQ(prepared_.at(0)->way, IngressWay::Checked);
  EXPECT_TRUE(prepared_.at(0)->entries.empty());
  EXPECT_EQ(prepared_.at(0)->command.name_hash, hash_name("a"));
}

// One read of a client that sends in bulk takes a bounded amount of memory, which goes back.
TEST_F(Prepared, OfOneReadNoMoreIsPreparedThanItsBound) {
  for (std::uint64_t k = 1; k <= kPreparedMax + 10; ++k) {
    add(acquire_slot(k), "a");
  }
  end_frame();
  add(acquire_slot(1), "a");
  end_frame();
  prepare();
  prepared_.next_frame();
  EXPECT_NE(prepared_.at(kPreparedMax - 1), nullptr);
  EXPECT_EQ(prepared_.at(kPreparedMax), nullptr);
  prepared_.next_frame();
  EXPECT_EQ(prepared_.at(0), nullptr);
  EXPECT_LT(prepared_.memory_bytes(), 2 * kPreparedMax * 3 * sizeof(locks::LockEntry));
  prepared_.shrink();
  EXPECT_EQ(prepared_.memory_bytes(), 0u);
}

TEST_F(Prepared, WithoutRulesNothingIsPrepared) {
  add(acquire_slot(1), "a");
  end_frame();
  prepare();
  PreparedRequests none{std::nullopt};
  none.add(frames_.front());
  none.seal();
  none.next_frame();
  EXPECT_EQ(none.at(0), nullptr);
  EXPECT_EQ(none.memory_bytes(), 0u);
}

}  // namespace
}  // namespace gcoord::server
