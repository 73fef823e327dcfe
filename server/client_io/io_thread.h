// Thread that receives, checks and sends for some client sockets.
//
// It decides nothing: commands of the loop's thread say which sockets it reads and what it sends
// (messages.h), and reports say what came of them. A Receive is one read, whose frames it
// checks; it reads no more of that socket until the next one, so what the loop has not taken is
// bounded by one read of each. Reports wait in a bounded ring, in order; one that finds it full
// waits with its socket, and what happens to that socket meanwhile is added to it. Output of a
// socket gathers in two buffers: one that is being sent, one that follows. With TLS a buffer is
// encrypted when it comes, and reads go on by themselves until they bring plain bytes.
//
// A thread that takes no commands for a while has stalled. It holds up its own sockets and nobody
// else's, until it is to end: then the process ends without it. It throws nothing: where memory
// ends, the process does. The loop's thread calls everything.
#pragma once

#include "server/client_io/counters.h"
#include "server/client_io/io_backend.h"
#include "server/client_io/loop_bell.h"
#include "server/client_io/mailbox.h"
#include "server/client_io/messages.h"
#include "server/client_io/report_ring.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class IoThread final : private IoBackend::Sink {
 public:
  struct Options {
    LoopBell& bell;  // It and the counters outlive the thread.
    IoCounters& counters;
    std::uint32_t number = 1;  // The thread's name is "io-" and this.
    // By what it prepares requests; none: not at all.
    std::optional<IngressRules> ingress = {};
    std::size_t report_slots = 4096;  // A power of two.
    std::function<std::uint64_t()> now_us = steady_now_us;
    // For how long its end is awaited, and what is called then; it may let the thread go on. By
    // default it ends the process: what the thread uses cannot end before it.
    std::chrono::milliseconds end_limit{10'000};
    std::function<void()> on_stuck = end_process;
  };

  // Time of one wait among commands after which the thread has stalled: many times what a round of
  // thousands of sockets takes, and little beside the patience of clients.
  static constexpr std::uint64_t kStalledUs = 200'000;

  // Starts the thread.
  IoThread(std::unique_ptr<IoBackend> backend, const Options& options);

  // Does what was handed over, closes all sockets, and joins the thread.
  ~IoThread();

  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // By what inputs of its sockets are to be made.
  const std::optional<IngressRules>& ingress() const { return ingress_; }

  // Keeps a command for the next hand_over().
  void post(IoCommand command) { posted_.push_back(std::move(command)); }

  void hand_over();

  // The next report, if any.
  bool take(IoReport& report) { return reports_.pop(report); }

  // Whether it has left a command lie for kStalledUs: it gets no new socket then.
  bool stalled() const { return mailbox_.waiting_us(now_us_()) >= kStalledUs; }

  // Hands over a command, if none waits: without one a stall does not show.
  void probe();

  // For tests: waits until the thread has done what was handed over, and has seen what its sockets
  // had to read or took before the call.
  void settle();

  // Sockets that the loop's thread has given it and not closed.
  std::size_t socket_count = 0;

 private:
  // How long it waits for room among the reports.
  static constexpr int kRetryMs = 1;

  // At the end: how often it looks whether the kernel has ended all requests of closed sockets. A
  // backend's own end waits for them or lets them go.
  static constexpr int kIdleRounds = 1'000;

  // What TLS may want to say by itself and a client does not read. Handshakes need some kilobytes;
  // one that requests new keys again and again without reading is ended.
  static constexpr std::size_t kTlsUnreadBytesMax = std::size_t{64} << 10;

  // Buffers up to this size are given back to be used again.
  static constexpr std::size_t kReusedBytes = std::size_t{256} << 10;

  struct Socket final : IoSocket {
    Socket(std::uint64_t socket_key, int descriptor) : IoSocket(descriptor), key(socket_key) {}

    std::uint64_t key;
    std::unique_ptr<ConnectionTls> tls;   // None: bytes of the wire are plain.
    std::unique_ptr<CheckedInput> input;  // While it is receiving.
    std::vector<std::byte> output;        // Being sent from `output_begin` on.
    std::size_t output_begin = 0;
    std::size_t output_charge = 0;  // Memory of it, as the loop's thread counts.
    std::vector<std::byte> output_next;
    std::size_t next_charge = 0;
    std::size_t unsent_plain = 0;  // Of both, before encryption.
    bool lost = false;             // The client has closed, or the socket failed.
    IoReport report;               // What has happened and is not reported.
    bool reports = false;
    bool tells = false;
  };

  static std::uint64_t steady_now_us();
  [[noreturn]] static void end_process();

  void run();
  void run_to_end();
  void apply(IoCommand& command);
  void add(IoCommand& command);
  void receive(Socket& socket);
  void send(Socket& socket, IoCommand& command);
  void close(Socket& socket);
  void send_on(Socket& socket);
  bool encrypt(Socket& socket, std::vector<std::byte>& bytes);
  std::span<const std::byte> decrypt(Socket& socket, std::span<const std::byte> bytes);
  void send_of_tls(Socket& socket);
  void end(Socket& socket);
  void note(Socket& socket, bool wakes);
  void push_reports();

  void on_received(IoSocket& socket, const IoBackend::Received& received) override;
  void on_sent(IoSocket& socket, std::size_t byte_count) override;
  void on_blocked(IoSocket& socket) override;
  void on_gone(IoSocket& socket) override;

  std::unique_ptr<IoBackend> backend_;
  LoopBell& bell_;
  IoCounters& counters_;
  std::optional<IngressRules> ingress_;
  std::function<std::uint64_t()> now_us_;
  std::chrono::milliseconds end_limit_;
  std::function<void()> on_stuck_;
  std::vector<IoCommand> posted_;  // The loop's thread's.
  IoMailbox mailbox_;
  ReportRing<IoReport> reports_;
  // From here on the thread's own.
  std::vector<IoCommand> commands_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Socket>> sockets_;
  std::vector<Socket*> reporting_;
  std::vector<std::byte> plain_;  // Of one read.
  bool rings_ = false;            // A report wakes the loop.
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace gcoord::server
