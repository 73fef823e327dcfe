// gcoordctl bench --compare, against a real etcd where there is one.
#include "chaos/process/etcd_cluster.h"
#include "common/http/grpc_channel.h"
#include "tests/cli/programs.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// A socket that listens on loopback, on a port that the system chose.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }

  ~Listening() { ::close(fd_); }

  // Answers the first connection with these bytes and closes it.
  void answer_once(const std::string& bytes) const {
    const int peer = ::accept(fd_, nullptr, nullptr);
    char request[512];
    EXPECT_GT(::read(peer, request, sizeof(request)), 0);
    EXPECT_EQ(::write(peer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(peer);
  }

  const std::string& port() const { return port_; }

 private:
  int fd_;
  std::string port_;
};

Status status_from(const std::string& port) {
  auto channel = GrpcChannel::open({"127.0.0.1", port}, kPatience);
  EXPECT_TRUE(channel.ok());
  return channel.value()->call_and_wait("/etcdserverpb.Maintenance/Status", "").status();
}

TEST(GrpcChannelTest, AServerOfAnotherProtocolIsAFailure) {
  for (const std::string& bytes : {std::string{"HTTP/1.1 400 Bad Request\r\n\r\n"},
                                   std::string(100, '\xff'),
                                   std::string("\0\0\x10\7\0\0\0\0\0garbage", 16)}) {
    const Listening server;
    std::thread answering([&] { server.answer_once(bytes); });
    EXPECT_FALSE(status_from(server.port()).ok());
    answering.join();
  }
}

TEST(GrpcChannelTest, CallsThatAreUnderWayEndWhenItIsClosed) {
  const Listening silent;  // The system takes the connection, nobody answers.
  auto channel = GrpcChannel::open({"127.0.0.1", silent.port()}, kPatience);
  ASSERT_TRUE(channel.ok());
  std::vector<StatusCode> ended;
  for (int k = 0; k < 3; ++k) {
    channel.value()->call("/a/b", "", [&ended](const Result<std::string>& reply) {
      ended.push_back(reply.status().code());
    });
  }
  channel.value()->close();
  EXPECT_EQ(ended, std::vector<StatusCode>(3, StatusCode::Cancelled));
}

TEST(GrpcChannelTest, CallsThatWaitForAConnectionFailWithItAndNotOneByOne) {
  const Listening silent;
  auto channel = GrpcChannel::open({"127.0.0.1", silent.port()}, milliseconds{1000});
  ASSERT_TRUE(channel.ok());
  std::promise<void> all;
  std::atomic<int> failed{0};
  constexpr int kCalls = 100;  // A second each would be more than the patience.
  for (int k = 0; k < kCalls; ++k) {
    channel.value()->call("/a/b", "", [&](const Result<std::string>& reply) {
      EXPECT_EQ(reply.status().code(), StatusCode::Unavailable);
      if (failed.fetch_add(1) + 1 == kCalls) {
        all.set_value();
      }
    });
  }
  EXPECT_EQ(all.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(BenchCompareTest, AnEtcdThatIsNotThereIsAnErrorBeforeTheRun) {
  std::string port;
  { port = Listening{}.port(); }
  const Ctl nobody{"127.0.0.1:1"};
  const Finished finished =
      nobody({"bench", "read", "--compare", "etcd://127.0.0.1:" + port, "--duration", "10m"});
  EXPECT_NE(finished.code, 0);
  EXPECT_NE(finished.err.find("127.0.0.1:" + port), std::string::npos) << finished.err;
  EXPECT_EQ(nobody({"bench", "read", "--compare", "zookeeper://a"}).code, 2);
}

// Returns the answer's part about etcd.
json compared(const Ctl& ctl, const std::string& etcd, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"bench",
                                        more.front(),
                                        "--compare",
                                        "etcd://" + etcd,
                                        "--rate",
                                        "100",
                                        "--duration",
                                        "300ms",
                                        "--clients",
                                        "8",
                                        "--connections",
                                        "2"};
  arguments.insert(arguments.end(), more.begin() + 1, more.end());
  const json answer = ctl.json(arguments);
  EXPECT_EQ(answer["answered"], "30") << answer;
  return answer["compared"];
}

TEST(BenchCompareTest, EveryOperationIsMeasuredOnEtcdToo) {
  const ScratchFolder folder;
  const auto etcd = chaos::EtcdCluster::start(folder.path() / "etcd", 1);
  if (!etcd.ok()) {
    GTEST_SKIP() << "no etcd here, install etcd-server: " << etcd.status().to_string();
  }
  const std::string endpoint = etcd.value().endpoints().front();
  const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!status_from(port).ok()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
  }
  const DevNode node;
  const std::string html = (folder.path() / "run.html").string();
  // Two names for eight clients: locks and offices are waited for.
  const std::vector<std::vector<std::string>> cases = {
      {"lock", "--keys", "2", "--distribution", "zipf", "--report", html},
      {"lease"},
      {"elect", "--keys", "2", "--distribution", "zipf"},
      {"watch"},
      {"read", "--keys", "300"}};
  for (const auto& each : cases) {
    const json other = compared(node.ctl(), endpoint, each);
    EXPECT_EQ(other["target"], "etcd");
    EXPECT_EQ(other["answered"], "30") << each.front() << other;
    EXPECT_EQ(other["errors"], "0") << each.front() << other;
  }
  EXPECT_NE(file_text(html).find("etcd p99"), std::string::npos);
}

}  // namespace
}  // namespace gcoord::cli
