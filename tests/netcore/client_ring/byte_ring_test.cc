// The layout byte by byte, and both ends by two threads that sleep.
#include "netcore/client_ring/byte_ring.h"

#include "common/random.h"
#include "tests/netcore/client_ring/byte_ring_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

// Programs of other releases, and kernels, have these numbers in them.
TEST(ClientRingLayout, WordsAndPiecesLieWhereTheyAlwaysLay) {
  EXPECT_EQ(kClientRingLayout, 1u);
  EXPECT_EQ(offsetof(ClientRingWords, written), 0u);
  EXPECT_EQ(offsetof(ClientRingWords, read), 64u);
  EXPECT_EQ(offsetof(ClientRingWords, reader_sleep), 128u);
  EXPECT_EQ(offsetof(ClientRingWords, writer_wait), 192u);
  EXPECT_EQ(offsetof(ClientRingPage, request), 0u);
  EXPECT_EQ(offsetof(ClientRingPage, reply), 256u);
  EXPECT_EQ(offsetof(RingPiece, stamp), 0u);
  EXPECT_EQ(offsetof(RingPiece, bytes), 8u);
  EXPECT_EQ(mapped_bytes({4096, 8192}), 4096u + 4096u + 8192u);
}

TEST(ClientRingLayout, TwoPiecesLieInTheRingByteByByte) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  const std::vector<std::byte> five(5, std::byte{0xab});
  const std::vector<std::byte> forty(40, std::byte{0xcd});
  EXPECT_EQ(writer.write(five.data(), five.size()), 5u);
  EXPECT_EQ(writer.write(forty.data(), forty.size()), 40u);
  writer.publish();
  EXPECT_EQ(ring.words.written, 64u + 128u);
  std::vector<std::byte> expected(192);
  expected[0] = std::byte{1};  // Stamp: line 1.
  expected[8] = std::byte{5};
  std::memcpy(&expected[32], five.data(), five.size());
  expected[64] = std::byte{2};
  expected[72] = std::byte{40};
  std::memcpy(&expected[96], forty.data(), forty.size());
  EXPECT_EQ(std::vector<std::byte>(ring.bytes, ring.bytes + 192), expected);
}

// Around the ring too: nothing of what was taken stays, and what was not taken does.
TEST(ClientRingLayout, WhatWasTakenIsOverwritten) {
  SampleRing ring;
  RingWriter writer{ring.view()};
  RingReader reader{ring.view()};
  const std::size_t capacity = ring.view().capacity;
  const std::vector<std::byte> piece(capacity / 2 - sizeof(RingPiece) - 64, std::byte{0xab});
  std::vector<std::byte> taken(capacity);
  for (int turn = 0; turn < 9; ++turn) {
    ASSERT_EQ(writer.write(piece.data(), piece.size()), piece.size());
    writer.publish();
    ASSERT_EQ(reader.take(taken.data(), taken.size()).bytes, piece.size());
    ASSERT_EQ(std::count(ring.bytes, ring.bytes + capacity, std::byte{0}),
              static_cast<std::ptrdiff_t>(capacity));
  }
  ASSERT_EQ(writer.write(piece.data(), piece.size()), piece.size());
  ASSERT_EQ(writer.write(piece.data(), 64), 64u);
  writer.publish();
  ASSERT_EQ(reader.take(taken.data(), piece.size()).bytes, piece.size());
  EXPECT_EQ(std::count(ring.bytes, ring.bytes + capacity, std::byte{0xab}), 64);
}

