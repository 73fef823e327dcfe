// Proofs between the nodes of a network, beside nodes without a secret and strangers of all kinds.
#include "netcore/peers/proofs.h"

#include "netcore/memory/aligned_bytes.h"
#include "netcore/proof/handshake.h"
#include "netcore/transport/greeting.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/loopback_world.h"
#include "tests/netcore/network_world.h"
#include "tests/netcore/proof/secrets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

using Bytes = std::vector<std::byte>;

// Somebody in the fabric who is no node: says what the test wants, and keeps what it hears.
class Stranger final : private LinkEvents {
 public:
  explicit Stranger(LoopbackFabric& fabric) : transport_(fabric.endpoint()) {}

  void listen(std::uint16_t port) { EXPECT_TRUE(transport_->listen("fabric", port).ok()); }

  void call(std::uint16_t port) { link_ = transport_->connect("fabric", port).value(); }

  void say(std::span<const std::byte> bytes) {
    EXPECT_EQ(transport_->send(link_, {&bytes, 1}), 1u);
  }

  void progress() { transport_->progress(0, *this); }

  // What it does about a message on its link.
  std::function<void(std::span<const std::byte>)> answer = [](std::span<const std::byte>) {};

  std::vector<Bytes> heard;
  bool is_open = false;
  bool was_shut_out = false;

 private:
  void on_accepted(LinkId link, std::string_view /*from*/) override { link_ = link; }

  void on_connected(LinkId /*link*/) override { is_open = true; }

  void on_message(LinkId link, std::span<const std::byte> message) override {
    link_ = link;
    heard.emplace_back(message.begin(), message.end());
    answer(message);
  }

  void on_closed(LinkId /*link*/, DropReason /*drop*/, std::string_view /*reason*/) override {
    was_shut_out = true;
  }

  std::unique_ptr<Transport> transport_;
  LinkId link_;
};

struct Arrived {
  explicit Arrived(std::span<const std::byte> bytes) : copy(bytes.size()), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), copy.data());
    EXPECT_EQ(decode_frame(this->bytes(), frame), DropReason::None);
  }

  std::span<const std::byte> bytes() const { return {copy.data(), size}; }

  AlignedBytes copy;
  std::size_t size;
  FrameView frame;
};

Greeting greeting_of(std::uint32_t from, std::uint32_t to) {
  Greeting greeting;
  greeting.from.cluster = ClusterId{42};
  greeting.from.node = NodeId{from};
  greeting.from.incarnation = Incarnation{9};
  greeting.from.directory = DirectoryId{777};
  greeting.to = NodeId{to};
  greeting.epoch = 100'000;
  greeting.ring_slots = {64, 32768, 8192, 1024};
  return greeting;
}

Bytes greeting_bytes(FrameKind kind, std::uint32_t from, std::uint32_t to) {
  Bytes bytes(kGreetingBytes);
  encode_greeting(kind, greeting_of(from, to), std::span<std::byte, kGreetingBytes>{bytes});
  return bytes;
}

Bytes refusal_bytes(std::uint32_t from, std::uint32_t to) {
  Bytes bytes(kStrangerBytesMax);
  const Refusal refusal{
      .code = RefusalCode::ReplacedDirectory, .text = "forged", .known = Incarnation{5}};
  bytes.resize(encode_refusal(
      greeting_of(from, to), refusal, std::span<std::byte, kStrangerBytesMax>{bytes}));
  return bytes;
}

class PeerProofsTest : public testing::Test {
 protected:
  PeerNetworkOptions options(std::uint32_t id,
                             const security::ClusterSecret* secret,
                             ProofDemand demand) {
    PeerNetworkOptions options = world_.options(id);
    if (secret != nullptr) {
      options.proof.keys = keys_of(*secret);
    }
    options.proof.demand = demand;
    options.proof.on_proven = [this, id](NodeId peer) { proven_.push_back({id, peer.value}); };
    options.admit = [this](const PeerIdentity& peer) {
      admitted_.push_back(peer);
      return Admission{};
    };
    return options;
  }

  void start(std::uint32_t id, const security::ClusterSecret* secret, ProofDemand demand) {
    world_.start(options(id, secret, demand));
  }

