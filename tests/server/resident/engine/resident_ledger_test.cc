// The ledger behind a turn that stays on its device, by the twins of three nodes: leaves that are
// the records of the host's turn, byte for byte, trees with its roots, and logs that began before
// entries said who asked and when.
#include "ledger/heads/message.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "locks/commands/entry_record.h"
#include "locks/commands/entry_writer.h"
#include "server/device_turn/store.h"
#include "server/history/publication_service.h"
#include "server/history/record_text.h"
#include "server/interfaces/entry_stamp.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/engine/applied_entry.h"
#include "tests/server/host_turn/engine_cluster.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using Bytes = std::vector<std::byte>;
using Leaves = std::vector<Bytes>;

constexpr std::uint64_t kNowMs = 1'796'000'000'000;  // In November 2026.

// A command, and who asks for it when.
struct Said {
  locks::LockCommand command;
  EntryStamp stamp;
};

// What the host's turn has in its log.
Bytes record_of(const Said& said) {
  Bytes bytes;
  put_record_header(bytes, {RecordKind::LockCommand, said.stamp.origin, said.stamp.time_ms});
  locks::encode(said.command, bytes);
  return bytes;
}

Bytes header_alone(RecordKind kind) {
  Bytes bytes;
  put_record_header(bytes, {kind});
  return bytes;
}

Leaves leaves_of(const ledger::TreeReader& tree) {
  Leaves leaves;
  while (leaves.size() < tree.size()) {
    const std::size_t count = std::min<std::size_t>(tree.size() - leaves.size(), 256);
    auto entries = tree.entries(leaves.size(), count).value();
    std::move(entries.begin(), entries.end(), std::back_inserter(leaves));
  }
  return leaves;
}

ledger::MerkleHash root_of_tree(const ledger::TreeReader& tree) {
  return ledger::root_at(tree, tree.size()).value();
}

Leaves without(const Leaves& leaves, const Bytes& some) {
  Leaves rest;
  std::copy_if(leaves.begin(), leaves.end(), std::back_inserter(rest), [&](const Bytes& leaf) {
    return leaf != some;
  });
  return rest;
}

