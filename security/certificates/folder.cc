#include "security/certificates/folder.h"

#include "common/host/descriptor.h"
#include "common/host/exclusive_file.h"
#include "security/certificates/error_details.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

namespace gcoord::certificates {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

Status unreadable(const fs::path& path, const std::string& why) {
  return {StatusCode::NotFound, path.string() + ": " + why, kCertificateUnreadable};
}

Status unwritten(const fs::path& path, const std::string& why) {
  return {StatusCode::Unavailable, path.string() + ": " + why, kCertificateUnwritten};
}

Status in_the_way(const fs::path& path) {
  return {StatusCode::AlreadyExists,
          path.string() + " is there already, and nothing is written over",
          kCertificateInTheWay};
}

Status at(const fs::path& path, const Status& status) {
  return {status.code(), path.string() + ": " + status.message(), status.detail()};
}

Status write_all(const fs::path& path, int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) {
      return unwritten(path, std::strerror(errno));
    }
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return ::fsync(file) == 0 ? Status{} : unwritten(path, std::strerror(errno));
}

// `publish` gives the written file its name.
template <typename Publish>
Status write_beside(const fs::path& path, const std::string& text, const Publish& publish) {
  const std::string part = path.string() + ".part";
  const auto created = create_exclusive_file(part, 0644);
  if (!created.ok()) {
    return unwritten(path, created.status().message());
  }
  const OwnedDescriptor file(created.value());
  ::fchmod(file.get(), 0644);
  Status written = write_all(path, file.get(), text);
  if (written.ok() && publish(part.c_str()) != 0) {
    written = errno == EEXIST ? in_the_way(path) : unwritten(path, std::strerror(errno));
  }
  ::unlink(part.c_str());
  return written;
}

Status make_folder(const fs::path& path, mode_t mode) {
  return ::mkdir(path.c_str(), mode) == 0 || errno == EEXIST
             ? Status{}
             : unwritten(path, std::strerror(errno));
}

}  // namespace

Result<std::string> read_public_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    return unreadable(path, "there is no plain file");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return unreadable(path, std::strerror(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return unreadable(path, "it is larger than 1 MiB");
  }
  return text;
}

Status write_public_file(const fs::path& path, const std::string& text) {
  return write_beside(path, text, [&](const char* part) { return ::link(part, path.c_str()); });
}

Status replace_public_file(const fs::path& path, const std::string& text) {
  return write_beside(path, text, [&](const char* part) { return ::rename(part, path.c_str()); });
}

PairPaths pair_paths(const fs::path& prefix) {
  return {.certificate = prefix.string() + ".crt", .key = prefix.string() + ".key"};
}

Result<Authority> AuthorityFolder::found(const AuthorityWishes& wishes) const {
  GCOORD_TRY(PrivateKey key, PrivateKey::make(wishes.algorithm));
  GCOORD_TRY_STATUS(make_folder(path_, 0700));
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(certificate_path(), ignored))) {
    return in_the_way(certificate_path());
  }
  GCOORD_TRY_STATUS(key.write_new(key_path().string()));
  auto made = [&]() -> Result<Authority> {
    GCOORD_TRY(Authority authority, Authority::found(wishes, std::move(key)));
    GCOORD_TRY(const std::string revocations, authority.revoke("", {}, wishes.now_s));
    GCOORD_TRY(const std::string pem, authority.pem());
    GCOORD_TRY_STATUS(write_public_file(revocations_path(), revocations));
    const Status written = write_public_file(certificate_path(), pem);
    if (!written.ok()) {
      ::unlink(revocations_path().c_str());
      return written;
    }
    return authority;
  }();
  if (!made.ok()) {
    ::unlink(key_path().c_str());
  }
  return made;
}

Result<Authority> AuthorityFolder::load() const {
  GCOORD_TRY(const std::string pem, read_public_file(certificate_path()));
  GCOORD_TRY(PrivateKey key, PrivateKey::read(key_path().string()));
  auto authority = Authority::load(pem, std::move(key));
  return authority.ok() ? std::move(authority) : at(certificate_path(), authority.status());
}

Result<std::string> AuthorityFolder::revocations() const {
  std::error_code ignored;
  if (!fs::exists(revocations_path(), ignored)) {
    return std::string{};
  }
  return read_public_file(revocations_path());
}

Result<CertificateFacts> AuthorityFolder::note_issued(const std::string& pem) const {
  GCOORD_TRY(const auto facts, read_certificates(pem));
  GCOORD_TRY_STATUS(make_folder(path_ / "issued", 0700));
  GCOORD_TRY_STATUS(write_public_file(path_ / "issued" / (facts.front().serial + ".crt"), pem));
  return facts.front();
}

Result<CertificateFacts> AuthorityFolder::issue(const IssueWishes& wishes,
                                                KeyAlgorithm algorithm,
                                                const PairPaths& paths) const {
  GCOORD_TRY(const Authority authority, load());
  GCOORD_TRY(const PrivateKey key, PrivateKey::make(algorithm));
  GCOORD_TRY(const std::string pem, authority.issue(wishes, key));
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(paths.certificate, ignored))) {
    return in_the_way(paths.certificate);
  }
  GCOORD_TRY_STATUS(key.write_new(paths.key.string()));
  // Noted first: what is out in the world can be revoked.
  const auto noted = note_issued(pem);
  const Status written = noted.ok() ? write_public_file(paths.certificate, pem) : noted.status();
  if (!written.ok()) {
    ::unlink(paths.key.c_str());
    return written;
  }
  return noted;
}

Result<CertificateFacts> AuthorityFolder::renew(const RenewWishes& wishes,
                                                const std::optional<KeyAlgorithm>& algorithm,
                                                const PairPaths& paths) const {
  GCOORD_TRY(const Authority authority, load());
  GCOORD_TRY(const std::string before, read_public_file(paths.certificate));
  GCOORD_TRY(const std::string list, revocations());
  RenewWishes own = wishes;
  std::optional<PrivateKey> key;
  if (algorithm.has_value()) {
    GCOORD_TRY(PrivateKey made, PrivateKey::make(*algorithm));
    key = std::move(made);
    own.replacement = &*key;
  }
  const auto renewed = authority.renew(before, list, own);
  if (!renewed.ok()) {
    return at(paths.certificate, renewed.status());
  }
  GCOORD_TRY(const CertificateFacts facts, note_issued(renewed.value()));
  if (key.has_value()) {
    GCOORD_TRY_STATUS(key->replace(paths.key.string()));
  }
  GCOORD_TRY_STATUS(replace_public_file(paths.certificate, renewed.value()));
  return facts;
}

Result<RevocationFacts> AuthorityFolder::revoke(const std::vector<std::string>& serials,
                                                std::int64_t now_s) const {
  GCOORD_TRY(const Authority authority, load());
  GCOORD_TRY(const std::string before, revocations());
  const auto list = authority.revoke(before, serials, now_s);
  if (!list.ok()) {
    return at(revocations_path(), list.status());
  }
  GCOORD_TRY_STATUS(replace_public_file(revocations_path(), list.value()));
  return read_revocations(list.value());
}

}  // namespace gcoord::certificates
