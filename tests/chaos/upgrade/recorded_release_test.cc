// What the release at 4a56ad8 wrote and sent (record.py made 4a56ad8.tar.xz): this release opens
// its directories, has its locks, and decodes its frames.
#include "chaos/process/local_cluster.h"
#include "common/host/child_process.h"
#include "consensus/step/message.h"
#include "gcoord/client.h"
#include "netcore/channel/frame.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/transport/greeting.h"
#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/validate.h"
#include "server/replicas/shard_codec.h"
#include "tests/scratch_folder.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::uint32_t kShards = 8;

struct RecordedLock {
  std::string name;
  std::uint64_t token = 0;
  std::uint64_t session = 0;
};

class RecordedRelease : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string archive = in_sources("tests/chaos/upgrade/4a56ad8.tar.xz");
    ChildOptions options;
    options.arguments = {GCOORD_CMAKE,
                         "-E",
                         "chdir",
                         scratch_.path().string(),
                         GCOORD_CMAKE,
                         "-E",
                         "tar",
                         "xf",
                         archive};
    auto unpacked = ChildProcess::start(options);
    ASSERT_TRUE(unpacked.ok()) << unpacked.status().to_string();
    ASSERT_EQ(unpacked.value().wait_for(kPatience), 0);
  }

  // The bytes of each connection of this name, one way.
  std::vector<std::vector<std::byte>> recorded(const std::string& name,
                                               const std::string& way) const {
    std::vector<std::vector<std::byte>> connections;
    for (const auto& file : std::filesystem::directory_iterator(scratch_.path() / "frames")) {
      const std::string found = file.path().filename().string();
      if (found.starts_with(name) && found.ends_with(way)) {
        std::ifstream in{file.path(), std::ios::binary};
        const std::string text{std::istreambuf_iterator<char>{in}, {}};
        const auto bytes = std::as_bytes(std::span{text});
        connections.emplace_back(bytes.begin(), bytes.end());
      }
    }
    EXPECT_FALSE(connections.empty()) << name << way;
    return connections;
  }

  std::vector<RecordedLock> locks() const {
    std::ifstream in{scratch_.path() / "locks.txt"};
    std::vector<RecordedLock> locks;
    for (RecordedLock each; in >> each.name >> each.token >> each.session;) {
      locks.push_back(each);
    }
    return locks;
  }

  ScratchFolder scratch_;
};

// ---- frames -------------------------------------------------------------------------------------

// Calls take(frame) for each, and expects nothing bad at the end.
template <typename Take>
void each_frame(protocol::FrameDirection direction,
                const std::vector<std::byte>& bytes,
                const Take& take) {
  protocol::FrameDecoder decoder{direction};
  decoder.append(bytes);
  protocol::FrameView frame;
  auto step = decoder.next(frame);
  for (; step == protocol::DecodeStep::Frame; step = decoder.next(frame)) {
    take(frame);
  }
  EXPECT_EQ(step, protocol::DecodeStep::NeedMore);
}

TEST_F(RecordedRelease, EveryRequestOfItsClientsIsTaken) {
  const protocol::RequestLimits limits{.shard_count = kShards};
  std::set<protocol::RequestKind> seen;
  const auto take = [&](const protocol::FrameView& frame) {
    for (std::size_t index = 0; index < frame.slot_count(); ++index) {
      const protocol::RequestSlot slot = frame.request(index);
      seen.insert(slot.kind);
      if (slot.kind != protocol::RequestKind::Hello) {
        EXPECT_EQ(protocol::check_request(slot, frame.payload(slot), limits),
                  protocol::ErrorCode::None)
            << protocol::request_kind_name(slot.kind);
        continue;
      }
      const auto hello = protocol::decode_hello(frame.payload(slot));
      ASSERT_TRUE(hello.ok());
      EXPECT_EQ(protocol::common_version(hello.value()), protocol::kProtocolVersionMax);
    }
  };
  for (const auto& connection : recorded("client.", ".out")) {
    each_frame(protocol::FrameDirection::Requests, connection, take);
  }
  EXPECT_TRUE(seen.contains(protocol::RequestKind::Hello));
  EXPECT_TRUE(seen.contains(protocol::RequestKind::SessionGrant));
  EXPECT_TRUE(seen.contains(protocol::RequestKind::LockAcquireHold)) << "one with a note";
}

