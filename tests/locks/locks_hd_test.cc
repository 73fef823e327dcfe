// Pure parts of the lock tables, on the host and in a kernel: searches in a line, blocks of names,
// shares of a digest.
#include "common/device/word_line.h"
#include "common/random.h"
#include "locks/state/keys.h"
#include "locks/state/names.h"
#include "tests/hd_test.h"

namespace gcoord::locks {
namespace {

struct IsSmall {
  GCOORD_HD bool operator()(std::uint64_t word) const { return word < 2; }
};

// Every wanted slot is visited once with its own word, and the visit that says yes is the last.
HD_TEST(WordLine, VisitsWantedSlotsUntilOneIsTaken) {
  WordLine line;
  std::uint32_t wanted = 0;
  for (std::uint32_t i = 0; i < WordLine::kSlots; ++i) {
    line.slot[i] = random64(seed, 1, i) % 4;
    wanted |= (line.slot[i] < 2 ? 1u : 0u) << i;
  }
  line.last = 5 + seed;
  const std::uint32_t start = seed % WordLine::kSlots;
  std::uint32_t visited = 0;
  std::uint64_t last = 0;
  const auto note = [&](std::uint32_t place, std::uint64_t word) {
    HD_EXPECT(word == line.slot[place]);
    HD_EXPECT((visited >> place & 1) == 0);
    visited |= 1u << place;
    return false;
  };
  HD_EXPECT(!visit_slots(line, start, IsSmall{}, note, last));
  HD_EXPECT(visited == wanted);
  HD_EXPECT(last == line.last);
  std::uint32_t taken = 0;
  const auto take_first = [&](std::uint32_t, std::uint64_t) {
    ++taken;
    return true;
  };
  HD_EXPECT(visit_slots(line, start, IsSmall{}, take_first, last) == (wanted != 0));
  HD_EXPECT(taken == (wanted != 0 ? 1u : 0u));
}

HD_TEST(NameBlock, HoldsTheBytesLowestFirstAndZeroesAfterThem) {
  char name[NameBlock::kBytes];
  for (std::uint32_t i = 0; i < NameBlock::kBytes; ++i) {
    name[i] = static_cast<char>(random64(seed, 3, i));
  }
  const std::uint32_t byte_count = 1 + seed % NameBlock::kBytes;
  const NameBlock block = make_name_block(name, byte_count);
  for (std::uint32_t i = 0; i < NameBlock::kBytes; ++i) {
    const char held = static_cast<char>(block.words[i / 4] >> (i % 4 * 8));
    HD_EXPECT(held == (i < byte_count ? name[i] : '\0'));
  }
}

// A change of any one field of a command changes its digest.
HD_TEST(CommandDigest, SeesEveryField) {
  LockCommand command;
  command.kind = LockCommandKind::Acquire;
  command.session = SessionId{random64(seed, 5, 0)};
  command.sequence = RequestSequence{random64(seed, 5, 1)};
  const LogIndex index{random64(seed, 5, 2)};
  const std::uint64_t digest = command_digest(index, command);
  HD_EXPECT(command_digest(index + 1, command) != digest);
  LockCommand other = command;
  other.kind = LockCommandKind::Release;
  HD_EXPECT(command_digest(index, other) != digest);
  other = command;
  other.session.value ^= std::uint64_t{1} << seed % 64;
  HD_EXPECT(command_digest(index, other) != digest);
  other = command;
  other.sequence.value ^= std::uint64_t{1} << seed % 64;
  HD_EXPECT(command_digest(index, other) != digest);
  other = command;
  other.name_hash.low ^= std::uint64_t{1} << seed % 64;
  HD_EXPECT(command_digest(index, other) != digest);
}

}  // namespace
}  // namespace gcoord::locks