// Twenty commands of one shard; names of so many bytes.
std::vector<Said> some_commands(ShardId shard, std::size_t name_bytes) {
  static std::vector<std::string> names;  // Commands point to them.
  names.clear();
  names.reserve(16);
  std::vector<Said> said;
  std::uint64_t time_ms = kNowMs;
  const auto add = [&](const locks::LockCommand& command, protocol::RecordOrigin origin) {
    said.push_back({command, {origin, time_ms += 7}});
  };
  add(locks::make_register_session(SessionId{5}, 60'000), protocol::RecordOrigin::Loopback);
  for (std::uint64_t k = 1; k <= 9; ++k) {
    std::string name;
    for (std::uint64_t salt = 0; name.empty() || shard_of(hash_name(name), kShards) != shard;
         ++salt) {
      name = std::to_string(k) + "." + std::to_string(salt);
      name.resize(std::max(name.size(), name_bytes), 'n');
    }
    names.push_back(name);
    add(acquire(names.back(), 5, 2 * k), protocol::RecordOrigin::Remote);
    add(release(names.back(), 5, 2 * k + 1, FencingToken{k}), protocol::RecordOrigin::Loopback);
  }
  add(locks::make_close_session(SessionId{5}, RequestSequence{99}), protocol::RecordOrigin::System);
  return said;
}

class ResidentLedger : public testing::TestWithParam<std::uint32_t> {
 protected:
  void TearDown() override {
    hosts_.turns(600);
    for (const auto& host : hosts_.each) {
      EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
    }
    expect_equal_trees();
  }

  void begin_stamping() {
    for (auto& host : hosts_.each) {
      host.requests->begin_stamping();
    }
  }

  ShardId shard() const { return hosts_.shard(); }

  ResidentRequests& leader() { return *hosts_.each[hosts_.leader_of(shard())].requests; }

  void ask(const Said& said) {
    const std::uint32_t n = hosts_.leader_of(shard());
    ProposedCommand proposed{std::span<const std::byte>{}, &said.command};
    proposed.stamp = said.stamp;
    ASSERT_TRUE(hosts_.each[n].requests->take(shard(), proposed, ++hosts_.cookie));
    for (std::uint32_t k = 0; k < 100'000 && !has_answer(n); ++k) {
      hosts_.turns(1);
    }
    ASSERT_TRUE(has_answer(n));
  }

  bool has_answer(std::uint32_t n) const {
    return hosts_.each[n].service.applied.contains(hosts_.cookie);
  }

  void ask_all(const std::vector<Said>& said) {
    for (const Said& each : said) {
      ask(each);
    }
    hosts_.turns(600);
  }

  std::shared_ptr<const ledger::TreeReader> tree(std::uint32_t n) {
    EXPECT_TRUE(hosts_.each[n].history->end_turn(true).ok());
    return hosts_.each[n].history->worker().history()->reader(shard());
  }

  Leaves leaves(std::uint32_t n = 0) { return leaves_of(*tree(n)); }

  // A tree that began with a state has the others' root.
  void expect_equal_trees() {
    for (std::uint32_t n = 1; n < kTurnNodes; ++n) {
      EXPECT_EQ(tree(n)->first() != 0 || tree(0)->first() != 0 || leaves(n) == leaves(0), true)
          << n;
      EXPECT_EQ(root_of_tree(*tree(n)), root_of_tree(*tree(0))) << n;
    }
  }

  Hosts hosts_{{}, {.lanes_each = GetParam()}, true};
};

INSTANTIATE_TEST_SUITE_P(LoopAloneAndThreads, ResidentLedger, testing::Values(0, 1));

// --- The number of a request

constexpr std::uint64_t kStampLastMs = kStampEpochMs + (std::uint64_t{1} << kStampTimeBits) - 1;

TEST(EntryStamp, SaysOriginAndTimeAndIsNoOtherNumber) {
  for (const auto origin : {protocol::RecordOrigin::System,
                            protocol::RecordOrigin::Loopback,
                            protocol::RecordOrigin::Remote}) {
    for (const std::uint64_t time_ms : {kStampEpochMs, kNowMs, kStampLastMs}) {
      const EntryStamp stamp{origin, time_ms};
      for (const std::uint64_t count : {std::uint64_t{0}, kStampCountMask}) {
        const std::uint64_t request = stamp_bits(stamp) | count;
        EXPECT_EQ(stamp_of(request), stamp);
        EXPECT_FALSE(is_own_term(request));
        EXPECT_LT(request, kPassTag);
      }
    }
  }
  EXPECT_EQ(stamp_of(stamp_bits({.time_ms = 0}))->time_ms, kStampEpochMs);
  EXPECT_EQ(stamp_of(stamp_bits({.time_ms = ~0ull}))->time_ms, kStampLastMs);
  for (const std::uint64_t other : {std::uint64_t{0},
                                    std::uint64_t{1},
                                    (std::uint64_t{1} << 62) - 1,
                                    own_term_tag(Term{9}),
                                    kPassTag,
                                    kTransferTag,
                                    kStoredTag}) {
    EXPECT_FALSE(stamp_of(other).has_value()) << other;
  }
}

TEST(EntryStamp, PiecesHaveCountsInARowAndEveryTagIsFoundAgain) {
  AskedTable table(4);
  const std::uint64_t stamp = stamp_bits({protocol::RecordOrigin::Remote, kNowMs});
  std::uint64_t last = 0;
  for (std::uint32_t k = 0; k < 150'000; ++k) {  // The count comes round more than once.
    const std::uint32_t before = k % 27;
    last = table.add({.shard = ShardId{k % 4}, .cookie = k + 1}, before, stamp);
    EXPECT_GE(last & kStampCountMask, before);
    EXPECT_TRUE(table.was_given(last) && table.was_given(last - before));
    EXPECT_EQ(stamp_of(last - before)->time_ms, kNowMs);
    EXPECT_EQ(table.take(last)->cookie, k + 1);
  }
  EXPECT_FALSE(table.was_given(stamp_bits({protocol::RecordOrigin::Remote, kNowMs + 1})));
  EXPECT_FALSE(table.was_given(stamp_bits({protocol::RecordOrigin::System, kNowMs - 1})));
  AskedTable young(4);
  EXPECT_FALSE(young.was_given(last));
  const std::uint64_t plain = young.add({.shard = ShardId{1}, .cookie = 1}, 0);
  const std::uint64_t stamped = young.add({.shard = ShardId{1}, .cookie = 2}, 3, stamp);
  EXPECT_TRUE(young.was_given(plain) && young.was_given(stamped));
  EXPECT_FALSE(young.was_given(stamped + 1));
  EXPECT_FALSE(young.was_given(stamped - 4));
  EXPECT_EQ(young.first_of(ShardId{1}), plain);
  EXPECT_LT(young.order_of(plain), young.order_of(stamped));
}

// --- Leaves

// The same commands in the log of an engine whose turn is the host's.
class HostTurn {
 public:
  explicit HostTurn(ShardId shard) : shard_(shard), cluster_(1, kShards) {
    cluster_.between = [this](EngineCluster::Node& node, ReplicaOptions& engine) -> StateMachine& {
      NodeHistoryOptions options;
      options.driver = ledger::StorageDriver::Owner;
      options.shard_count = engine.shard_count;
      history_ = std::make_unique<NodeHistory>(std::move(options), *node.service);
      engine.on_directory = [this] {
        return history_->open(ledger::open_memory_history_store(medium_));
      };
      engine.before_checkpoint = [this] { return history_->settle(); };
      return history_->service();
    };
    cluster_.start(1);
    history_->recovered();
    cluster_.run_until([this] { return cluster_.all_led(); });
  }

  ~HostTurn() { cluster_.stop(1); }

  void propose(const Bytes& record) {
    cluster_.engine(1).propose(shard_, {record}, ++cookie_);
    cluster_.run_until([this] { return cluster_.decided(1, cookie_); });
  }

  std::shared_ptr<const ledger::TreeReader> tree() {
    EXPECT_TRUE(history_->end_turn(true).ok());
    return history_->worker().history()->reader(shard_);
  }

 private:
  ShardId shard_;
  ledger::HistoryMedium medium_;
  std::unique_ptr<NodeHistory> history_;
  EngineCluster cluster_;
  std::uint64_t cookie_ = 0;
};

TEST_P(ResidentLedger, TheSameCommandsGiveTheLeavesAndTheRootOfTheHostsTurn) {
  begin_stamping();
  const std::vector<Said> said = some_commands(shard(), 8);
  ask_all(said);
  HostTurn host(shard());
  for (const Said& each : said) {
    host.propose(record_of(each));
  }
  const Leaves own = leaves();
  EXPECT_EQ(own.size(), said.size() + 1) << "a no-op and the commands";
  EXPECT_EQ(own, leaves_of(*host.tree()));
  EXPECT_EQ(root_of_tree(*tree(0)), root_of_tree(*host.tree()));
  for (const Bytes& leaf : own) {
    EXPECT_FALSE(is_device_entry(leaf));
  }
}

// Only what a name has beyond its first bytes takes places of its own.
TEST_P(ResidentLedger, OfLongNamesThePartsAloneAreMore) {
  begin_stamping();
  const std::vector<Said> longest = some_commands(shard(), locks::kNameBytesMax);
  ask_all(longest);
  HostTurn host(shard());
  for (const Said& each : longest) {
    host.propose(record_of(each));
  }
  const Bytes part = header_alone(RecordKind::Part);
  const Leaves own = leaves();
  EXPECT_EQ(own.size(), 1 + longest.size() + 9 * std::size_t{locks::kPiecesMax});
  EXPECT_EQ(without(own, part), leaves_of(*host.tree()));
  EXPECT_EQ(own[2], part);
  EXPECT_EQ(record_facts(part).front().second, "part");
}

// Whoever reads tiles of shard 0 must not find a password's verifier in pieces.
TEST_P(ResidentLedger, ARecordOfAServiceIsItsOwnLeafAndItsPiecesSayNothing) {
  begin_stamping();
  Bytes record;
  put_record_header(record, {RecordKind::Access, protocol::RecordOrigin::Remote, kNowMs});
  record.resize(400, std::byte{'s'});
  leader().record(shard(), record, ++hosts_.cookie);
  hosts_.turns(600);
  const Leaves own = leaves();
  EXPECT_EQ(own.back(), record);
  const Leaves said = without(own, header_alone(RecordKind::Part));
  EXPECT_EQ(said.size(), 2u);
  EXPECT_EQ(hosts_.each[0].service.records.back(), record);
}

// A command that did not arrive whole happened nowhere, and no leaf says it.
TEST_P(ResidentLedger, WhatIsNotThereWholeIsAPart) {
  if (GetParam() != 0) {
    GTEST_SKIP() << "a host's drain takes no tag that the host did not give";
  }
  const std::string name = some_commands(shard(), 200)[1].command.name;
  const auto entries = locks::entries_of(acquire(name, 5, 1));
  ASSERT_GT(entries.size(), 3u);
  std::vector<TurnRequest> requests;
  const std::uint64_t stamp = stamp_bits({protocol::RecordOrigin::Remote, kNowMs});
  for (std::size_t k = 1; k < entries.size(); ++k) {
    TurnRequest request{.shard = shard(), .head = entries[k].head, .tag = stamp | (500 + k)};
    std::copy(std::begin(entries[k].word), std::end(entries[k].word), std::begin(request.word));
    requests.push_back(request);
  }
  auto& memory = *hosts_.world.nodes[hosts_.leader_of(shard())].memory;
  ASSERT_TRUE(memory.push(stripe_of(memory.options().shape, shard()),
                          requests.data(),
                          static_cast<std::uint32_t>(requests.size())));
  hosts_.turns(600);
  const Leaves own = leaves();
  EXPECT_EQ(own.size(), entries.size()) << "a no-op and what was pushed";
  EXPECT_EQ(without(own, header_alone(RecordKind::Part)), Leaves{header_alone(RecordKind::Noop)});
}

// --- Before all nodes can

TEST_P(ResidentLedger, BeforeThatLeavesAreTheEntriesAndBehindThemRecords) {
  const std::vector<Said> said = some_commands(shard(), 8);
  ask(said[0]);
  ask(said[1]);
  Bytes publication;
  put_record_header(publication, {RecordKind::Publication, protocol::RecordOrigin::System, kNowMs});
  publication.resize(60);
  EXPECT_FALSE(leader().take(shard(), publication, 901)) << "nobody of before knows what it is";
  hosts_.turns(300);
  Leaves own = leaves();
  ASSERT_EQ(own.size(), 3u);
  EXPECT_TRUE(is_device_entry(own[1]) && is_device_entry(own[2]));
  EXPECT_FALSE(hosts_.each[0].rows->counts().stamped != 0);
  begin_stamping();
  ask(said[2]);
  EXPECT_TRUE(leader().take(shard(), publication, ++hosts_.cookie));
  hosts_.turns(600);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_TRUE(hosts_.each[n].rows->has_stamps(shard()));
    const Leaves grown = without(leaves(n), header_alone(RecordKind::Part));
    ASSERT_EQ(grown.size(), 5u);
    EXPECT_TRUE(std::equal(own.begin(), own.end(), grown.begin())) << "old leaves stay";
    EXPECT_EQ(grown[3], record_of(said[2]));
    EXPECT_EQ(grown[4], publication);
  }
}

// What a device writes there is by number, what history says is by the nodes' ids.
TEST(AppliedEntryBuilder, AConfigurationIsARecordOnceTheLogHasHadAStamp) {
  const ResidentNames names{{NodeId{70}, NodeId{20}, NodeId{41}}};
  AppliedEntryBuilder builder(names);
  consensus::Configuration numbers;
  numbers.voters = 7;
  for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
    numbers.node[slot] = NodeId{slot + 1};
    numbers.weight[slot] = 1;
  }
  const locks::LockEntry entry = LockTurnService::configuration_entry(numbers);
  ASSERT_TRUE(configuration_said(entry, kTurnNodes).has_value());
  const AppliedEntry before = builder.of(entry, {}, false);
  EXPECT_TRUE(is_device_entry(before.leaf));
  const AppliedEntry after = builder.of(entry, {}, true);
  Bytes expected = header_alone(RecordKind::Configuration);
  const consensus::Configuration ids = names.with_ids(numbers);
  const auto encoded = encode_configuration(ids);
  expected.insert(expected.end(), encoded.begin(), encoded.end());
  EXPECT_EQ(Bytes(after.leaf.begin(), after.leaf.end()), expected);
  EXPECT_TRUE(after.payload.empty());
  // A device that makes one up cannot have it read as one.
  locks::LockEntry invented = entry;
  invented.word[5] = ~std::uint64_t{0};
  const AppliedEntry nothing = builder.of(invented, {}, true);
  EXPECT_EQ(Bytes(nothing.leaf.begin(), nothing.leaf.end()), header_alone(RecordKind::Part));
}

