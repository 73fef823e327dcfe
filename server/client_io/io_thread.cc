#include "server/client_io/io_thread.h"

#include "common/assert.h"
#include "common/host/thread_name.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace gcoord::server {

IoThread::IoThread(std::unique_ptr<IoBackend> backend, const Options& options)
    : backend_(std::move(backend)),
      bell_(options.bell),
      counters_(options.counters),
      ingress_(options.ingress),
      now_us_(options.now_us),
      end_limit_(options.end_limit),
      on_stuck_(options.on_stuck),
      reports_(options.report_slots),
      thread_([this, number = options.number] {
        name_this_thread("io-" + std::to_string(number));
        run();
      }) {}

IoThread::~IoThread() {
  hand_over();
  if (mailbox_.end()) {
    backend_->wake();
  }
  if (ended_.get_future().wait_for(end_limit_) != std::future_status::ready) {
    on_stuck_();
  }
  thread_.join();
}

std::uint64_t IoThread::steady_now_us() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void IoThread::end_process() {
  log_error(LogComponent::Clients, "an I/O thread does not end: the process ends without it");
  std::abort();
}

void IoThread::probe() {
  if (posted_.empty() && mailbox_.waiting_us(now_us_()) == 0) {
    post({.kind = IoCommand::Kind::Probe});
  }
  hand_over();
}

void IoThread::hand_over() {
  if (!posted_.empty() && mailbox_.put(posted_, now_us_())) {
    counters_.wakes.add();
    counters_.calls[static_cast<std::size_t>(IoCall::Wake)]->add();
    backend_->wake();
  }
}

// Of two rounds the second begins after the call, so it sees all events of before.
void IoThread::settle() {
  for (int k = 0; k < 2; ++k) {
    const std::uint64_t before = mailbox_.arm_count();
    backend_->wake();
    while (mailbox_.arm_count() == before) {
      std::this_thread::yield();
    }
  }
}

void IoThread::run() {
  run_to_end();
  ended_.set_value();
}

void IoThread::run_to_end() {
  while (mailbox_.take(commands_)) {
    for (IoCommand& command : commands_) {
      apply(command);
    }
    push_reports();
    const bool sleeps = mailbox_.arm();
    const int longest_ms = reporting_.empty() ? -1 : kRetryMs;
    backend_->advance(*this, sleeps ? longest_ms : 0);
    counters_.take(backend_->tally());
    push_reports();
  }
  for (IoCommand& command : commands_) {
    apply(command);
  }
  while (!sockets_.empty()) {
    close(*sockets_.begin()->second);
  }
  for (int k = 0; k < kIdleRounds && !backend_->idle(); ++k) {
    backend_->advance(*this, kRetryMs);
  }
}

void IoThread::apply(IoCommand& command) {
  if (command.kind == IoCommand::Kind::Add) {
    add(command);
    return;
  }
  if (command.kind == IoCommand::Kind::Probe) {
    return;
  }
  const auto found = sockets_.find(command.socket);
  GCOORD_ASSERT(found != sockets_.end());  // Only a Close ends it, and it is the last command.
  Socket& socket = *found->second;
  switch (command.kind) {
    case IoCommand::Kind::Receive:
      socket.input = std::move(command.input);
      if (!socket.report.gone) {
        receive(socket);
      }
      break;
    case IoCommand::Kind::Release:
      if (socket.input != nullptr && socket.receiving) {
        socket.input->release();
        socket.room = {};
      }
      if (socket.tls != nullptr) {
        socket.tls->release();
      }
      break;
    case IoCommand::Kind::Send:
      send(socket, command);
      break;
    case IoCommand::Kind::Close:
      close(socket);
      break;
    case IoCommand::Kind::Probe:
    case IoCommand::Kind::Add:
      break;
  }
}

void IoThread::add(IoCommand& command) {
  auto socket = std::make_unique<Socket>(command.socket, command.fd);
  Socket& added = *socket;
  added.tls = std::move(command.tls);
  sockets_.emplace(command.socket, std::move(socket));
  if (!backend_->add(added)) {
    on_gone(added);
  }
}

void IoThread::send(Socket& socket, IoCommand& command) {
  socket.tells = socket.tells || command.tell;
  const std::size_t memory_bytes = command.bytes.capacity();
  const std::size_t plain_bytes = command.bytes.size();
  if (plain_bytes == 0 || socket.report.gone || !encrypt(socket, command.bytes)) {
    socket.report.freed_bytes += memory_bytes;
    if (socket.output.empty()) {
      note(socket, socket.tells);
    }
    return;
  }
  socket.unsent_plain += plain_bytes;
  if (socket.output.empty()) {
    socket.output = std::move(command.bytes);
    socket.output_charge = memory_bytes;
    send_on(socket);
    return;
  }
  backend_->tally().add(IoCopy::Join, command.bytes.size());
  socket.output_next.insert(socket.output_next.end(), command.bytes.begin(), command.bytes.end());
  socket.next_charge += plain_bytes;
  socket.report.freed_bytes += memory_bytes - plain_bytes;
}

// The memory of the plain bytes becomes that of the session's next output, so a connection that is
// served needs no new memory.
bool IoThread::encrypt(Socket& socket, std::vector<std::byte>& bytes) {
  if (socket.tls == nullptr || socket.tls->plain_text()) {
    return true;
  }
  if (!socket.tls->send(bytes)) {
    end(socket);
    return false;
  }
  backend_->tally().add(IoCopy::Encrypt, bytes.size());
  bytes.clear();
  socket.tls->take_output(bytes);
  return true;
}

