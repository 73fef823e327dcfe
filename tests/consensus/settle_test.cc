// What a row at rest is told without a step changes what the whole step would change, whatever row
// it is and whatever it is told; and of a busy cluster's rows most can be told so.
#include "consensus/step/settle.h"

#include "tests/consensus/steady_samples.h"
#include "tests/consensus/stepped_equal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kSeeds = 200'000;

// As a resting row lies there between two turns, more often than samples of busy ones do.
void make_resting(Draw& draw, Given& given) {
  RowCopy& row = given.row;
  given.input.durability = Durability::Durable;
  given.input.stored_at_once = 0;
  given.input.lives_end = draw.once_in(20) ? 1 : 0;
  row.storage.snapshot_pending = draw.once_in(30) ? 1 : 0;
  row.storage.request_pending = draw.once_in(4) ? 0 : 1;
  row.storage.persist_from =
      max_id(row.storage.durable + 1, row.log.last + (draw.once_in(20) ? 0 : 1));
  const bool term_lags = row.hot.role == Role::Follower && draw.once_in(30);
  row.storage.durable_term = term_lags ? Term{1} : row.hot.term;
  row.storage.durable_vote = row.hot.vote;
  if (row.hot.role == Role::Follower) {
    row.hot.deadline = draw.once_in(10) ? kNow + 5 : kTickNever;
    const bool owes = draw.once_in(2);
    row.hot.flags = static_cast<std::uint8_t>(draw.once_in(20) ? draw.below(256)
                                              : owes           ? kRowAppendReply
                                                               : 0);
    row.log.verified = draw.once_in(2) ? row.log.last : row.log.commit;
    return;
  }
  row.hot.flags = 0;
  row.hot.deadline = kNow + 1 + draw.below(given.input.timing.resend_ticks);
  for (Progress& progress : row.progress) {
    if (!draw.once_in(10)) {
      progress.state = ProgressState::Replicate;
      progress.next = row.log.last + 1;
      progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressSent);
      progress.acked_session = 1;
    }
  }
}

Given draw_resting(std::uint32_t seed) {
  Draw draw{seed};
  Given given{};
  draw_given(draw, given);
  make_resting(draw, given);
  return given;
}

Stepped whole_step(const Given& given, const InboxHead& in) {
  return step_as<StepScope::Whole>(given.row, in, given.message, given.input);
}

// Calls settle(row) on a copy of the given row; what it did, or nothing.
template <typename Settle>
std::optional<Stepped> settled(const Given& given, const Settle& settle) {
  Stepped result{given.row, {}};
  result.out.clear();
  const Configuration unused;
  const StepArrays arrays{.configuration = &unused,
                          .stored = result.out.stored,
                          .sink = sink_of(result.out.message, kOutboxMessages)};
  const ShardRef shard = ref_of(result.row, ShardId{7}, kPlainSlots);
  const StepRow row{shard, given.input, result.out, arrays};
  if (settle(row)) {
    return result;
  }
  Stepped untouched{given.row, {}};
  EXPECT_EQ(row_digest(shard), row_digest(ref_of(untouched.row, ShardId{7}, kPlainSlots)));
  EXPECT_EQ(result.out.message_count, 0u);
  return std::nullopt;
}

struct Counts {
  std::uint32_t settled = 0;
  std::uint32_t messages = 0;
  std::uint32_t notices = 0;
  std::uint32_t applies = 0;
  std::uint32_t stores = 0;
  std::uint32_t entries = 0;  // Of an Append, taken.
  std::uint32_t leaders = 0;
  std::uint32_t decided = 0;  // By leaders.

  void count(const Given& given, const Stepped& done) {
    const bool leads = given.row.hot.role == Role::Leader;
    ++settled;
    messages += done.out.message_count;
    notices += done.out.message_count != 0 && done.out.message[0].flags == kFlagNotice ? 1 : 0;
    applies += done.out.apply.first.value != 0 ? 1 : 0;
    stores += done.out.storage.present;
    entries += done.out.stored[0].value != 0 ? 1 : 0;
    leaders += leads ? 1 : 0;
    decided += leads && done.row.log.commit != given.row.log.commit ? 1 : 0;
  }
};

// Tells the row the first message, and holds what was settled against the step.
void settle_first_message(const Given& given, std::uint32_t seed, Counts& counts) {
  auto done =
      settled(given, [&](const StepRow& row) { return settle_message(row, given.message[0]); });
  if (done) {
    InboxHead in;
    in.message_count = 1;
    Stepped whole = whole_step(given, in);
    SCOPED_TRACE(seed);
    expect_equal(*done, whole);
    counts.count(given, *done);
  }
}

TEST(SettleTest, StorageThatFinishedIsSettledAsAStepWould) {
  Counts counts;
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    const Given given = draw_resting(seed);
    const StorageAck ack{given.row.hot.term,
                         seed % 16 == 0 ? NodeId{3} : given.row.hot.vote,
                         seed % 32 == 0 ? 0u : 1u};
    auto done = settled(given, [&](const StepRow& row) { return settle_stored(row, ack); });
    if (done) {
      InboxHead in;
      in.storage_ack = ack;
      Stepped whole = whole_step(given, in);
      SCOPED_TRACE(seed);
      expect_equal(*done, whole);
      counts.count(given, *done);
    }
  }
  EXPECT_GT(counts.settled, kSeeds / 20);
  EXPECT_GT(counts.messages, kSeeds / 100);
  EXPECT_GT(counts.applies, kSeeds / 200);
  EXPECT_GT(counts.leaders, kSeeds / 200);
}

TEST(SettleTest, ANoticeIsSettledAsAStepWould) {
  Counts counts;
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    Given given = draw_resting(seed);
    Message& notice = given.message[0];
    if (seed % 8 != 0) {
      notice.kind = MessageKind::Append;
      notice.flags = kFlagNotice;
      notice.count = 0;
      notice.index = given.row.log.last;
    }
    settle_first_message(given, seed, counts);
  }
  EXPECT_GT(counts.settled, kSeeds / 20);
  EXPECT_GT(counts.applies, kSeeds / 100);
}

TEST(SettleTest, EntriesAreSettledAsAStepWould) {
  Counts counts;
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    Given given = draw_resting(seed);
    Message& append = given.message[0];
    if (seed % 8 != 0) {
      append.kind = MessageKind::Append;
      append.count = static_cast<std::uint16_t>(1 + seed % 3);
      append.index = given.row.log.last + (seed % 16 == 3 ? 1u : 0u);
    }
    settle_first_message(given, seed, counts);
  }
  EXPECT_GT(counts.settled, kSeeds / 20);
  EXPECT_GT(counts.entries, kSeeds / 20);
  EXPECT_GT(counts.stores, kSeeds / 100);
  EXPECT_GT(counts.applies, kSeeds / 100);
}

TEST(SettleTest, AnAcknowledgementIsSettledAsAStepWould) {
  Counts counts;
  for (std::uint32_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    Given given = draw_resting(seed);
    Message& reply = given.message[0];
    if (seed % 8 != 0) {
      reply.kind = MessageKind::AppendReply;
      reply.index = given.row.log.last - seed % 3;
    }
    settle_first_message(given, seed, counts);
  }
  EXPECT_GT(counts.leaders, kSeeds / 20);
  EXPECT_GT(counts.decided, kSeeds / 50);
  EXPECT_GT(counts.leaders - counts.decided, kSeeds / 50);
  EXPECT_GT(counts.notices, kSeeds / 100);
  EXPECT_GT(counts.applies, kSeeds / 100);
}

}  // namespace
}  // namespace gcoord::consensus
