#include "chaos/process/local_cluster.h"

#include "chaos/process/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <utility>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds left_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return std::max(left, std::chrono::milliseconds{0});
}

std::string last_lines(const std::filesystem::path& file) {
  constexpr std::size_t kShown = 5;
  std::deque<std::string> lines;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > kShown) {
      lines.pop_front();
    }
  }
  std::string text;
  for (const std::string& line : lines) {
    text += "\n    " + line;
  }
  return text;
}

// Between two looks whether a node takes connections.
constexpr std::chrono::milliseconds kServingPoll{5};

// Whether somebody listens at a numeric address.
bool takes_connections(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(colon + 1))));
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool taken =
      socket >= 0 &&
      ::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr) == 1 &&
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (socket >= 0) {
    ::close(socket);
  }
  return taken;
}

}  // namespace

Result<LocalCluster> LocalCluster::plan(LocalClusterOptions options) {
  GCOORD_ASSERT(options.node_count > 0);
  GCOORD_ASSERT(options.arguments_of_node.empty() ||
                options.arguments_of_node.size() == options.node_count);
  GCOORD_ASSERT(options.node_ids.empty() || options.node_ids.size() == options.node_count);
  GCOORD_ASSERT(options.environment_of_node.empty() ||
                options.environment_of_node.size() == options.node_count);
  GCOORD_ASSERT(options.host_of_node.empty() || options.host_of_node.size() == options.node_count);
  if (!std::filesystem::exists(options.program)) {
    return Status{StatusCode::NotFound,
                  options.program.string() + " is not built; ./gcoord build gcoordd makes it"};
  }
  GCOORD_TRY(const auto ports, free_ports(options.node_count * std::size_t{3}));
  LocalCluster cluster{std::move(options)};
  for (std::size_t first = 0; first < ports.size(); first += 3) {
    cluster.nodes_.push_back({.client_port = ports[first],
                              .peer_port = ports[first + 1],
                              .metrics_port = ports[first + 2]});
  }
  return cluster;
}

LocalCluster::Node& LocalCluster::node(std::uint32_t node_id) {
  GCOORD_ASSERT(node_id >= 1);
  GCOORD_ASSERT(node_id <= nodes_.size());
  return nodes_[node_id - 1];
}

const LocalCluster::Node& LocalCluster::node(std::uint32_t node_id) const {
  return const_cast<LocalCluster*>(this)->node(node_id);
}

std::string LocalCluster::address(std::uint32_t node_id, std::uint16_t port) const {
  const auto& hosts = options_.host_of_node;
  return (hosts.empty() ? "127.0.0.1" : hosts[node_id - 1]) + ":" + std::to_string(port);
}

std::filesystem::path LocalCluster::data_directory(std::uint32_t node_id) const {
  return options_.directory / ("node-" + std::to_string(node_id));
}

std::filesystem::path LocalCluster::log_file(std::uint32_t node_id) const {
  return options_.directory / ("node-" + std::to_string(node_id) + ".log");
}

std::filesystem::path LocalCluster::trace_file(std::uint32_t node_id, std::uint32_t life) const {
  return options_.directory /
         ("node-" + std::to_string(node_id) + "-life-" + std::to_string(life) + ".trace");
}

std::vector<NodeTrace> LocalCluster::trace_files() const {
  std::vector<NodeTrace> files;
  for (std::uint32_t id = 1; options_.trace && id <= options_.node_count; ++id) {
    std::uint32_t life = 0;
    for (const std::uint32_t memory : node(id).memory_of_life) {
      const auto first = trace_file(id, ++life);
      auto file = first;
      for (std::uint32_t engine = 2; std::filesystem::exists(file); ++engine) {
        files.push_back({file, memory});
        file = first;
        file += "." + std::to_string(engine);
      }
    }
  }
  return files;
}

std::vector<std::string> LocalCluster::arguments(std::uint32_t node_id) const {
  const Node& self = node(node_id);
  const auto name_of = [this](std::uint32_t number) {
    return std::to_string(options_.node_ids.empty() ? number : options_.node_ids[number - 1]);
  };
  const auto& program = self.program.empty() ? options_.program : self.program;
  std::vector<std::string> list = {program.string(),
                                   "--node-id",
                                   name_of(node_id),
                                   "--cluster-name",
                                   "local",
                                   "--listen-client",
                                   address(node_id, self.client_port),
                                   "--listen-peer",
                                   address(node_id, self.peer_port),
                                   "--listen-metrics",
                                   address(node_id, self.metrics_port),
                                   "--data-dir",
                                   data_directory(node_id).string(),
                                   "--shards",
                                   std::to_string(options_.shards)};
  for (std::uint32_t other = 1; other <= options_.node_count; ++other) {
    const Node& peer = node(other);
    const bool routed = route_ && other != node_id;
    const std::uint16_t peer_port = routed ? route_(node_id, other) : peer.peer_port;
    list.push_back("--peer");
    list.push_back(name_of(other) + "=" + address(other, peer_port) + "," +
                   address(other, peer.client_port));
  }
  if (options_.trace) {
    list.insert(list.end(), {"--trace", trace_file(node_id, self.lives()).string()});
  }
  list.insert(list.end(), options_.node_arguments.begin(), options_.node_arguments.end());
  if (!options_.arguments_of_node.empty()) {
    const auto& own = options_.arguments_of_node[node_id - 1];
    list.insert(list.end(), own.begin(), own.end());
  }
  if (options_.arguments_of_life) {
    const auto own = options_.arguments_of_life(node_id, self.lives());
    list.insert(list.end(), own.begin(), own.end());
  }
  if (self.rejoins) {
    list.emplace_back("--rejoin");
  }
  return list;
}

