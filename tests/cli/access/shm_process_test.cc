// Clients by shared memory of a node's host: honest ones in every language, and some that are not.
#include "gcoord/client.h"
#include "gcoord/gcoord.h"
#include "gcoord/gcoord_batch.h"
#include "tests/cli/access/raw_rings.h"
#include "tests/cli/process_cluster.h"
#include "tests/cli/programs.h"
#include "tests/cli/resident_cluster.h"
#include "tests/server/http/raw_http.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

client::Client connect_to(const std::vector<std::string>& endpoints) {
  client::ClientOptions options;
  options.endpoints = endpoints;
  options.request_timeout = kPatience;
  options.connect_timeout = kPatience;
  auto client = client::Client::connect(options);
  EXPECT_TRUE(client.ok()) << client.status().to_string();
  return std::move(client).value();
}

client::Session open(client::Client& client) {
  auto session = client.open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return std::move(session).value();
}

void take_and_release(client::Session& session, const std::string& name) {
  auto lock = session.acquire(name);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_TRUE(lock.value().release().ok());
}

// By the C interface: a batch, a renewal, and the release of all of it.
void take_many_and_release(gcoord_session* session) {
  const char* const names[] = {"many/a", "many/b"};
  gcoord_lock_batch* batch = nullptr;
  gcoord_error error{};
  ASSERT_EQ(gcoord_lock_acquire_many(session, names, 2, nullptr, &batch, &error), GCOORD_OK)
      << error.message;
  EXPECT_EQ(gcoord_lock_batch_granted(batch), 2u);
  std::int64_t until_ns = 0;
  EXPECT_EQ(gcoord_session_renew_until(session, &until_ns, &error), GCOORD_OK) << error.message;
  EXPECT_GT(until_ns, 0);
  const std::uint64_t tokens[] = {gcoord_lock_batch_fence(batch, 0),
                                  gcoord_lock_batch_fence(batch, 1)};
  gcoord_outcome outcomes[2] = {};
  ASSERT_EQ(gcoord_session_release_many(session, names, tokens, 2, outcomes, &error), GCOORD_OK)
      << error.message;
  EXPECT_EQ(outcomes[0].status, GCOORD_OK);
  EXPECT_EQ(outcomes[1].status, GCOORD_OK);
  gcoord_lock_batch_detach(batch);
  gcoord_lock_batch_free(batch);
}