  // Node 2 is not there: somebody else may be, at its address.
  void only_node_one(ProofDemand demand) {
    start(1, &secret_, demand);
    world_.nodes[1].network.reset();
  }

  PeerStatus row(std::uint32_t id) { return world_.nodes[id - 1].network->status()[0]; }

  std::uint64_t dropped(DropReason reason) {
    const auto k = static_cast<std::size_t>(reason);
    return world_.nodes[0].network->dropped_from_strangers()[k] + row(1).traffic.dropped[k];
  }

  void run_with(Stranger& stranger, const std::function<bool()>& done) {
    ASSERT_TRUE(world_.run([&] {
      stranger.progress();
      return done();
    }));
  }

  const security::ClusterSecret secret_ = secret_of(1);
  const security::ClusterSecret other_ = secret_of(2);
  LoopbackWorld world_{2};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> proven_;
  std::vector<PeerIdentity> admitted_;
};

TEST_F(PeerProofsTest, BothEndsOfAChannelAreProven) {
  start(1, &secret_, ProofDemand::Required);
  start(2, &secret_, ProofDemand::Required);
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
  EXPECT_TRUE(row(1).is_proven);
  EXPECT_TRUE(row(2).is_proven);
  EXPECT_EQ(proven_.size(), 2u);
  for (const PeerIdentity& each : admitted_) {
    EXPECT_TRUE(each.is_proven);
  }
  ASSERT_TRUE(world_.nodes[0].network->send(NodeId{2}, Band::Rpc, slots(3)));
  ASSERT_TRUE(world_.run([&] { return world_.nodes[1].sink.slot_count == 3; }));
}

TEST_F(PeerProofsTest, ManyNodesMeetWithProofsWhoeverCallsFirst) {
  LoopbackWorld world{5};
  for (std::uint32_t id = 1; id <= 5; ++id) {
    PeerNetworkOptions eager = world.options(id);
    eager.retry_min_ms = 1;  // Calls cross.
    eager.proof.keys = keys_of(secret_);
    eager.proof.demand = ProofDemand::Required;
    world.start(std::move(eager));
  }
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  world.run([] { return false; }, 3000);
  for (const TestNode& node : world.nodes) {
    EXPECT_EQ(node.sink.ups.size(), 4u);
    EXPECT_EQ(node.sink.downs.size(), 0u);
    EXPECT_EQ(node.sink.refusal, RefusalCode::None);
  }
}

TEST_F(PeerProofsTest, ANodeWithoutASecretIsMetWhileProofsAreNotRequired) {
  start(1, &secret_, ProofDemand::Permissive);
  start(2, nullptr, ProofDemand::Required);  // Without a secret there is nothing to demand.
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
  EXPECT_FALSE(row(1).is_proven);
  EXPECT_FALSE(row(2).is_proven);
  EXPECT_TRUE(proven_.empty());
}

TEST_F(PeerProofsTest, ANodeThatIsOnlyCalledIsMetWithoutASecretToo) {
  start(1, &secret_, ProofDemand::Permissive);
  PeerNetworkOptions callee = options(2, nullptr, ProofDemand::Off);
  callee.peers[0].port = 0;
  world_.start(std::move(callee));
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
  PeerNetworkOptions called = options(1, &secret_, ProofDemand::Permissive);
  called.peers[0].port = 0;
  world_.start(std::move(called));
  start(2, nullptr, ProofDemand::Off);
  world_.nodes[0].sink.live = 0;
  world_.nodes[1].sink.live = 0;
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
}

TEST_F(PeerProofsTest, ANodeWithoutASecretIsKeptOutWhereProofsAreRequired) {
  start(1, &secret_, ProofDemand::Required);
  start(2, nullptr, ProofDemand::Off);
  ASSERT_TRUE(world_.run([&] { return dropped(DropReason::Unproven) > 2; }));
  EXPECT_TRUE(admitted_.empty());
  EXPECT_FALSE(world_.up(1, 2));
  EXPECT_NE(row(1).last_error.find("GC3125"), std::string::npos) << row(1).last_error;
  EXPECT_NE(row(2).last_error.find("GC3125"), std::string::npos) << row(2).last_error;
}

