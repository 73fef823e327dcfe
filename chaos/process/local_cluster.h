// A cluster of gcoordd processes on loopback, for the demo and the benches, or on hosts that a test
// has made.
//
// The nodes are children of the calling thread: they die with it, and each is signalled by its own
// process id only. Node ids are 1 to node_count. Their data directories and logs lie in one
// directory of the caller's. One thread.
#pragma once

#include "common/host/child_process.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

struct LocalClusterOptions {
  std::filesystem::path program;    // gcoordd.
  std::filesystem::path directory;  // Exists; gets node-1/, node-1.log and so on.
  std::uint32_t node_count = 3;
  // Ids of nodes 1, 2 and so on, by which they name each other; empty: 1, 2 and so on. Here they
  // keep their numbers.
  std::vector<std::uint32_t> node_ids;
  std::uint32_t shards = 65'536;
  std::vector<std::string> node_arguments;  // Further flags for every node.
  // The addresses that node 1, 2 and so on listen at; empty: all on loopback.
  std::vector<std::string> host_of_node;
  // Further flags of node 1, 2 and so on; empty, or one list for each.
  std::vector<std::vector<std::string>> arguments_of_node;
  // Further flags of one life of a node, the first of which is life 1; empty: none.
  std::function<std::vector<std::string>(std::uint32_t node, std::uint32_t life)> arguments_of_life;
  bool trace = false;  // Each life of a node writes a trace of its own.
  // What node 1, 2 and so on find in their environment; empty, or one list for each.
  std::vector<std::vector<std::pair<std::string, std::string>>> environment_of_node;
};

// The trace file of one engine of a node.
struct NodeTrace {
  std::filesystem::path file;
  std::uint32_t memory = 1;  // Rises when the node loses its directory.
};

class LocalCluster {
 public:
  // Chooses ports; starts nothing.
  static Result<LocalCluster> plan(LocalClusterOptions options);

  // Node `from` will be told to reach node `to` at another port than its own: there is something
  // between them. Before anything starts.
  using PeerRoute = std::function<std::uint16_t(std::uint32_t from, std::uint32_t to)>;

  void route_peers(PeerRoute route) { route_ = std::move(route); }

  // Starts every node, then waits until each says that it is ready.
  Status start_all(std::chrono::milliseconds timeout);

  // Another gcoordd for the node from its next life on, for example of another release.
  void set_program(std::uint32_t node_id, std::filesystem::path program);

  // What a node's next life finds in its environment besides; the one after it does not.
  void set_environment_once(std::uint32_t node_id,
                            std::vector<std::pair<std::string, std::string>> variables);

  // Starts one, with `more` flags for this life, and returns; wait_ready says when it serves and
  // has heard a majority, wait_serving when it takes connections, alone or not. The failure of a
  // node carries the last lines of its log.
  Status spawn(std::uint32_t node_id, const std::vector<std::string>& more = {});
  Status wait_ready(std::uint32_t node_id, std::chrono::milliseconds timeout);
  Status wait_serving(std::uint32_t node_id, std::chrono::milliseconds timeout);

  // The node's directory is lost, or found to be rotten: until end_rejoin() it is started with
  // --rejoin (docs/adr/0025). It is not running.
  void lose_memory(std::uint32_t node_id);
  void end_rejoin(std::uint32_t node_id);

  // Those between the two.
  std::vector<std::uint32_t> rejoining() const;

  // SIGKILL; the process is gone when this returns.
  void kill(std::uint32_t node_id);

  // To a running node, for example SIGSTOP.
  void signal(std::uint32_t node_id, int number);

  // The exit status of a node that ends by itself, as a shell says it; empty at the deadline.
  std::optional<int> wait_exit(std::uint32_t node_id, std::chrono::milliseconds timeout);

  // SIGTERM to all, SIGKILL to those that are left at the timeout. How many ended by themselves
  // with exit code 0.
  std::uint32_t stop_all(std::chrono::milliseconds timeout);

  bool running(std::uint32_t node_id) const;
  pid_t pid(std::uint32_t node_id) const;
  std::uint16_t metrics_port(std::uint32_t node_id) const;
  std::uint16_t peer_port(std::uint32_t node_id) const;
  std::filesystem::path data_directory(std::uint32_t node_id) const;
  std::filesystem::path log_file(std::uint32_t node_id) const;

  // The command line of the node's life that runs, or ran last.
  std::vector<std::string> arguments(std::uint32_t node_id) const;

  // "host:port" of the client ports, by rising node id.
  std::vector<std::string> endpoints() const;

  // Of all lives so far, where they exist; those of a killed node end where its last write did. A
  // life that comes back without its memory writes more than one.
  std::vector<NodeTrace> trace_files() const;

  std::uint32_t node_count() const { return options_.node_count; }

  std::uint32_t shards() const { return options_.shards; }

  const std::filesystem::path& directory() const { return options_.directory; }

 private:
  struct Node {
    std::uint16_t client_port = 0;
    std::uint16_t peer_port = 0;
    std::uint16_t metrics_port = 0;
    std::vector<std::uint32_t> memory_of_life;
    std::uint32_t memory = 1;
    std::filesystem::path program;  // Empty: that of all.
    bool rejoins = false;
    std::vector<std::pair<std::string, std::string>> environment_once;
    std::vector<ChildProcess> process;  // Empty: never started or killed. At most one.

    std::uint32_t lives() const { return static_cast<std::uint32_t>(memory_of_life.size()); }
  };

  explicit LocalCluster(LocalClusterOptions options) : options_(std::move(options)) {}

  Node& node(std::uint32_t node_id);
  const Node& node(std::uint32_t node_id) const;
  std::string address(std::uint32_t node_id, std::uint16_t port) const;
  std::filesystem::path trace_file(std::uint32_t node_id, std::uint32_t life) const;

  LocalClusterOptions options_;
  PeerRoute route_;
  std::vector<Node> nodes_;
};

}  // namespace gcoord::chaos
