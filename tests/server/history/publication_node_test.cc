// Publications with their real files, keys and threads, behind the service that the engine calls.
#include "server/history/publication_node.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/checkpoint_note.h"
#include "ledger/notes/shard_note.h"
#include "server/interfaces/log_record.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 3;
constexpr ClusterId kCluster{77};

std::uint64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
             std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) +
         1;
}

// Keeps how many commands a shard has had.
class CountingService final : public StateMachine {
 public:
  void apply(const AppliedEntry& entry) override {
    EXPECT_NE(entry.cookie, kPublicationCookie);
    ++counts[entry.shard.value];
  }

  void on_proposal_failed(std::uint64_t, const Status&, NodeId) override {}

  void on_read(std::uint64_t, const Status&, NodeId) override {}

  void on_role(ShardId, consensus::Role, Term, NodeId) override {}

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    if (counts[shard.value] != 0) {
      bytes.push_back(static_cast<std::byte>(counts[shard.value]));
    }
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    counts[shard.value] = bytes.empty() ? 0 : std::to_integer<std::uint32_t>(bytes.front());
    return Status{};
  }

  bool plausible(ShardId, std::span<const std::byte> bytes) const override {
    return bytes.size() <= 1;
  }

  std::uint64_t state_hash(ShardId shard) const override { return counts[shard.value]; }

  void on_loop_gap(std::uint64_t) override {}

  std::uint32_t counts[kShards] = {};
};

using Record = std::vector<std::byte>;

std::vector<ledger::ShardHead> heads_in(
    const std::vector<std::shared_ptr<ledger::MemoryTree>>& trees,
    std::span<const ShardId> shards) {
  std::vector<ledger::ShardHead> heads;
  for (const ShardId shard : shards) {
    const std::uint64_t size = trees[shard.value]->size();
    heads.push_back({shard, size, ledger::root_at(*trees[shard.value], size).value()});
  }
  return heads;
}

// Nodes that share one decided log per shard, in which node 1 leads.
class PublicationNodeTest : public testing::Test, public ReplicatedLog {
 protected:
  struct Member {
    CountingService inner;
    PublicationService service{inner};
    std::vector<std::shared_ptr<ledger::MemoryTree>> trees;
    MetricsRegistry metrics;
    std::unique_ptr<PublicationNode> node;
    PublicationNews news;
  };