TEST_F(PeerProofsTest, NodesOfDifferentSecretsDoNotMeet) {
  start(1, &secret_, ProofDemand::Required);
  start(2, &other_, ProofDemand::Required);
  ASSERT_TRUE(world_.run([&] { return dropped(DropReason::OtherSecret) > 2; }));
  EXPECT_TRUE(admitted_.empty());
  EXPECT_NE(row(1).last_error.find("GC3125"), std::string::npos) << row(1).last_error;
}

TEST_F(PeerProofsTest, ASecretIsReplacedWhileTheChannelsLive) {
  const security::ClusterSecret next = secret_.rotated();
  start(1, &secret_, ProofDemand::Required);
  start(2, &secret_, ProofDemand::Required);
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
  world_.nodes[0].network->change_proof(keys_of(next), ProofDemand::Required);
  world_.run([] { return false; }, 100);
  EXPECT_TRUE(world_.nodes[0].sink.downs.empty());
  // A restart in the midst of it, and one after it.
  for (const security::ClusterSecret* of_two : {&secret_, &next}) {
    start(2, of_two, ProofDemand::Required);
    world_.nodes[0].sink.live = 0;
    world_.nodes[1].sink.live = 0;
    ASSERT_TRUE(world_.run([&] { return world_.up(1, 2) && world_.up(2, 1); }));
    EXPECT_TRUE(row(1).is_proven);
  }
}

TEST_F(PeerProofsTest, AChannelWithoutAProofGivesWayOnceProofsAreRequired) {
  start(1, &secret_, ProofDemand::Permissive);
  start(2, nullptr, ProofDemand::Off);
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }));
  world_.nodes[1].network->change_proof(keys_of(secret_), ProofDemand::Permissive);
  world_.run([] { return false; }, 100);
  EXPECT_TRUE(world_.nodes[0].sink.downs.empty());
  world_.nodes[0].network->change_proof(keys_of(secret_), ProofDemand::Required);
  ASSERT_TRUE(world_.run([&] { return row(1).is_proven && row(2).is_proven; }));
  EXPECT_EQ(world_.nodes[0].sink.downs.size(), 1u);
}

TEST_F(PeerProofsTest, WhoOnceProvedItselfMayNotSpeakWithoutAnyMore) {
  only_node_one(ProofDemand::Permissive);
  PeerNetworkOptions knowing = options(1, &secret_, ProofDemand::Permissive);
  knowing.proof.proven = {NodeId{2}};
  world_.start(std::move(knowing));
  Stranger stranger{world_.fabric};
  stranger.call(1);
  run_with(stranger, [&] { return stranger.is_open; });
  stranger.say(greeting_bytes(FrameKind::Hello, 2, 1));
  run_with(stranger, [&] { return stranger.was_shut_out; });
  EXPECT_EQ(dropped(DropReason::Unproven), 1u);
  EXPECT_TRUE(admitted_.empty());
}

TEST_F(PeerProofsTest, AForgedHelloLeavesNothingBehind) {
  only_node_one(ProofDemand::Required);
  Stranger stranger{world_.fabric};
  stranger.call(1);
  run_with(stranger, [&] { return stranger.is_open; });
  stranger.say(greeting_bytes(FrameKind::Hello, 2, 1));
  run_with(stranger, [&] { return stranger.was_shut_out; });
  EXPECT_EQ(dropped(DropReason::Unproven), 1u);
  EXPECT_TRUE(admitted_.empty());
  EXPECT_EQ(row(1).epoch, 0u);
  EXPECT_EQ(row(1).incarnation, Incarnation{0});
  // What it was told names nothing of the node but what it said itself.
  ASSERT_EQ(stranger.heard.size(), 1u);
  EXPECT_EQ(Arrived{stranger.heard[0]}.frame.header.incarnation, 0u);
}

