// I/O of an I/O thread by epoll: a socket is added once, edge-triggered, and is read and written
// when a request waits and the kernel has said that it can be (epoll(7)).
//
// So a request costs one system call, and one more only where the socket was not ready. One thread,
// but wake().
#pragma once

#include "server/client_io/io_backend.h"

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

class EpollBackend final : public IoBackend {
 public:
  // ResourceExhausted: no descriptors are left.
  static Result<std::unique_ptr<IoBackend>> open();
  ~EpollBackend() override;

  std::string_view name() const override { return "epoll"; }

  bool add(IoSocket& socket) override;
  void receive(IoSocket& socket) override;
  void send(IoSocket& socket, std::span<const std::byte> bytes) override;
  void remove(std::unique_ptr<IoSocket> socket) override;
  void advance(Sink& sink, int timeout_ms) override;
  void wake() override;

 private:
  // Of one call: under load more come with the next.
  static constexpr std::size_t kEventsOfCall = 256;

  EpollBackend(int epoll, int bell);

  void queue(IoSocket& socket);
  bool take_events(int timeout_ms);
  void try_receive(IoSocket& socket, Sink& sink);
  void try_send(IoSocket& socket, Sink& sink);

  int epoll_;
  int bell_;
  std::vector<IoSocket*> queue_;  // With a request, or ready for one.
  std::vector<IoSocket*> trying_;
  std::vector<std::byte> scratch_;
  std::array<epoll_event, kEventsOfCall> events_{};
};

}  // namespace gcoord::server
