// Clients by a node's Unix socket: the kernel says who they are, and rights go by that.
#include "gcoord/client.h"
#include "tests/cli/programs.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* kOther = "61234";  // A user of the machine, whether it has a name or not.

class UnixSocketTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
  }

  void start(const Words& more = {}) {
    Words arguments = {"--listen-unix",
                       socket_,
                       "--io-threads",
                       GetParam(),
                       "--log-file",
                       folder_.path("log"),
                       "--log-level",
                       "clients=debug"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    node_.emplace(arguments);
  }

  std::string endpoint() const { return "unix:" + socket_; }

  Ctl local() const { return Ctl{endpoint()}; }

  // gcoordctl by the socket, as another user of the machine.
  Finished as_other(const Words& what) const {
    Words words = {
        "/usr/bin/setpriv", "--reuid", kOther, "--regid", kOther, "--clear-groups", "--"};
    words.push_back(chaos::program_beside("gcoordctl").string());
    words.insert(words.end(), {"--endpoints", endpoint(), "-o", "json"});
    words.insert(words.end(), what.begin(), what.end());
    ChildOptions options = program("gcoordctl", {});
    options.arguments = words;
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok()) << child.status().to_string();
    Finished finished;
    finished.out = child.value().read_all(kPatience);
    finished.code = child.value().wait_for(kPatience).value_or(-1);
    return finished;
  }

  // Whether processes of another user can be started and reach the program.
  static bool has_other() {
    return ::geteuid() == 0 && std::filesystem::exists("/usr/bin/setpriv");
  }

  static void refused(const Finished& done, const std::string& code, int exit) {
    EXPECT_EQ(done.error_code(), code) << done.out << done.err;
    EXPECT_EQ(done.code, exit) << done.out << done.err;
  }

  const ScratchFolder folder_;
  std::string socket_ = folder_.path("s");
  std::optional<DevNode> node_;
};

