#include "server/node/loop_events.h"

#include <csignal>

namespace gcoord::server {

LoopEvents::~LoopEvents() {
  for (auto& descriptor : descriptors_) {
    descriptor.release();
  }
}

void LoopEvents::watch_engine(const std::vector<int>& fds) {
  descriptors_.reserve(fds.size());
  for (const int fd : fds) {
    descriptors_.emplace_back(context_, fd);
  }
  for (auto& descriptor : descriptors_) {
    watch(descriptor);
  }
}

Status LoopEvents::watch_signals() {
  asio::error_code error;
  signals_.add(SIGTERM, error);
  if (!error) {
    signals_.add(SIGINT, error);
  }
  if (!error) {
    signals_.add(SIGHUP, error);
  }
  if (error) {
    return Status{StatusCode::Internal, "cannot watch signals: " + error.message()};
  }
  await_signal();
  return Status{};
}

void LoopEvents::await_signal() {
  signals_.async_wait([this](const asio::error_code& failed, int signal) {
    if (failed) {
      return;
    }
    if (signal == SIGHUP) {
      hangup_ = true;
    } else {
      stopping_ = true;
      stop_reason_ = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    }
    await_signal();
  });
}

void LoopEvents::rearm() {
  for (auto* descriptor : unwatched_) {
    watch(*descriptor);
  }
  unwatched_.clear();
}

void LoopEvents::watch(asio::posix::stream_descriptor& descriptor) {
  descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, &descriptor](const asio::error_code& error) {
                          if (!error) {
                            unwatched_.push_back(&descriptor);
                          }
                        });
}

}  // namespace gcoord::server
