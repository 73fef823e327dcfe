// Choices of an operator about TLS, and what follows from them. Values; thread-safe.
#pragma once

#include "common/status.h"
#include "security/tls/files.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord::server {

// --client-tls, --http-tls off|permissive|required.
enum class TlsMode : std::uint8_t {
  Off,         // Plain text alone.
  Permissive,  // The first byte of a connection says which: for the way from off to required.
  Required,    // TLS alone.
};

std::string_view tls_mode_name(TlsMode mode);
std::optional<TlsMode> parse_tls_mode(std::string_view text);

// --client-certificates none|optional|required.
enum class ClientCertificates : std::uint8_t {
  None,      // Clients are not requested to show one.
  Optional,  // One that is shown must be good.
  Required,
};

std::string_view client_certificates_name(ClientCertificates wish);
std::optional<ClientCertificates> parse_client_certificates(std::string_view text);

struct TlsChoices {
  security::TlsFiles files;  // --tls-cert, --tls-key, --tls-ca, --tls-crl.
  std::optional<TlsMode> client;
  std::optional<TlsMode> http;
  std::optional<ClientCertificates> client_certificates;

  friend bool operator==(const TlsChoices&, const TlsChoices&) = default;
};

// Required where there is a certificate, else off.
TlsMode tls_mode(const TlsChoices& choices, std::optional<TlsMode> chosen);

// Optional where there is an authority, else none.
ClientCertificates client_certificates(const TlsChoices& choices);

// Files as the ports of a server need them: without an authority where no certificate is wished.
security::TlsFiles server_files(const TlsChoices& choices);

// What is wrong with choices that do not fit each other; the files are not read. GC1002, GC1234.
Status check_tls(const TlsChoices& choices);

}  // namespace gcoord::server
