// What it costs to move slots between nodes of one host.
//
//   EncodeFrame/N, DecodeFrame/N  a frame of N slots without a link: layout and checksums
//   PingPong/K                    one slot there and back between two processes that sleep in epoll
//                                 in between; K: 0 tcp, 1 ucx over shared memory, 2 ucx over tcp
//   Stream/K                      frames of 256 slots one way, as fast as credit allows
#include "netcore/channel/channel.h"
#include "netcore/peers/network.h"
#include "netcore/transport/transport_tcp.h"
#include "netcore/transport/transport_ucx.h"

#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

std::unique_ptr<Transport> make(std::int64_t kind) {
  if (kind == 0) {
    return make_tcp_transport();
  }
  auto transport = make_ucx_transport({kind == 1 ? "sm,self" : "tcp,self", ""});
  return transport.ok() ? std::move(transport).value() : nullptr;
}

std::uint64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

std::unique_ptr<PeerNetwork> make_node(std::uint32_t id,
                                       std::uint16_t peer_port,
                                       std::int64_t kind) {
  PeerNetworkOptions options;
  options.cluster = ClusterId{1};
  options.node = NodeId{id};
  options.incarnation = Incarnation{1};
  options.directory = DirectoryId{id};
  options.listen_host = "127.0.0.1";
  options.peers = {{NodeId{3 - id}, "127.0.0.1", peer_port}};
  options.silence_limit_ms = 0;
  options.transport = make(kind);
  auto network = PeerNetwork::create(std::move(options));
  return network.ok() ? std::move(network).value() : nullptr;
}

// Counts what arrives; the echoing side sends every Rpc slot back.
struct CountingSink final : Sink {
  void on_frame(NodeId from,
                Band band,
                std::span<const Slot> slots,
                const PayloadView& /*payloads*/) override {
    slot_count += slots.size();
    if (echo != nullptr && band == Band::Rpc) {
      echo->send(from, band, slots);
      echo->flush();
    }
  }

  void on_heartbeat(NodeId /*from*/, const Heartbeat& /*heartbeat*/) override {}

  void on_peer_up(NodeId /*peer*/, Incarnation /*life*/, std::uint32_t /*epoch*/) override {
    is_up = true;
  }

  void on_peer_down(NodeId /*peer*/, std::string_view /*reason*/) override { is_up = false; }

  PeerNetwork* echo = nullptr;
  std::uint64_t slot_count = 0;
  bool is_up = false;
};

void turn(PeerNetwork& network, CountingSink& sink) {
  if (network.arm()) {
    pollfd fd{network.event_fd(), POLLIN, 0};
    ::poll(&fd, 1, 10);
  }
  network.progress(now_ms(), sink);
}

// A peer in a process of its own that echoes until it is killed.
class EchoProcess {
 public:
  explicit EchoProcess(std::int64_t kind) {
    int ports[2] = {};
    GCOORD_ASSERT(::pipe(ports) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      const auto network = make_node(2, 0, kind);
      const std::uint16_t port = network == nullptr ? 0 : network->listen_port();
      GCOORD_ASSERT(::write(ports[1], &port, sizeof(port)) == sizeof(port));
      CountingSink sink;
      sink.echo = network.get();
      while (network != nullptr) {
        turn(*network, sink);
      }
      ::_exit(0);
    }
    GCOORD_ASSERT(::read(ports[0], &port_, sizeof(port_)) == sizeof(port_));
    ::close(ports[0]);
    ::close(ports[1]);
  }

  ~EchoProcess() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  EchoProcess(const EchoProcess&) = delete;
  EchoProcess& operator=(const EchoProcess&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  pid_t child_ = -1;
  std::uint16_t port_ = 0;
};

// Up, and on the route that was asked for.
bool connect(PeerNetwork& network, CountingSink& sink, std::int64_t kind) {
  const std::string route = kind == 0 ? "tcp:" : "ucx:";
  for (const std::uint64_t start = now_ms(); now_ms() - start < 5000;) {
    turn(network, sink);
    if (sink.is_up && network.status()[0].transport.starts_with(route)) {
      return true;
    }
  }
  return false;
}

void PingPong(benchmark::State& state) {
  const EchoProcess echo{state.range(0)};
  const auto network = echo.port() == 0 ? nullptr : make_node(1, echo.port(), state.range(0));
  CountingSink sink;
  if (network == nullptr || !connect(*network, sink, state.range(0))) {
    state.SkipWithError("the transport is not there");
    return;
  }
  const Slot slot{};
  for (auto unused : state) {
    static_cast<void>(unused);
    const std::uint64_t before = sink.slot_count;
    network->send(NodeId{2}, Band::Rpc, {&slot, 1});
    while (sink.slot_count == before) {
      turn(*network, sink);
    }
  }
}

BENCHMARK(PingPong)->Arg(0)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

void Stream(benchmark::State& state) {
  const EchoProcess echo{state.range(0)};
  const auto network = echo.port() == 0 ? nullptr : make_node(1, echo.port(), state.range(0));
  CountingSink sink;
  if (network == nullptr || !connect(*network, sink, state.range(0))) {
    state.SkipWithError("the transport is not there");
    return;
  }
  const std::vector<Slot> slots(256, Slot{});
  for (auto unused : state) {
    static_cast<void>(unused);
    while (!network->send(NodeId{2}, Band::Consensus, slots)) {
      turn(*network, sink);
    }
    network->flush();
  }
  state.SetItemsProcessed(state.iterations() * 256);
  state.SetBytesProcessed(state.iterations() * 256 * 64);
}

BENCHMARK(Stream)->Arg(0)->Arg(1)->Arg(2)->UseRealTime();

void EncodeFrame(benchmark::State& state) {
  const std::vector<Slot> slots(static_cast<std::size_t>(state.range(0)), Slot{});
  AlignedBytes out{frame_bytes(slots.size(), {})};
  for (auto unused : state) {
    static_cast<void>(unused);
    encode_frame({}, slots, {}, 0, {out.data(), frame_bytes(slots.size(), {})});
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(EncodeFrame)->Arg(1)->Arg(64)->Arg(4096);

void DecodeFrame(benchmark::State& state) {
  const std::vector<Slot> slots(static_cast<std::size_t>(state.range(0)), Slot{});
  AlignedBytes out{frame_bytes(slots.size(), {})};
  const std::span<std::byte> frame{out.data(), frame_bytes(slots.size(), {})};
  encode_frame({}, slots, {}, 0, frame);
  for (auto unused : state) {
    static_cast<void>(unused);
    FrameView view;
    benchmark::DoNotOptimize(decode_frame(frame, view));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(DecodeFrame)->Arg(1)->Arg(64)->Arg(4096);

}  // namespace
}  // namespace gcoord::netcore

BENCHMARK_MAIN();