TEST_F(PeerProofsTest, AHelloWithAProofByAnotherKeyIsRefused) {
  only_node_one(ProofDemand::Required);
  Stranger stranger{world_.fabric};
  const ProofEnds ends{ClusterId{42}, NodeId{2}, NodeId{1}};
  stranger.call(1);
  run_with(stranger, [&] { return stranger.is_open; });
  Bytes opening(kChallengeBytes);
  encode_challenge({.cluster = ends.cluster,
                    .from = ends.self,
                    .to = ends.peer,
                    .keys = keys_of(secret_).ids(),
                    .nonce = nonce_of(7)},
                   std::span<std::byte, kChallengeBytes>{opening});
  stranger.say(opening);
  run_with(stranger, [&] { return stranger.heard.size() == 1; });
  Bytes proven(kStrangerBytesMax);
  proven.resize(encode_proven(greeting_bytes(FrameKind::Hello, 2, 1),
                              ProofMac{},
                              std::span<std::byte, kStrangerBytesMax>{proven}));
  stranger.say(proven);
  run_with(stranger, [&] { return stranger.was_shut_out; });
  EXPECT_EQ(dropped(DropReason::BadProof), 1u);
  EXPECT_TRUE(admitted_.empty());
}

TEST_F(PeerProofsTest, AReplayedHandshakeIsRefused) {
  only_node_one(ProofDemand::Required);
  const ProofKeys keys = keys_of(secret_);
  CallerProof caller{keys, {ClusterId{42}, NodeId{2}, NodeId{1}}, nonce_of(7)};
  const Bytes opening(caller.opening().begin(), caller.opening().end());
  Bytes proven(kStrangerBytesMax);
  // A handshake of node 2, as somebody who listened has it.
  Stranger node{world_.fabric};
  node.call(1);
  run_with(node, [&] { return node.is_open; });
  node.say(opening);
  run_with(node, [&] { return node.heard.size() == 1; });
  const Arrived challenge{node.heard[0]};
  ASSERT_EQ(caller.on_challenge(challenge.frame, challenge.bytes()), DropReason::None);
  const Bytes hello = greeting_bytes(FrameKind::Hello, 2, 1);
  proven.resize(caller.prove(std::span<const std::byte, kGreetingBytes>{hello},
                             std::span<std::byte, kStrangerBytesMax>{proven}));
  node.say(proven);
  run_with(node, [&] { return world_.up(1, 2); });
  ASSERT_EQ(admitted_.size(), 1u);
  // Byte for byte once more.
  Stranger stranger{world_.fabric};
  stranger.call(1);
  run_with(stranger, [&] { return stranger.is_open; });
  stranger.say(opening);
  run_with(stranger, [&] { return stranger.heard.size() == 1; });
  stranger.say(proven);
  run_with(stranger, [&] { return stranger.was_shut_out; });
  EXPECT_EQ(dropped(DropReason::BadProof), 1u);
  EXPECT_EQ(admitted_.size(), 1u);
  EXPECT_TRUE(world_.nodes[0].sink.downs.empty());
}

TEST_F(PeerProofsTest, AnEchoAtThePeersAddressIsNoPeer) {
  only_node_one(ProofDemand::Required);
  Stranger stranger{world_.fabric};
  stranger.answer = [&](std::span<const std::byte> message) { stranger.say(message); };
  stranger.listen(2);
  run_with(stranger, [&] { return dropped(DropReason::BadProof) > 2; });
  EXPECT_TRUE(admitted_.empty());
  EXPECT_FALSE(world_.up(1, 2));
}

// It turns the node's calls back at the node's own port, so that the node answers itself.
TEST_F(PeerProofsTest, AProofReflectedToItsMakerIsNoPeer) {
  only_node_one(ProofDemand::Required);
  Stranger outer{world_.fabric};
  Stranger inner{world_.fabric};
  bool called = false;
  outer.answer = [&](std::span<const std::byte> message) {
    if (!called) {
      called = true;
      inner.call(1);
      ASSERT_TRUE(world_.run([&] {
        inner.progress();
        return inner.is_open;
      }));
    }
    inner.say(message);
  };
  inner.answer = [&](std::span<const std::byte> message) { outer.say(message); };
  outer.listen(2);
  for (int round = 0; round < 200; ++round) {
    outer.progress();
    inner.progress();
    world_.nodes[0].network->progress(world_.now_ms++, world_.nodes[0].sink);
  }
  EXPECT_GE(outer.heard.size(), 2u);
  EXPECT_TRUE(admitted_.empty());
  EXPECT_FALSE(world_.up(1, 2));
}

