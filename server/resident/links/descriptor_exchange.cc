#include "server/resident/links/descriptor_exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// One look at one peer.
constexpr int kLookMs = 20;
// How long a caller waits until the call is answered: the other thread's looks at two peers.
constexpr int kAnswerMs = 200;

// What the answering side says first: until then a call lies in a queue, perhaps of a process that
// is gone.
constexpr std::byte kAnswered{1};

// A stranger at the other end is no reason to give up.
bool is_patience(const Status& status) {
  return status.code() == StatusCode::DeadlineExceeded ||
         status.code() == StatusCode::Unavailable || status.code() == StatusCode::PermissionDenied;
}

Status not_answered() {
  return {StatusCode::Unavailable, "the peer did not answer"};
}

}  // namespace

ResidentJoin::ResidentJoin(const ResidentJoinOptions& options) : options_(options) {
  for (const NodeId peer : options.peers) {
    sought_.push_back({.peer = peer});
  }
  thread_ = std::thread([this] { run(); });
}

ResidentJoin::~ResidentJoin() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  for (const Sought& sought : sought_) {
    if (sought.listener.valid()) {
      remove_socket(sought);
    }
  }
}

void ResidentJoin::remove_socket(const Sought& sought) const {
  if (const auto folder = open_socket_folder(options_.folder); folder.ok()) {
    ::unlink(socket_path(folder.value(), sought.peer).c_str());
  }
}

void ResidentJoin::seek(NodeId peer, const SocketFolder& folder) {
  {
    const std::lock_guard lock(mutex_);
    for (Sought& sought : sought_) {
      if (sought.peer == peer) {
        sought.wanted = true;
        sought.folder = folder;
      }
    }
  }
  wake_.notify_one();
}

void ResidentJoin::forget(NodeId peer) {
  const std::lock_guard lock(mutex_);
  for (Sought& sought : sought_) {
    sought.wanted = sought.wanted && sought.peer != peer;
  }
  std::erase_if(found_, [peer](const Found& found) { return found.peer == peer; });
}

std::optional<ResidentJoin::Found> ResidentJoin::take() {
  const std::lock_guard lock(mutex_);
  if (found_.empty()) {
    return std::nullopt;
  }
  Found found = std::move(found_.front());
  found_.erase(found_.begin());
  return found;
}

void ResidentJoin::run() {
  while (wait_for_wish()) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds{kLookMs};
    for (Sought& sought : sought_) {
      bool wanted = false;
      SocketFolder folder;
      {
        const std::lock_guard lock(mutex_);
        wanted = sought.wanted;
        folder = sought.folder;
      }
      if (wanted) {
        end_look(sought, look(sought, folder));
      }
    }
    rest_until(next);
  }
}

void ResidentJoin::rest_until(std::chrono::steady_clock::time_point next) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, next, [this] { return stop_; });
}

// False: to be stopped.
bool ResidentJoin::wait_for_wish() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] {
    return stop_ || std::any_of(sought_.begin(), sought_.end(), [](const Sought& each) {
             return each.wanted;
           });
  });
  return !stop_;
}

void ResidentJoin::end_look(Sought& sought, Result<netcore::OwnedFd> looked) {
  if (!looked.ok() && is_patience(looked.status())) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (sought.listener.valid()) {
    sought.listener = netcore::OwnedFd{};
    remove_socket(sought);
  }
  sought.wanted = false;
  if (looked.ok()) {
    found_.push_back({sought.peer, std::move(looked).value(), {}});
  } else {
    found_.push_back({sought.peer, {}, looked.status()});
  }
}

// Calls go up and answers down, so that no two nodes wait for each other.
Result<netcore::OwnedFd> ResidentJoin::look(Sought& sought, const SocketFolder& folder) {
  return sought.peer < options_.self ? call(folder) : answer(sought);
}

Result<netcore::OwnedFd> ResidentJoin::call(const SocketFolder& folder) const {
  GCOORD_TRY(const netcore::OwnedFd there, open_socket_folder(folder));
  GCOORD_TRY(netcore::OwnedFd socket, netcore::call_at(socket_path(there, options_.self), kLookMs));
  pollfd readable{socket.get(), POLLIN, 0};
  std::byte answer{};
  const bool answered = ::poll(&readable, 1, kAnswerMs) == 1 &&
                        ::recv(socket.get(), &answer, 1, MSG_DONTWAIT) == 1 && answer == kAnswered;
  if (!answered) {
    return not_answered();
  }
  return socket;
}

Result<netcore::OwnedFd> ResidentJoin::answer(Sought& sought) const {
  if (!sought.listener.valid()) {
    GCOORD_TRY(const netcore::OwnedFd here, open_socket_folder(options_.folder));
    const std::string path = socket_path(here, sought.peer);
    ::unlink(path.c_str());  // Of a life that was killed.
    GCOORD_TRY(sought.listener, netcore::listen_at(path));
  }
  GCOORD_TRY(netcore::OwnedFd socket, netcore::accept_at(sought.listener, kLookMs));
  if (::send(socket.get(), &kAnswered, 1, MSG_NOSIGNAL) != 1) {
    return not_answered();
  }
  return socket;
}

}  // namespace gcoord::server
