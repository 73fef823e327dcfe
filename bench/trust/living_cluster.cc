#include "bench/trust/living_cluster.h"

#include "chaos/process/cluster_watch.h"
#include "chaos/process/free_ports.h"
#include "gcoord/client.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace gcoord::bench {
namespace {

namespace fs = std::filesystem;

// These only bound a failure.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::seconds kClientPatience{30};

// All clients of a measurement come from one address.
constexpr std::uint32_t kConnectionsMax = 17'000;

// Any that is not 0.
constexpr const char* kClusterId = "1701";

// Whoever has a certificate of the cluster's authority.
constexpr std::array<const char*, 2> kUsers = {"app", "admin"};

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

// Whole or not at all, as an operator's tools replace files under a process that reads them.
Status replace_file(const fs::path& file, const std::string& text) {
  const fs::path fresh = file.string() + ".new";
  {
    std::ofstream out{fresh, std::ios::trunc};
    out << text;
    if (!out.flush()) {
      return Status{StatusCode::FailedPrecondition, "cannot write " + fresh.string()};
    }
  }
  std::error_code error;
  fs::permissions(fresh, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::rename(fresh, file, error);
  return error ? Status{StatusCode::FailedPrecondition, file.string() + ": " + error.message()}
               : Status{};
}

std::string line(const char* key, const std::string& value) {
  return std::string(key) + " = \"" + value + "\"\n";
}

std::string address(std::uint16_t port) {
  return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

Result<std::unique_ptr<LivingCluster>> LivingCluster::start(const LivingOptions& options,
                                                            const TrustSettings& settings) {
  GCOORD_TRY(auto scratch, chaos::ScratchDirectory::make(options.directory, "living"));
  std::unique_ptr<LivingCluster> cluster{new LivingCluster{options, std::move(scratch)}};
  cluster->settings_ = settings;
  GCOORD_TRY_STATUS(cluster->make_files());
  GCOORD_TRY(const auto ports, chaos::free_ports(std::size_t{3} * kNodes));
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    Node& one = cluster->nodes_[node - 1];
    one.client = ports[3 * node - 3];
    one.peer = ports[3 * node - 2];
    one.metrics = ports[3 * node - 1];
  }
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    GCOORD_TRY_STATUS(cluster->write_configuration(node));
    GCOORD_TRY_STATUS(cluster->spawn(node));
  }
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    GCOORD_TRY_STATUS(cluster->await_start(node));
  }
  return cluster;
}

Status LivingCluster::spawn(std::uint32_t node) {
  const std::string name = "node-" + std::to_string(node);
  ChildOptions child;
  child.arguments = {(options_.programs / "gcoordd").string(),
                     "--config",
                     path(name + ".toml").string(),
                     "--log-file",
                     path(name + ".log").string(),
                     "--log-level",
                     "info"};
  child.capture_output = true;
  child.error_file = path(name + ".err").string();
  child.group = true;
  GCOORD_TRY(auto process, ChildProcess::start(child));
  nodes_[node - 1].process.clear();
  nodes_[node - 1].process.push_back(std::move(process));
  return Status{};
}

Status LivingCluster::await_start(std::uint32_t node) {
  if (nodes_[node - 1].process.front().read_line(kPatience).has_value()) {
    return Status{};
  }
  const std::string name = "node-" + std::to_string(node);
  return Status{StatusCode::FailedPrecondition,
                name + " did not start: " + text_of(path(name + ".err"))};
}

Status LivingCluster::restart(std::uint32_t node) {
  ChildProcess& process = nodes_[node - 1].process.front();
  process.signal(SIGTERM);
  if (process.wait_for(kPatience).value_or(-1) != 0) {
    return Status{StatusCode::FailedPrecondition,
                  "node " + std::to_string(node) + " did not end in order"};
  }
  GCOORD_TRY_STATUS(spawn(node));
  return await_start(node);
}

Result<std::uint32_t> LivingCluster::encrypted_links() const {
  auto connected = client::Client::connect(by_certificate());
  if (!connected.ok()) {
    return chaos::from_client(connected.status());
  }
  std::uint32_t count = 0;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    GCOORD_TRY(const Json said, chaos::node_status(connected.value(), node));
    for (const Json& peer : said["peers"]) {
      const bool has_tls = peer["transport"].dump().find("with tls") != std::string::npos;
      count += has_tls && peer.value("live", false) ? 1 : 0;
    }
  }
  return count;
}

LivingCluster::~LivingCluster() {
  for (Node& node : nodes_) {
    for (ChildProcess& process : node.process) {
      process.signal(SIGTERM);
    }
  }
  for (Node& node : nodes_) {
    for (ChildProcess& process : node.process) {
      static_cast<void>(process.wait_for(std::chrono::seconds{10}));
    }
  }
}