  PublicationNodeTest() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      members_.push_back(make_member());
      EXPECT_TRUE(start(id).ok());
    }
  }

  static std::unique_ptr<Member> make_member() {
    auto member = std::make_unique<Member>();
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      member->trees.push_back(std::make_shared<ledger::MemoryTree>());
    }
    return member;
  }

  std::string backup(std::uint32_t id) const {
    return directory_.path("backup/" + std::to_string(id));
  }

  std::string directory(std::uint32_t id) const { return directory_.path(std::to_string(id)); }

  Member& member(std::uint32_t id) { return *members_[id - 1]; }

  Status start(std::uint32_t id) {
    Member& m = member(id);
    GCOORD_TRY(m.node,
               PublicationNode::open({.cluster = kCluster,
                                      .node = NodeId{id},
                                      .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                                      .shard_count = kShards,
                                      .incarnation = Incarnation{++lives_},
                                      .directory = directory(id),
                                      .trees = trees_of(m),
                                      .now_ms = steady_ms,
                                      .key_seed = seed(),
                                      .wake = [] {}},
                                     m.metrics));
    m.service.set_listener(m.node.get());
    if (id == 1) {
      m.service.on_role(kPublicationShard, consensus::Role::Leader, Term{1}, NodeId{1});
    }
    return Status{};
  }

  static OwnTrees trees_of(Member& m) {
    return {.tree_of = [&m](ShardId shard) { return m.trees[shard.value]; },
            .heads_of = [&m](std::span<const ShardId> shards) { return heads_in(m.trees, shards); },
            .heads_at =
                [&m](std::span<const ledger::ShardHead> named) {
                  std::vector<ShardId> shards;
                  for (const ledger::ShardHead& each : named) {
                    shards.push_back(each.shard);
                  }
                  return heads_in(m.trees, shards);
                }};
  }

  // Another one each time, as a node draws it.
  ledger::NoteSeed seed() const {
    ledger::NoteSeed drawn{};
    drawn[0] = static_cast<std::byte>(lives_);
    return drawn;
  }

  void stop(std::uint32_t id) {
    member(id).service.set_listener(nullptr);
    member(id).node.reset();
  }

  void back_up() {
    std::filesystem::create_directory(directory_.path("backup"));
    for (std::uint32_t id = 1; id <= 3; ++id) {
      stop(id);
      std::filesystem::copy(directory(id), backup(id), std::filesystem::copy_options::recursive);
      ASSERT_TRUE(start(id).ok());
    }
    std::ranges::copy(log_, backed_up_);
  }

  // Of nodes that are stopped: nothing is left of what came after the backup.
  void restore() {
    std::ranges::copy(backed_up_, log_);
    for (std::uint32_t id = 1; id <= 3; ++id) {
      std::filesystem::remove_all(directory(id));
      std::filesystem::copy(backup(id), directory(id), std::filesystem::copy_options::recursive);
      members_[id - 1] = make_member();
    }
  }

  void decide(std::uint32_t shard, const std::string& command) {
    Record record;
    put_record_header(record, {RecordKind::LockCommand, protocol::RecordOrigin::Loopback, 5});
    for (const char each : command) {
      record.push_back(static_cast<std::byte>(each));
    }
    log_[shard].push_back(std::move(record));
  }

  // One pass of every node's loop.
  void pass() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      Member& m = member(id);
      for (std::uint32_t shard = 0; m.node && shard < kShards; ++shard) {
        apply(m, shard);
      }
      if (m.node) {
        speaker_ = id;
        auto news = m.node->exchange(*this, 1234);
        ASSERT_TRUE(news.ok()) << news.status().to_string();
        m.news.refusal = news.value().refusal ? news.value().refusal : m.news.refusal;
      }
    }
    std::this_thread::yield();
  }

  static void apply(Member& m, std::uint32_t shard, const std::vector<Record>& log) {
    while (m.trees[shard]->size() < log.size()) {
      const std::uint64_t index = m.trees[shard]->size();
      m.trees[shard]->append(log[index]);
      m.service.apply({.shard = ShardId{shard},
                       .index = LogIndex{index + 1},
                       .term = Term{1},
                       .payload = log[index],
                       .cookie = kPublicationCookie});
    }
  }

  void apply(Member& m, std::uint32_t shard) { apply(m, shard, log_[shard]); }

  // Far beyond what any machine needs.
  bool run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!done()) {
      if (HasFatalFailure() || std::chrono::steady_clock::now() > end) {
        return false;
      }
      pass();
    }
    return true;
  }

  // The newest checkpoint of a node, believed if two of the three signed it.
  Result<ledger::CheckpointNote> checkpoint(std::uint32_t id) {
    GCOORD_TRY(const auto note, member(id).node->notary().checkpoint());
    ledger::CheckpointTrust trust{
        .keys = {}, .quorum = 2, .origin = ledger::cluster_origin(kCluster.value)};
    for (const std::string& text : member(id).node->notary().keys()) {
      GCOORD_TRY(auto key, ledger::NoteKey::parse(text));
      trust.keys.push_back(std::move(key));
    }
    return ledger::open_checkpoint(note, trust);
  }

  // Whether every node shows a checkpoint over all of a shard's entries.
  bool published(std::uint32_t shard) {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      if (!member(id).node) {
        continue;
      }
      const auto note = member(id).node->notary().shard_checkpoint(ShardId{shard});
      if (!note.ok() || note.value().find("\n" + std::to_string(log_[shard].size()) + "\n") ==
                            std::string::npos) {
        return false;
      }
    }
    return true;
  }

  // ReplicatedLog, of the node whose pass it is.
  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override {
    EXPECT_EQ(shard, kPublicationShard);
    EXPECT_EQ(cookie, kPublicationCookie);
    log_[0].emplace_back(proposed.bytes.begin(), proposed.bytes.end());
  }

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId) const override { return {}; }

  NodeView view() const override { return {}; }

  bool send_peer_message(NodeId to, std::span<const std::byte> message) override {
    if (member(to.value).node) {
      member(to.value).service.on_peer_message(NodeId{speaker_}, message);
    }
    return true;
  }

  ScratchFolder directory_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Record> log_[kShards];
  std::vector<Record> backed_up_[kShards];
  std::uint32_t speaker_ = 0;
  std::uint32_t lives_ = 0;
};

TEST_F(PublicationNodeTest, AMajoritySignsWhatIsDecidedAndProofsLeadToIt) {
  decide(1, "one");
  decide(2, "two");
  ASSERT_TRUE(run_until([this] { return published(1) && published(2); }));
  for (std::uint32_t id = 1; id <= 3; ++id) {
    const auto note = checkpoint(id);
    ASSERT_TRUE(note.ok()) << note.status().to_string();
    const auto log = member(id).node->cluster_log_reader();
    EXPECT_EQ(ledger::root_at(*log, note.value().size).value(), note.value().root);
    // The shard's own note leads to its leaf there.
    const auto text = member(id).node->notary().shard_checkpoint(ShardId{2}).value();
    const auto key = ledger::NoteKey::parse(member(id).node->notary().keys().front()).value();
    const auto shard =
        ledger::open_checkpoint(text, {{key}, 1, ledger::shard_origin(kCluster.value, 2)});
    ASSERT_TRUE(shard.ok()) << shard.status().to_string();
    const auto place = ledger::cluster_place(shard.value()).value();
    const auto leaf = log->entries(place.leaf_index, 1).value().front();
    EXPECT_EQ(ledger::decode_head(leaf).value(),
              (ledger::ShardHead{ShardId{2}, shard.value().size, shard.value().root}));
  }
}

