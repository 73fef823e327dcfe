// Client socket that the loop's thread serves itself: each call is a system call, and events come
// from the loop's io_context. One thread.
#pragma once

#include "protocol/frame.h"
#include "server/client_io/client_socket.h"

#include <asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace gcoord::server {

class DirectSocket final : public ClientSocket {
 public:
  // TCP, or a Unix socket.
  using Socket = asio::generic::stream_protocol::socket;

  // Where input is read to first. It outlives the sockets, which share it.
  struct Scratch {
    std::vector<std::byte> wire = std::vector<std::byte>(kSocketReadBytes);
    std::vector<std::byte> plain;  // With TLS.
  };

  // `tls`: none where it is off.
  DirectSocket(Socket socket, Scratch& scratch, std::unique_ptr<ConnectionTls> tls);

  bool open() const override { return socket_.is_open(); }

  void await_input() override;
  Read read() override;

  protocol::DecodeStep next(protocol::FrameView& frame) override { return decoder_.next(frame); }

  protocol::BadFrame bad() const override { return decoder_.bad(); }

  Input input() const override {
    return {decoder_.begun(), decoder_.last_sequence(), decoder_.capacity_bytes()};
  }

  void release_input() override;

  bool write(ReplyOutbox& out, bool tell) override;

  bool blocked() const override { return blocked_; }

  std::size_t unsent_bytes() const override { return wire_.size() - wire_begin_; }

  std::size_t output_memory_bytes() const override { return wire_.capacity(); }

  void close() override;

 private:
  // Of replies that are encrypted at once, so that memory for the wire is bounded.
  static constexpr std::size_t kEncryptedBytes = std::size_t{256} << 10;

  void await_room();
  Read decrypt(std::size_t byte_count);
  bool send_wire();
  bool write_plain(ReplyOutbox& out);

  Socket socket_;
  Scratch& scratch_;
  std::unique_ptr<ConnectionTls> tls_;  // None: bytes of the wire are plain.
  std::vector<std::byte> wire_;         // Encrypted, from `wire_begin_` on.
  std::size_t wire_begin_ = 0;
  protocol::FrameDecoder decoder_{protocol::FrameDirection::Requests};
  bool blocked_ = false;
  bool lost_ = false;  // The client has gone without a word: it hears none.
};

}  // namespace gcoord::server
