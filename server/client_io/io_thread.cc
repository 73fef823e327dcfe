#include "server/client_io/io_thread.h"

#include "common/assert.h"
#include "common/host/thread_name.h"
#include "server/platform/operator_log.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace gcoord::server {

IoThread::IoThread(std::unique_ptr<IoBackend> backend, const Options& options)
    : backend_(std::move(backend)),
      bell_(options.bell),
      counters_(options.counters),
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
        backend_->receive(socket);
      }
      break;
    case IoCommand::Kind::Release:
      if (socket.input != nullptr && socket.receiving) {
        socket.input->release();
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

void IoThread::add(const IoCommand& command) {
  auto socket = std::make_unique<Socket>(command.socket, command.fd);
  Socket& added = *socket;
  sockets_.emplace(command.socket, std::move(socket));
  if (!backend_->add(added)) {
    on_gone(added);
  }
}

void IoThread::send(Socket& socket, IoCommand& command) {
  socket.tells = socket.tells || command.tell;
  const std::size_t memory_bytes = command.bytes.capacity();
  if (command.bytes.empty() || socket.report.gone) {
    socket.report.freed_bytes += memory_bytes;
    if (socket.output.empty()) {
      note(socket, socket.tells);
    }
    return;
  }
  if (socket.output.empty()) {
    socket.output = std::move(command.bytes);
    socket.output_charge = memory_bytes;
    send_on(socket);
    return;
  }
  socket.output_next.insert(socket.output_next.end(), command.bytes.begin(), command.bytes.end());
  socket.next_charge += command.bytes.size();
  socket.report.freed_bytes += memory_bytes - command.bytes.size();
}

void IoThread::send_on(Socket& socket) {
  backend_->send(socket, std::span<const std::byte>{socket.output}.subspan(socket.output_begin));
}

// What is here goes out if the socket takes it at once: a node that stops says what it has done.
void IoThread::close(Socket& socket) {
  while (!socket.output.empty() && !socket.report.blocked && !socket.report.gone) {
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

void IoThread::on_received(IoSocket& received, std::span<const std::byte> bytes, bool more) {
  Socket& socket = static_cast<Socket&>(received);
  counters_.reads.add();
  socket.input->append(bytes);
  socket.report.input = std::move(socket.input);
  socket.report.more = more;
  note(socket, true);
}

void IoThread::on_sent(IoSocket& sent, std::size_t byte_count) {
  Socket& socket = static_cast<Socket&>(sent);
  counters_.sends.add();
  const bool was_blocked = std::exchange(socket.report.blocked, false);
  socket.report.sent_bytes += byte_count;
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
  socket.report.gone = true;
  note(socket, true);
}

}  // namespace gcoord::server