TEST_F(PeerProofsTest, ForgedAnswersCountForNothing) {
  for (const Bytes& forged : {refusal_bytes(2, 1), greeting_bytes(FrameKind::Welcome, 2, 1)}) {
    for (const bool proves : {false, true}) {
      only_node_one(ProofDemand::Required);
      Stranger stranger{world_.fabric};
      stranger.answer = [&](std::span<const std::byte> message) {
        const Arrived arrived{message};
        Bytes bytes(kStrangerBytesMax);
        if (arrived.frame.header.kind == FrameKind::Challenge && proves) {
          bytes.resize(kChallengeBytes);
          encode_challenge({.cluster = ClusterId{42},
                            .from = NodeId{2},
                            .to = NodeId{1},
                            .keys = {keys_of(secret_).ids()[0], 0},
                            .nonce = nonce_of(8)},
                           std::span<std::byte, kChallengeBytes>{bytes});
        } else if (proves) {
          bytes.resize(
              encode_proven(forged, ProofMac{}, std::span<std::byte, kStrangerBytesMax>{bytes}));
        } else {
          bytes = forged;
        }
        stranger.say(bytes);
      };
      stranger.listen(2);
      run_with(stranger,
               [&] { return dropped(proves ? DropReason::BadProof : DropReason::Unproven) > 0; });
      EXPECT_TRUE(admitted_.empty());
      EXPECT_EQ(world_.nodes[0].sink.refusal, RefusalCode::None);
      EXPECT_EQ(row(1).epoch, 0u);
    }
  }
}

TEST_F(PeerProofsTest, AnUnprovenRefusalIsNotPassedOnWhereThereIsASecret) {
  only_node_one(ProofDemand::Permissive);
  Stranger stranger{world_.fabric};
  std::size_t refused = 0;
  stranger.answer = [&](std::span<const std::byte> message) {
    if (Arrived{message}.frame.header.kind == FrameKind::Hello) {
      ++refused;
      stranger.say(refusal_bytes(2, 1));
    } else {
      stranger.say(greeting_bytes(FrameKind::Hello, 2, 1));  // Breaks the protocol.
    }
  };
  stranger.listen(2);
  run_with(stranger, [&] { return refused > 2; });
  EXPECT_EQ(world_.nodes[0].sink.refusal, RefusalCode::None);
  EXPECT_TRUE(admitted_.empty());
}

TEST_F(PeerProofsTest, AProvenRefusalIsPassedOn) {
  PeerNetworkOptions strict = options(1, &secret_, ProofDemand::Required);
  strict.admit = [](const PeerIdentity&) {
    return Admission{.code = RefusalCode::NotAdmitted, .text = "not today"};
  };
  world_.start(std::move(strict));
  start(2, &secret_, ProofDemand::Required);
  MemorySink& sink = world_.nodes[1].sink;
  ASSERT_TRUE(world_.run([&] { return sink.refusal == RefusalCode::NotAdmitted; }));
  EXPECT_EQ(sink.refusal_text, "not today");
  EXPECT_TRUE(sink.refusal_is_proven);
}

TEST_F(PeerProofsTest, AFloodOfStrangersKeepsNobodyOut) {
  only_node_one(ProofDemand::Required);
  std::vector<std::unique_ptr<Stranger>> flood;
  for (int k = 0; k < 300; ++k) {
    Stranger& stranger = *flood.emplace_back(std::make_unique<Stranger>(world_.fabric));
    stranger.call(1);
    run_with(stranger, [&] { return stranger.is_open; });
  }
  EXPECT_EQ(dropped(DropReason::TooManyStrangers), 300u - 64u);
  start(2, &secret_, ProofDemand::Required);
  ASSERT_TRUE(world_.run([&] { return world_.all_up(); }, 500));
  EXPECT_TRUE(row(1).is_proven);
}

}  // namespace
}  // namespace gcoord::netcore
