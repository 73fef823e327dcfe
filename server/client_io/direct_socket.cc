#include "server/client_io/direct_socket.h"

#include <asio/buffer.hpp>
#include <asio/error.hpp>

#include <utility>

namespace gcoord::server {

DirectSocket::DirectSocket(asio::ip::tcp::socket socket, std::span<std::byte> scratch)
    : socket_(std::move(socket)), scratch_(scratch) {
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
}

// Only waits: a connection that is idle needs no room for bytes that do not come.
void DirectSocket::await_input() {
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       if (open()) {
                         owner().on_readable({.gone = static_cast<bool>(error)});
                       }
                     });
}

ClientSocket::Read DirectSocket::read() {
  asio::error_code error;
  const std::size_t byte_count =
      socket_.read_some(asio::buffer(scratch_.data(), scratch_.size()), error);
  if (error && error != asio::error::would_block) {
    return {.gone = true};
  }
  decoder_.append(scratch_.first(byte_count));
  return {.more = byte_count == scratch_.size()};
}

bool DirectSocket::write(ReplyOutbox& out, bool /*tell*/) {
  while (!blocked_ && out.bytes() > 0) {
    asio::error_code error;
    const std::size_t sent =
        socket_.write_some(asio::buffer(out.waiting().data(), out.bytes()), error);
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
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [this, alive = owner().keep_alive()](const asio::error_code& error) {
                       blocked_ = false;
                       if (!error && open()) {
                         owner().on_writable({.moved = true});
                       }
                     });
}

void DirectSocket::close() {
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace gcoord::server
