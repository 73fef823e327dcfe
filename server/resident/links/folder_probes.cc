#include "server/resident/links/folder_probes.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace gcoord::server {

// Of one look, kept by the caller and its thread.
struct FolderProbes::Answer {
  std::mutex mutex;
  std::condition_variable there;
  std::optional<bool> reached;  // Under mutex.

  void tell(bool yes) {
    const std::lock_guard lock(mutex);
    reached = yes;
    there.notify_one();
  }

  std::optional<bool> wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    there.wait_for(lock, time, [this] { return reached.has_value(); });
    return reached;
  }
};

FolderProbes::FolderProbes()
    : FolderProbes([](const SocketFolder& folder) { return open_socket_folder(folder).ok(); },
                   Timeouts{}) {}

FolderProbes::FolderProbes(Probe probe, const Timeouts& timeouts)
    : probe_(std::move(probe)), timeouts_(timeouts) {}

std::shared_ptr<FolderProbes::Answer> FolderProbes::begin(const SocketFolder& folder) const {
  auto answer = std::make_shared<Answer>();
  try {
    std::thread([probe = probe_, folder, answer] { answer->tell(probe(folder)); }).detach();
  } catch (const std::system_error&) {  // The system gives no thread.
    answer->tell(false);
  }
  return answer;
}

std::optional<bool> FolderProbes::reaches(NodeId peer, const SocketFolder& folder) {
  const auto now = std::chrono::steady_clock::now();
  const auto [found, added] = under_way_.try_emplace(peer.value);
  UnderWay& look = found->second;
  const bool of_another = !added && !(look.folder == folder);
  if (of_another && look.answer->wait_for(std::chrono::milliseconds{0}).has_value()) {
    look.answer.reset();  // Nobody wants it any more.
  }
  if (look.answer == nullptr) {
    look = {folder, now, begin(folder)};
  } else if (of_another) {
    return now >= look.begun + timeouts_.give_up ? std::optional{false} : std::nullopt;
  }
  const bool fresh = look.begun == now;
  const auto reached = look.answer->wait_for(fresh ? timeouts_.wait : std::chrono::milliseconds{0});
  if (reached.has_value()) {
    under_way_.erase(found);
    return reached;
  }
  return now >= look.begun + timeouts_.give_up ? std::optional{false} : std::nullopt;
}

}  // namespace gcoord::server
