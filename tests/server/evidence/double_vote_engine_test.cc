// Two engines, and a node with the cluster's secret and a key of its own that votes for everybody.
#include "server/evidence/vote_watch.h"
#include "tests/netcore/network_world.h"
#include "tests/netcore/proof/secrets.h"
#include "tests/server/evidence/statements.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::Message;
using consensus::MessageKind;

constexpr NodeId kVoter{3};
constexpr std::uint32_t kShardCount = 4;

netcore::PeerProofOptions proof() {
  return {.keys = netcore::keys_of(netcore::secret_of(1)),
          .demand = netcore::ProofDemand::Required,
          .source = {},
          .proven = {}};
}

// Grants the votes that it is asked for, and signs them; so does vote_for() without being asked.
class Voter {
 public:
  explicit Voter(netcore::LoopbackFabric& fabric) {
    netcore::PeerNetworkOptions options;
    options.cluster = kVoteCluster;
    options.node = kVoter;
    options.incarnation = Incarnation{5};
    options.directory = netcore::DirectoryId{9};
    options.settings = {kShardCount, 10, 1000, 3};
    options.listen_host = "loop";
    options.listen_port = 7003;
    options.peers = {{NodeId{1}, "loop", 7001}, {NodeId{2}, "loop", 7002}};
    options.transport = fabric.endpoint();
    options.proof = proof();
    network_ = netcore::must_create(std::move(options));
    sink_.at_payload = [this](NodeId from, netcore::Band band, std::span<const std::byte> bytes) {
      if (band == netcore::Band::Rpc && is_vote_message(bytes)) {
        const auto message = decode_vote_message(bytes);
        ASSERT_TRUE(message.has_value());
        heard_.push_back({from, message->kind, message->statement});
      }
    };
    sink_.at_frame = [this](NodeId from) {
      Message message;
      std::memcpy(&message, sink_.last_slot.bytes, sizeof message);
      const bool asked =
          sink_.frames.back().band == netcore::Band::Consensus && message.kind == MessageKind::Vote;
      if (asked && answers) {
        vote_for(from, {message.shard, message.term});
      }
    };
  }

  // With a heartbeat for each node: until it has heard all of them, a new one does not vote.
  void progress(std::uint64_t now_ms) {
    for (const auto& [from, heard] : std::exchange(sink_.heartbeats, {})) {
      network_->heartbeat(from,
                          {.incarnation = Incarnation{5},
                           .send_tick = Tick{now_ms / 10},
                           .echoed_peer_send_tick = heard.send_tick,
                           .echoed_incarnation = heard.incarnation});
    }
    network_->progress(now_ms, sink_);
    network_->flush();
  }

  bool is_up() const { return sink_.live == 2; }

  void vote_for(NodeId candidate, const VoteGrant& of) {
    Message reply;
    reply.kind = MessageKind::VoteReply;
    reply.shard = of.shard;
    reply.term = of.term;
    reply.from = kVoter;
    reply.to = candidate;
    netcore::Slot slot;
    std::memcpy(slot.bytes, &reply, sizeof reply);
    network_->send(candidate, netcore::Band::Consensus, {&slot, 1});
    const auto message = encode_vote_message(
        VoteMessageKind::Granted, signed_by_voter(statement_of(kVoter, candidate, {of})));
    const netcore::Slot empty{};
    const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
    network_->send(candidate, netcore::Band::Rpc, {&empty, 1}, {&extent, 1});
  }

  // Asks for a vote, as a candidate whose log goes so far.
  void campaign(NodeId voter, const VoteGrant& of, const ShardView& log) {
    Message request;
    request.kind = MessageKind::Vote;
    request.shard = of.shard;
    request.term = of.term;
    request.index = log.last;
    request.log_term = log.term;
    request.from = kVoter;
    request.to = voter;
    netcore::Slot slot;
    std::memcpy(slot.bytes, &request, sizeof request);
    network_->send(voter, netcore::Band::Consensus, {&slot, 1});
  }

