// Bytes of a TLS connection as a stranger may send them: instead of a handshake, in the middle of
// one, and after it.
//
// The first byte says who receives and when; the rest takes the place of what would have come.
#include "common/assert.h"
#include "security/tls/session.h"
#include "tests/fuzz/fuzz_test_main.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <algorithm>
#include <memory>
#include <span>

namespace {

using namespace gcoord;            // NOLINT: a program of its own.
using namespace gcoord::security;  // NOLINT

enum Mode : std::uint8_t { ServerAtOnce, ClientAtOnce, ServerOpen, ClientInHandshake, kModes };

constexpr std::size_t kTagBytes = 16;  // Of AES-GCM (RFC 8446 5.2).

struct Contexts {
  std::shared_ptr<const TlsContext> server;
  std::shared_ptr<const TlsContext> client;
};

const Contexts& contexts() {
  static const Contexts made = [] {
    const ScratchFolder folder;
    TestAuthority authority;
    write_private(folder.path("ca.crt"), authority.certificate());
    write_certificate(folder.path().string(), "node", authority.issue());
    const TlsFiles files{.certificate = folder.path("node.crt"),
                         .key = folder.path("node.key"),
                         .authority = folder.path("ca.crt")};
    auto server = TlsContext::load(TlsSide::Server, files, {.demand_certificate = true});
    auto client = TlsContext::load(TlsSide::Client, files, {});
    GCOORD_ASSERT(server.ok() && client.ok());
    return Contexts{std::move(server).value(), std::move(client).value()};
  }();
  return made;
}

struct Ends {
  TlsSession server{contexts().server};
  TlsSession client{contexts().client, "localhost"};

  // Until both have nothing to say.
  void shake_hands() {
    std::vector<std::byte> wire;
    do {
      wire.clear();
      client.take_output(wire);
      GCOORD_ASSERT(server.receive(wire).ok());
      wire.clear();
      server.take_output(wire);
      GCOORD_ASSERT(client.receive(wire).ok());
    } while (!wire.empty());
    GCOORD_ASSERT(server.open() && client.open());
  }
};

FuzzInput input_of(Mode mode, std::span<const std::byte> bytes) {
  FuzzInput input{mode};
  std::transform(bytes.begin(), bytes.end(), std::back_inserter(input), [](std::byte byte) {
    return std::to_integer<std::uint8_t>(byte);
  });
  return input;
}

// Whatever came, the end is not open by it, or nothing was read that the other side did not send.
void feed(TlsSession& session, std::span<const std::byte> bytes) {
  const bool was_open = session.open();
  const Status status = session.receive(bytes);
  GCOORD_ASSERT(status.ok() || session.ended());
  GCOORD_ASSERT(session.open() == was_open);
  std::array<std::byte, 64> plain;
  GCOORD_ASSERT(session.read(plain) == 0);
  std::vector<std::byte> alert;
  session.take_output(alert);
  GCOORD_ASSERT(alert.size() < 64'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  if (byte_count == 0) {
    return 0;
  }
  const std::span<const std::byte> rest = std::as_bytes(std::span{bytes, byte_count}).subspan(1);
  Ends ends;
  switch (bytes[0] % kModes) {
    case ServerAtOnce:
      feed(ends.server, rest);
      break;
    case ClientAtOnce:
      feed(ends.client, rest);
      break;
    case ServerOpen:
      ends.shake_hands();
      feed(ends.server, rest);
      break;
    default: {
      // A server's own bytes up to the length of the input, which then goes on instead. The last
      // record lacks its tag: of less, an input that is tried often enough guesses the rest.
      std::vector<std::byte> wire;
      ends.client.take_output(wire);
      GCOORD_ASSERT(ends.server.receive(wire).ok());
      wire.clear();
      ends.server.take_output(wire);
      feed(ends.client, std::span{wire}.first(std::min(wire.size() - kTagBytes, rest.size())));
      if (!ends.client.ended()) {
        feed(ends.client, rest);
      }
      break;
    }
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  Ends ends;
  std::vector<std::byte> hello;
  ends.client.take_output(hello);
  GCOORD_ASSERT(ends.server.receive(hello).ok());
  std::vector<std::byte> answer;
  ends.server.take_output(answer);
  return {input_of(ServerAtOnce, hello),
          input_of(ClientAtOnce, answer),
          input_of(ServerOpen, hello),
          input_of(ClientInHandshake, std::span{answer}.first(200))};
}
