#include "chaos/process/etcd_cluster.h"

#include "chaos/process/free_ports.h"

namespace gcoord::chaos {

namespace {

std::string node_name(std::size_t index) {
  return "etcd-" + std::to_string(index + 1);
}

void add_tls(std::vector<std::string>& arguments, const EtcdTls* tls) {
  if (tls == nullptr) {
    return;
  }
  arguments.insert(arguments.end(), {"--cert-file", tls->certificate, "--key-file", tls->key});
  if (tls->demands_certificate) {  // With an authority alone etcd demands them, too.
    arguments.insert(arguments.end(), {"--client-cert-auth", "--trusted-ca-file", tls->authority});
  }
}

}  // namespace

Result<EtcdCluster> EtcdCluster::start(const std::filesystem::path& directory,
                                       std::uint32_t node_count,
                                       const std::string& program) {
  return start_members(directory, node_count, {.name = program});
}

Result<EtcdCluster> EtcdCluster::start_secured(const std::filesystem::path& directory,
                                               std::uint32_t node_count,
                                               const EtcdTls& tls) {
  return start_members(directory, node_count, {.name = "etcd", .tls = &tls});
}

Result<EtcdCluster> EtcdCluster::start_members(const std::filesystem::path& directory,
                                               std::uint32_t node_count,
                                               const Program& program) {
  GCOORD_TRY(const auto ports, free_ports(std::size_t{node_count} * 2));
  EtcdCluster cluster;
  std::vector<std::string> peer_urls;
  std::string members;
  for (std::size_t index = 0; index < node_count; ++index) {
    cluster.endpoints_.push_back("127.0.0.1:" + std::to_string(ports[2 * index]));
    peer_urls.push_back("http://127.0.0.1:" + std::to_string(ports[2 * index + 1]));
    members += (index == 0 ? "" : ",") + node_name(index) + "=" + peer_urls[index];
  }
  for (std::size_t index = 0; index < node_count; ++index) {
    const std::string client_url =
        (program.tls == nullptr ? "http://" : "https://") + cluster.endpoints_[index];
    ChildOptions child;
    child.arguments = {program.name,
                       "--name",
                       node_name(index),
                       "--data-dir",
                       (directory / node_name(index)).string(),
                       "--listen-client-urls",
                       client_url,
                       "--advertise-client-urls",
                       client_url,
                       "--listen-peer-urls",
                       peer_urls[index],
                       "--initial-advertise-peer-urls",
                       peer_urls[index],
                       "--initial-cluster",
                       members,
                       "--initial-cluster-state",
                       "new",
                       "--logger",
                       "zap",
                       "--log-level",
                       "error"};
    add_tls(child.arguments, program.tls);
    child.output_file = (directory / (node_name(index) + ".log")).string();
    child.error_file = child.output_file;
    child.group = true;
    GCOORD_TRY(auto process, ChildProcess::start(child));
    cluster.nodes_.push_back(std::move(process));
  }
  return cluster;
}

std::vector<pid_t> EtcdCluster::pids() const {
  std::vector<pid_t> list;
  for (const ChildProcess& node : nodes_) {
    list.push_back(node.pid());
  }
  return list;
}

}  // namespace gcoord::chaos