void LocalCluster::set_program(std::uint32_t node_id, std::filesystem::path program) {
  node(node_id).program = std::move(program);
}

void LocalCluster::set_environment_once(
    std::uint32_t node_id, std::vector<std::pair<std::string, std::string>> variables) {
  node(node_id).environment_once = std::move(variables);
}

Status LocalCluster::spawn(std::uint32_t node_id, const std::vector<std::string>& more) {
  node(node_id).memory_of_life.push_back(node(node_id).memory);
  ChildOptions child;
  child.arguments = arguments(node_id);
  child.arguments.insert(child.arguments.end(), more.begin(), more.end());
  child.capture_output = true;
  child.error_file = log_file(node_id).string();
  if (!options_.environment_of_node.empty()) {
    child.environment = options_.environment_of_node[node_id - 1];
  }
  const auto once = std::exchange(node(node_id).environment_once, {});
  child.environment.insert(child.environment.end(), once.begin(), once.end());
  child.group = true;  // Ctrl-C reaches the caller, which then ends its nodes in order.
  GCOORD_TRY(auto process, ChildProcess::start(child));
  node(node_id).process.clear();
  node(node_id).process.push_back(std::move(process));
  return Status{};
}

Status LocalCluster::wait_ready(std::uint32_t node_id, std::chrono::milliseconds timeout) {
  GCOORD_ASSERT(!node(node_id).process.empty());
  const auto line = node(node_id).process.front().read_line(timeout);
  if (!line.has_value() || line->rfind("gcoordd ready", 0) != 0) {
    return Status{StatusCode::Unavailable,
                  "node " + std::to_string(node_id) +
                      " did not become ready; its log says:" + last_lines(log_file(node_id))};
  }
  return Status{};
}

Status LocalCluster::wait_serving(std::uint32_t node_id, std::chrono::milliseconds timeout) {
  GCOORD_ASSERT(!node(node_id).process.empty());
  ChildProcess& process = node(node_id).process.front();
  const auto deadline = Clock::now() + timeout;
  const std::string endpoint = address(node_id, node(node_id).client_port);
  const std::string pages = address(node_id, node(node_id).metrics_port);  // Opened after that.
  while (!takes_connections(endpoint) || !takes_connections(pages)) {
    if (process.wait_for(kServingPoll).has_value() || Clock::now() >= deadline) {
      return Status{StatusCode::Unavailable,
                    "node " + std::to_string(node_id) +
                        " does not serve; its log says:" + last_lines(log_file(node_id))};
    }
  }
  return Status{};
}

Status LocalCluster::start_all(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (std::uint32_t id = 1; id <= options_.node_count; ++id) {
    GCOORD_TRY_STATUS(spawn(id));
  }
  for (std::uint32_t id = 1; id <= options_.node_count; ++id) {
    GCOORD_TRY_STATUS(wait_ready(id, left_until(deadline)));
  }
  return Status{};
}

void LocalCluster::lose_memory(std::uint32_t node_id) {
  GCOORD_ASSERT(!running(node_id));
  ++node(node_id).memory;
  node(node_id).rejoins = true;
}

void LocalCluster::end_rejoin(std::uint32_t node_id) {
  node(node_id).rejoins = false;
}

std::vector<std::uint32_t> LocalCluster::rejoining() const {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t id = 1; id <= options_.node_count; ++id) {
    if (node(id).rejoins) {
      nodes.push_back(id);
    }
  }
  return nodes;
}

void LocalCluster::kill(std::uint32_t node_id) {
  node(node_id).process.clear();
}

void LocalCluster::signal(std::uint32_t node_id, int number) {
  for (ChildProcess& process : node(node_id).process) {
    process.signal(number);
  }
}

std::optional<int> LocalCluster::wait_exit(std::uint32_t node_id,
                                           std::chrono::milliseconds timeout) {
  GCOORD_ASSERT(!node(node_id).process.empty());
  return node(node_id).process.front().wait_for(timeout);
}

std::uint32_t LocalCluster::stop_all(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (Node& each : nodes_) {
    for (ChildProcess& process : each.process) {
      process.signal(SIGTERM);
    }
  }
  std::uint32_t clean = 0;
  for (Node& each : nodes_) {
    for (ChildProcess& process : each.process) {
      clean += process.wait_for(left_until(deadline)) == 0 ? 1u : 0u;
    }
    each.process.clear();
  }
  return clean;
}

bool LocalCluster::running(std::uint32_t node_id) const {
  const Node& self = node(node_id);
  return !self.process.empty() && self.process.front().running();
}

pid_t LocalCluster::pid(std::uint32_t node_id) const {
  const Node& self = node(node_id);
  return self.process.empty() ? -1 : self.process.front().pid();
}

std::uint16_t LocalCluster::metrics_port(std::uint32_t node_id) const {
  return node(node_id).metrics_port;
}

std::uint16_t LocalCluster::peer_port(std::uint32_t node_id) const {
  return node(node_id).peer_port;
}

std::vector<std::string> LocalCluster::endpoints() const {
  std::vector<std::string> list;
  for (std::uint32_t id = 1; id <= options_.node_count; ++id) {
    list.push_back(address(id, node(id).client_port));
  }
  return list;
}

}  // namespace gcoord::chaos