// Its 64 bytes would be an entry of a device to whoever reads the tree.
TEST(AppliedEntryBuilder, ARecordWithoutATimeIsAPartBehindAStampAndWhatItWasBefore) {
  const ResidentNames names{{NodeId{1}, NodeId{2}, NodeId{3}}};
  AppliedEntryBuilder builder(names);
  Bytes record = header_alone(RecordKind::View);
  std::fill(record.begin() + 2, record.end(), std::byte{0});
  record.resize(sizeof(locks::LockEntry));
  ASSERT_TRUE(is_device_entry(record));
  locks::LockEntry entry;
  entry.head = 1;
  entry.request = stamp_bits({});
  const EntryMeaning meaning{.kind = ReassembledKind::Record, .encoded = record};
  const AppliedEntry part = builder.of(entry, meaning, true);
  EXPECT_TRUE(part.payload.empty());
  EXPECT_EQ(Bytes(part.leaf.begin(), part.leaf.end()), header_alone(RecordKind::Part));
  entry.request = 7;
  const AppliedEntry old = builder.of(entry, meaning, true);
  EXPECT_EQ(Bytes(old.payload.begin(), old.payload.end()), record);
  EXPECT_EQ(old.leaf.size(), sizeof(locks::LockEntry));
}

// --- States