  void show(NodeId to, const VoteStatement& statement) {
    const auto message = encode_vote_message(VoteMessageKind::Shown, signed_by_voter(statement));
    const netcore::Slot empty{};
    const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
    network_->send(to, netcore::Band::Rpc, {&empty, 1}, {&extent, 1});
  }

  // How often that node has said so to this one, of a vote.
  std::ptrdiff_t heard(VoteMessageKind kind, NodeId from, const VoteGrant& of) const {
    return std::ranges::count_if(heard_, [&](const Heard& each) {
      const auto& grants = each.statement.grants;
      return each.kind == kind && each.from == from &&
             std::ranges::any_of(grants, [&](const VoteGrant& grant) {
               return grant.shard == of.shard && grant.term == of.term;
             });
    });
  }

  bool answers = true;

 private:
  struct Heard {
    NodeId from;
    VoteMessageKind kind;
    VoteStatement statement;
  };

  netcore::MemorySink sink_;
  std::vector<Heard> heard_;
  std::unique_ptr<netcore::PeerNetwork> network_;
};

class DoubleVoteEngineTest : public testing::Test {
 protected:
  DoubleVoteEngineTest() {
    cluster_.tune = [this](ReplicaOptions& options) {
      options.proof = proof();
      const NodeId id = options.node;
      auto& watch = watches_[id];
      watch =
          std::make_unique<VoteWatch>(VoteWatch::Options{.cluster = kVoteCluster,
                                                         .node = id,
                                                         .shard_count = kShardCount,
                                                         .data_directory = options.data_directory},
                                      *cluster_.node(id.value).metrics);
      folders_[id] = options.data_directory + "/evidence";
      options.votes = watch.get();
    };
  }

  ~DoubleVoteEngineTest() override {
    cluster_.stop(1);
    cluster_.stop(2);
  }

  void start(std::uint32_t id) {
    cluster_.start(id);
    signers_.insert_or_assign(NodeId{id}, signer_of(NodeId{id}));
    watches_[NodeId{id}]->start(
        {.signer = &signers_.at(NodeId{id}),
         .key_of = [](NodeId node) { return std::optional(signer_of(node).key().bytes()); },
         .takes_statements = [](NodeId) { return true; },
         .send =
             [this, id](NodeId to, std::span<const std::byte> message) {
               return cluster_.engine(id).send_peer_message(to, message);
             },
         .now_ms = [this] { return now_ms_; },
         .life = cluster_.engine(id).incarnation()});
  }

  void run_until(const std::function<bool()>& condition) {
    cluster_.run_until([&] {
      voter_->progress(now_ms_ += 10);
      return condition();
    });
  }

  std::size_t files(std::uint32_t id) {
    const std::filesystem::path folder = folders_[NodeId{id}];
    return std::filesystem::exists(folder) ? static_cast<std::size_t>(std::distance(
                                                 std::filesystem::directory_iterator(folder), {}))
                                           : 0;
  }

  std::uint64_t proven(std::uint32_t id) {
    return cluster_.count(id, "gcoord_server_vote_double_votes_total");
  }

  // Declared in this order: engines call the watches until they are stopped.
  std::map<NodeId, std::unique_ptr<VoteWatch>> watches_;
  std::map<NodeId, ledger::NoteSigner> signers_;
  std::map<NodeId, std::string> folders_;
  EngineCluster cluster_{3, kShardCount};
  std::unique_ptr<Voter> voter_;
  std::uint64_t now_ms_ = 0;
};