Status LivingCluster::make(const std::vector<std::string>& words) const {
  ChildOptions child;
  child.arguments = {(options_.programs / "gcoordctl").string()};
  child.arguments.insert(child.arguments.end(), words.begin(), words.end());
  child.environment = {
      {"GCOORD_ENDPOINTS", ""}, {"GCOORD_CONTEXT", ""}, {"XDG_CONFIG_HOME", "/nonexistent"}};
  child.capture_output = true;
  child.error_file = path("gcoordctl.err").string();
  std::error_code none;
  fs::remove(path("gcoordctl.err"), none);  // Of the command before.
  GCOORD_TRY(auto process, ChildProcess::start(child));
  const std::string out = process.read_all(kPatience);
  if (process.wait_for(kPatience).value_or(-1) == 0) {
    return Status{};
  }
  std::string said;
  for (const std::string& word : words) {
    said += word + " ";
  }
  return Status{StatusCode::FailedPrecondition,
                "gcoordctl " + said + "failed: " + out + text_of(path("gcoordctl.err"))};
}

Status LivingCluster::order(const std::vector<std::string>& words) const {
  std::string all;
  for (const std::string& endpoint : endpoints()) {
    all += (all.empty() ? "" : ",") + endpoint;
  }
  std::vector<std::string> whole = {"--endpoints",
                                    all,
                                    "--cacert",
                                    path("ca.crt").string(),
                                    "--cert",
                                    path("admin.crt").string(),
                                    "--key",
                                    path("admin.key").string()};
  whole.insert(whole.end(), words.begin(), words.end());
  return make(whole);
}

Status LivingCluster::make_files() {
  GCOORD_TRY_STATUS(make({"cluster", "secret", "new", path("cluster.secret").string()}));
  GCOORD_TRY_STATUS(
      make({"cert", "ca", "--dir", path("first").string(), "--cluster-id", kClusterId}));
  GCOORD_TRY_STATUS(issue("first", ""));
  GCOORD_TRY_STATUS(replace_file(path("ca.crt"), text_of(path("first") / "ca.crt")));
  GCOORD_TRY_STATUS(replace_file(path("ca.crl"), text_of(path("first") / "ca.crl")));
  return replace_file(path("bob.password"), "a password of bob's\n");
}

// A pair for each node and user.
Status LivingCluster::issue(const std::string& authority, const std::string& suffix) const {
  const std::string folder = path(authority).string();
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    const std::string number = std::to_string(node);
    GCOORD_TRY_STATUS(make({"cert",
                            "issue",
                            "node",
                            number,
                            "--dir",
                            folder,
                            "--hosts",
                            "127.0.0.1,localhost",
                            "--out",
                            path("node-" + number + suffix).string()}));
  }
  for (const char* user : kUsers) {
    GCOORD_TRY_STATUS(make({"cert",
                            "issue",
                            "user",
                            user,
                            "--dir",
                            folder,
                            "--out",
                            path(std::string(user) + suffix).string()}));
  }
  return Status{};
}

Status LivingCluster::write_configuration(std::uint32_t node) const {
  const Node& self = nodes_[node - 1];
  const std::string name = "node-" + std::to_string(node);
  std::string text = "node_id = " + std::to_string(node) + "\n" + line("cluster_name", "living") +
                     line("cluster_id", kClusterId) +
                     "shards = " + std::to_string(options_.shards) + "\npeer = [\n";
  for (std::uint32_t other = 1; other <= kNodes; ++other) {
    text += "  \"" + std::to_string(other) + "=" + address(nodes_[other - 1].peer) + "," +
            address(nodes_[other - 1].client) + "\",\n";
  }
  text += "]\n" + line("listen_client", address(self.client)) +
          line("listen_peer", address(self.peer)) + line("listen_metrics", address(self.metrics)) +
          line("data_dir", path(name).string()) + line("durability", options_.durability) +
          line("session_keys", settings_.session_keys) +
          "connections_max = " + std::to_string(kConnectionsMax) +
          "\nsource_connections_max = " + std::to_string(kConnectionsMax) +
          "\nidentity_connections_max = " + std::to_string(kConnectionsMax) + "\n";
  if (settings_.has_secret) {
    text += line("cluster_secret", path("cluster.secret").string()) +
            line("peer_proof", settings_.peer_proof);
  }
  if (settings_.has_certificates) {
    text += line("tls_cert", path(name + ".crt").string()) +
            line("tls_key", path(name + ".key").string()) +
            line("tls_ca", path("ca.crt").string()) + line("tls_crl", path("ca.crl").string()) +
            line("client_tls", settings_.client_tls) + line("http_tls", settings_.http_tls) +
            line("peer_tls", settings_.peer_tls);
  }
  return replace_file(path(name + ".toml"), text);
}

