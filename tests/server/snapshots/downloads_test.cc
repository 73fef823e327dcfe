// Saves over the client protocol: what is sent is the store, piece by piece, at the reader's pace.
#include "server/snapshots/downloads.h"

#include "ledger/base/error_details.h"
#include "ledger/checkpoint/memory_checkpoint_store.h"
#include "protocol/ledger/snapshot_messages.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/stored/state.h"
#include "server/resident/stored/turn_mark.h"
#include "tests/ledger/snapshot/snapshot_samples.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr protocol::ConnectionId kClient{5};

// An engine whose checkpoints end when the test says so.
class CheckpointedEngine final : public ReplicatedLog {
 public:
  explicit CheckpointedEngine(const ledger::CheckpointStore* store) : store_(store) {}

  void propose(ShardId, const ProposedCommand&, std::uint64_t) override {}

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId) const override { return {}; }

  NodeView view() const override { return node; }

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return false; }

  const ledger::CheckpointStore* checkpoints() const override { return store_; }

  std::uint64_t request_checkpoint() override { return ++requested; }

  std::optional<Status> checkpoint_outcome(std::uint64_t checkpoint) const override {
    return ended >= checkpoint ? std::optional(outcome) : std::nullopt;
  }

  NodeView node;
  std::uint64_t requested = 0;
  std::uint64_t ended = 0;
  Status outcome;

 private:
  const ledger::CheckpointStore* store_;
};

class SnapshotSavesTest : public testing::Test {
 protected:
  void SetUp() override { pass(0); }

  // Each of so many shards has a state of so many bytes and was applied up to 10 + its number.
  void fill(std::uint32_t shard_count, std::size_t state_bytes) {
    ledger::CheckpointBatch batch;
    std::vector<std::byte> hard;
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      encode_hard_value(hard,
                        {.term = Term{4},
                         .floor = LogIndex{10 + shard},
                         .floor_term = Term{3},
                         .configuration = first_configuration({NodeId{1}}).value()});
      encode_hard_entry(hard, Term{4}, {consensus::EntryKind::Noop, {}});
      batch.put(ledger::CheckpointColumn::Hard, ShardId{shard}, hard);
      batch.put(ledger::CheckpointColumn::Service,
                ShardId{shard},
                ledger::sample_state(state_bytes, 100 + shard));
    }
    ASSERT_TRUE(store_->write(batch).ok());
  }

  KeptReply ask(protocol::RequestKind kind, std::span<const std::byte> payload = {}) {
    send(kind, payload);
    return answer();
  }

  void send(protocol::RequestKind kind, std::span<const std::byte> payload = {}) {
    protocol::RequestSlot request;
    request.kind = kind;
    request.request_id = ++request_id_;
    saves_.on_request(kClient, request, payload);
  }

  // The answer to the newest request, once the stream has what it asks for.
  KeptReply answer() {
    while (sink_.replies.empty()) {
      await_wake();
      saves_.advance(now_ms_);
    }
    return sink_.take(request_id_);
  }

  void await_wake() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return wake_count_ > seen_; });
    seen_ = wake_count_;
  }

  std::uint64_t open() {
    const KeptReply opened = ask(protocol::RequestKind::SnapshotOpen);
    EXPECT_EQ(opened.slot.code, StatusCode::Ok);
    return opened.slot.extra;
  }

  KeptReply read(std::uint64_t save, std::uint64_t offset) {
    return ask(protocol::RequestKind::SnapshotRead, protocol::encode_snapshot_read({save, offset}));
  }

  std::vector<std::byte> read_all(std::uint64_t save) {
    std::vector<std::byte> bytes;
    for (;;) {
      const KeptReply piece = read(save, bytes.size());
      EXPECT_EQ(piece.slot.code, StatusCode::Ok);
      EXPECT_LE(piece.payload.size(), protocol::kSnapshotPieceBytesMax);
      bytes.insert(bytes.end(), piece.payload.begin(), piece.payload.end());
      EXPECT_EQ(piece.slot.extra, bytes.size());
      if (piece.slot.code != StatusCode::Ok || piece.slot.has(protocol::ReplyFlag::Last)) {
        return bytes;
      }
    }
  }

  // Saves whose history is kept for them.
  long pins() const { return pinned_.use_count() - 1; }

  void pass(std::uint64_t ms) {
    now_ms_ += ms;
    saves_.advance(now_ms_);
  }

  ErrorCode error_of(const KeptReply& reply) const {
    return static_cast<ErrorCode>(reply.slot.detail);
  }

  ledger::CheckpointMedium medium_;
  std::unique_ptr<ledger::CheckpointStore> store_ = ledger::open_memory_checkpoint_store(medium_);
  CheckpointedEngine engine_{store_.get()};
  std::shared_ptr<int> pinned_ = std::make_shared<int>();  // Held by each save that pins.
  bool disk_is_low_ = false;
  KeepingSink sink_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::uint64_t wake_count_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t now_ms_ = 1'000;
  std::uint64_t request_id_ = 0;
  SnapshotDownloads saves_{{.engine = engine_,
                            .replies = sink_,
                            .make_header =
                                [] {
                                  auto header = ledger::sample_header();
                                  header.shard_count = 64;
                                  return header;
                                },
                            .wake =
                                [this] {
                                  const std::lock_guard lock(mutex_);
                                  ++wake_count_;
                                  woken_.notify_one();
                                },
                            .pin = [this] { return pinned_; },
                            .disk_is_low = [this] { return disk_is_low_; }}};
};

