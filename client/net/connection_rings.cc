#include "client/net/connection_wire.h"
#include "common/wipe.h"

#include <utility>

namespace gcoord::client {

// One wait on the socket is under way as long as the node is there: for the offer, then for bells,
// and for its end.
void Connection::Wire::begin_rings(const std::shared_ptr<Connection>& self) {
  rings.emplace(socket.native_handle());
  if (const gcoord::Status sent = rings->send_request(); !sent.ok()) {
    return self->close(sent);
  }
  await_socket(self);
}

void Connection::Wire::await_socket(const std::shared_ptr<Connection>& self) {
  socket.async_wait(Socket::wait_read, [self](const asio::error_code& error) {
    if (self->closed_) {
      return;
    }
    if (error) {
      return self->close(error.message());
    }
    self->wire_->on_socket(self);
  });
}

void Connection::Wire::on_socket(const std::shared_ptr<Connection>& self) {
  if (!rings->is_open()) {
    take_offer(*self);
  } else {
    take_bells(*self);
  }
  if (self->closed_) {
    return;
  }
  if (!ended) {
    // Behind everything else that the thread has to do now: a node that rings without end has one
    // turn of many.
    asio::post(socket.get_executor(), [self] {
      if (!self->closed_) {
        self->wire_->await_socket(self);
      }
    });
  }
  if (rings->is_open() && !exchanges) {
    exchange(self);
  }
}

void Connection::Wire::take_bells(Connection& self) {
  ended = rings->take_bells() == netcore::Bells::Gone;
  if (rings->is_loud()) {
    self.close("the node rings without end for nothing in shared memory");
  }
}

void Connection::Wire::take_offer(Connection& self) {
  const gcoord::Result<bool> taken = rings->take_offer();
  if (!taken.ok()) {
    return self.close(taken.status());
  }
  if (taken.value()) {
    self.open_ = true;
    self.events_.on_connected();
    self.flush();
  }
}

// What does not fit follows when the node has read.
void Connection::Wire::write_ring(Connection& self) {
  do {
    ring_begin += rings->write(std::span{self.writing_bytes_}.subspan(ring_begin));
    self.writing_ = ring_begin < self.writing_bytes_.size() && !rings->broken();
  } while (self.writing_ && !rings->await_room());
  if (self.writing_) {
    return;
  }
  ring_begin = 0;
  if (std::exchange(self.secrets_written_, false)) {
    gcoord::wipe(self.writing_bytes_);
  }
  if (rings->broken()) {
    self.close("the node's rings in shared memory contradict themselves");
  }
}

// As much as is here, and then it sleeps; many rounds without a pause would keep other events of
// the thread waiting.
void Connection::Wire::exchange(const std::shared_ptr<Connection>& self) {
  exchanges = false;
  if (self->closed_) {
    return;
  }
  if (self->writing_) {
    write_ring(*self);
    self->flush();
  }
  if (!read_ring(*self) || self->closed_) {
    return;
  }
  if (!rings->await_input()) {
    exchanges = true;
    asio::post(socket.get_executor(), [self] { self->wire_->exchange(self); });
  } else if (ended) {
    self->close("the node closed the connection");
  }
}

// Delivers what is here. False: the connection is over.
bool Connection::Wire::read_ring(Connection& self) {
  const std::size_t byte_count = rings->read(self.decoder_);
  if (rings->broken()) {
    self.close("the node's rings in shared memory contradict themselves");
    return false;
  }
  if (byte_count == 0) {
    return true;
  }
  self.last_received_ = self.clock_.now();
  const bool good = self.deliver_frames();
  if (self.closed_) {
    return false;
  }
  self.events_.on_batch_end();
  if (!good) {
    self.on_bad_bytes();
  }
  return good && !self.closed_;
}

}  // namespace gcoord::client
