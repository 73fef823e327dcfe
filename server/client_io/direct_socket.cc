#include "server/client_io/direct_socket.h"

#include <asio/buffer.hpp>
#include <asio/error.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace gcoord::server {

DirectSocket::DirectSocket(Socket socket, Scratch& scratch, std::unique_ptr<ConnectionTls> tls)
    : socket_(std::move(socket)), scratch_(scratch), tls_(std::move(tls)) {
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
}

// Only waits: a connection that is idle needs no room for bytes that do not come.
void DirectSocket::await_input() {
  socket_.async_wait(Socket::wait_read,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       if (open()) {
                         owner().on_readable({.gone = static_cast<bool>(error)});
                       }
                     });
}

// Plain bytes go where frames are checked, as far as there is memory; a client that says little has
// little of it, so the rest goes by way of the scratch.
ClientSocket::Read DirectSocket::read() {
  const std::span<std::byte> spare = tls_ == nullptr ? decoder_.spare() : std::span<std::byte>{};
  const std::span<std::byte> beyond =
      std::span{scratch_.wire}.subspan(std::min(spare.size(), scratch_.wire.size()));
  const auto room = spare.first(scratch_.wire.size() - beyond.size());
  asio::error_code error;
  count(IoCall::Receive);
  const std::size_t byte_count =
      socket_.read_some(std::array{asio::buffer(room.data(), room.size()),
                                   asio::buffer(beyond.data(), beyond.size())},
                        error);
  if (error && error != asio::error::would_block) {
    lost_ = true;
    return {.gone = true};
  }
  count(IoCopy::Receive, byte_count);
  if (tls_ != nullptr) {
    return decrypt(byte_count);
  }
  const std::size_t spare_bytes = std::min(byte_count, room.size());
  decoder_.written(spare_bytes);
  if (byte_count > spare_bytes) {
    count(IoCopy::Frame, byte_count - spare_bytes);
    decoder_.append(beyond.first(byte_count - spare_bytes));
  }
  return {.more = byte_count == scratch_.wire.size()};
}

// A failure's alert goes out, if the socket takes it, before anybody closes it.
ClientSocket::Read DirectSocket::decrypt(std::size_t byte_count) {
  const TlsState before = tls_->state();
  scratch_.plain.clear();
  tls_->receive(std::span{scratch_.wire}.first(byte_count), scratch_.plain);
  tls_->take_output(wire_);
  const bool sent = send_wire();
  count(IoCopy::Decrypt, scratch_.plain.size());
  count(IoCopy::Frame, scratch_.plain.size());
  decoder_.append(scratch_.plain);
  const TlsState state = tls_->state();
  const bool ended = tls_->ended();
  if (state != before) {
    auto news = std::make_unique<TlsNews>(tls_->news());
    if (tls_->plain_text()) {
      tls_.reset();
    }
    note_tls(std::move(news));
  }
  return {.gone = !sent || (ended && scratch_.plain.empty()) || state == TlsState::Failed,
          .more = byte_count == scratch_.wire.size() || ended};
}

void DirectSocket::release_input() {
  decoder_.release();
  if (tls_ != nullptr) {
    tls_->release();
  }
}

// As far as the socket takes it.
bool DirectSocket::send_wire() {
  while (!blocked_ && wire_begin_ < wire_.size()) {
    asio::error_code error;
    count(IoCall::Send);
    const std::size_t sent = socket_.write_some(
        asio::buffer(wire_.data() + wire_begin_, wire_.size() - wire_begin_), error);
    count(IoCopy::Send, sent);
    wire_begin_ += sent;
    if (error == asio::error::would_block) {
      await_room();
    } else if (error) {
      return false;
    }
  }
  if (wire_begin_ == wire_.size()) {
    wire_.clear();
    wire_begin_ = 0;
    if (wire_.capacity() > ReplyOutbox::kLeftBytes) {
      wire_ = std::vector<std::byte>();
    }
  }
  return true;
}

bool DirectSocket::write(ReplyOutbox& out, bool /*tell*/) {
  if (tls_ == nullptr) {
    return write_plain(out);
  }
  bool sent = send_wire();
  while (sent && wire_.empty() && out.bytes() > 0) {
    const std::size_t plain_bytes = std::min(out.bytes(), kEncryptedBytes);
    sent = tls_->send(out.waiting().first(plain_bytes));
    count(IoCopy::Encrypt, plain_bytes);
    out.take(plain_bytes);
    tls_->take_output(wire_);
    sent = sent && send_wire();
  }
  return sent;
}

bool DirectSocket::write_plain(ReplyOutbox& out) {
  while (!blocked_ && out.bytes() > 0) {
    asio::error_code error;
    count(IoCall::Send);
    const std::size_t sent =
        socket_.write_some(asio::buffer(out.waiting().data(), out.bytes()), error);
    count(IoCopy::Send, sent);
    out.take(sent);
    if (error == asio::error::would_block) {
      await_room();
    } else if (error) {
      return false;
    }
  }
  return true;
}

void DirectSocket::await_room() {
  blocked_ = true;
  socket_.async_wait(Socket::wait_write,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       blocked_ = false;
                       if (!error && open()) {
                         owner().on_writable({.moved = true});
                       }
                     });
}

void DirectSocket::close() {
  asio::error_code ignored;
  if (tls_ != nullptr && open() && !lost_) {
    tls_->shut();
    tls_->take_output(wire_);
    static_cast<void>(send_wire());
  }
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace gcoord::server
