// I/O of an I/O thread by io_uring: the requests of a round go to the kernel in one system call,
// which also waits for completions (io_uring(7)).
//
// A receive takes one of a few buffers when its bytes come, so sockets that wait hold none; the
// buffer is free again when the sink has seen it. Where more sockets are ready at once than there
// are buffers, the others are read by a call of their own, as epoll does. A send is first tried
// without waiting, so that it is known when a socket takes nothing, and then waits in the kernel. A
// removed socket lives until the kernel has ended its requests. A ring that is broken, or that the
// kernel keeps refusing to serve, ends the process: clients wait on it. One thread, but wake().
#pragma once

#include "server/client_io/io_backend.h"

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class UringBackend final : public IoBackend {
 public:
  // FailedPrecondition: the kernel has no io_uring, forbids it, or lacks a part that this needs
  // (Linux 5.19); the message says which.
  static Result<std::unique_ptr<IoBackend>> open();
  ~UringBackend() override;

  std::string_view name() const override { return "io_uring"; }

  bool add(IoSocket& socket) override;
  void receive(IoSocket& socket) override;
  void send(IoSocket& socket, std::span<const std::byte> bytes) override;
  void remove(std::unique_ptr<IoSocket> socket) override;

  bool idle() const override { return leaving_.empty(); }

  void advance(Sink& sink, int timeout_ms) override;
  void wake() override;

  // Receives and sends that were given to the ring.
  std::uint64_t request_count() const { return request_count_; }

 private:
  // What a completion is of; the low bits of a socket's address.
  enum class Request : std::uintptr_t { Receive = 0, Send = 1 };

  struct Completion {
    std::uint64_t tag = 0;
    std::int32_t result = 0;
    std::uint32_t flags = 0;
  };

  UringBackend() = default;

  Status set_up();
  Status set_up_buffers();
  Status probe();
  io_uring_sqe& next_request();
  void ask(IoSocket& socket, Request request, int flags);
  void ask_bell();
  void give_buffer(std::uint32_t buffer);
  int submit(int timeout_ms);
  void reap();
  void judge(int error);
  void complete(const Completion& completion, Sink& sink);
  void receive_now(IoSocket& socket, Sink& sink);
  void on_receive(IoSocket& socket, const Completion& completion, Sink& sink);
  void on_send(IoSocket& socket, const Completion& completion, Sink& sink);

  io_uring ring_{};
  bool ring_open_ = false;
  int bell_ = -1;
  std::uint64_t bell_count_ = 0;
  io_uring_buf_ring* buffers_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_bytes_;
  std::vector<std::byte> scratch_;     // For receives that found no free buffer.
  std::vector<Completion> completed_;  // Taken from the ring, and not seen by the sink.
  std::vector<Completion> completing_;
  std::uint64_t request_count_ = 0;
  std::uint32_t refusals_ = 0;  // Of the kernel to take requests, one after the other.
  std::unordered_map<IoSocket*, std::unique_ptr<IoSocket>> leaving_;
};

}  // namespace gcoord::server
