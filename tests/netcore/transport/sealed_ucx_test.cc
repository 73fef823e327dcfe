// Nodes whose frames go over UCX while their links have TLS: the frames are sealed, and who reaches
// the way's end without the keys changes nothing.
#include "common/random.h"
#include "netcore/peers/network.h"
#include "netcore/tls/rules.h"
#include "netcore/transport/sealed_frames.h"
#include "netcore/transport/ucx_lane.h"
#include "netcore/transport/ucx_library.h"
#include "security/secret/keyed.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/loopback_world.h"
#include "tests/netcore/network_world.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

using security::RecordSide;

// One lane receives records; what others send there may be anything.
class SealedLaneTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!load_ucx_library().ok()) {
      GTEST_SKIP() << load_ucx_library().status().to_string();
    }
    auto context = UcxContext::create(GetParam(), "");
    ASSERT_TRUE(context.ok()) << context.status().to_string();
    context_ = std::move(context).value();
    receiver_ = lane();
    receiver_->seal(std::make_unique<SealedFrames>(secret_.bytes(), RecordSide::Called));
    // Not sealed: it sends bytes as they are.
    sender_ = lane();
    ASSERT_TRUE(sender_->connect(receiver_->address()).ok());
  }

  std::unique_ptr<UcxLane> lane() const {
    auto made = UcxLane::create(*context_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return std::move(made).value();
  }

  std::vector<std::byte> record(std::uint32_t number) {
    const auto frame = sample_bytes(number, 128);
    std::vector<std::byte> sealed(SealedFrames::record_bytes(frame.size()));
    caller_.seal(frame, sealed, 0);
    return sealed;
  }

  void send(const std::vector<std::byte>& bytes) {
    const std::span<const std::byte> message{bytes};
    ASSERT_EQ(sender_->send({&message, 1}), 1u);
  }

  // Moves both until the receiver has had so many messages, good and bad, or has failed.
  void run_until(std::uint64_t messages) {
    for (const std::uint64_t start = wall_ms();
         wall_ms() - start < 60'000 && delivered_.size() + refused_ < messages;) {
      sender_->progress(wall_ms(), [](auto) { return true; });
      alive_ = receiver_->progress(wall_ms(), [&](std::span<const std::byte> frame) {
        delivered_.emplace_back(frame.begin(), frame.end());
        return true;
      });
      refused_ += receiver_->take_refused();
    }
  }

  const security::SecretBytes secret_ = security::random_secret(kFrameRecordsSecretBytes);
  SealedFrames caller_{secret_.bytes(), RecordSide::Caller};
  std::unique_ptr<UcxContext> context_;
  std::unique_ptr<UcxLane> receiver_;
  std::unique_ptr<UcxLane> sender_;
  std::vector<std::vector<std::byte>> delivered_;
  std::uint64_t refused_ = 0;
  bool alive_ = true;
};

