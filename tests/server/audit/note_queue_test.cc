// Notes on their way: to the log of their shard, by the leader, once.
#include "server/audit/note_queue.h"

#include "common/bytes.h"
#include "common/host/metrics.h"
#include "protocol/lease_messages.h"
#include "server/interfaces/cookie_marks.h"
#include "tests/server/audit/audit_fixture.h"

#include <optional>

namespace gcoord::server {
namespace {

class NoteQueueTest : public AuditFixture, public NoteListener {
 protected:
  void SetUp() override {
    machine_.set_listener(this);
    queue_.emplace(NoteQueue::Environment{.log = log_,
                                          .machine = machine_,
                                          .metrics = metrics_,
                                          .all_have = [this] { return all_have_; },
                                          .shard_count = 2});
  }

  void on_noted(ShardId, const security::AuditNote& note) override { queue_->remove(note.number); }

  void on_notes_message(NodeId, std::span<const std::byte>) override {}

  // A session whose home is kShard.
  static std::uint64_t at_home(std::uint64_t from) {
    while (protocol::home_shard(SessionId{from}, 2) != kShard) {
      ++from;
    }
    return from;
  }

  void add(std::uint64_t session, std::uint64_t due_ms = 0) {
    queue_->add({kShard, protocol::RecordOrigin::Remote, 1000, bobs_note(session)}, due_ms);
  }

  TestLog log_;
  MetricsRegistry metrics_;
  bool all_have_ = true;
  std::optional<NoteQueue> queue_;
};

TEST_F(NoteQueueTest, TheLeaderProposesANoteOnceAndForgetsItWhenItIsApplied) {
  log_.led.insert(kShard.value);
  add(5);
  add(5);
  queue_->advance(0);
  ASSERT_EQ(log_.proposals.size(), 1u);
  EXPECT_TRUE(is_cookie_of(CookieOwner::Notes, log_.proposals[0].cookie));
  EXPECT_EQ(note_of_record(log_.proposals[0].command), bobs_note(5));
  log_.decide(machine_);
  EXPECT_EQ(queue_->size(), 0u);
  EXPECT_NE(known(5), nullptr);
  // Who is known already needs no other entry.
  add(5);
  queue_->advance(0);
  EXPECT_TRUE(log_.proposals.empty());
  EXPECT_EQ(queue_->size(), 0u);
}

TEST_F(NoteQueueTest, AnotherNodeSendsItToTheLeaderUntilItIsThere) {
  const std::uint64_t session = at_home(5);
  log_.other_leader = NodeId{2};
  add(session);
  queue_->advance(0);
  queue_->advance(999);
  ASSERT_EQ(log_.messages.size(), 1u);
  EXPECT_EQ(log_.messages[0].first, NodeId{2});
  queue_->advance(1000);
  ASSERT_EQ(log_.messages.size(), 2u);
  // There:
  TestLog leader_log;
  leader_log.led.insert(kShard.value);
  NoteQueue leader({.log = leader_log,
                    .machine = machine_,
                    .metrics = metrics_,
                    .all_have = [] { return true; },
                    .shard_count = 2});
  leader.on_message(log_.messages[0].second, 0);
  leader.on_message(log_.messages[1].second, 0);
  leader.advance(0);
  ASSERT_EQ(leader_log.proposals.size(), 1u);
  leader_log.decide(machine_);  // As every replica does.
  EXPECT_EQ(queue_->size(), 0u);
  queue_->advance(5000);
  EXPECT_EQ(log_.messages.size(), 2u);
}

TEST_F(NoteQueueTest, NothingIsProposedWhileANodeDoesNotKnowNotes) {
  log_.led.insert(kShard.value);
  all_have_ = false;
  add(5);
  queue_->advance(0);
  EXPECT_TRUE(log_.proposals.empty());
  EXPECT_EQ(queue_->size(), 1u);
  all_have_ = true;
  queue_->advance(1000);
  EXPECT_EQ(log_.proposals.size(), 1u);
}

TEST_F(NoteQueueTest, IsBounded) {
  for (std::uint64_t session = 1; session <= kNotesQueuedMax + 1; ++session) {
    add(session, 1);
  }
  EXPECT_EQ(queue_->size(), kNotesQueuedMax);
  EXPECT_EQ(queue_->until_next_ms(0), 1u);
}

TEST_F(NoteQueueTest, IsGivenUpInTheEnd) {
  add(5);
  std::uint64_t now_ms = 0;
  for (std::uint32_t tries = 0; tries < kNoteTriesMax; ++tries) {
    queue_->advance(now_ms);  // No leader is known.
    EXPECT_EQ(queue_->size(), 1u);
    now_ms += 200;
  }
  queue_->advance(now_ms);
  EXPECT_EQ(queue_->size(), 0u);
  EXPECT_EQ(queue_->until_next_ms(now_ms), ~std::uint64_t{0});
}

TEST_F(NoteQueueTest, DropsWhatAPeerSendsThatIsNoneOrNotOfThatShard) {
  const std::vector<std::byte> record =
      note_record(bobs_note(at_home(5)), protocol::RecordOrigin::Remote, 1000);
  const auto message_of = [&](std::uint32_t shard, std::size_t size) {
    std::vector<std::byte> message{kSessionNotesKind};
    ByteWriter writer{message};
    writer.integer(shard);
    writer.integer(static_cast<std::uint16_t>(size));
    writer.bytes(record.data(), record.size());
    return message;
  };
  queue_->on_message(message_of(0, record.size()), 0);
  queue_->on_message(message_of(2, record.size()), 0);
  queue_->on_message(message_of(1, record.size() - 1), 0);
  queue_->on_message(message_of(1, 65'000), 0);
  EXPECT_EQ(queue_->size(), 0u);
  queue_->on_message(message_of(1, record.size()), 0);
  EXPECT_EQ(queue_->size(), 1u);
}

}  // namespace
}  // namespace gcoord::server