TEST_P(UnixSocketTest, SessionsLocksAndWatchesWorkAndTheFileComesAndGoes) {
  start();

  struct stat found {};

  ASSERT_EQ(::stat(socket_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
  client::ClientOptions options;
  options.endpoints = {endpoint()};
  options.request_timeout = kPatience;
  auto client = client::Client::connect(options);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto session = client.value().open_session({.ttl = std::chrono::minutes{1}, .on_event = {}});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  ChildProcess watch =
      local().start({"-o", "json", "watch", "jobs/a", "--from", "1", "--count", "1"});
  auto lock = session.value().acquire("jobs/a");
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_THAT(watch.read_line(kPatience).value_or(""), HasSubstr("jobs/a"));
  EXPECT_TRUE(lock.value().release().ok());
  // By TCP the same locks are there.
  EXPECT_EQ(node_->ctl()({"lock", "acquire", "jobs/b", "--ttl", "30s"}).code, 0);
  EXPECT_EQ(local().json({"lock", "get", "jobs/b"})["name"], "jobs/b");
  EXPECT_THAT(file_text(folder_.path("log")), HasSubstr("unix:uid:" + std::to_string(::geteuid())));
  node_->child().signal(SIGTERM);
  EXPECT_EQ(node_->child().wait_for(kPatience), 0);
  EXPECT_FALSE(std::filesystem::exists(socket_));
  refused(local()({"-o", "json", "status"}), "GC3143", 3);
}

TEST_P(UnixSocketTest, AFileThatAKilledNodeLeftIsReplacedAndNothingElseIs) {
  start();
  const auto start_at = [&](const std::string& path) {
    return run("gcoordd",
               {"dev", "--listen-client", "127.0.0.1:0", "--shards", "1", "--listen-unix", path});
  };
  Finished taken = start_at(socket_);
  EXPECT_THAT(taken.err, HasSubstr("GC3141"));
  EXPECT_EQ(taken.code, 2);
  node_->child().signal(SIGKILL);
  node_->child().wait_for(kPatience);
  ASSERT_TRUE(std::filesystem::exists(socket_));
  start();
  EXPECT_EQ(local()({"lock", "acquire", "a", "--ttl", "30s"}).code, 0);
  const std::string file = folder_.path("file");
  std::ofstream(file) << "precious";
  EXPECT_THAT(start_at(file).err, HasSubstr("GC3140"));
  EXPECT_EQ(file_text(file), "precious");
  EXPECT_THAT(start_at(folder_.path("absent/s")).err, HasSubstr("GC3140"));
}

TEST_P(UnixSocketTest, APathMayBeLongerThanAnAddress) {
  const std::string deep = folder_.path(std::string(120, 'd'));
  ASSERT_TRUE(std::filesystem::create_directory(deep));
  socket_ = deep + "/client.sock";
  start();
  EXPECT_EQ(local()({"lock", "acquire", "a", "--ttl", "30s"}).code, 0);
}

TEST_P(UnixSocketTest, AUserOfTheMachineIsRefusedBeforeARoleAndServedWithIt) {
  start({"--unix-mode", "0666"});
  const std::string self = "unix:uid:" + std::to_string(::geteuid());
  ASSERT_EQ(local()({"user", "add", self, "--role", "root", "--no-password"}).code, 0);
  ASSERT_EQ(local()({"auth", "enable"}).code, 0);
  refused(node_->ctl()({"-o", "json", "lock", "acquire", "jobs/a", "--ttl", "30s"}), "GC6560", 4);
  EXPECT_EQ(local()({"lock", "acquire", "jobs/a", "--ttl", "30s"}).code, 0);
  if (!has_other()) {
    GTEST_SKIP() << "needs root and setpriv for a second user";
  }
  const Words acquire = {"lock", "acquire", "jobs/b", "--ttl", "30s"};
  refused(as_other(acquire), "GC6560", 4);
  const std::string other = std::string{"unix:uid:"} + kOther;
  ASSERT_EQ(local()({"role", "add", "jobs", "read", "write", "--prefix", "jobs/"}).code, 0);
  ASSERT_EQ(local()({"user", "add", other, "--role", "jobs", "--no-password"}).code, 0);
  EXPECT_EQ(as_other(acquire).code, 0);
  refused(as_other({"lock", "acquire", "other", "--ttl", "30s"}), "GC6560", 4);
  ASSERT_EQ(local()({"user", "disable", other}).code, 0);
  refused(as_other(acquire), "GC6560", 4);
}

TEST_P(UnixSocketTest, AnotherUserOpensNoSocketOfTheNodesUserAlone) {
  if (!has_other()) {
    GTEST_SKIP() << "needs root and setpriv for a second user";
  }
  start();
  refused(as_other({"status"}), "GC3142", 4);
}

// A socket in a folder of this user that is served by somebody else, as in /tmp.
TEST_P(UnixSocketTest, AClientTrustsNoSocketThatAStrangerServes) {
  if (!has_other()) {
    GTEST_SKIP() << "needs root and setpriv for a second user";
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0777});
  auto stranger = ChildProcess::start({.arguments = {"/usr/bin/setpriv",
                                                     "--reuid",
                                                     kOther,
                                                     "--clear-groups",
                                                     "--regid",
                                                     kOther,
                                                     "--",
                                                     "/usr/bin/python3",
                                                     "-c",
                                                     "import socket, time\n"
                                                     "s = socket.socket(socket.AF_UNIX)\n"
                                                     "s.bind('" +
                                                         socket_ +
                                                         "')\n"
                                                         "s.listen()\n"
                                                         "print('serves', flush=True)\n"
                                                         "time.sleep(600)\n"},
                                       .capture_output = true});
  ASSERT_TRUE(stranger.ok());
  ASSERT_EQ(stranger.value().read_line(kPatience), "serves");
  refused(local()({"-o", "json", "status"}), "GC3144", 4);
}

INSTANTIATE_TEST_SUITE_P(Threads, UnixSocketTest, testing::Values("0", "2"), [](const auto& test) {
  return std::string{"Io"} + test.param;
});

}  // namespace
}  // namespace gcoord::cli