// The plain bytes of what was read.
std::span<const std::byte> IoThread::decrypt(Socket& socket, std::span<const std::byte> bytes) {
  if (socket.tls == nullptr) {
    return bytes;
  }
  plain_.clear();
  const TlsState before = socket.tls->state();
  socket.tls->receive(bytes, plain_);
  backend_->tally().add(IoCopy::Decrypt, plain_.size());
  if (socket.tls->state() != before) {
    socket.report.tls = std::make_unique<TlsNews>(socket.tls->news());
    note(socket, true);
  }
  send_of_tls(socket);
  if (socket.tls->state() == TlsState::Failed || (socket.tls->ended() && plain_.empty())) {
    end(socket);
  } else if (socket.tls->state() == TlsState::Plain) {
    socket.tls.reset();
  }
  return plain_;
}

// What TLS says by itself: nobody counts it.
void IoThread::send_of_tls(Socket& socket) {
  if (socket.output.empty()) {
    socket.tls->take_output(socket.output);
    if (!socket.output.empty()) {
      send_on(socket);
    }
    return;
  }
  socket.tls->take_output(socket.output_next);
  if (socket.output_next.size() > 2 * socket.unsent_plain + kTlsUnreadBytesMax) {
    end(socket);
  }
}

// The connection is over, whatever the socket says: what is here may still leave.
void IoThread::end(Socket& socket) {
  socket.report.gone = true;
  note(socket, true);
}

void IoThread::send_on(Socket& socket) {
  backend_->send(socket, std::span<const std::byte>{socket.output}.subspan(socket.output_begin));
}

// What is here goes out if the socket takes it at once: a node that stops says what it has done.
void IoThread::close(Socket& socket) {
  if (socket.tls != nullptr && !socket.lost) {
    socket.tls->shut();
    send_of_tls(socket);
  }
  while (!socket.output.empty() && !socket.report.blocked && !socket.lost) {
    backend_->advance(*this, 0);
  }
  if (socket.reports) {
    std::erase(reporting_, &socket);
  }
  auto node = sockets_.extract(socket.key);
  backend_->remove(std::move(node.mapped()));
}

void IoThread::note(Socket& socket, bool wakes) {
  rings_ = rings_ || wakes;
  if (!socket.reports) {
    socket.reports = true;
    reporting_.push_back(&socket);
  }
}

// In order, as far as there is room.
void IoThread::push_reports() {
  std::size_t done = 0;
  for (; done < reporting_.size(); ++done) {
    Socket& socket = *reporting_[done];
    IoReport report = std::move(socket.report);
    report.socket = socket.key;
    const bool gone = report.gone;
    const bool blocked = report.blocked;
    if (!reports_.push(std::move(report))) {
      socket.report = std::move(report);
      break;
    }
    socket.report = IoReport{};
    socket.report.gone = gone;  // Both stand until they change.
    socket.report.blocked = blocked;
    socket.reports = false;
    socket.tells = socket.tells && !socket.output.empty();
  }
  reporting_.erase(reporting_.begin(), reporting_.begin() + static_cast<std::ptrdiff_t>(done));
  if (rings_ || !reporting_.empty()) {
    bell_.ring();  // A full ring too, whatever it is full of.
  }
  rings_ = !reporting_.empty();
}

// Plain bytes go where frames are checked, as far as there is memory.
void IoThread::receive(Socket& socket) {
  socket.room = socket.tls == nullptr ? socket.input->spare() : std::span<std::byte>{};
  backend_->receive(socket);
}

void IoThread::on_received(IoSocket& io_socket, const IoBackend::Received& received) {
  Socket& socket = static_cast<Socket&>(io_socket);
  counters_.reads.add();
  backend_->tally().add(IoCopy::Receive, received.room_bytes + received.bytes.size());
  const std::span<const std::byte> plain = decrypt(socket, received.bytes);
  if (plain.empty() && received.room_bytes == 0) {
    if (!socket.report.gone && (socket.tls == nullptr || !socket.tls->plain_text())) {
      receive(socket);
    }
    return;
  }
  backend_->tally().add(IoCopy::Frame, plain.size());
  socket.input->take(received.room_bytes, plain);
  socket.room = {};
  socket.report.input = std::move(socket.input);
  socket.report.more = received.more;
  note(socket, true);
}

void IoThread::on_sent(IoSocket& sent, std::size_t byte_count) {
  Socket& socket = static_cast<Socket&>(sent);
  counters_.sends.add();
  backend_->tally().add(IoCopy::Send, byte_count);
  const bool was_blocked = std::exchange(socket.report.blocked, false);
  const std::size_t plain_bytes = std::min(byte_count, socket.unsent_plain);
  socket.unsent_plain -= plain_bytes;
  socket.report.sent_bytes += plain_bytes;
  socket.output_begin += byte_count;
  if (socket.output_begin == socket.output.size()) {
    socket.report.freed_bytes += socket.output_charge;
    if (socket.output.capacity() <= kReusedBytes) {
      socket.report.buffer = std::move(socket.output);
    }
    socket.output = std::exchange(socket.output_next, {});
    socket.output_charge = std::exchange(socket.next_charge, 0);
    socket.output_begin = 0;
  }
  if (!socket.output.empty()) {
    send_on(socket);
  }
  note(socket, was_blocked || (socket.tells && socket.output.empty()));
}

void IoThread::on_blocked(IoSocket& blocked) {
  Socket& socket = static_cast<Socket&>(blocked);
  socket.report.blocked = true;
  note(socket, socket.tells);
}

void IoThread::on_gone(IoSocket& gone) {
  Socket& socket = static_cast<Socket&>(gone);
  socket.lost = true;
  end(socket);
}

}  // namespace gcoord::server