TEST_F(RecordedRelease, EveryReplyOfItsNodesIsUnderstood) {
  int welcomes = 0;
  const auto take = [&](const protocol::FrameView& frame) {
    for (std::size_t index = 0; index < frame.slot_count(); ++index) {
      const protocol::ReplySlot slot = frame.reply(index);
      EXPECT_TRUE(protocol::request_kind_known(slot.kind));
      EXPECT_TRUE(slot.detail == 0 || protocol::find_error(slot.detail) != nullptr) << slot.detail;
      if (slot.kind == protocol::RequestKind::Hello) {
        const auto welcome = protocol::decode_welcome(frame.payload(slot));
        ASSERT_TRUE(welcome.ok()) << welcome.status().to_string();
        EXPECT_EQ(welcome.value().shard_count, kShards);
        EXPECT_EQ(welcome.value().features & ~protocol::kFeatures, 0u);
        ++welcomes;
      }
    }
  };
  for (const auto& connection : recorded("client.", ".back")) {
    each_frame(protocol::FrameDirection::Replies, connection, take);
  }
  EXPECT_GT(welcomes, 0);
}

// What a link carried in one direction.
struct PeerTraffic {
  std::set<netcore::FrameKind> frames;
  std::set<consensus::MessageKind> messages;
};

void expect_well_formed(const netcore::FrameView& frame, PeerTraffic& traffic) {
  auto payload = frame.payloads.begin();
  std::uint32_t left = frame.payloads.size();
  for (std::uint32_t k = 0; k < frame.slots.size(); ++k) {
    std::span<const std::byte> extent;
    for (; left > 0 && (*payload).slot_index == k; ++payload, --left) {
      extent = (*payload).bytes;
    }
    if (frame.header.band != netcore::Band::Consensus) {
      continue;
    }
    consensus::Message message;
    std::memcpy(&message, frame.slots[k].bytes, sizeof message);
    EXPECT_LE(static_cast<std::uint8_t>(message.kind), consensus::kMessageKindLast);
    EXPECT_EQ(message.from.value, frame.header.from_node);
    EXPECT_LT(message.shard.value, kShards);
    EXPECT_TRUE(server::well_formed_entries(message, extent));
    traffic.messages.insert(message.kind);
  }
}

PeerTraffic peer_traffic(const std::vector<std::byte>& bytes) {
  PeerTraffic traffic;
  netcore::AlignedBytes whole{bytes.size()};  // Frames are multiples of 64 bytes.
  std::memcpy(whole.data(), bytes.data(), bytes.size());
  const std::span<const std::byte> all{whole.data(), bytes.size()};
  for (std::size_t at = 0; at + netcore::kFrameHeaderBytes <= all.size();) {
    netcore::FrameHeader header;
    const auto first = all.subspan(at).first<netcore::kFrameHeaderBytes>();
    EXPECT_EQ(netcore::decode_header(first, header), netcore::DropReason::None) << "at " << at;
    const std::size_t length = netcore::kFrameHeaderBytes + header.body_bytes;
    if (::testing::Test::HasFailure() || at + length > all.size()) {
      break;  // The recording ends within a frame.
    }
    netcore::FrameView frame;
    EXPECT_EQ(netcore::decode_frame(all.subspan(at, length), frame), netcore::DropReason::None);
    traffic.frames.insert(frame.header.kind);
    if (frame.header.kind == netcore::FrameKind::Hello ||
        frame.header.kind == netcore::FrameKind::Welcome) {
      netcore::Greeting greeting;
      EXPECT_EQ(netcore::decode_greeting(frame, greeting), netcore::DropReason::None);
      EXPECT_EQ(greeting.protocol, netcore::kPeerProtocol);
    }
    if (frame.header.kind == netcore::FrameKind::Slots) {
      expect_well_formed(frame, traffic);
    }
    at += length;
  }
  return traffic;
}

