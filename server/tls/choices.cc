#include "server/tls/choices.h"

#include "protocol/error_codes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::array<std::string_view, 3> kModeNames = {"off", "permissive", "required"};
constexpr std::array<std::string_view, 3> kCertificateNames = {"none", "optional", "required"};

template <typename Choice>
std::optional<Choice> parse(const std::array<std::string_view, 3>& names, std::string_view text) {
  const auto* found = std::ranges::find(names, text);
  return found == names.end() ? std::nullopt
                              : std::optional{static_cast<Choice>(found - names.begin())};
}

}  // namespace

std::string_view tls_mode_name(TlsMode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<TlsMode> parse_tls_mode(std::string_view text) {
  return parse<TlsMode>(kModeNames, text);
}

std::string_view client_certificates_name(ClientCertificates wish) {
  return kCertificateNames[static_cast<std::size_t>(wish)];
}

std::optional<ClientCertificates> parse_client_certificates(std::string_view text) {
  return parse<ClientCertificates>(kCertificateNames, text);
}

TlsMode tls_mode(const TlsChoices& choices, std::optional<TlsMode> chosen) {
  return chosen.value_or(choices.files.certificate.empty() ? TlsMode::Off : TlsMode::Required);
}

ClientCertificates client_certificates(const TlsChoices& choices) {
  return choices.client_certificates.value_or(
      choices.files.authority.empty() ? ClientCertificates::None : ClientCertificates::Optional);
}

security::TlsFiles server_files(const TlsChoices& choices) {
  security::TlsFiles files = choices.files;
  if (client_certificates(choices) == ClientCertificates::None) {
    files.authority.clear();
    files.revoked.clear();
  }
  return files;
}

Status check_tls(const TlsChoices& choices) {
  const security::TlsFiles& files = choices.files;
  if (files.certificate.empty() != files.key.empty()) {
    return protocol::make_error(protocol::ErrorCode::TlsFilesIncomplete,
                                "--tls-cert and --tls-key go together");
  }
  for (const auto& [name, chosen] :
       {std::pair{"--client-tls", choices.client}, std::pair{"--http-tls", choices.http}}) {
    if (tls_mode(choices, chosen) != TlsMode::Off && files.certificate.empty()) {
      return protocol::make_error(
          protocol::ErrorCode::OptionMissing,
          std::string(name) + " " + std::string(tls_mode_name(*chosen)) + " needs --tls-cert");
    }
  }
  if (!files.revoked.empty() && files.authority.empty()) {
    return protocol::make_error(protocol::ErrorCode::TlsFilesIncomplete,
                                "--tls-crl needs --tls-ca");
  }
  if (client_certificates(choices) != ClientCertificates::None && files.authority.empty()) {
    return protocol::make_error(protocol::ErrorCode::TlsFilesIncomplete,
                                "--client-certificates needs --tls-ca");
  }
  return Status{};
}

}  // namespace gcoord::server
