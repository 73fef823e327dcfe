#include "server/device_turn/readings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace gcoord::server {
namespace {

// The clock as a reader sees it: each reading has its number in every word.
struct Writer {
  void publish_first_half() {
    fill(next() % kTurnInputs, 0, kWords / 2);
    open = true;
  }

  void publish() {
    fill(next() % kTurnInputs, open ? kWords / 2 : 0, kWords);
    open = false;
    clock.version = next();
  }

  std::uint64_t next() const { return clock.version + 1; }

  void fill(std::uint64_t place, std::size_t first, std::size_t end) {
    for (std::size_t k = first; k < end; ++k) {
      const std::uint64_t number = next();
      std::memcpy(reinterpret_cast<std::byte*>(&clock.input[place]) + k * sizeof number,
                  &number,
                  sizeof number);
    }
  }

  static constexpr std::size_t kWords = sizeof(TurnInput) / sizeof(std::uint64_t);

  TurnClock clock;
  bool open = false;  // Half of the next reading is written.
};

// A reader whose copies take so long that the writer writes `halves` halves of readings after word
// `at` of each of the first `slow` copies.
struct SlowReader {
  std::uint64_t take(Writer& writer, std::uint64_t known) {
    return copy_newest(writer.clock, known, [&](const TurnInput& place) {
      ++copies;
      for (std::size_t k = 0; k < Writer::kWords; ++k) {
        if (k == at && copies <= slow) {
          write(writer);
        }
        std::memcpy(&words[k],
                    reinterpret_cast<const std::byte*>(&place) + k * sizeof words[k],
                    sizeof words[k]);
      }
    });
  }

  void write(Writer& writer) const {
    for (std::size_t k = 0; k < halves; ++k) {
      writer.open ? writer.publish() : writer.publish_first_half();
    }
  }

  std::size_t at = 0;
  std::size_t halves = 0;
  std::uint32_t slow = 1;
  std::uint32_t copies = 0;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(Writer::kWords);
};

TEST(Readings, NothingIsCopiedUntilThereIsANewOne) {
  Writer writer;
  SlowReader reader;
  EXPECT_EQ(reader.take(writer, kNoReading), kNoReading);
  writer.publish();
  EXPECT_EQ(reader.take(writer, kNoReading), 1u);
  EXPECT_EQ(reader.copies, 1u);
  EXPECT_EQ(reader.take(writer, 1), 1u);
  EXPECT_EQ(reader.copies, 1u);
}

// Wherever the copy stands still, and however far the clock goes meanwhile.
TEST(Readings, WhatIsTakenIsOneReadingWhole) {
  for (std::size_t at = 0; at < Writer::kWords; at += 3) {
    for (std::size_t halves = 0; halves <= 4 * kTurnInputs; ++halves) {
      Writer writer;
      writer.publish();
      SlowReader reader{.at = at, .halves = halves};
      const std::uint64_t version = reader.take(writer, kNoReading);
      ASSERT_NE(version, kNoReading);
      EXPECT_EQ(reader.words, std::vector<std::uint64_t>(Writer::kWords, version))
          << "word " << at << ", " << halves << " halves";
    }
  }
}

TEST(Readings, AReadingThatCannotHaveBeenOverwrittenIsNotCopiedAgain) {
  Writer writer;
  writer.publish();
  SlowReader reader{.at = Writer::kWords / 2, .halves = 2 * (kTurnInputs - 2)};
  EXPECT_EQ(reader.take(writer, kNoReading), 1u);
  EXPECT_EQ(reader.copies, 1u);
}

TEST(Readings, AClockThatAlwaysOvertakesEndsTheCopying) {
  Writer writer;
  writer.publish();
  SlowReader reader{.at = 1, .halves = 2 * kTurnInputs, .slow = ~0u};
  EXPECT_EQ(reader.take(writer, kNoReading), kNoReading);
  EXPECT_EQ(reader.copies, kReadingCopies);
}

}  // namespace
}  // namespace gcoord::server