TEST_F(RecordedRelease, EveryFrameBetweenItsNodesIsDecoded) {
  PeerTraffic all;
  for (const std::string way : {".out", ".back"}) {
    for (const auto& connection : recorded("peer-", way)) {
      PeerTraffic traffic = peer_traffic(connection);
      all.frames.merge(traffic.frames);
      all.messages.merge(traffic.messages);
    }
  }
  using consensus::MessageKind;
  for (const auto kind :
       {MessageKind::Vote, MessageKind::VoteReply, MessageKind::Append, MessageKind::AppendReply}) {
    EXPECT_TRUE(all.messages.contains(kind)) << static_cast<int>(kind);
  }
  EXPECT_TRUE(all.frames.contains(netcore::FrameKind::Heartbeat));
  EXPECT_TRUE(all.frames.contains(netcore::FrameKind::Hello));
  EXPECT_TRUE(all.frames.contains(netcore::FrameKind::Welcome));
}

// ---- directories --------------------------------------------------------------------------------

TEST_F(RecordedRelease, ItsDirectoriesAreOpenedWithTheirLocks) {
  auto planned = chaos::LocalCluster::plan(
      {.program = std::filesystem::path{GCOORD_BUILD_DIR} / "bin" / "gcoordd",
       .directory = scratch_.path(),
       .shards = kShards,
       .node_arguments = {"--ledger-bytes-max", "all", "--view-after", "0s"}});
  ASSERT_TRUE(planned.ok()) << planned.status().to_string();
  chaos::LocalCluster cluster = std::move(planned).value();
  const Status started = cluster.start_all(kPatience);
  ASSERT_TRUE(started.ok()) << started.to_string();
  auto connected = client::Client::connect(
      {.endpoints = cluster.endpoints(), .request_timeout = std::chrono::seconds{30}});
  ASSERT_TRUE(connected.ok()) << connected.status().to_string();
  client::Client client = std::move(connected).value();
  ASSERT_TRUE(client.wait_for_all_nodes(kPatience).ok());

  const std::vector<RecordedLock> recorded = locks();
  ASSERT_EQ(recorded.size(), 6u);
  for (const RecordedLock& each : recorded) {
    const auto lock = client.get(each.name);
    ASSERT_TRUE(lock.ok()) << each.name << ": " << lock.status().to_string();
    EXPECT_EQ(lock.value().token, each.token) << each.name;
    EXPECT_EQ(lock.value().holder_session, each.session) << each.name;
    EXPECT_EQ(lock.value().note, "note of " + each.name);
    const auto past = client.read_at(each.name, lock.value().acquired_index);
    ASSERT_TRUE(past.ok()) << each.name << ": " << past.status().to_string();
    ASSERT_TRUE(past.value().lock.has_value()) << each.name;
    EXPECT_EQ(past.value().lock->token, each.token) << each.name;
  }
  EXPECT_EQ(client.get("recorded/released").status().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent));

  // Its session lives and may release; the next grant has a higher token.
  const RecordedLock& first = recorded.front();
  auto owner = client.attach_session({.session_id = first.session});
  ASSERT_TRUE(owner.ok()) << owner.status().to_string();
  const auto released = owner.value().release(first.name, first.token);
  EXPECT_TRUE(released.ok()) << released.to_string();
  auto session = client.open_session({});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto lock = session.value().acquire(first.name);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_GT(lock.value().fence(), first.token);
  EXPECT_EQ(client.check(recorded.back().name, recorded.back().token).value(),
            client::Verdict::Valid);
  // Without a step by hand they come to have a view.
  const auto view = client.view({.node_id = 0, .after = 0, .wait = kPatience});
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  EXPECT_EQ(view.value().epoch, 1u);
  EXPECT_EQ(view.value().members.size(), cluster.endpoints().size());
}

}  // namespace
}  // namespace gcoord
