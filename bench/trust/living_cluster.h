// Three nodes on loopback with a configuration file each, which changes while they live: from no
// trust at all to TLS on every port, proofs and session keys.
//
// The files are made as an operator makes them, by gcoordctl: a CA, a certificate for each node and
// for some users, and a secret. Gone with its object. One thread.
#pragma once

#include "chaos/process/scratch_directory.h"
#include "common/host/child_process.h"
#include "common/status.h"
#include "gcoord/options.h"

#include <sys/types.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

// What all nodes have from now on.
struct TrustSettings {
  bool has_secret = false;
  bool has_certificates = false;
  const char* client_tls = "off";
  const char* http_tls = "off";
  const char* peer_tls = "off";
  const char* peer_proof = "required";  // Where there is a secret.
  const char* session_keys = "auto";
};

inline constexpr TrustSettings kClosed{.has_secret = true,
                                       .has_certificates = true,
                                       .client_tls = "required",
                                       .http_tls = "required",
                                       .peer_tls = "required",
                                       .session_keys = "required"};

struct LivingOptions {
  std::filesystem::path directory;  // Parent of what the cluster writes.
  std::filesystem::path programs;   // Where gcoordd and gcoordctl are.
  std::uint32_t shards = 64;
  std::string durability = "durable";
};

class LivingCluster {
 public:
  static constexpr std::uint32_t kNodes = 3;

  // Makes the files, starts the nodes and waits until they serve.
  static Result<std::unique_ptr<LivingCluster>> start(const LivingOptions& options,
                                                      const TrustSettings& settings);

  ~LivingCluster();
  LivingCluster(const LivingCluster&) = delete;
  LivingCluster& operator=(const LivingCluster&) = delete;

  // Writes the configurations anew and sends SIGHUP to one node after the other; returns when all
  // have read theirs. An error when a node says that something is wrong with it.
  Status reload(const TrustSettings& settings);

  // The same settings, and whatever has changed in the files.
  Status reload() { return reload(settings_); }

  // Runs gcoordctl to its end, without endpoints; its output in the message of a failure.
  Status make(const std::vector<std::string>& words) const;

  // gcoordctl as the administrator of make_users(), over TLS.
  Status order(const std::vector<std::string>& words) const;

  // The users "app" (by certificate), "bob" (by password) and the administrator, with roles over
  // all names. Rights are not checked yet. The nodes have certificates, and permit TLS.
  Status make_users() const;

  // Another CA, known besides the first: new certificates may come from it.
  Status found_second_authority();

  // Certificates with new keys for all nodes and users, from the newest CA.
  Status renew_certificates() const;

  // From now on only the newest CA counts.
  Status forget_first_authority() const;

  // How a client connects: in plain text; with the certificate of "app"; with bob's password.
  client::ClientOptions plain() const;
  client::ClientOptions by_certificate() const;
  client::ClientOptions by_password() const;

  // "127.0.0.1:PORT" of the client ports.
  std::vector<std::string> endpoints() const;

  std::uint16_t metrics_port(std::uint32_t node) const { return nodes_[node - 1].metrics; }

  // Ends a node in order and starts it again; returns when it serves.
  Status restart(std::uint32_t node);

  // Links from node to node that have TLS now, as the nodes say it; six are all.
  Result<std::uint32_t> encrypted_links() const;

  std::vector<pid_t> pids() const;

  // SIGKILL. Clients notice as fast as the system closes its sockets; the process is reaped with
  // the cluster, which takes a second after ten thousand of them.
  void kill(std::uint32_t node) { nodes_[node - 1].process.front().signal(SIGKILL); }

  std::filesystem::path path(const std::string& name) const { return scratch_.path() / name; }

 private:
  struct Node {
    std::uint16_t client = 0;
    std::uint16_t peer = 0;
    std::uint16_t metrics = 0;
    std::vector<ChildProcess> process;  // Empty: not started.
  };

  LivingCluster(LivingOptions options, chaos::ScratchDirectory scratch)
      : options_(std::move(options)), scratch_(std::move(scratch)) {}

  Status make_files();
  Status spawn(std::uint32_t node);
  Status await_start(std::uint32_t node);
  Status issue(const std::string& authority, const std::string& suffix) const;
  Status write_configuration(std::uint32_t node) const;
  Status await_log(std::uint32_t node, const std::string& text, std::size_t count) const;
  std::size_t count_in_log(std::uint32_t node, const std::string& text) const;

  LivingOptions options_;
  chaos::ScratchDirectory scratch_;
  TrustSettings settings_;
  bool has_second_ = false;
  std::array<Node, kNodes> nodes_;
};

}  // namespace gcoord::bench
