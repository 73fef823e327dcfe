// A new cluster of the directory of the node that is left: what it begins with, what is refused,
// and what a kill leaves behind.
#include "server/force/force.h"

#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/cluster/repair_file.h"
#include "locks/snapshot/snapshot.h"
#include "protocol/error_codes.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/ledger_state.h"
#include "server/replicas/shard_codec.h"
#include "tests/server/force/survivor_directory.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::MemberRole;
using protocol::MemberState;
using Purpose = ForceNewCluster::Purpose;
using testing::ElementsAre;
using testing::HasSubstr;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

ForceOrder order_of(const SurvivorDirectory& survivor) {
  ForceOrder order;
  order.confirmation = survivor.id();
  order.time_ms = 1'764'100'000'000;
  return order;
}

Result<Forced> force(const NodeFolder& folder, const ForceOrder& order) {
  GCOORD_TRY(const auto opened, ForceNewCluster::open(folder.path(), Purpose::Make));
  return opened->make(order);
}

Result<Forced> force(const SurvivorDirectory& survivor) {
  return force(survivor, order_of(survivor));
}

// Why it cannot be opened.
Status refusal(const NodeFolder& folder) {
  return ForceNewCluster::open(folder.path(), Purpose::Make).status();
}

class NoEntries final : public HardEntryVisitor {
 public:
  void on_entry(LogIndex, Term, const EntryView&) override {}
};

struct Kept {
  HardValue hard;
  std::vector<std::byte> bytes;  // That `locks` points into.
  locks::LockSnapshot locks;
  std::optional<membership::ViewCpu> view;
};

Kept kept_in(const std::string& directory, ShardId shard) {
  Kept kept;
  const auto store = ledger::CheckpointStore::open(directory + "/checkpoint").value();
  NoEntries no_entries;
  const auto hard = store->get(ledger::CheckpointColumn::Hard, shard).value();
  kept.hard = decode_hard_value(hard, no_entries).value();
  kept.bytes = store->get(ledger::CheckpointColumn::Service, shard).value();
  kept.locks = locks::parse_snapshot(*service_part(shard, kept.bytes)).value();
  kept.view = membership::ViewCpu::parse(*view_part(shard, kept.bytes));
  return kept;
}