TEST_P(ResidentLedger, AStoredStateSaysThatItsLogHasStamps) {
  Hosts other{{}, {}, true};
  ResidentRows& rows = *other.each[0].rows;
  for (const bool stamps : {false, true}) {
    if (stamps) {
      begin_stamping();
    }
    ask(some_commands(shard(), 8)[1]);
    hosts_.turns(600);
    Bytes stored;
    hosts_.each[1].rows->encode(shard(), StoredFor::Snapshot, stored);
    ASSERT_TRUE(rows.decode(shard(), stored).ok());
    EXPECT_EQ(rows.has_stamps(shard()), stamps);
    EXPECT_EQ(rows.counts().stamped != 0, stamps);
    EXPECT_EQ(rows.counts().recorded, 0u);
  }
}

// The tree goes on from the other host's frontier, with its root.
TEST_P(ResidentLedger, AStateFromAnotherHostBringsTheTreeAndTheMark) {
  begin_stamping();
  hosts_.lock_and_unlock(2);
  const std::uint32_t away = (hosts_.leader_of(shard()) + 1) % kTurnNodes;
  hosts_.world.paused = away;
  hosts_.turns(4000);
  hosts_.lock_and_unlock(100);
  hosts_.world.paused = kTurnNodes;
  hosts_.turns(4000);
  ASSERT_EQ(hosts_.each[away].rows->wants().size(), 1u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_NE(tree(n), nullptr);  // Hashed: a state then has a frontier, and no leaves beside it.
  }
  hosts_.refresh_states(away, 3000, 10);
  ASSERT_TRUE(hosts_.each[away].rows->wants().empty());
  EXPECT_TRUE(hosts_.each[away].rows->has_stamps(shard()));
  hosts_.lock_and_unlock(2);
  hosts_.turns(300);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_EQ(root_of_tree(*tree(n)), root_of_tree(*tree(0))) << n;
  }
  EXPECT_GT(tree(away)->first(), 0u) << "what lies below the state is the others' alone";
}

// --- Messages

// Both begin with 5: a publication's was taken for the question for a state.
TEST(ResidentStates, AMessageOfThePublicationIsNoneOfStates) {
  const std::vector<PublicationMessage> messages = {PageMessage{.heads = {{}}},
                                                    VerdictMessage{},
                                                    SignatureMessage{},
                                                    LeavesQuery{},
                                                    HashQuery{},
                                                    AlarmMessage{}};
  for (const PublicationMessage& message : messages) {
    Bytes bytes = encode(message);
    bytes.resize(std::max<std::size_t>(bytes.size(), 64));
    EXPECT_FALSE(ResidentStates::is_message(bytes)) << message.index();
  }
  Bytes asks(32);
  asks.front() = kStateAskKind;
  EXPECT_TRUE(ResidentStates::is_message(asks));
}

}  // namespace
}  // namespace gcoord::server
