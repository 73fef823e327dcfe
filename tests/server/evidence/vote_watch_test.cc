#include "server/evidence/vote_watch.h"

#include "tests/scratch_folder.h"
#include "tests/server/evidence/statements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace gcoord::server {
namespace {

constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};
constexpr NodeId kVoter{3};
constexpr Incarnation kLife{5};

// Nodes 1 and 2, whose messages arrive when deliver() is called, and a voter that is the test.
class VoteWatchTest : public testing::Test {
 protected:
  struct Node {
    std::unique_ptr<MetricsRegistry> metrics = std::make_unique<MetricsRegistry>();
    std::unique_ptr<VoteWatch> watch;
  };

  struct Sent {
    NodeId from;
    NodeId to;
    std::vector<std::byte> message;
  };

  void SetUp() override {
    start(kOne);
    start(kTwo);
  }

  void start(NodeId id) {
    Node node;
    node.watch = std::make_unique<VoteWatch>(VoteWatch::Options{.cluster = kVoteCluster,
                                                                .node = id,
                                                                .shard_count = 2048,
                                                                .data_directory = directory(id)},
                                             *node.metrics);
    std::filesystem::create_directories(directory(id));
    node.watch->start({.signer = &signers_.try_emplace(id, signer_of(id)).first->second,
                       .key_of = [this](NodeId whose) { return key_of(whose); },
                       .takes_statements = [this](NodeId whose) { return whose != outdated_; },
                       .send =
                           [this, id](NodeId to, std::span<const std::byte> message) {
                             sent_.push_back({id, to, {message.begin(), message.end()}});
                             return to != unreachable_;
                           },
                       .now_ms = [this] { return now_ms_; },
                       .life = kLife});
    for (const NodeId peer : {kOne, kTwo, kVoter}) {
      node.watch->on_peer_up(peer, kLife);
    }
    nodes_[id] = std::move(node);
  }

  std::string directory(NodeId id) { return folder_.path(std::to_string(id.value)); }

  std::optional<ledger::NotePublicKey> key_of(NodeId node) {
    return node == keyless_ ? std::nullopt : std::optional(signer_of(node).key().bytes());
  }

  VoteWatch& watch(NodeId id) { return *nodes_[id].watch; }

  // Until nobody sends any more; how many messages there were.
  std::size_t deliver() {
    std::size_t count = 0;
    for (; !sent_.empty(); ++count) {
      const Sent next = std::move(sent_.front());
      sent_.pop_front();
      if (nodes_.contains(next.to)) {
        EXPECT_TRUE(watch(next.to).on_peer_message(next.from, next.message));
      }
    }
    return count;
  }

  // From one node to another.
  struct Way {
    NodeId from;
    NodeId to;
  };

  void tell(const Way& way, VoteMessageKind kind, std::span<const std::byte> statement) {
    watch(way.to).on_peer_message(way.from, encode_vote_message(kind, statement));
  }

  void grant(NodeId candidate, std::vector<VoteGrant> grants) {
    tell({kVoter, candidate},
         VoteMessageKind::Granted,
         signed_by_voter(statement_of(kVoter, candidate, std::move(grants))));
  }

  std::uint64_t count(NodeId id, const std::string& name, const std::string& label = {}) {
    std::uint64_t value = 0;
    nodes_[id].metrics->visit(
        [&](const MetricsRegistry::CounterRow& row) {
          const bool meant = row.name.name == "gcoord_server_vote_" + name;
          value +=
              meant && (label.empty() || row.name.label_value == label) ? row.metric.value() : 0;
        },
        [](const MetricsRegistry::GaugeRow&) {},
        [](const MetricsRegistry::HistogramRow&) {});
    return value;
  }

  std::uint64_t dropped(NodeId id, const std::string& reason) {
    return count(id, "statements_dropped_total", reason);
  }

  std::uint64_t proven(NodeId id) { return count(id, "double_votes_total"); }

  ScratchFolder folder_;
  std::map<NodeId, ledger::NoteSigner> signers_;
  std::map<NodeId, Node> nodes_;
  std::deque<Sent> sent_;
  std::uint64_t now_ms_ = 1000;
  NodeId outdated_;
  NodeId unreachable_;
  NodeId keyless_;
};

