#include "server/tls/choices.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

std::uint32_t wrong(const TlsChoices& choices) {
  return check_tls(choices).detail();
}

constexpr auto kMissing = static_cast<std::uint32_t>(protocol::ErrorCode::OptionMissing);
constexpr auto kIncomplete = static_cast<std::uint32_t>(protocol::ErrorCode::TlsFilesIncomplete);

TEST(TlsChoices, NamesAreThoseOfTheOptions) {
  for (const TlsMode mode : {TlsMode::Off, TlsMode::Permissive, TlsMode::Required}) {
    EXPECT_EQ(parse_tls_mode(tls_mode_name(mode)), mode);
  }
  for (const auto wish :
       {ClientCertificates::None, ClientCertificates::Optional, ClientCertificates::Required}) {
    EXPECT_EQ(parse_client_certificates(client_certificates_name(wish)), wish);
  }
  EXPECT_EQ(parse_tls_mode("on"), std::nullopt);
  EXPECT_EQ(parse_client_certificates(""), std::nullopt);
}

TEST(TlsChoices, ACertificateTurnsTlsOnAndAnAuthorityRequestsCertificates) {
  TlsChoices choices;
  EXPECT_EQ(tls_mode(choices, choices.client), TlsMode::Off);
  EXPECT_EQ(client_certificates(choices), ClientCertificates::None);
  choices.files = {.certificate = "c", .key = "k", .authority = "a", .revoked = "r"};
  EXPECT_EQ(tls_mode(choices, choices.client), TlsMode::Required);
  EXPECT_EQ(client_certificates(choices), ClientCertificates::Optional);
  EXPECT_EQ(server_files(choices), choices.files);
  choices.http = TlsMode::Off;
  EXPECT_EQ(tls_mode(choices, choices.http), TlsMode::Off);
  choices.client_certificates = ClientCertificates::None;
  EXPECT_EQ(server_files(choices), (security::TlsFiles{.certificate = "c", .key = "k"}));
  EXPECT_TRUE(check_tls(choices).ok());
}

TEST(TlsChoices, ThatDoNotFitEachOtherAreNamed) {
  EXPECT_EQ(wrong({}), 0u);
  EXPECT_EQ(wrong({.client = TlsMode::Required}), kMissing);
  EXPECT_EQ(wrong({.http = TlsMode::Permissive}), kMissing);
  EXPECT_EQ(wrong({.client = TlsMode::Off}), 0u);
  EXPECT_EQ(wrong({.files = {.certificate = "c"}}), kIncomplete);
  EXPECT_EQ(wrong({.files = {.key = "k"}}), kIncomplete);
  EXPECT_EQ(wrong({.files = {.certificate = "c", .key = "k", .revoked = "r"}}), kIncomplete);
  EXPECT_EQ(wrong({.files = {.certificate = "c", .key = "k"},
                   .client_certificates = ClientCertificates::Required}),
            kIncomplete);
}

}  // namespace
}  // namespace gcoord::server