std::vector<std::string> names_of(const locks::LockSnapshot& locks) {
  std::vector<std::string> names;
  for (const auto& lock : locks.locks) {
    names.emplace_back(lock.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ForceNewClusterTest, SaysHowFarTheDirectoryGoes) {
  const SurvivorDirectory survivor;
  const auto opened = ForceNewCluster::open(survivor.path(), Purpose::Inspect);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const SurvivorFacts& facts = opened.value()->facts();
  EXPECT_EQ(facts.identity.cluster, survivor.cluster());
  EXPECT_EQ(facts.identity.node, NodeId{3});
  EXPECT_THAT(facts.others, ElementsAre(NodeId{1}, NodeId{2}));
  // The restore has an entry in each of the eight shards.
  EXPECT_EQ(facts.shards_used, kSurvivorShards);
  const std::uint64_t others = 6 + kSurvivorCheckpoint;
  EXPECT_EQ(facts.entries, others + kSurvivorCheckpoint + 2);
  EXPECT_EQ(facts.decided, others + kSurvivorCheckpoint + 1);
  EXPECT_EQ(facts.checkpoints, others + kSurvivorCheckpoint);
  EXPECT_EQ(facts.term_newest, kSurvivorTerm);
  // Of shards that the cluster never used: the restore's.
  EXPECT_EQ(facts.entry_terms, 6 * kTermBump + (kTermBump + 2) + kSurvivorTerm.value);
  EXPECT_EQ(facts.newest_ms, 1'764'000'000'000u);
  EXPECT_FALSE(opened.value()->former().has_value());
}

TEST(ForceNewClusterTest, EveryEntryCountsAndAllThatMustRiseRises) {
  const SurvivorDirectory survivor;
  const auto forced = force(survivor);
  ASSERT_TRUE(forced.ok()) << forced.status().to_string();
  EXPECT_NE(forced.value().cluster, survivor.cluster());
  EXPECT_EQ(forced.value().former, survivor.cluster());
  EXPECT_EQ(survivor.cluster_now(), forced.value().cluster);
  const Kept used = kept_in(survivor.path(), kSurvivorUsed);
  EXPECT_THAT(names_of(used.locks), ElementsAre("decided", "held", "open"));
  EXPECT_GE(used.locks.token_last, 2 * kTokenBump);
  EXPECT_EQ(used.hard.term, kSurvivorTerm + kTermBump);
  EXPECT_EQ(used.hard.floor, LogIndex{kSurvivorCheckpoint + 3});
  EXPECT_EQ(used.hard.configuration.voters, 1);
  EXPECT_EQ(used.hard.configuration.node[0], NodeId{3});
}

// Of a resident node whose host took a state from another one and died: state and tree say how far
// the shard goes, and entries of its own log behind them may be an older branch.
TEST(ForceNewClusterTest, AStateAheadOfItsLogCountsAndWhatStandsBehindItDoesNot) {
  for (const std::uint32_t entries : {0u, 1u, 3u}) {
    const SurvivorDirectory survivor({.resident = true, .empty_entries = entries});
    const auto forced = force(survivor);
    ASSERT_TRUE(forced.ok()) << forced.status().to_string();
    const Kept used = kept_in(survivor.path(), kSurvivorUsed);
    EXPECT_THAT(names_of(used.locks), ElementsAre("held"));
    EXPECT_EQ(used.hard.term, kSurvivorTerm + kTermBump);
    EXPECT_EQ(used.hard.floor, LogIndex{kSurvivorCheckpoint + 1});
  }
}

TEST(ForceNewClusterTest, TheOthersAreTombstonesAndTheOldIdIsKept) {
  const SurvivorDirectory survivor;
  const auto forced = force(survivor);
  ASSERT_TRUE(forced.ok()) << forced.status().to_string();
  const auto disk = survivor.disk();
  const auto former = ledger::read_former(*disk).value();
  ASSERT_TRUE(former.has_value());
  EXPECT_EQ(former->cluster, survivor.cluster());
  EXPECT_EQ(former->time_ms, 1'764'100'000'000u);
  const protocol::ClusterView view = kept_in(survivor.path(), ShardId{0}).view->view();
  EXPECT_EQ(view.epoch, 7u);  // The restore made 6 of 5.
  EXPECT_EQ(read_kept_members(*disk).value().view(), view);
  ASSERT_EQ(view.nodes.size(), 3u);
  EXPECT_EQ(view.nodes[0].state, MemberState::Removed);
  EXPECT_EQ(view.nodes[1].state, MemberState::Removed);
  EXPECT_EQ(view.nodes[2].state, MemberState::Active);
  const auto identity = ledger::IdentityFile::read(*disk).value();
  EXPECT_TRUE(identity->restored());
  EXPECT_FALSE(identity->in_use());
  EXPECT_GT(start_of(identity->incarnation()), 2 * ledger::kRestoredStart);
}

TEST(ForceNewClusterTest, TheOldDirectoryIsKeptAsItWas) {
  const SurvivorDirectory survivor;
  const auto forced = force(survivor);
  ASSERT_TRUE(forced.ok()) << forced.status().to_string();
  const std::string name = "data.before-force-" + std::to_string(forced.value().cluster.value);
  EXPECT_EQ(forced.value().kept, survivor.beside(name.substr(4)));
  EXPECT_THAT(survivor.neighbours(), ElementsAre("data", name));
  const auto old = Survivor::open(forced.value().kept);
  ASSERT_TRUE(old.ok()) << old.status().to_string();
  EXPECT_EQ(old.value()->facts().identity.cluster, survivor.cluster());
}

TEST(ForceNewClusterTest, AnotherIdChangesNothing) {
  const SurvivorDirectory survivor;
  for (const std::string typed : {"", "1", "gcoord"}) {
    const auto opened = ForceNewCluster::open(survivor.path(), Purpose::Make);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    ForceOrder order = order_of(survivor);
    order.confirmation = typed;
    EXPECT_EQ(opened.value()->make(order).status().detail(), number(ErrorCode::ForceOtherCluster));
    EXPECT_EQ(survivor.cluster_now(), survivor.cluster());
    EXPECT_THAT(survivor.neighbours(), ElementsAre("data"));
  }
}

TEST(ForceNewClusterTest, ADirectoryInUseIsRefused) {
  const SurvivorDirectory survivor;
  const auto lock = ledger::DirectoryLock::take(survivor.path());
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(refusal(survivor).detail(), ledger::kDirectoryLocked);
}

TEST(ForceNewClusterTest, AnotherUsersDirectoryIsRefused) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a directory away";
  }
  const SurvivorDirectory survivor;
  ASSERT_EQ(::chown(survivor.path().c_str(), 12345, 12345), 0);
  const Status refused = refusal(survivor);
  EXPECT_EQ(refused.detail(), number(ErrorCode::ForceBlocked));
  EXPECT_THAT(refused.message(), HasSubstr("12345"));
  ASSERT_EQ(::chown(survivor.path().c_str(), 0, 0), 0);
}

