#include "server/client_io/io_threads.h"

#include <utility>

namespace gcoord::server {

IoThreads::IoThreads(asio::io_context& context, IoCounters& counters)
    : bell_descriptor_(context, bell_.fd()), counters_(counters) {}

IoThreads::~IoThreads() {
  threads_.clear();
  bell_descriptor_.release();  // The bell closes it.
}

Result<std::unique_ptr<IoThreads>> IoThreads::start(asio::io_context& context,
                                                    const Options& options,
                                                    IoCounters& counters) {
  std::unique_ptr<IoThreads> threads(new IoThreads(context, counters));
  GCOORD_TRY_STATUS(threads->start_threads(options));
  threads->await_bell();
  return threads;
}

Status IoThreads::start_threads(const Options& options) {
  IoBackendWish wish = options.backend;
  for (std::uint32_t k = 0; k < options.thread_count; ++k) {
    GCOORD_TRY(OpenedBackend opened, options.open(wish));
    backend_name_ = opened.backend->name();
    if (k == 0) {  // The others get the same or nothing, so that the name says what all do.
      wish = opened.fallback_reason.empty() ? wish : IoBackendWish::Epoll;
      wish = backend_name_ == "io_uring" ? IoBackendWish::IoUring : wish;
      fallback_reason_ = std::move(opened.fallback_reason);
    }
    IoThread::Options thread{
        .bell = bell_, .counters = counters_, .number = k + 1, .ingress = options.ingress};
    if (options.now_us) {
      thread.now_us = options.now_us;
    }
    threads_.push_back(std::make_unique<IoThread>(std::move(opened.backend), thread));
  }
  return Status{};
}

void IoThreads::await_bell() {
  bell_descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                              [this](const asio::error_code& error) {
                                if (!error) {
                                  counters_.loop_wakes.add();
                                  counters_.calls[static_cast<std::size_t>(IoCall::Wake)]->add(2);
                                  bell_.answer();
                                  take_reports();
                                  await_bell();
                                }
                              });
}

std::unique_ptr<ClientSocket> IoThreads::make(int fd, std::unique_ptr<ConnectionTls>& tls) {
  IoThread* fewest = nullptr;
  for (const auto& thread : threads_) {
    if (!thread->stalled() && (fewest == nullptr || thread->socket_count < fewest->socket_count)) {
      fewest = thread.get();
    }
  }
  if (fewest == nullptr) {
    return nullptr;
  }
  const std::uint64_t key = ++last_key_;
  fewest->post({.kind = IoCommand::Kind::Add, .fd = fd, .socket = key, .tls = std::move(tls)});
  ++fewest->socket_count;
  auto socket = std::make_unique<HandedSocket>(*fewest, key, [this, fewest, key] {
    --fewest->socket_count;
    sockets_.erase(key);
  });
  sockets_.emplace(key, socket.get());
  return socket;
}

void IoThreads::take_reports() {
  bell_.silence();
  IoReport report;
  for (const auto& thread : threads_) {
    while (thread->take(report)) {
      // Else the connection was closed meanwhile.
      if (const auto found = sockets_.find(report.socket); found != sockets_.end()) {
        found->second->on_report(report);
      }
    }
  }
  hand_over();  // Reads that go on without a turn.
}

void IoThreads::hand_over() {
  for (const auto& thread : threads_) {
    thread->hand_over();
  }
}

std::uint32_t IoThreads::probe() {
  std::uint32_t stalled = 0;
  for (const auto& thread : threads_) {
    stalled += thread->stalled() ? 1 : 0;
    thread->probe();
  }
  return stalled;
}

void IoThreads::settle() {
  for (const auto& thread : threads_) {
    thread->settle();
  }
}

}  // namespace gcoord::server
