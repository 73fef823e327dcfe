#include "server/resident_join.h"

#include "netcore/gpu_nvlink.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace gcoord::server {
namespace {

constexpr int kLookMs = 200;

// The caller of a socket removes its file.
struct SocketFile {
  explicit SocketFile(std::string file) : path(std::move(file)) { remove(); }

  ~SocketFile() { remove(); }

  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::string path;
};

bool is_patience(const Status& status) {
  return status.code() == StatusCode::DeadlineExceeded || status.code() == StatusCode::Unavailable;
}

}  // namespace

std::string resident_socket_path(std::uint16_t port, NodeId caller) {
  const std::string name =
      "gcoord-turn-" + std::to_string(port) + "-" + std::to_string(caller.value);
  return (std::filesystem::temp_directory_path() / name).string();
}

ResidentJoin::ResidentJoin(const ResidentJoinOptions& options, ResidentNode& node)
    : options_(options), node_(node), thread_([this] { run(); }) {}

ResidentJoin::~ResidentJoin() {
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void ResidentJoin::run() {
  result_ = join_all();
  done_.store(true, std::memory_order_release);  // Pairs with done().
}

// Calls go up and answers down, so that no two nodes wait for each other.
Status ResidentJoin::join_all() {
  auto peers = options_.peers;
  std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const auto& peer : peers) {
    if (peer.id < options_.self) {
      GCOORD_TRY_STATUS(call(peer));
    }
  }
  for (const auto& peer : peers) {
    if (peer.id > options_.self) {
      GCOORD_TRY_STATUS(answer(peer));
    }
  }
  return {};
}

Status ResidentJoin::call(const ResidentJoinOptions::Peer& peer) {
  const std::string path = resident_socket_path(peer.port, options_.self);
  while (!stop_.load(std::memory_order_relaxed)) {
    auto socket = netcore::call_at(path, kLookMs);
    if (socket.ok()) {
      const Status taken = take(peer.id, socket.value());
      if (taken.ok() || !is_patience(taken)) {
        return taken;
      }
    }
  }
  return {StatusCode::Cancelled, "stopped while joining"};
}

Status ResidentJoin::answer(const ResidentJoinOptions::Peer& peer) {
  const SocketFile file(resident_socket_path(options_.port, peer.id));
  GCOORD_TRY(const netcore::OwnedFd listener, netcore::listen_at(file.path));
  while (!stop_.load(std::memory_order_relaxed)) {
    auto socket = netcore::accept_at(listener, kLookMs);
    if (socket.ok()) {
      const Status taken = take(peer.id, socket.value());
      if (taken.ok() || !is_patience(taken)) {
        return taken;
      }
    } else if (!is_patience(socket.status())) {
      return socket.status();
    }
  }
  return {StatusCode::Cancelled, "stopped while joining"};
}

Status ResidentJoin::take(NodeId peer, const netcore::OwnedFd& socket) {
  netcore::GpuNvlinkOptions options;
  options.cluster = options_.cluster;
  options.self = options_.self;
  options.peer = peer;
  options.layout = node_.channel_layout();
  options.timeout_ms = 1000;
  GCOORD_TRY(auto channel, netcore::join_gpu_nvlink(node_.registry(), socket, options));
  node_.connect(peer, std::move(channel));
  return {};
}

}  // namespace gcoord::server