class ShmTest : public testing::TestWithParam<const char*> {
 protected:
  void start(const Words& more = {}) {
    Words arguments = {"--data-dir",
                       folder_.path("data"),
                       "--io-threads",
                       GetParam(),
                       "--listen-metrics",
                       "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    node_.emplace(arguments);
  }

  std::string endpoint() const { return "shm:" + path_; }

  Ctl local() const { return Ctl{endpoint()}; }

  static void refused(const Finished& done, const std::string& code, int exit) {
    EXPECT_EQ(done.error_code(), code) << done.out << done.err;
    EXPECT_EQ(done.code, exit) << done.out << done.err;
  }

  // A metric of the node, by its name and labels as the page has them.
  std::uint64_t metric(const std::string& name) const {
    const std::string& endpoint = node_->metrics();
    const auto port =
        static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
    const std::string page = server::http_answer(port, "GET /metrics");
    const std::size_t at = page.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name << page;
    return at == std::string::npos ? 0 : std::stoull(page.substr(at + name.size() + 2));
  }

  const ScratchFolder folder_;
  std::string path_ = folder_.path("data/client.shm");
  std::optional<DevNode> node_;
};

TEST_P(ShmTest, SessionsLocksAndWatchesGoThroughMemoryInTheDataDirectory) {
  start();

  struct stat found {};

  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
  client::Client client = connect_to({endpoint()});
  client::Session session = open(client);
  ChildProcess watch =
      local().start({"-o", "json", "watch", "jobs/a", "--from", "1", "--count", "1"});
  auto lock = session.acquire("jobs/a");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_THAT(watch.read_line(kPatience).value_or(""), HasSubstr("jobs/a"));
  EXPECT_EQ(local().json({"lock", "get", "jobs/a"})["name"], "jobs/a");
  EXPECT_TRUE(lock.value().release().ok());
  EXPECT_EQ(local().json({"whoami"})["name"], "unix:uid:" + std::to_string(::geteuid()));
  node_->child().signal(SIGTERM);
  EXPECT_EQ(node_->child().wait_for(kPatience), 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
  refused(local()({"-o", "json", "status"}), "GC6690", 3);
}

// Each direction is many times what a ring holds.
TEST_P(ShmTest, RequestsAndRepliesMayBeLargerThanTheRings) {
  start();
  client::Client client = connect_to({endpoint()});
  client::Session session = open(client);
  std::vector<client::Future<client::Result<client::Lock>>> wanted;
  for (int k = 0; k < 3000; ++k) {
    wanted.push_back(session.acquire_async(std::string(200, 'n') + std::to_string(k)));
  }
  for (auto& each : wanted) {
    auto lock = each.get();
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    lock.value().detach();
  }
  const Finished listed = local()({"-o", "json", "lock", "list", "--limit", "3000"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_GT(listed.out.size(), 600'000u);
}

TEST_P(ShmTest, AClientInCAndOneInPythonTakeLocks) {
  start();
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  const std::string where = endpoint();
  options.endpoints = where.c_str();
  gcoord_client* client = nullptr;
  gcoord_session* session = nullptr;
  gcoord_lock* lock = nullptr;
  gcoord_error error{};
  ASSERT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_OK) << error.message;
  ASSERT_EQ(gcoord_session_open(client, 60'000, nullptr, nullptr, &session, &error), GCOORD_OK);
  ASSERT_EQ(gcoord_lock_acquire(session, "jobs/c", GCOORD_FOREVER, &lock, &error), GCOORD_OK);
  take_many_and_release(session);
  ChildOptions python;
  python.arguments = {GCOORD_PYTHON,
                      "-c",
                      "import gcoord, sys\n"
                      "with gcoord.Client(sys.argv[1], request_timeout=60) as client:\n"
                      "    with client.open_session(ttl=60) as session:\n"
                      "        with session.acquire('jobs/python') as lock:\n"
                      "            print(lock.fence > 0, client.get('jobs/c').name, flush=True)\n"
                      "        batch = session.acquire_many(['many/1', 'many/2', 'jobs/c'])\n"
                      "        print(list(batch.fences), list(batch.failures), flush=True)\n"
                      "        session.renew()\n"
                      "        print(session.release_many(batch.fences), flush=True)\n"
                      "        batch.detach()\n",
                      where};
  python.capture_output = true;
  python.environment = {{"GCOORD_CLIENT_LIBRARY", GCOORD_BUILD_DIR "/lib/libgcoord_client.so"},
                        {"PYTHONDONTWRITEBYTECODE", "1"},
                        {"PYTHONPATH", in_sources("client/python")}};
  auto child = ChildProcess::start(python);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().read_line(kPatience).value_or(""), "True jobs/c");
  EXPECT_EQ(child.value().read_line(kPatience).value_or(""), "['many/1', 'many/2'] ['jobs/c']");
  EXPECT_EQ(child.value().read_line(kPatience).value_or(""), "{'many/1': None, 'many/2': None}");
  EXPECT_EQ(child.value().wait_for(kPatience), 0);
  EXPECT_EQ(gcoord_lock_release(lock, &error), GCOORD_OK);
  gcoord_lock_free(lock);
  gcoord_session_free(session);
  gcoord_client_free(client);
}

TEST_P(ShmTest, AClientGoesOnWhenTheNodeWasKilledAndComesBack) {
  const Words port = {"--cluster-id", "7"};
  start(port);
  client::Client client = connect_to({endpoint()});
  client::Session session = open(client);
  take_and_release(session, "a");
  node_->child().signal(SIGKILL);
  node_->child().wait_for(kPatience);
  start(port);  // At the path that the killed one left.
  take_and_release(session, "a");
}

// The client whose session waits for a lock keeps its place.
TEST_P(ShmTest, AClientWithoutAPlaceGetsItsNumber) {
  start({"--source-connections-max", "1"});
  client::Client client = connect_to({endpoint()});
  client::Session holder = open(client);
  client::Session waiter = open(client);
  auto held = holder.acquire("a");
  ASSERT_TRUE(held.ok()) << held.status().to_string();
  auto waits = waiter.acquire_async("a");
  refused(local()({"-o", "json", "--timeout", "1s", "status"}), "GC4013", 5);
  ASSERT_TRUE(held.value().release().ok());
  EXPECT_TRUE(waits.get().ok());
}

TEST_P(ShmTest, TheSocketMayBeElsewhereOrNowhereAndIsNoUnixSocketOfTheOtherKind) {
  path_ = folder_.path("elsewhere");
  const std::string unix_path = folder_.path("unix");
  start({"--listen-shm", path_, "--listen-unix", unix_path, "--unix-mode", "0660"});

  struct stat found {};

  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0660u);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("data/client.shm")));
  EXPECT_EQ(local()({"lock", "acquire", "a", "--ttl", "30s"}).code, 0);
  refused(Ctl{"shm:" + unix_path}({"-o", "json", "status"}), "GC6693", 3);
  EXPECT_NE(Ctl{"unix:" + path_}({"-o", "json", "--timeout", "1s", "status"}).code, 0);
  EXPECT_EQ(local()({"lock", "get", "a"}).code, 0);
  refused(Ctl{"shm:data"}({"-o", "json", "status"}), "GC1001", 2);
  node_.reset();
  start({"--listen-shm", "off"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path("data/client.shm")));
  const Finished taken = run("gcoordd",
                             {"dev",
                              "--listen-client",
                              "127.0.0.1:0",
                              "--shards",
                              "1",
                              "--listen-shm",
                              folder_.path("absent/s")});
  EXPECT_THAT(taken.err, HasSubstr("GC3140"));
  EXPECT_EQ(taken.code, 2);
}

// Beside an honest client, which must not notice.
class HostileShmTest : public ShmTest {
 protected:
  void SetUp() override {
    start();
    honest_.emplace(connect_to({endpoint()}));
    session_.emplace(open(*honest_));
    take_and_release(*session_, "before");
  }

  void TearDown() override {
    take_and_release(*session_, "after");
    EXPECT_EQ(local()({"lock", "get", "after"}).code, 1);
  }

  std::uint64_t refused_by(const std::string& reason) const {
    return metric("gcoord_server_shm_refused_total{reason=\"" + reason + "\"}");
  }

  std::optional<client::Client> honest_;
  std::optional<client::Session> session_;
};

TEST_P(HostileShmTest, WordsThatCannotBeEndTheConnectionAndAreCounted) {
  const std::vector<std::uint64_t> wrong = {~std::uint64_t{0}, 1, std::uint64_t{1} << 40, 1 << 20};
  for (const std::uint64_t word : wrong) {
    RawRings raw{path_};
    raw.write(RawRings::hello());
    netcore::SystemOrder::publish(raw.requests().words->written, word);
    raw.ring();
    EXPECT_TRUE(raw.is_ended()) << word;
  }
  EXPECT_EQ(refused_by("ring"), wrong.size());
}

TEST_P(HostileShmTest, APieceThatCannotBeEndsTheConnectionAndIsCounted) {
  RawRings raw{path_};
  netcore::RingPiece piece;
  piece.stamp = 1;
  piece.bytes = 1u << 31;
  std::memcpy(raw.requests().bytes, &piece, sizeof(piece));
  netcore::SystemOrder::publish(raw.requests().words->written, 64);
  raw.ring();
  EXPECT_TRUE(raw.is_ended());
  EXPECT_EQ(refused_by("ring"), 1u);
}

TEST_P(HostileShmTest, BytesThatAreNoFrameEndTheConnectionAsOverTcp) {
  RawRings raw{path_};
  std::vector<std::byte> bytes = RawRings::hello();
  bytes[40] ^= std::byte{1};
  raw.write(bytes);
  EXPECT_TRUE(raw.is_ended());
  EXPECT_EQ(metric("gcoord_server_client_frames_bad_total{reason=\"body_checksum\"}"), 1u);
  EXPECT_EQ(refused_by("ring"), 0u);
}

// What it changes after the node has looked changes nothing, and the reply ring is its own.
TEST_P(HostileShmTest, AClientThatScribblesInItsRepliesHarmsNobodyElse) {
  RawRings raw{path_};
  raw.write(RawRings::hello());
  for (std::uint64_t k = 0; k < 2000; ++k) {
    std::memset(raw.replies().bytes, static_cast<int>(k), raw.replies().capacity);
    netcore::SystemOrder::raise(raw.replies().words->reader_sleep, 2 * k + 1);
    netcore::SystemOrder::raise(raw.requests().words->writer_wait, 2 * k + 1);
    raw.ring();
  }
  netcore::SystemOrder::publish(raw.replies().words->read, 1 << 30);
  raw.write(RawRings::hello());  // Its sequence does not rise.
  EXPECT_TRUE(raw.is_ended());
}

TEST_P(HostileShmTest, AClientThatDiesInTheMiddleOfAFrameLeavesNothing) {
  const std::uint64_t before = metric("gcoord_server_shm_clients");
  for (std::size_t cut = 1; cut < RawRings::hello().size(); cut += 17) {
    RawRings raw{path_};
    std::vector<std::byte> part = RawRings::hello();
    part.resize(cut);
    raw.write(part);
  }
  {
    RawRings raw{path_};  // Its words say more than it wrote.
    netcore::SystemOrder::publish(raw.requests().words->written, 128);
    raw.ring();
  }
  RawRings last{path_};
  last.write(std::vector<std::byte>(64));
  EXPECT_TRUE(last.is_ended());
  last.leave();
  // The loop hears of a bell, and of the end behind it, in a pass each.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::uint64_t clients = metric("gcoord_server_shm_clients");
  while (clients != before && std::chrono::steady_clock::now() < deadline) {
    clients = metric("gcoord_server_shm_clients");
  }
  EXPECT_EQ(clients, before);
}

// The replies of its requests fill its ring, and then nothing more of it is served.
TEST_P(HostileShmTest, AClientThatNeverReadsIsHeldBackAlone) {
  RawRings raw{path_};
  protocol::FrameBuilder builder{protocol::FrameDirection::Requests};
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::Hello;
  builder.add(slot, protocol::encode(protocol::Hello{.client = "raw"}));
  std::vector<std::byte> bytes;
  builder.finish(bytes);
  for (int frame = 0; frame < 20; ++frame) {
    for (int k = 0; k < 400; ++k) {
      slot.kind = protocol::RequestKind::LockGet;
      slot.request_id = static_cast<std::uint64_t>(k) + 1;
      builder.add(slot, protocol::bytes_of("absent/" + std::to_string(k)));
    }
    builder.finish(bytes);
  }
  std::size_t sent = 0;
  netcore::RingWriter writer{raw.requests()};
  for (int quiet = 0; sent < bytes.size() && quiet < 50;) {
    const std::uint32_t count = writer.write(bytes.data() + sent, bytes.size() - sent);
    writer.publish();
    raw.ring();
    sent += count;
    quiet = count == 0 ? quiet + 1 : 0;
    take_and_release(*session_, "meanwhile");
  }
  const std::uint64_t waiting = netcore::SystemOrder::observe(raw.replies().words->written);
  EXPECT_LE(waiting, raw.replies().capacity);
  EXPECT_GT(waiting, 0u);
}

// Its bells come in large blocks, as fast as the node takes them.
TEST_P(HostileShmTest, AClientThatRingsWithoutEndIsDisconnectedAndCounted) {
  RawRings raw{path_};
  raw.write(RawRings::hello());
  const std::vector<std::byte> bells(std::size_t{64} << 10);
  while (::send(raw.socket(), bells.data(), bells.size(), MSG_NOSIGNAL) > 0) {
  }
  EXPECT_TRUE(raw.is_ended());
  EXPECT_EQ(refused_by("bells"), 1u);
}

TEST_P(HostileShmTest, WhoDoesNotAskForRingsGetsNoneAndIsCounted) {
  RawRings raw{path_, false};
  const std::vector<std::byte> frame = RawRings::hello();
  ASSERT_GE(frame.size(), sizeof(netcore::RingRequest));
  ASSERT_EQ(::send(raw.socket(), frame.data(), sizeof(netcore::RingRequest), MSG_NOSIGNAL),
            ssize_t{sizeof(netcore::RingRequest)});
  EXPECT_TRUE(raw.is_ended());
  EXPECT_EQ(refused_by("foreign"), 1u);
  RawRings other{path_, false};
  ASSERT_TRUE(netcore::send_request(other.socket(), {.layout_min = 8, .layout_max = 9}));
  ASSERT_TRUE(other.wait_readable());
  EXPECT_EQ(netcore::receive_offer(other.socket()).status().detail(), netcore::kShmLayoutUnknown);
  EXPECT_TRUE(other.is_ended());
  EXPECT_EQ(refused_by("layout"), 1u);
}

// The loop serves rings itself, whoever serves other sockets.
INSTANTIATE_TEST_SUITE_P(Threads, ShmTest, testing::Values("2"));
INSTANTIATE_TEST_SUITE_P(Threads, HostileShmTest, testing::Values("0"));

// Three nodes of one host; no client ever uses TCP.
class ShmClusterTest : public ProcessCluster {
 protected:
  ShmClusterTest() : ProcessCluster(4) {}

  std::vector<std::string> places() const {
    std::vector<std::string> all;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      all.push_back("shm:" + (cluster_->data_directory(node) / "client.shm").string());
    }
    return all;
  }
};

TEST_F(ShmClusterTest, LeadersAreFoundByTheirMemoryAndAFailoverIsSurvived) {
  client::Client client = connect_to(places());
  client::Session session = open(client);
  const auto addresses = [&client] {
    std::vector<std::string> found;
    for (const client::NodeView& node : client.cluster().nodes) {
      found.push_back(node.address);
    }
    return found;
  };
  for (int k = 0; k < 16; ++k) {  // Shards have leaders at all three.
    take_and_release(session, "name/" + std::to_string(k));
  }
  EXPECT_THAT(addresses(), testing::UnorderedElementsAreArray(places()));
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    cluster_->kill(node);
    for (int k = 0; k < 16; ++k) {
      take_and_release(session, "name/" + std::to_string(k));
    }
    spawn(node);
    for (int k = 0; k < 16; ++k) {
      take_and_release(session, "name/" + std::to_string(k));
    }
  }
  EXPECT_THAT(addresses(), testing::UnorderedElementsAreArray(places()));
}

TEST_F(ResidentProcessTest, ClientsOfAResidentTurnTakeSharedMemoryToo) {
  std::vector<std::string> places;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    places.push_back("shm:" + (cluster_->data_directory(node) / "client.shm").string());
  }
  client::Client client = connect_to(places);
  client::Session session = open(client);
  for (int k = 0; k < 16; ++k) {
    take_and_release(session, "name/" + std::to_string(k));
  }
  for (const client::NodeView& node : client.cluster().nodes) {
    EXPECT_THAT(node.address, testing::StartsWith("shm:"));
  }
}

}  // namespace
}  // namespace gcoord::cli