TEST_F(DoubleVoteEngineTest, ANodeThatVotesTwiceIsProvenOnceByBothAndNobodyStops) {
  start(1);
  start(2);
  voter_ = std::make_unique<Voter>(cluster_.fabric());
  run_until([this] { return voter_->is_up() && cluster_.all_led(); });
  ASSERT_TRUE(cluster_.all_led());
  const std::uint32_t leader = cluster_.leader_of(0);
  const std::uint32_t follower = 3 - leader;
  const VoteGrant of{ShardId{0}, cluster_.engine(leader).view(ShardId{0}).term};
  voter_->vote_for(NodeId{leader}, of);
  voter_->vote_for(NodeId{follower}, of);
  std::uint64_t cookie = 0;
  run_until([&] {
    cookie = cluster_.propose(leader, 0, "x");
    return proven(1) == 1 && proven(2) == 1;
  });
  EXPECT_EQ(files(1), 1u);
  EXPECT_EQ(files(2), 1u);
  const DoubleVote& shown = watches_[NodeId{1}]->list().front();
  EXPECT_EQ(shown.voter, kVoter);
  EXPECT_EQ(shown.of, of);

  // The same votes again, and entries that make the follower meet the leader again.
  voter_->vote_for(NodeId{follower}, of);
  voter_->vote_for(NodeId{leader}, of);
  cookie = cluster_.propose(leader, 0, "y");
  run_until([&] { return cluster_.decided(leader, cookie); });
  EXPECT_EQ(proven(1) + proven(2), 2u);
  EXPECT_EQ(files(1) + files(2), 2u);

  // The vote for the follower counted for nothing: one leads, in the same term.
  EXPECT_EQ(cluster_.leader_of(0), leader);
  EXPECT_EQ(cluster_.engine(leader).view(ShardId{0}).term, of.term);
  EXPECT_TRUE(cluster_.engine(1).failure().ok());
  EXPECT_TRUE(cluster_.engine(2).failure().ok());
}

// Two candidates in one term, and a vote for one of them: it is shown to the other one, who finds
// that nobody has voted twice.
TEST_F(DoubleVoteEngineTest, HonestNodesSignTheirVotesAndProveNothing) {
  start(1);
  start(2);
  voter_ = std::make_unique<Voter>(cluster_.fabric());
  voter_->answers = false;
  run_until([this] { return voter_->is_up() && cluster_.all_led(); });
  const std::uint32_t leader = cluster_.leader_of(0);
  const std::uint32_t follower = 3 - leader;
  const ShardView log = cluster_.engine(leader).view(ShardId{0});
  const VoteGrant of{ShardId{0}, log.term};
  const auto shown_to_voter = [&] {
    return voter_->heard(VoteMessageKind::Shown, NodeId{leader}, of);
  };
  // The follower has voted for the leader, which is asked by a rival of that term.
  run_until([&] {
    voter_->campaign(NodeId{leader}, of, log);
    voter_->campaign(NodeId{follower}, of, log);
    return shown_to_voter() > 0;
  });
  EXPECT_EQ(shown_to_voter(), 1) << "once";
  EXPECT_EQ(voter_->heard(VoteMessageKind::Granted, NodeId{leader}, of), 0);
  EXPECT_EQ(voter_->heard(VoteMessageKind::Granted, NodeId{follower}, of), 0);

  // The rival shows the leader a vote of the follower's for it in a later term: two votes of one
  // node, and no double vote.
  const auto vote_for_rival = [&](Term term) {
    VoteStatement statement = statement_of(NodeId{follower}, kVoter, {{of.shard, term}});
    statement.life = cluster_.engine(follower).incarnation();
    return statement;
  };
  voter_->show(NodeId{leader}, vote_for_rival(Term{of.term.value + 7}));
  const std::uint64_t cookie = cluster_.propose(leader, 0, "x");
  run_until([&] { return cluster_.decided(leader, cookie); });
  EXPECT_EQ(proven(1) + proven(2), 0u);
  EXPECT_EQ(files(1) + files(2), 0u);
  EXPECT_TRUE(cluster_.engine(1).failure().ok());
  EXPECT_TRUE(cluster_.engine(2).failure().ok());

  // One in the very term is: the silence above is not that of a node which hears nothing.
  voter_->show(NodeId{leader}, vote_for_rival(of.term));
  run_until([&] { return proven(leader) == 1; });
  EXPECT_EQ(proven(follower), 0u);
}

}  // namespace
}  // namespace gcoord::server