std::size_t LivingCluster::count_in_log(std::uint32_t node, const std::string& text) const {
  const std::string log = text_of(path("node-" + std::to_string(node) + ".log"));
  std::size_t count = 0;
  for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
    ++count;
  }
  return count;
}

Status LivingCluster::await_log(std::uint32_t node,
                                const std::string& text,
                                std::size_t count) const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (count_in_log(node, text) < count) {
    if (std::chrono::steady_clock::now() > until) {
      return Status{StatusCode::DeadlineExceeded,
                    "node " + std::to_string(node) + " does not say '" + text + "'"};
    }
    std::this_thread::sleep_for(kLook);
  }
  return Status{};
}

Status LivingCluster::reload(const TrustSettings& settings) {
  settings_ = settings;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    GCOORD_TRY_STATUS(write_configuration(node));
    const std::size_t before = count_in_log(node, "SIGHUP: options read");
    const std::size_t errors = count_in_log(node, "error");
    nodes_[node - 1].process.front().signal(SIGHUP);
    GCOORD_TRY_STATUS(await_log(node, "SIGHUP: options read", before + 1));
    if (count_in_log(node, "error") != errors || count_in_log(node, "only after a restart") != 0) {
      return Status{StatusCode::FailedPrecondition,
                    "node " + std::to_string(node) + " did not take its configuration: " +
                        text_of(path("node-" + std::to_string(node) + ".log"))};
    }
  }
  return Status{};
}

Status LivingCluster::make_users() const {
  // Nodes that have just started do not know each other's releases yet.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  Status first = order({"user", "add", "admin", "--role", "root", "--no-password"});
  while (first.message().find("GC6518") != std::string::npos &&
         std::chrono::steady_clock::now() < until) {
    first = order({"user", "add", "admin", "--role", "root", "--no-password"});
  }
  GCOORD_TRY_STATUS(first);
  GCOORD_TRY_STATUS(
      order({"role", "add", "jobs", "read", "write", "details", "lock.history", "cluster.read"}));
  GCOORD_TRY_STATUS(order({"user", "add", "app", "--role", "jobs", "--no-password"}));
  return order(
      {"user", "add", "bob", "--role", "jobs", "--password-file", path("bob.password").string()});
}

Status LivingCluster::found_second_authority() {
  GCOORD_TRY_STATUS(
      make({"cert", "ca", "--dir", path("second").string(), "--cluster-id", kClusterId}));
  has_second_ = true;
  for (const char* file : {"ca.crt", "ca.crl"}) {
    GCOORD_TRY_STATUS(
        replace_file(path(file), text_of(path("second") / file) + text_of(path("first") / file)));
  }
  return Status{};
}

// The key first: whoever reads a half of the pair has one that does not fit, and reads it again.
Status LivingCluster::renew_certificates() const {
  const char* const authority = has_second_ ? "second" : "first";
  const std::string suffix = has_second_ ? ".of-second" : ".renewed";
  GCOORD_TRY_STATUS(issue(authority, suffix));
  std::vector<std::string> names(kUsers.begin(), kUsers.end());
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    names.push_back("node-" + std::to_string(node));
  }
  for (const std::string& name : names) {
    for (const char* kind : {".key", ".crt"}) {
      GCOORD_TRY_STATUS(replace_file(path(name + kind), text_of(path(name + suffix + kind))));
    }
  }
  return Status{};
}

Status LivingCluster::forget_first_authority() const {
  GCOORD_TRY_STATUS(replace_file(path("ca.crt"), text_of(path("second") / "ca.crt")));
  return replace_file(path("ca.crl"), text_of(path("second") / "ca.crl"));
}

client::ClientOptions LivingCluster::plain() const {
  client::ClientOptions options;
  options.endpoints = endpoints();
  options.client_name = "living";
  options.wait_for_cluster = true;
  // How long something took is in the results; it is no failure on a machine that is busy.
  options.connect_timeout = kClientPatience;
  options.request_timeout = kClientPatience;
  return options;
}

client::ClientOptions LivingCluster::by_certificate() const {
  client::ClientOptions options = plain();
  options.tls.cacert = path("ca.crt").string();
  options.tls.cert = path("app.crt").string();
  options.tls.key = path("app.key").string();
  return options;
}

client::ClientOptions LivingCluster::by_password() const {
  client::ClientOptions options = plain();
  options.tls.cacert = path("ca.crt").string();
  options.credentials.user = "bob";
  options.credentials.password = "a password of bob's";
  return options;
}

std::vector<pid_t> LivingCluster::pids() const {
  std::vector<pid_t> all;
  for (const Node& node : nodes_) {
    all.push_back(node.process.front().pid());
  }
  return all;
}

std::vector<std::string> LivingCluster::endpoints() const {
  std::vector<std::string> all;
  for (const Node& node : nodes_) {
    all.push_back(address(node.client));
  }
  return all;
}

}  // namespace gcoord::bench
