// Starts of gcoordd as an operator meets them: ports that are taken, and what a refusal costs.
#include "tests/cli/programs.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::HasSubstr;

// Another program that listens on a port of loopback.
class Listener {
 public:
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::make_address_v4("127.0.0.1"), 0}};
};

class StartProcessTest : public testing::Test {
 protected:
  StartProcessTest() {
    DevNode node({"--data-dir", data_dir_});
    node.child().signal(SIGTERM);
    EXPECT_EQ(node.child().wait_for(kPatience), 0);
  }

  // A start that fails, with one more flag than the one that did not.
  Finished refused(const std::string& flag, const std::string& value) const {
    return run("gcoordd",
               {"dev",
                "--shards",
                "16",
                "--data-dir",
                data_dir_,
                "--listen-client",
                flag == "--listen-client" ? value : "127.0.0.1:0",
                "--listen-peer",
                flag == "--listen-peer" ? value : "127.0.0.1:0",
                "--listen-metrics",
                flag == "--listen-metrics" ? value : "off",
                "--listen-ledger",
                flag == "--listen-ledger" ? value : "off"});
  }

  const ScratchFolder directory_;
  const std::string data_dir_ = directory_.path("data");
};

TEST_F(StartProcessTest, ATakenPortIsNamedAndUsesUpNoIncarnation) {
  const Listener other;
  for (const std::string flag :
       {"--listen-client", "--listen-peer", "--listen-metrics", "--listen-ledger"}) {
    const Finished finished = refused(flag, other.address());
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr("GC3004"));
    EXPECT_THAT(finished.err, HasSubstr(flag + " " + other.address() + ": Address already in use"));
  }
  DevNode node({"--data-dir", data_dir_});
  EXPECT_EQ(node.ctl().json({"status"})["nodes"][0]["incarnation"], 2);
}

TEST_F(StartProcessTest, AnAddressOfNoInterfaceUsesUpNoIncarnation) {
  // 192.0.2.0/24 is for documentation, so no host has it.
  EXPECT_THAT(run("gcoordd",
                  {"dev",
                   "--shards",
                   "16",
                   "--data-dir",
                   data_dir_,
                   "--insecure",
                   "--listen-client",
                   "192.0.2.1:7400"})
                  .err,
              HasSubstr("GC3004"));
  DevNode node({"--data-dir", data_dir_});
  EXPECT_EQ(node.ctl().json({"status"})["nodes"][0]["incarnation"], 2);
}

}  // namespace
}  // namespace gcoord::cli