TEST_F(VoteWatchTest, OneSignatureCoversTheVotesOfASend) {
  std::vector<VoteGrant> grants;
  for (std::uint32_t shard = 0; shard < 2000; ++shard) {
    grants.push_back(vote(shard, 4));
  }
  watch(kOne).on_granted(kTwo, grants);
  EXPECT_EQ(count(kOne, "signatures_total"), 2u);
  EXPECT_EQ(deliver(), 2u);
  // What arrived is what is kept: node 2 shows both to node 3, which leads there too.
  watch(kTwo).on_leader(vote(0, 4), kVoter);
  watch(kTwo).on_leader(vote(1999, 4), kVoter);
  watch(kTwo).on_leader(vote(1999, 3), kVoter);
  EXPECT_EQ(count(kTwo, "statements_shown_total"), 2u);
}

TEST_F(VoteWatchTest, NothingIsSignedForANodeOfAnEarlierRelease) {
  outdated_ = kTwo;
  watch(kOne).on_granted(kTwo, std::vector{vote(0, 4)});
  EXPECT_EQ(count(kOne, "signatures_total"), 0u);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(VoteWatchTest, ADoubleVoteIsStoredByBothAndCountedOnce) {
  grant(kOne, {vote(7, 4)});
  grant(kTwo, {vote(6, 4), vote(7, 4)});
  EXPECT_TRUE(sent_.empty());
  watch(kTwo).on_leader(vote(7, 4), kOne);
  deliver();
  for (const NodeId id : {kOne, kTwo}) {
    EXPECT_EQ(proven(id), 1u) << id.value;
    ASSERT_EQ(watch(id).list().size(), 1u);
    EXPECT_EQ(watch(id).list()[0].of, vote(7, 4));
    EXPECT_EQ(watch(id).list()[0].candidates, (std::array{kOne, kTwo}));
    EXPECT_TRUE(
        std::filesystem::exists(directory(id) + "/evidence/votes-node-3-life-5-shard-7-term-4"));
  }
  // Again, and after another start.
  const auto first = signed_by_voter(statement_of(kVoter, kTwo, {vote(7, 4)}));
  tell({kTwo, kOne}, VoteMessageKind::Shown, first);
  EXPECT_EQ(proven(kOne), 1u);
  start(kOne);
  grant(kOne, {vote(7, 4)});
  tell({kTwo, kOne}, VoteMessageKind::Shown, first);
  EXPECT_EQ(proven(kOne), 0u);
  EXPECT_EQ(watch(kOne).list().size(), 1u);
}

TEST_F(VoteWatchTest, AVoteThatComesLaterIsShownToARivalThatIsKnown) {
  watch(kOne).on_candidate(vote(7, 4), kTwo);
  grant(kTwo, {vote(7, 4)});
  grant(kOne, {vote(7, 4)});
  EXPECT_EQ(deliver(), 2u);  // Shown, and shown back.
  EXPECT_EQ(proven(kOne), 1u);
  EXPECT_EQ(proven(kTwo), 1u);
}

TEST_F(VoteWatchTest, RivalsWithVotesOfDifferentNodesProveNothing) {
  signers_.try_emplace(NodeId{4}, signer_of(NodeId{4}));
  watch(kTwo).on_peer_up(NodeId{4}, kLife);
  grant(kOne, {vote(7, 4)});
  tell({NodeId{4}, kTwo},
       VoteMessageKind::Granted,
       signed_by_voter(statement_of(NodeId{4}, kTwo, {vote(7, 4)})));
  watch(kTwo).on_candidate(vote(7, 4), kOne);
  EXPECT_EQ(deliver(), 2u);
  EXPECT_EQ(proven(kOne) + proven(kTwo), 0u);
  EXPECT_EQ(count(kOne, "statements_dropped_total"), 0u);
  EXPECT_EQ(count(kTwo, "statements_dropped_total"), 0u);
}

TEST_F(VoteWatchTest, NothingUnprovenIsStored) {
  grant(kOne, {vote(7, 4)});
  const VoteStatement second = statement_of(kVoter, kTwo, {vote(7, 4)});
  const auto show = [this](std::span<const std::byte> statement) {
    tell({kTwo, kOne}, VoteMessageKind::Shown, statement);
  };
  show(sign_statement(second, signer_of(kVoter, 2)));
  EXPECT_EQ(dropped(kOne, "unproven"), 1u);
  VoteStatement other = second;
  other.life = Incarnation{6};
  show(signed_by_voter(other));
  EXPECT_EQ(dropped(kOne, "unproven"), 2u);
  keyless_ = kVoter;
  show(signed_by_voter(second));
  EXPECT_EQ(dropped(kOne, "key_unknown"), 1u);
  EXPECT_EQ(proven(kOne), 0u);
  EXPECT_FALSE(std::filesystem::exists(directory(kOne) + "/evidence"));
  // None of that is in the way of what is proven.
  keyless_ = NodeId{};
  show(signed_by_voter(second));
  EXPECT_EQ(proven(kOne), 1u);
}

TEST_F(VoteWatchTest, StatementsThatTheSenderMayNotMakeAreForeign) {
  const auto sound = statement_of(kVoter, kOne, {vote(7, 4)});
  const auto granted = [this](NodeId from, const VoteStatement& statement) {
    tell({from, kOne}, VoteMessageKind::Granted, signed_by_voter(statement));
  };
  granted(kTwo, sound);                                          // Somebody else's vote.
  granted(kVoter, statement_of(kVoter, kTwo, {vote(7, 4)}));     // For somebody else.
  granted(kVoter, statement_of(kVoter, kOne, {vote(2048, 4)}));  // A shard that is none.
  VoteStatement changed = sound;
  changed.life = Incarnation{6};
  granted(kVoter, changed);
  changed = sound;
  changed.cluster = ClusterId{78};
  granted(kVoter, changed);
  EXPECT_EQ(dropped(kOne, "foreign"), 5u);
  tell({kTwo, kOne}, VoteMessageKind::Shown, signed_by_voter(sound));
  tell({kTwo, kOne},
       VoteMessageKind::Shown,
       signed_by_voter(statement_of(kOne, kTwo, {vote(7, 4)})));
  EXPECT_EQ(dropped(kOne, "foreign"), 7u);
  const std::vector<std::byte> junk(100, kVoteEvidenceKind);
  EXPECT_TRUE(watch(kOne).on_peer_message(kTwo, junk));
  EXPECT_EQ(dropped(kOne, "malformed"), 1u);
  EXPECT_FALSE(watch(kOne).on_peer_message(kTwo, std::vector{std::byte{8}, std::byte{0}}));
  watch(kOne).on_leader(vote(7, 4), kTwo);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(VoteWatchTest, AFloodOfForgeriesIsNotJudged) {
  grant(kOne, {vote(7, 4)});
  const auto forged =
      sign_statement(statement_of(kVoter, kTwo, {vote(7, 4)}), signer_of(kVoter, 2));
  for (int k = 0; k < 1000; ++k) {
    tell({kTwo, kOne}, VoteMessageKind::Shown, forged);
  }
  EXPECT_LE(dropped(kOne, "unproven"), 16u);
  EXPECT_GE(dropped(kOne, "flood"), 984u);
  // Another sender has a budget of its own.
  tell({NodeId{4}, kOne},
       VoteMessageKind::Shown,
       signed_by_voter(statement_of(kVoter, NodeId{4}, {vote(7, 4)})));
  EXPECT_EQ(proven(kOne), 1u);
}

TEST_F(VoteWatchTest, WhatALinkDoesNotTakeIsShownLater) {
  unreachable_ = kTwo;
  grant(kOne, {vote(7, 4)});
  watch(kOne).on_leader(vote(7, 4), kTwo);
  EXPECT_EQ(dropped(kOne, "unsent"), 1u);
  sent_.clear();
  unreachable_ = NodeId{};
  watch(kOne).on_leader(vote(7, 4), kTwo);
  EXPECT_EQ(sent_.size(), 1u);
  watch(kOne).on_leader(vote(7, 4), kTwo);
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(VoteWatchTest, FilesOfOneVoterAreBounded) {
  for (std::uint64_t term = 1; term <= EvidenceStore::kVoterFilesMax + 3; ++term) {
    grant(kOne, {vote(7, term)});
    grant(kTwo, {vote(7, term)});
    watch(kTwo).on_leader(vote(7, term), kOne);
    deliver();
    now_ms_ += 1000;
  }
  EXPECT_EQ(proven(kOne), EvidenceStore::kVoterFilesMax);
  EXPECT_EQ(dropped(kOne, "full"), 3u);
}

}  // namespace
}  // namespace gcoord::server