TEST_P(SealedLaneTest, ForgedReplayedAndPlainMessagesAreDroppedAndTheLaneGoesOn) {
  const auto first = record(1);
  auto forged = first;
  forged[40] ^= std::byte{1};
  send(forged);
  send(sample_bytes(7, 128));
  send(sample_bytes(8, 100'000));  // Large ones come by rendezvous.
  send(sample_bytes(9, 3));        // No message is so short.
  send(first);
  send(first);
  send(record(2));
  run_until(7);
  ASSERT_EQ(delivered_.size(), 2u);
  EXPECT_EQ(delivered_[0], sample_bytes(1, 128));
  EXPECT_EQ(delivered_[1], sample_bytes(2, 128));
  EXPECT_EQ(refused_, 5u);
  EXPECT_TRUE(alive_) << receiver_->failure();
}

TEST_P(SealedLaneTest, AMissingRecordEndsTheLane) {
  static_cast<void>(record(1));
  send(record(2));
  run_until(1);
  EXPECT_FALSE(alive_);
  EXPECT_NE(receiver_->failure().find("GC3136"), std::string::npos) << receiver_->failure();
  EXPECT_TRUE(delivered_.empty());
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         SealedLaneTest,
                         testing::Values("sm,self", "tcp,self"),
                         [](const auto& test) { return test.index == 0 ? "Memory" : "Tcp"; });

class SealedUcxTest : public testing::TestWithParam<const char*> {
 protected:
  SealedUcxTest() { write_private(folder_.path("ca.crt"), authority_.certificate()); }

  void SetUp() override {
    if (!load_ucx_library().ok()) {
      GTEST_SKIP() << load_ucx_library().status().to_string();
    }
  }

  std::shared_ptr<LinkTlsRules> rules(LinkTlsMode mode, const std::string& uri) {
    const std::string name = "node" + std::to_string(++count_);
    write_certificate(folder_.path().string(),
                      name,
                      authority_.issue({.common_name = name, .names = {"URI:" + uri}}));
    auto made = LinkTlsRules::open(mode,
                                   {.certificate = folder_.path(name + ".crt"),
                                    .key = folder_.path(name + ".key"),
                                    .authority = folder_.path("ca.crt"),
                                    .revoked = {}});
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? made.value() : nullptr;
  }

  static PeerNetworkOptions over_ucx(PeerNetworkOptions options,
                                     std::shared_ptr<LinkTlsRules> tls) {
    options.transport_kind = TransportKind::Ucx;
    options.ucx_transports = GetParam();
    options.tls = std::move(tls);
    return options;
  }

  // Node 1 calls node 2.
  void start(std::shared_ptr<LinkTlsRules> caller, std::shared_ptr<LinkTlsRules> called) {
    second_.network =
        must_create(over_ucx(node_options(2, {{NodeId{1}, "127.0.0.1", 0}}), std::move(called)));
    first_.network = must_create(
        over_ucx(node_options(1, {{NodeId{2}, "127.0.0.1", second_.network->listen_port()}}),
                 std::move(caller)));
  }

  bool run(const std::function<bool()>& done) { return run_awake({&first_, &second_}, done); }

  static std::string route(const TestNode& node) { return node.network->status()[0].transport; }

  bool both_go_by(const std::string& way) {
    return route(first_).starts_with(way + ":") && route(second_).starts_with(way + ":");
  }

  const ScratchFolder folder_;
  TestAuthority authority_;
  int count_ = 0;
  TestNode first_;
  TestNode second_;
};

TEST_P(SealedUcxTest, NodesWithTlsSealLargeAndSmallFramesBothWays) {
  start(rules(LinkTlsMode::Required, "gcoord://42/node/1"),
        rules(LinkTlsMode::Required, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] { return both_go_by("ucx with sealed records"); })) << route(first_);
  const auto bytes = sample_bytes(1, 60'000);
  std::vector<PayloadExtent> extents;
  for (std::uint32_t k = 0; k < 100; ++k) {
    extents.push_back({k, bytes});
  }
  ASSERT_TRUE(first_.network->send(NodeId{2}, Band::Consensus, slots(100), extents));
  for (std::uint64_t k = 1; k <= 50; ++k) {
    ASSERT_TRUE(second_.network->send(NodeId{1}, Band::Rpc, slots(1)));
    ASSERT_TRUE(run([&] { return first_.sink.slot_count == k; })) << k;
  }
  ASSERT_TRUE(run([&] { return second_.sink.slot_count == 100; }));
  EXPECT_EQ(second_.sink.payload_bytes, 6'000'000u);
  EXPECT_TRUE(first_.sink.downs.empty());
  const auto dropped = second_.network->status()[0].traffic.dropped;
  EXPECT_EQ(dropped[static_cast<std::size_t>(DropReason::BadRecord)], 0u);
}

TEST_P(SealedUcxTest, APeerWithoutTlsIsMetInPlainUcxWhereThatIsPermittedAndNotWhereTlsIsRequired) {
  start(rules(LinkTlsMode::Permissive, "gcoord://42/node/1"), nullptr);
  ASSERT_TRUE(run([&] { return both_go_by("ucx"); })) << route(first_);
  start(nullptr, rules(LinkTlsMode::Permissive, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] { return both_go_by("ucx"); })) << route(first_);
  const std::size_t before = second_.sink.ups.size();
  start(nullptr, rules(LinkTlsMode::Required, "gcoord://42/node/2"));
  ASSERT_TRUE(run([&] {
    const auto& drops = second_.network->dropped_from_strangers();
    return drops[static_cast<std::size_t>(DropReason::Unproven)] > 0;
  }));
  EXPECT_EQ(second_.sink.ups.size(), before);
}

TEST_P(SealedUcxTest, FromOffOverPermissiveToRequired) {
  const auto caller = rules(LinkTlsMode::Off, "gcoord://42/node/1");
  const auto called = rules(LinkTlsMode::Permissive, "gcoord://42/node/2");
  start(caller, called);
  ASSERT_TRUE(run([&] { return both_go_by("ucx"); })) << route(first_);
  caller->set_mode(LinkTlsMode::Required);
  called->set_mode(LinkTlsMode::Required);
  ASSERT_TRUE(run([&] { return both_go_by("ucx with sealed records"); })) << route(first_);
}

INSTANTIATE_TEST_SUITE_P(Ways,
                         SealedUcxTest,
                         testing::Values("sm,self", "tcp,self"),
                         [](const auto& test) { return test.index == 0 ? "Memory" : "Tcp"; });

}  // namespace
}  // namespace gcoord::netcore
