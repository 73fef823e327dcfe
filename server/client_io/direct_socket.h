// Client socket that the loop's thread serves itself: each call is a system call, and events come
// from the loop's io_context. One thread.
#pragma once

#include "protocol/frame.h"
#include "server/client_io/client_socket.h"

#include <asio/ip/tcp.hpp>

#include <cstddef>
#include <span>

namespace gcoord::server {

class DirectSocket final : public ClientSocket {
 public:
  // `scratch`: where input is read to first; it outlives the socket, and others use it as well.
  DirectSocket(asio::ip::tcp::socket socket, std::span<std::byte> scratch);

  bool open() const override { return socket_.is_open(); }

  void await_input() override;
  Read read() override;

  protocol::DecodeStep next(protocol::FrameView& frame) override { return decoder_.next(frame); }

  protocol::BadFrame bad() const override { return decoder_.bad(); }

  Input input() const override {
    return {decoder_.begun(), decoder_.last_sequence(), decoder_.capacity_bytes()};
  }

  void release_input() override { decoder_.release(); }

  bool write(ReplyOutbox& out, bool tell) override;

  bool blocked() const override { return blocked_; }

  std::size_t unsent_bytes() const override { return 0; }

  std::size_t output_memory_bytes() const override { return 0; }

  void close() override;

 private:
  void await_room();

  asio::ip::tcp::socket socket_;
  std::span<std::byte> scratch_;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
  bool blocked_ = false;
};

}  // namespace gcoord::server