TEST_F(SnapshotSavesTest, SendsWhatTheStoreHoldsAfterACheckpoint) {
  fill(40, 100'000);
  const std::uint64_t save = open();
  EXPECT_EQ(engine_.requested, 1u);
  engine_.ended = 1;
  ledger::SampleReader reader;
  ledger::SnapshotDecoder decoder(reader);
  ASSERT_TRUE(decoder.feed(read_all(save)).ok());
  ASSERT_TRUE(decoder.finish().ok()) << decoder.finish().to_string();
  ASSERT_EQ(reader.shards.size(), 40u);
  for (std::uint32_t shard = 0; shard < 40; ++shard) {
    EXPECT_EQ(reader.shards[shard].head.shard, ShardId{shard});
    EXPECT_EQ(reader.shards[shard].head.applied, LogIndex{10 + shard});
    EXPECT_EQ(reader.shards[shard].head.applied_term, Term{3});
    EXPECT_EQ(reader.shards[shard].head.term, Term{4});
    EXPECT_EQ(reader.shards[shard].state, ledger::sample_state(100'000, 100 + shard));
  }
}

// A node with a history: its checkpoints have a head, and its trees are asked for their frontiers.
TEST_F(SnapshotSavesTest, SendsTheFrontiersOfANodeThatKeepsTrees) {
  ledger::CheckpointBatch batch;
  std::vector<std::byte> hard;
  encode_hard_value(hard,
                    {.term = Term{4},
                     .floor = LogIndex{2},
                     .floor_term = Term{3},
                     .configuration = first_configuration({NodeId{1}}).value()});
  std::vector<std::byte> state(16);
  state[0] = std::byte{1};  // Version; kind 0, no entries.
  state[8] = std::byte{2};  // Entries applied.
  state.push_back(std::byte{'G'});
  batch.put(ledger::CheckpointColumn::Hard, ShardId{5}, hard);
  batch.put(ledger::CheckpointColumn::Service, ShardId{5}, state);
  ASSERT_TRUE(store_->write(batch).ok());
  const auto wake = [this] {
    const std::lock_guard lock(mutex_);
    ++wake_count_;
    woken_.notify_one();
  };
  const FrontierAt frontier_at = [](ShardId shard, std::uint64_t size) {
    EXPECT_EQ(shard, ShardId{5});
    return Result<ledger::SnapshotFrontier>(
        ledger::SnapshotFrontier{size, {ledger::MerkleHash{std::byte{7}}}});
  };
  auto header = ledger::sample_header();
  header.ledger = true;
  SnapshotStream stream(*store_, header, frontier_at, wake);
  await_wake();
  auto piece = stream.take();
  ASSERT_TRUE(piece && piece->ok() && piece->value().last);
  ledger::SampleReader reader;
  ledger::SnapshotDecoder decoder(reader);
  ASSERT_TRUE(decoder.feed(piece->value().bytes).ok());
  ASSERT_TRUE(decoder.finish().ok());
  ASSERT_EQ(reader.shards.size(), 1u);
  EXPECT_EQ(reader.shards[0].state, std::vector<std::byte>{std::byte{'G'}});
  ASSERT_TRUE(reader.shards[0].frontier.has_value());
  EXPECT_EQ(reader.shards[0].frontier->size, 2u);
  EXPECT_EQ(reader.shards[0].frontier->peaks[0], ledger::MerkleHash{std::byte{7}});
}

// A store with one shard, of the host's turn or a resident one's, whose state is of an index that
// may differ from the floor of its log, 10.
class OneShardStore {
 public:
  explicit OneShardStore(std::optional<std::uint64_t> state_index) {
    ledger::CheckpointBatch batch;
    std::vector<std::byte> hard;
    std::vector<std::byte> state;
    encode_hard_value(hard,
                      {.term = Term{5},
                       .floor = LogIndex{10},
                       .floor_term = Term{3},
                       .configuration = first_configuration({NodeId{1}}).value()});
    encode_hard_entry(hard, Term{4}, {consensus::EntryKind::Noop, {}});  // At 11.
    if (state_index) {
      mark_resident_turn(batch);
      const std::array<std::byte, 64> piece{std::byte{9}};
      begin_stored_state(
          state, {.index = *state_index, .pieces_next = *state_index, .piece_count = 1}, piece);
    }
    const auto own = ledger::sample_state(5'000, 77);
    state.insert(state.end(), own.begin(), own.end());
    batch.put(ledger::CheckpointColumn::Hard, ShardId{5}, hard);
    batch.put(ledger::CheckpointColumn::Service, ShardId{5}, state);
    EXPECT_TRUE(store_->write(batch).ok());
  }

  // The whole file, or why there is none.
  Result<std::vector<std::byte>> file() const {
    std::atomic<int> wakes{0};
    SnapshotStream stream(*store_, ledger::sample_header(), {}, [&wakes] {
      ++wakes;
      wakes.notify_one();
    });
    wakes.wait(0);
    const auto piece = stream.take();
    EXPECT_TRUE(piece.has_value());
    GCOORD_TRY(const SnapshotPiece whole, *piece);
    EXPECT_TRUE(whole.last);
    return whole.bytes;
  }

 private:
  ledger::CheckpointMedium medium_;
  std::unique_ptr<ledger::CheckpointStore> store_ = ledger::open_memory_checkpoint_store(medium_);
};

TEST(SnapshotTurnsTest, TheSameStateIsTheSameFileAtBothTurns) {
  const auto host = OneShardStore(std::nullopt).file();
  const auto resident = OneShardStore(10).file();
  ASSERT_TRUE(host.ok() && resident.ok()) << resident.status().to_string();
  EXPECT_EQ(resident.value(), host.value());
}

TEST(SnapshotTurnsTest, AStateOfALaterIndexIsSavedAsOfThatIndex) {
  const auto file = OneShardStore(11).file();
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  ledger::SampleReader reader;
  ledger::SnapshotDecoder decoder(reader);
  ASSERT_TRUE(decoder.feed(file.value()).ok());
  ASSERT_TRUE(decoder.finish().ok());
  ASSERT_EQ(reader.shards.size(), 1u);
  EXPECT_EQ(reader.shards[0].head.applied, LogIndex{11});
  EXPECT_EQ(reader.shards[0].head.applied_term, Term{4});
  EXPECT_EQ(reader.shards[0].head.term, Term{5});
}

// A device that stands for a snapshot whose state another host has not sent yet.
TEST(SnapshotTurnsTest, AShardWhoseStateIsStillToComeEndsTheSave) {
  for (const std::uint64_t index : {7u, 12u}) {
    const auto file = OneShardStore(index).file();
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().detail(), static_cast<std::uint32_t>(ErrorCode::SnapshotBusy));
  }
}

TEST_F(SnapshotSavesTest, KeepsTheHistoryThatItNeedsUntilItIsMadeOrGivenUp) {
  fill(40, 100'000);
  const std::uint64_t save = open();
  const std::uint64_t idle = open();
  EXPECT_EQ(pins(), 2);
  engine_.ended = 2;
  EXPECT_FALSE(read(save, 0).payload.empty());
  EXPECT_EQ(pins(), 2);
  EXPECT_FALSE(read_all(idle).empty());
  EXPECT_EQ(pins(), 1) << "the save that is made needs nothing more";
  pass(kSaveEndsMs);
  EXPECT_EQ(pins(), 0);
}

TEST_F(SnapshotSavesTest, HistoryIsKeptForSoLongAtMost) {
  fill(40, 100'000);
  const std::uint64_t save = open();
  engine_.ended = 1;
  for (std::uint64_t ms = 0; ms < kSavePinsMs; ms += kSaveEndsMs / 2) {
    EXPECT_EQ(pins(), 1) << "after " << ms;
    pass(kSaveEndsMs / 2);
    EXPECT_FALSE(read(save, 0).payload.empty());
  }
  EXPECT_EQ(pins(), 0);
  EXPECT_FALSE(read_all(save).empty()) << "it goes on with what is there";
}

TEST_F(SnapshotSavesTest, NoHistoryIsKeptOnADiskThatIsLow) {
  fill(1, 10);
  const std::uint64_t save = open();
  EXPECT_EQ(pins(), 1);
  disk_is_low_ = true;
  pass(1);
  EXPECT_EQ(pins(), 0);
  engine_.ended = 2;
  EXPECT_FALSE(read_all(open()).empty());
  EXPECT_EQ(pins(), 0);
  EXPECT_FALSE(read_all(save).empty());
}

// What it needs is gone: it is told so, and not sent without it.
TEST_F(SnapshotSavesTest, ASaveWhoseHistoryIsGoneIsRefused) {
  fill(1, 10);
  SnapshotDownloads saves{
      {.engine = engine_,
       .replies = sink_,
       .make_header = ledger::sample_header,
       .wake =
           [this] {
             const std::lock_guard lock(mutex_);
             ++wake_count_;
             woken_.notify_one();
           },
       .frontier_at =
           [](ShardId, std::uint64_t) {
             return Result<ledger::SnapshotFrontier>(
                 Status{StatusCode::NotFound, "compacted away", ledger::kLedgerPruned});
           }}};
  protocol::RequestSlot request;
  request.kind = protocol::RequestKind::SnapshotOpen;
  request.request_id = 1;
  saves.on_request(kClient, request, {});
  const std::uint64_t save = sink_.take(1).slot.extra;
  engine_.ended = 1;
  saves.advance(now_ms_);
  await_wake();
  request.kind = protocol::RequestKind::SnapshotRead;
  request.request_id = 2;
  saves.on_request(kClient, request, protocol::encode_snapshot_read({save, 0}));
  EXPECT_EQ(error_of(sink_.take(2)), ErrorCode::LedgerPruned);
}

TEST_F(SnapshotSavesTest, SaysNotYetWhileTheCheckpointIsUnderWay) {
  fill(1, 10);
  const std::uint64_t save = open();
  send(protocol::RequestKind::SnapshotRead, protocol::encode_snapshot_read({save, 0}));
  pass(kReadPatienceMs - 1);
  EXPECT_TRUE(sink_.replies.empty());
  pass(1);
  const KeptReply nothing = sink_.take(request_id_);
  EXPECT_EQ(nothing.slot.code, StatusCode::Ok);
  EXPECT_TRUE(nothing.payload.empty());
  EXPECT_FALSE(nothing.slot.has(protocol::ReplyFlag::Last));
  engine_.ended = 1;
  EXPECT_FALSE(read_all(save).empty());
}

TEST_F(SnapshotSavesTest, GivesTheSamePieceAgainToWhoAsksAgain) {
  fill(40, 100'000);
  const std::uint64_t save = open();
  engine_.ended = 1;
  const KeptReply first = read(save, 0);
  EXPECT_EQ(read(save, 0).payload, first.payload);
  const KeptReply second = read(save, first.payload.size());
  EXPECT_NE(second.payload, first.payload);
  EXPECT_EQ(read(save, first.payload.size()).payload, second.payload);
  EXPECT_EQ(error_of(read(save, 0)), ErrorCode::PayloadMalformed) << "that piece is gone";
}

TEST_F(SnapshotSavesTest, KnowsNothingOfASaveOfAnotherLife) {
  EXPECT_EQ(error_of(read(7, 0)), ErrorCode::SnapshotGone);
  EXPECT_EQ(error_of(ask(protocol::RequestKind::SnapshotRead)), ErrorCode::PayloadMalformed);
}

TEST_F(SnapshotSavesTest, TakesSoManyAtOnceAndGivesUpThoseThatNobodyReads) {
  fill(1, 10);
  std::vector<std::uint64_t> saves;
  for (std::size_t k = 0; k < kSavesMax; ++k) {
    saves.push_back(open());
    pass(1);
  }
  EXPECT_EQ(error_of(ask(protocol::RequestKind::SnapshotOpen)), ErrorCode::SnapshotBusy);
  pass(kSaveYieldsMs);
  const std::uint64_t next = open();
  EXPECT_EQ(saves_.save_count(), kSavesMax);
  EXPECT_EQ(error_of(read(saves.front(), 0)), ErrorCode::SnapshotGone);
  engine_.ended = engine_.requested;
  EXPECT_FALSE(read_all(next).empty());
  pass(kSaveEndsMs);
  EXPECT_EQ(saves_.save_count(), 0u);
}

TEST_F(SnapshotSavesTest, ANodeThatLacksShardsServesNoSave) {
  engine_.node.rejoining = true;
  EXPECT_EQ(error_of(ask(protocol::RequestKind::SnapshotOpen)), ErrorCode::SnapshotBusy);
  engine_.node.rejoining = false;
  engine_.node.forgotten_count = 1;
  EXPECT_EQ(error_of(ask(protocol::RequestKind::SnapshotOpen)), ErrorCode::SnapshotBusy);
  EXPECT_EQ(engine_.requested, 0u);
  engine_.node.forgotten_count = 0;
  EXPECT_NE(open(), 0u);
}

TEST_F(SnapshotSavesTest, AFailedCheckpointFailsTheSave) {
  const std::uint64_t save = open();
  engine_.ended = 1;
  engine_.outcome = Status{StatusCode::ResourceExhausted, "no space", 2101};
  EXPECT_EQ(error_of(read(save, 0)), ErrorCode::DiskFull);
}

TEST_F(SnapshotSavesTest, RotInTheStoreEndsTheSaveInsteadOfTravellingInIt) {
  fill(40, 100'000);
  ASSERT_TRUE(medium_.flip_bit(1 + 2 * 30 + 64 * 1234));
  const std::uint64_t save = open();
  engine_.ended = 1;
  std::uint64_t offset = 0;
  KeptReply piece = read(save, offset);
  while (piece.slot.code == StatusCode::Ok && !piece.slot.has(protocol::ReplyFlag::Last)) {
    offset += piece.payload.size();
    piece = read(save, offset);
  }
  EXPECT_EQ(error_of(piece), ErrorCode::CheckpointRot);
}

// Nobody reads: the thread waits with its pieces, and lets go when the node ends.
TEST_F(SnapshotSavesTest, AStreamThatNobodyReadsEndsWithTheNode) {
  fill(60, 500'000);
  const std::uint64_t save = open();
  engine_.ended = 1;
  EXPECT_EQ(read(save, 0).payload.size(), protocol::kSnapshotPieceBytesMax);
}

TEST_F(SnapshotSavesTest, ANodeWithoutSuchCheckpointsSaysSo) {
  CheckpointedEngine without{nullptr};
  SnapshotDownloads saves{
      {.engine = without, .replies = sink_, .make_header = ledger::sample_header, .wake = [] {}}};
  protocol::RequestSlot request;
  request.kind = protocol::RequestKind::SnapshotOpen;
  request.request_id = 1;
  saves.on_request(kClient, request, {});
  EXPECT_EQ(error_of(sink_.take(1)), ErrorCode::SnapshotNotServed);
}

}  // namespace
}  // namespace gcoord::server
