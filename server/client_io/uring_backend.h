// I/O of an I/O thread by io_uring: the requests of a round go to the kernel in one system call,
// which also waits for completions (io_uring(7)).
//
// A receive takes one of a few buffers when its bytes come, so sockets that wait hold none; the
// buffer is free again when the sink has seen it. A send is first tried without waiting, so that it
// is known when a socket takes nothing, and then waits in the kernel. A removed socket lives until
// the kernel has ended its requests. One thread, but wake().
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
  void submit(int timeout_ms);
  void complete(const Completion& completion, Sink& sink);
  void on_receive(IoSocket& socket, const Completion& completion, Sink& sink);
  void on_send(IoSocket& socket, const Completion& completion, Sink& sink);

  io_uring ring_{};
  bool ring_open_ = false;
  int bell_ = -1;
  std::uint64_t bell_count_ = 0;
  io_uring_buf_ring* buffers_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_bytes_;
  std::vector<IoSocket*> starved_;  // Receives that found no free buffer.
  std::unordered_map<IoSocket*, std::unique_ptr<IoSocket>> leaving_;
};

}  // namespace gcoord::server