TEST(ForceNewClusterTest, AViewThatTheNodeWentByCountsBeforeAnOlderOneInItsLog) {
  const SurvivorDirectory survivor;
  KeptMembers kept = read_kept_members(*survivor.disk()).value();
  kept.members.view.epoch += 3;
  kept.members.view.nodes.push_back({.id = NodeId{9}, .name = "late"});
  ASSERT_TRUE(write_kept_members(*survivor.disk(), kept).ok());
  const auto forced = force(survivor);
  ASSERT_TRUE(forced.ok()) << forced.status().to_string();
  EXPECT_EQ(forced.value().view.epoch, kept.members.view.epoch + 1);
  EXPECT_EQ(protocol::find_member(forced.value().view, NodeId{9})->state, MemberState::Removed);
}

TEST(ForceNewClusterTest, WhatIsNoNodesDirectoryIsRefused) {
  const ScratchFolder folder;
  for (const std::string& path : {folder.path("nothing"), folder.path().string()}) {
    const auto refused = ForceNewCluster::open(path, Purpose::Make).status();
    EXPECT_EQ(refused.detail(), number(ErrorCode::ForceUnfit)) << path;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ForceNewClusterTest, ADirectoryThatLacksShardsIsRefused) {
  const auto why = [](const SurvivorDirectory& survivor) {
    const Status refused = refusal(survivor);
    EXPECT_EQ(refused.detail(), number(ErrorCode::ForceUnfit)) << refused.to_string();
    EXPECT_THAT(survivor.neighbours(), ElementsAre("data"));
    return refused.message();
  };
  const auto with = [](MemberState state, MemberRole role) {
    return SurvivorDirectory::Plan{.change_view = [=](protocol::ClusterView& view) {
      view.nodes[2].state = state;
      view.nodes[2].role = role;
    }};
  };
  EXPECT_THAT(why(SurvivorDirectory({.in_use = false})), HasSubstr("never ran"));
  EXPECT_THAT(why(SurvivorDirectory({.established = false})), HasSubstr("never voted"));
  EXPECT_THAT(why(SurvivorDirectory(with(MemberState::Active, MemberRole::Witness))),
              HasSubstr("witness"));
  const SurvivorDirectory witness(with(MemberState::Active, MemberRole::Witness));
  std::filesystem::remove_all(witness.path() + "/history");
  EXPECT_THAT(why(witness), HasSubstr("witness"));
  EXPECT_THAT(why(SurvivorDirectory(with(MemberState::Joining, MemberRole::Voter))),
              HasSubstr("joining"));
  EXPECT_THAT(why(SurvivorDirectory(with(MemberState::Removed, MemberRole::Voter))),
              HasSubstr("left"));
}

TEST(ForceNewClusterTest, WhatTheNodeHeardOfItselfIsRefused) {
  const SurvivorDirectory removed;
  KeptMembers kept = read_kept_members(*removed.disk()).value();
  kept.removed = true;
  ASSERT_TRUE(write_kept_members(*removed.disk(), kept).ok());
  EXPECT_THAT(refusal(removed).message(), HasSubstr("as the other nodes said"));

  const SurvivorDirectory repaired;
  const ledger::RepairedShard shard{kSurvivorUsed, 2};
  ASSERT_TRUE(ledger::add_to_repair_file(*repaired.disk(), {&shard, 1}).ok());
  EXPECT_THAT(refusal(repaired).message(), HasSubstr("repaired"));

  const SurvivorDirectory rejoining;
  const auto disk = rejoining.disk();
  const auto identity = ledger::IdentityFile::read(*disk).value();
  ASSERT_TRUE(identity->take_over(identity->incarnation(), 5).ok());
  EXPECT_THAT(refusal(rejoining).message(), HasSubstr("was lost"));
}

TEST(ForceNewClusterTest, DamageIsRefused) {
  const SurvivorDirectory rotten;
  const auto segment = std::filesystem::directory_iterator(rotten.path() + "/wal")->path();
  std::string bytes = (std::ostringstream() << std::ifstream(segment).rdbuf()).str();
  const auto at = bytes.find("decided");
  ASSERT_NE(at, std::string::npos);
  std::fstream(segment, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(at))
      .put('x');
  EXPECT_EQ(refusal(rotten).detail(), ledger::kWalRot);

  const auto without = [](const std::string& part) {
    const SurvivorDirectory survivor;
    std::filesystem::remove_all(survivor.path() + part);
    const Status refused = refusal(survivor);
    EXPECT_FALSE(std::filesystem::exists(survivor.path() + part)) << part;
    return refused.detail();
  };
  EXPECT_EQ(without("/wal"), ledger::kWalAbsent);
  EXPECT_EQ(without("/history"), ledger::kHistoryRot);
  EXPECT_EQ(without("/checkpoint"), ledger::kCheckpointRot);
  EXPECT_EQ(without("/identity"), number(ErrorCode::ForceUnfit));
}

// --- Kills.

// What lies on the disk when the process ends right behind a step: a copy of all that does then.
class ForceKillsTest : public testing::Test {
 protected:
  void die_at(ForceStep step) {
    ForceOrder order = order_of(survivor_);
    order.on_step = [this, step](ForceStep done) {
      if (done == step) {
        std::filesystem::copy(
            survivor_.folder(), left_.folder(), std::filesystem::copy_options::recursive);
      }
    };
    const auto forced = force(survivor_, order);
    ASSERT_TRUE(forced.ok()) << forced.status().to_string();
    ASSERT_TRUE(std::filesystem::exists(left_.folder()));
  }

  const SurvivorDirectory survivor_;
  const ScratchFolder scratch_;
  const NodeFolder left_{scratch_.path() / "left"};
};

class ForceKillsEarlyTest : public ForceKillsTest, public testing::WithParamInterface<ForceStep> {};

TEST_P(ForceKillsEarlyTest, TheOldDirectoryIsThereAndTheNextRunBeginsAnew) {
  ASSERT_NO_FATAL_FAILURE(die_at(GetParam()));
  const auto names = left_.neighbours();
  EXPECT_GT(names.size(), 1u);
  EXPECT_EQ(left_.cluster_now(), survivor_.cluster());
  EXPECT_TRUE(ForceNewCluster::open(left_.path(), Purpose::Inspect).ok());
  EXPECT_EQ(left_.neighbours(), names) << "who only asks puts nothing away";
  {
    const auto opened = ForceNewCluster::open(left_.path(), Purpose::Make);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    EXPECT_FALSE(opened.value()->finished().has_value());
    EXPECT_THAT(left_.neighbours(), ElementsAre("data"));
  }
  const auto forced = force(left_, order_of(survivor_));
  ASSERT_TRUE(forced.ok()) << forced.status().to_string();
  EXPECT_EQ(left_.cluster_now(), forced.value().cluster);
  EXPECT_THAT(names_of(kept_in(left_.path(), kSurvivorUsed).locks),
              ElementsAre("decided", "held", "open"));
}

INSTANTIATE_TEST_SUITE_P(
    Steps,
    ForceKillsEarlyTest,
    testing::Values(ForceStep::Saved, ForceStep::Restored, ForceStep::Described, ForceStep::Ready));

TEST_F(ForceKillsTest, BehindTheExchangeTheNewDirectoryIsThereAndTheNextRunKeepsTheOldOne) {
  ASSERT_NO_FATAL_FAILURE(die_at(ForceStep::Exchanged));
  const ClusterId made = left_.cluster_now();
  EXPECT_NE(made, survivor_.cluster());
  EXPECT_THAT(left_.neighbours(), ElementsAre("data", "data.force-ready"));
  const auto opened = ForceNewCluster::open(left_.path(), Purpose::Make);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  ASSERT_TRUE(opened.value()->finished().has_value());
  const std::string kept = left_.beside(".before-force-" + std::to_string(made.value));
  EXPECT_EQ(*opened.value()->finished(), kept);
  EXPECT_EQ(left_.cluster_now(), made);
  EXPECT_TRUE(Survivor::open(kept).ok());
  EXPECT_EQ(left_.neighbours().size(), 2u);
}

TEST_F(ForceKillsTest, BehindAllOfItTheNextRunSaysSoAndDoesNothing) {
  ASSERT_NO_FATAL_FAILURE(die_at(ForceStep::Kept));
  const ClusterId made = left_.cluster_now();
  EXPECT_NE(made, survivor_.cluster());
  for (const Purpose purpose : {Purpose::Inspect, Purpose::Make}) {
    const auto opened = ForceNewCluster::open(left_.path(), purpose);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    EXPECT_EQ(opened.value()->finished(),
              left_.beside(".before-force-" + std::to_string(made.value)));
  }
  EXPECT_EQ(left_.cluster_now(), made);
}

TEST(ForceNewClusterTest, SomethingElseUnderOneOfTheNamesIsLeftAlone) {
  const SurvivorDirectory survivor;
  const std::string other = survivor.beside(".force-ready");
  std::filesystem::create_directory(other);
  std::ofstream(other + "/mine") << "precious";
  EXPECT_EQ(refusal(survivor).detail(), number(ErrorCode::ForceBlocked));
  EXPECT_TRUE(std::filesystem::exists(other + "/mine"));
  EXPECT_EQ(survivor.cluster_now(), survivor.cluster());
}

TEST(ForceNewClusterTest, WhereNothingCanBeExchangedTheOldDirectoryStays) {
  const SurvivorDirectory survivor;
  DirectorySwap swap(survivor.path());
  const Status failed = swap.exchange();  // There is nothing to exchange it for.
  EXPECT_EQ(failed.detail(), number(ErrorCode::ForceBlocked));
  EXPECT_EQ(survivor.cluster_now(), survivor.cluster());
}

TEST(ForceNewClusterTest, TwoSurvivorsMakeTwoClusters) {
  const SurvivorDirectory one;
  const SurvivorDirectory other;
  EXPECT_EQ(one.cluster(), other.cluster());
  const auto first = force(one);
  const auto second = force(other);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first.value().cluster, second.value().cluster);
}

}  // namespace
}  // namespace gcoord::server
