#include "bench/vs/peers/zookeeper_cluster.h"

#include "bench/vs/peers/loopback_question.h"
#include "bench/vs/peers/program_version.h"
#include "chaos/process/free_ports.h"

#include <chrono>
#include <fstream>
#include <thread>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kServers = 3;
constexpr std::size_t kPortsOfServer = 3;  // Clients, followers, elections.

// Three virtual machines start on the cores of a benchmark, maybe beside other work.
constexpr std::chrono::seconds kStart{60};
constexpr std::chrono::milliseconds kLook{50};

// The jar of Debian's libzookeeper-java names all that it needs; the other one writes warnings to
// stderr, as Debian's own start script configures it to a file.
constexpr const char* kClassPath = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";

// What /usr/share/zookeeper/bin/zkServer.sh gives the virtual machine.
const std::vector<std::string>& machine_flags() {
  static const std::vector<std::string> flags{"-Xmx1000m",
                                              "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                              "-Dzookeeper.admin.enableServer=false"};
  return flags;
}

// The first three are of the example in ZooKeeper's manual. It lets an address have 60 connections
// by default; here all clients come from one.
const std::vector<std::string>& config_lines() {
  static const std::vector<std::string> lines{
      "tickTime=2000", "initLimit=10", "syncLimit=5", "maxClientCnxns=0", "forceSync=yes"};
  return lines;
}

Status write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out{file};
  out << text;
  out.close();
  return out ? Status{} : Status{StatusCode::Unavailable, "cannot write " + file.string()};
}

// zoo.cfg and myid of one server.
Status write_config(const std::filesystem::path& directory,
                    std::size_t server,
                    const std::vector<std::uint16_t>& ports) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string text;
  for (const std::string& line : config_lines()) {
    text += line + "\n";
  }
  text += "dataDir=" + directory.string() + "\nclientPortAddress=127.0.0.1\nclientPort=" +
          std::to_string(ports[kPortsOfServer * server]) + "\n";
  for (std::size_t other = 0; other < kServers; ++other) {
    const std::size_t first = kPortsOfServer * other;
    text += "server." + std::to_string(other + 1) +
            "=127.0.0.1:" + std::to_string(ports[first + 1]) + ":" +
            std::to_string(ports[first + 2]) + "\n";
  }
  GCOORD_TRY_STATUS(write_file(directory / "zoo.cfg", text));
  return write_file(directory / "myid", std::to_string(server + 1) + "\n");
}

}  // namespace

std::vector<std::string> zookeeper_settings() {
  std::vector<std::string> settings = config_lines();
  settings.insert(settings.end(), machine_flags().begin(), machine_flags().end());
  return settings;
}

Result<std::string> zookeeper_version() {
  auto version = program_version(
      {"java", "-cp", kClassPath, "org.apache.zookeeper.version.VersionInfoMain"}, "version ");
  if (!version.ok() && version.status().code() == StatusCode::FailedPrecondition) {
    return Status{StatusCode::FailedPrecondition, "there is no ZooKeeper in /usr/share/java"};
  }
  return version;
}

Result<ZookeeperCluster> ZookeeperCluster::start(const std::filesystem::path& directory) {
  GCOORD_TRY(const auto ports, chaos::free_ports(kServers * kPortsOfServer));
  ZookeeperCluster cluster;
  std::vector<std::uint16_t> client_ports;
  for (std::size_t server = 0; server < kServers; ++server) {
    const auto own = directory / ("zookeeper-" + std::to_string(server + 1));
    GCOORD_TRY_STATUS(write_config(own, server, ports));
    ChildOptions child;
    child.arguments = {"java"};
    child.arguments.insert(child.arguments.end(), machine_flags().begin(), machine_flags().end());
    child.arguments.insert(child.arguments.end(),
                           {"-cp",
                            kClassPath,
                            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                            (own / "zoo.cfg").string()});
    child.output_file = own.string() + ".log";
    child.error_file = child.output_file;
    child.group = true;
    GCOORD_TRY(auto server_child, ChildProcess::start(child));
    cluster.servers_.push_back(std::move(server_child));
    client_ports.push_back(ports[kPortsOfServer * server]);
    cluster.endpoints_.push_back("127.0.0.1:" + std::to_string(client_ports.back()));
  }
  GCOORD_TRY_STATUS(cluster.await_leader(client_ports));
  return cluster;
}

Status ZookeeperCluster::await_leader(const std::vector<std::uint16_t>& client_ports) {
  const auto deadline = Clock::now() + kStart;
  while (Clock::now() < deadline) {
    std::size_t followers = 0;
    bool led = false;
    for (std::size_t server = 0; server < client_ports.size(); ++server) {
      const std::string mode =
          word_behind(ask_loopback(client_ports[server], {"srvr", "Node count:"}), "Mode: ");
      followers += mode == "follower" ? 1 : 0;
      if (mode == "leader") {
        led = true;
        leader_ = server;
      }
    }
    if (led && followers + 1 == client_ports.size()) {
      return Status{};
    }
    std::this_thread::sleep_for(kLook);
  }
  return Status{StatusCode::DeadlineExceeded, "ZooKeeper has no leader"};
}

}  // namespace gcoord::bench