TEST_F(PublicationNodeTest, KeysAndWhatWasSignedOutliveARestart) {
  decide(1, "one");
  ASSERT_TRUE(run_until([this] { return published(1); }));
  const auto keys = member(2).node->notary().keys();
  const std::uint64_t size = member(2).node->view().size;
  stop(2);
  decide(1, "two");
  ASSERT_TRUE(run_until([this] { return published(1); }));
  ASSERT_TRUE(start(2).ok());
  EXPECT_EQ(member(2).node->notary().keys().front(), keys.front());
  EXPECT_GE(member(2).node->view().size, size);
  decide(2, "three");
  ASSERT_TRUE(run_until([this] { return published(2); }));
}

TEST_F(PublicationNodeTest, ARestoredClusterIsRefusedByWhoSignedMore) {
  decide(1, "one");
  ASSERT_TRUE(run_until([this] { return published(1); }));
  back_up();
  for (int k = 0; k < 3; ++k) {
    decide(1, "more");
    ASSERT_TRUE(run_until([this] { return published(1); }));
  }
  // All come back from the backup, but for what node 3 signed last.
  for (std::uint32_t id = 1; id <= 3; ++id) {
    stop(id);
  }
  const std::string kept = directory_.path("signed");
  std::filesystem::copy_file(directory(3) + "/signed", kept);
  restore();
  std::filesystem::copy_file(
      kept, directory(3) + "/signed", std::filesystem::copy_options::overwrite_existing);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(start(id).ok());
  }
  decide(2, "another way");
  const auto refusal = [this] { return member(3).news.refusal.value_or(Status{}).detail(); };
  ASSERT_TRUE(run_until([&] { return published(2) && refusal() == ledger::kSignerBehind; }));
  EXPECT_EQ(member(3).node->view().refusal.detail(), ledger::kSignerBehind);
  for (int k = 0; k < 6; ++k) {
    decide(2, "and another");
    ASSERT_TRUE(run_until([this] { return published(2); }));
  }
  ASSERT_TRUE(run_until([&] { return refusal() == ledger::kSignerContradiction; }));
  const std::string name = ledger::node_key_name(kCluster.value, 3);
  EXPECT_EQ(member(1).node->notary().checkpoint().value().find(name), std::string::npos);
}

TEST_F(PublicationNodeTest, ADamagedFileStopsTheNodeAtItsStart) {
  decide(1, "one");
  // Published is what two of three signed: node 2 may be the third.
  ASSERT_TRUE(run_until(
      [this] { return published(1) && std::filesystem::exists(directory(2) + "/signed"); }));
  stop(2);
  for (const auto& [name, detail] :
       {std::pair{"signed", ledger::kSignerState}, std::pair{"ledger.key", ledger::kLedgerKey}}) {
    const std::string path = directory(2) + "/" + name;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    const char was = static_cast<char>(file.get());
    file.seekp(20);
    file.put(static_cast<char>(was ^ 4));
    file.close();
    EXPECT_EQ(start(2).detail(), detail) << name;
    file.open(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file.put(was);
    file.close();
  }
  EXPECT_TRUE(start(2).ok());
}

TEST(PublicationService, CarriesTheStateInTheBytesOfShardZero) {
  CountingService inner;
  PublicationService service(inner);
  std::vector<std::byte> empty;
  service.serialize(kPublicationShard, empty);
  EXPECT_TRUE(empty.empty());
  const std::uint64_t hash = service.state_hash(kPublicationShard);
  const auto record = publication_record(encode(PublicationEntry{KeyEntry{NodeId{2}, {}}}), 9);
  service.apply({.shard = kPublicationShard, .index = LogIndex{1}, .payload = record});
  service.apply({.shard = ShardId{1}, .index = LogIndex{1}, .payload = record});
  EXPECT_EQ(service.publication().keys().size(), 1u);
  EXPECT_NE(service.state_hash(kPublicationShard), hash);
  std::vector<std::byte> bytes;
  service.serialize(kPublicationShard, bytes);
  CountingService other_inner;
  PublicationService other(other_inner);
  ASSERT_TRUE(other.plausible(kPublicationShard, bytes));
  ASSERT_TRUE(other.install(kPublicationShard, bytes).ok());
  EXPECT_EQ(other.publication(), service.publication());
  EXPECT_EQ(other.state_hash(kPublicationShard), service.state_hash(kPublicationShard));
  EXPECT_EQ(other_inner.counts[0], 1u);
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    EXPECT_FALSE(other.plausible(kPublicationShard, std::span(bytes).first(length))) << length;
  }
  ASSERT_TRUE(other.install(kPublicationShard, {}).ok());
  EXPECT_EQ(other.publication(), PublicationState{});
}

}  // namespace
}  // namespace gcoord::server