TEST(ClientRingLayout, OnlyPowersOfTwoWithinBoundsAreCapacities) {
  EXPECT_TRUE(is_sound({4096, 65'536}));
  for (const std::uint32_t bytes : {0u, 1u, 2048u, 4095u, 4097u, 6144u, 131'072u, 1u << 31}) {
    EXPECT_FALSE(is_sound({bytes, 4096})) << bytes;
    EXPECT_FALSE(is_sound({4096, bytes})) << bytes;
  }
}

// A bell as the socket of a connection is: whoever waits takes all of them.
class Bell {
 public:
  void ring() { semaphore_.release(); }

  void wait() { semaphore_.acquire(); }

 private:
  std::counting_semaphore<> semaphore_{0};
};

class TwoThreads : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Both sleep whenever they have nothing to do: a wake-up that is lost hangs the test.
  void write_all(std::uint64_t total) {
    RingWriter writer{ring_->view()};
    std::vector<std::byte> piece(3000);
    std::uint64_t sent = 0;
    for (std::uint64_t turn = 0; sent < total; ++turn) {
      const std::uint64_t wish = 1 + random64(GetParam(), turn, 1) % piece.size();
      const std::size_t count = std::min<std::uint64_t>(wish, total - sent);
      for (std::size_t k = 0; k < count; ++k) {
        piece[k] = sample_byte(sent + k);
      }
      for (std::size_t done = 0; done < count;) {
        const std::uint32_t written = writer.write(piece.data() + done, count - done);
        if (writer.publish()) {
          to_reader_.ring();
        }
        done += written;
        if (written == 0 && writer.arm()) {
          to_writer_.wait();
          writer.disarm();
        }
      }
      sent += count;
    }
    EXPECT_FALSE(writer.broken());
  }

  void read_all(std::uint64_t total) {
    RingReader reader{ring_->view()};
    std::vector<std::byte> taken(kSampleCapacity);
    std::uint64_t received = 0;
    std::uint64_t wrong = 0;
    while (received < total) {
      const RingTaken found = reader.take(taken.data(), taken.size());
      if (found.wakes) {
        to_writer_.ring();
      }
      for (std::uint32_t k = 0; k < found.bytes; ++k) {
        wrong += taken[k] == sample_byte(received + k) ? 0 : 1;
      }
      received += found.bytes;
      if (found.bytes == 0 && reader.arm()) {
        to_reader_.wait();
        reader.disarm();
      }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(received, total);
    EXPECT_FALSE(reader.broken());
  }

  std::unique_ptr<SampleRing> ring_ = std::make_unique<SampleRing>();
  Bell to_reader_;
  Bell to_writer_;
};

TEST_P(TwoThreads, LoseNoByteAndNoWakeUp) {
  constexpr std::uint64_t kTotal = 400'000;  // A hundred times around.
  std::thread writer{[this] { write_all(kTotal); }};
  read_all(kTotal);
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwoThreads, testing::Range<std::uint64_t>(0, 8));

// A ring, and the bell of who reads it.
struct BelledRing {
  SampleRing ring;
  Bell bell;
};

// One end of an echo: it sends a byte, and sleeps until one comes back.
class EchoEnd {
 public:
  EchoEnd(BelledRing& out, BelledRing& in)
      : writer_(out.ring.view()), reader_(in.ring.view()), theirs_(out.bell), own_(in.bell) {}

  void send() {
    const std::byte byte{1};
    writer_.write(&byte, 1);
    if (writer_.publish()) {
      theirs_.ring();
    }
  }

  // Whoever sends does so while the other side is about to sleep.
  void wait() {
    std::array<std::byte, kSampleCapacity> taken;
    while (reader_.take(taken.data(), taken.size()).bytes == 0) {
      if (reader_.arm()) {
        own_.wait();
        reader_.disarm();
      }
    }
  }

 private:
  RingWriter writer_;
  RingReader reader_;
  Bell& theirs_;
  Bell& own_;
};

TEST(TwoThreadsEcho, EveryByteFindsASleeperOrIsFound) {
  constexpr int kRounds = 20'000;
  auto there = std::make_unique<BelledRing>();
  auto back = std::make_unique<BelledRing>();
  std::thread echo{[&] {
    EchoEnd end{*back, *there};
    for (int round = 0; round < kRounds; ++round) {
      end.wait();
      end.send();
    }
  }};
  EchoEnd end{*there, *back};
  for (int round = 0; round < kRounds; ++round) {
    end.send();
    end.wait();
  }
  echo.join();
  EXPECT_EQ(there->ring.words.written, std::uint64_t{kRounds} * kRingLineBytes);
  EXPECT_EQ(back->ring.words.written, there->ring.words.written);
}

}  // namespace
}  // namespace gcoord::netcore
