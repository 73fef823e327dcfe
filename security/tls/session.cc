#include "security/tls/session.h"

#include "common/assert.h"
#include "security/tls/context_inner.h"
#include "security/tls/errors.h"
#include "security/tls/failure.h"
#include "security/tls/openssl_owned.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace gcoord::security {
namespace {

// What OpenSSL reads from and writes to instead of a socket.
struct Wire {
  std::span<const std::byte> incoming;  // Of the receive() that is under way.
  std::vector<std::byte> outgoing;
};

int read_wire(BIO* bio, char* bytes, std::size_t size, std::size_t* done) {
  Wire& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  *done = std::min(size, wire.incoming.size());
  if (*done == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(bytes, wire.incoming.data(), *done);
  wire.incoming = wire.incoming.subspan(*done);
  return 1;
}

int write_wire(BIO* bio, const char* bytes, std::size_t size, std::size_t* done) {
  Wire& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  wire.outgoing.insert(wire.outgoing.end(), begin, begin + size);
  *done = size;
  return 1;
}

long control_wire(BIO* /*bio*/, int command, long /*number*/, void* /*argument*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int create_wire(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

// One for the process; it is never freed, as sessions may end while it does.
BIO_METHOD* wire_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gcoord wire");
    GCOORD_ASSERT(made != nullptr);
    BIO_meth_set_read_ex(made, read_wire);
    BIO_meth_set_write_ex(made, write_wire);
    BIO_meth_set_ctrl(made, control_wire);
    BIO_meth_set_create(made, create_wire);
    return made;
  }();
  return method;
}

// Memory for the next output that a session keeps.
constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

// Of a record beside its plain text: header, type and tag (RFC 8446 5.2).
constexpr std::size_t kRecordExtraBytes = 5 + 1 + 16;

// A server issues a ticket with this record of plain text from its client: by then the connection
// is one that lasts. To make one costs as much as a good part of a handshake (the client's
// certificate is decoded again), and short ones, or ten thousand that come at once after a
// failover, would use it for nothing.
constexpr std::uint32_t kRecordsBeforeTicket = 16;

// The largest plain text of one record.
using Record = std::array<std::byte, SSL3_RT_MAX_PLAIN_LENGTH>;

}  // namespace

struct TlsSession::Inner {
  std::shared_ptr<const TlsContext> context;
  SessionTies ties;
  Wire wire;
  OwnedSsl ssl;
  std::vector<std::byte> early;  // Plain bytes for after the handshake.
  std::vector<std::byte> plain;  // For read(), from `plain_begin` on.
  std::size_t plain_begin = 0;
  bool has_peer = false;  // Its certificate is read when somebody wants to know.
  std::optional<TlsPeer> peer;
  bool open = false;
  bool ended = false;
  bool shut = false;
  std::uint32_t records_to_ticket = kRecordsBeforeTicket;  // A server's; 0: it is issued.
  Status failure;

  void expect_server(const std::string& name);
  void resume();
  Status shake_hands();
  Status read_records(std::vector<std::byte>& out);
  Status on_record();
  Status on_open();
  Status write(std::span<const std::byte> bytes);
  Status fail(Status why);
};

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context,
                       const std::string& server_name,
                       const std::string& endpoint)
    : inner_(std::make_unique<Inner>()) {
  Inner& inner = *inner_;
  inner.context = std::move(context);
  inner.ties.endpoint = server_name + '\n' + endpoint;
  inner.ssl.reset(SSL_new(inner.context->inner().context.get()));
  BIO* const bio = BIO_new(wire_method());
  GCOORD_ASSERT(inner.ssl != nullptr && bio != nullptr);  // Only for want of memory.
  BIO_set_data(bio, &inner.wire);
  SSL_set_bio(inner.ssl.get(), bio, bio);
  SSL_clear_mode(inner.ssl.get(), SSL_MODE_RELEASE_BUFFERS);  // A handshake needs them at once.
  SSL_set_app_data(inner.ssl.get(), &inner.ties);
  if (inner.context->side() == TlsSide::Server) {
    SSL_set_accept_state(inner.ssl.get());
    return;
  }
  SSL_set_connect_state(inner.ssl.get());
  if (!server_name.empty()) {
    inner.expect_server(server_name);
  }
  inner.resume();
  static_cast<void>(inner.shake_hands());  // A failure is kept.
}

TlsSession::~TlsSession() = default;
TlsSession::TlsSession(TlsSession&&) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&&) noexcept = default;

// A name that cannot be one of a certificate fails here: to go on would be to verify no name.
void TlsSession::Inner::expect_server(const std::string& name) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1) {
    ERR_clear_error();
    return;
  }
  if (name.find('\0') != std::string::npos ||
      X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size()) != 1 ||
      SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1) {
    static_cast<void>(
        fail(Status{StatusCode::InvalidArgument, "no name of a server: " + name, kTlsName}));
  }
  ERR_clear_error();
}

void TlsSession::Inner::resume() {
  const OwnedSslSession ticket = context->inner().client_tickets.take(ties.endpoint);
  if (ticket != nullptr && SSL_SESSION_is_resumable(ticket.get()) == 1) {
    SSL_set_session(ssl.get(), ticket.get());
  }
}

Status TlsSession::Inner::fail(Status why) {
  ended = true;
  failure = why;
  early = {};
  return why;
}

Status TlsSession::Inner::shake_hands() {
  if (ended) {
    return failure;
  }
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl.get());
  if (done == 1) {
    return on_open();
  }
  const int error = SSL_get_error(ssl.get(), done);
  return error == SSL_ERROR_WANT_READ ? Status{} : fail(tls_failure(*ssl, false));
}

Status TlsSession::Inner::on_open() {
  open = true;
  SSL_set_mode(ssl.get(), SSL_MODE_RELEASE_BUFFERS);
  has_peer = SSL_get0_peer_certificate(ssl.get()) != nullptr &&
             SSL_get_verify_mode(ssl.get()) != SSL_VERIFY_NONE &&
             SSL_get_verify_result(ssl.get()) == X509_V_OK;
  if (has_peer && SSL_session_reused(ssl.get()) == 1) {
    ties.links = kept_links(*SSL_get_session(ssl.get()));
  }
  const std::vector<std::byte> waiting = std::exchange(early, {});
  GCOORD_TRY_STATUS(waiting.empty() ? Status{} : write(waiting));
  if (shut) {
    SSL_shutdown(ssl.get());
  }
  return Status{};
}

// The wire takes everything, so a write is never partial.
Status TlsSession::Inner::write(std::span<const std::byte> bytes) {
  ERR_clear_error();
  if (wire.outgoing.empty()) {
    const std::size_t record_count = bytes.size() / SSL3_RT_MAX_PLAIN_LENGTH + 1;
    wire.outgoing.reserve(bytes.size() + record_count * kRecordExtraBytes);
  }
  std::size_t written = 0;
  if (SSL_write_ex(ssl.get(), bytes.data(), bytes.size(), &written) != 1) {
    return fail(tls_failure(*ssl, true));
  }
  GCOORD_ASSERT(written == bytes.size());
  return Status{};
}

// The ticket goes out now: the wire takes everything.
Status TlsSession::Inner::on_record() {
  if (context->side() == TlsSide::Client || shut || records_to_ticket == 0 ||
      --records_to_ticket > 0) {
    return Status{};
  }
  ERR_clear_error();
  const bool issued = SSL_new_session_ticket(ssl.get()) == 1 && SSL_do_handshake(ssl.get()) == 1;
  return issued ? Status{} : fail(tls_failure(*ssl, true));
}

// OpenSSL reads no further than a record needs, so once the wire is empty only what it has
// decrypted can be left.
Status TlsSession::Inner::read_records(std::vector<std::byte>& out) {
  // Aligned, as mold puts a program's relocated data at a crooked address when this is the only
  // variable of its threads, and the loader refuses that.
  alignas(64) thread_local Record record;
  while (!wire.incoming.empty() || SSL_pending(ssl.get()) > 0) {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_read_ex(ssl.get(), record.data(), record.size(), &count);
    if (done == 1) {
      out.insert(out.end(), record.begin(), record.begin() + static_cast<std::ptrdiff_t>(count));
      GCOORD_TRY_STATUS(on_record());
      continue;
    }
    const int error = SSL_get_error(ssl.get(), done);
    if (error == SSL_ERROR_ZERO_RETURN) {
      ended = true;
      wire.incoming = {};
      return Status{};
    }
    if (error != SSL_ERROR_WANT_READ) {
      return fail(tls_failure(*ssl, true));
    }
    if (wire.incoming.empty()) {
      break;  // A record of which more has to come; else it was one without plain text.
    }
  }
  return Status{};
}

Status TlsSession::receive(std::span<const std::byte> wire, std::vector<std::byte>& plain) {
  Inner& inner = *inner_;
  if (inner.ended) {
    return inner.failure.ok()
               ? Status{StatusCode::Unavailable, "the other side has shut", kTlsEnded}
               : inner.failure;
  }
  inner.wire.incoming = wire;
  Status status = inner.open ? Status{} : inner.shake_hands();
  if (status.ok() && inner.open) {
    status = inner.read_records(plain);
  }
  inner.wire.incoming = {};  // The caller's memory.
  return status;
}

Status TlsSession::receive(std::span<const std::byte> wire) {
  Inner& inner = *inner_;
  if (inner.plain.size() - inner.plain_begin + wire.size() > kUnreadBytesMax) {
    return inner.fail(
        Status{StatusCode::ResourceExhausted, "too much of it was not read", kTlsTooMuch});
  }
  return receive(wire, inner.plain);
}

bool TlsSession::open() const {
  return inner_->open;
}

std::size_t TlsSession::read(std::span<std::byte> plain) {
  Inner& inner = *inner_;
  const std::size_t count = std::min(plain.size(), inner.plain.size() - inner.plain_begin);
  if (count > 0) {
    std::memcpy(plain.data(), inner.plain.data() + inner.plain_begin, count);
  }
  inner.plain_begin += count;
  if (inner.plain_begin == inner.plain.size()) {
    inner.plain.clear();
    inner.plain_begin = 0;
  }
  return count;
}

Status TlsSession::send(std::span<const std::byte> plain) {
  Inner& inner = *inner_;
  if (!inner.failure.ok()) {
    return inner.failure;
  }
  if (inner.shut) {
    return Status{StatusCode::Unavailable, "this side has shut", kTlsEnded};
  }
  if (plain.empty()) {
    return Status{};
  }
  if (inner.open) {
    return inner.write(plain);
  }
  if (inner.early.size() + plain.size() > kEarlyBytesMax) {
    return inner.fail(Status{StatusCode::ResourceExhausted,
                             "too much waits for the end of the TLS handshake",
                             kTlsTooMuch});
  }
  inner.early.insert(inner.early.end(), plain.begin(), plain.end());
  return Status{};
}

void TlsSession::take_output(std::vector<std::byte>& wire) {
  std::vector<std::byte>& outgoing = inner_->wire.outgoing;
  if (wire.empty()) {
    wire.swap(outgoing);
  } else {
    wire.insert(wire.end(), outgoing.begin(), outgoing.end());
  }
  outgoing.clear();
  if (outgoing.capacity() > kKeptBytes) {
    outgoing = std::vector<std::byte>();
  }
}

void TlsSession::release() {
  inner_->wire.outgoing.shrink_to_fit();
  inner_->plain.shrink_to_fit();
}

bool TlsSession::has_output() const {
  return !inner_->wire.outgoing.empty();
}

bool TlsSession::ended() const {
  return inner_->ended;
}

const Status& TlsSession::failure() const {
  return inner_->failure;
}

const TlsPeer* TlsSession::peer() const {
  Inner& inner = *inner_;
  if (inner.has_peer && !inner.peer.has_value()) {
    const X509& certificate = *SSL_get0_peer_certificate(inner.ssl.get());
    inner.peer = peer_of(certificate);
    inner.peer->links = inner.ties.links != nullptr
                            ? inner.ties.links
                            : std::make_shared<const ChainLinks>(1, link_of(certificate));
  }
  return inner.has_peer ? &*inner.peer : nullptr;
}

SecretBytes TlsSession::exported_key(std::string_view label, std::size_t count) const {
  if (!inner_->open || !inner_->failure.ok()) {
    return {};
  }
  SecretBytes key(count);
  auto* const out = reinterpret_cast<unsigned char*>(key.mutable_bytes().data());
  const int done = SSL_export_keying_material(
      inner_->ssl.get(), out, count, label.data(), label.size(), nullptr, 0, 0);
  ERR_clear_error();
  return done == 1 ? std::move(key) : SecretBytes{};
}

bool TlsSession::resumed() const {
  return SSL_session_reused(inner_->ssl.get()) == 1;
}

void TlsSession::shut() {
  Inner& inner = *inner_;
  if (std::exchange(inner.shut, true) || !inner.open || !inner.failure.ok()) {
    return;
  }
  ERR_clear_error();
  SSL_shutdown(inner.ssl.get());
  ERR_clear_error();
}

}  // namespace gcoord::security
