#include "cli/credentials/session_key_files.h"

#include "protocol/error_codes.h"
#include "security/credentials/session_key.h"
#include "security/secret/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>

namespace gcoord::cli {
namespace {

using protocol::ErrorCode;

Result<std::string> checked(std::string_view text, const std::string& where) {
  const auto key = security::SessionKey::parse(text);
  if (!key.ok()) {
    return protocol::make_error(ErrorCode::CredentialsUnreadable,
                                where + ": " + key.status().message());
  }
  return key.value().text();
}

Result<std::string> of_descriptor(const char* variable) {
  const std::string where = std::string{kSessionKeyVariable} + "=" + variable;
  const std::string_view digits{variable};
  int fd = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
  if (error != std::errc{} || end != digits.data() + digits.size() || fd < 0) {
    return protocol::make_error(ErrorCode::CredentialsUnreadable, where + " is no descriptor");
  }
  std::array<char, security::kSessionKeyTextBytesMax> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  if (size < 0) {
    return protocol::make_error(ErrorCode::CredentialsUnreadable,
                                where + " is not open, or cannot be read");
  }
  return checked({text.data(), static_cast<std::size_t>(size)}, where);
}

}  // namespace

Result<std::string> read_session_key(const std::string& path) {
  if (path.empty()) {
    const char* const variable = std::getenv(kSessionKeyVariable);
    return variable == nullptr || *variable == '\0' ? Result<std::string>{std::string{}}
                                                    : of_descriptor(variable);
  }
  const auto read = security::read_secret_file(path, security::kSessionKeyTextBytesMax);
  if (!read.ok()) {
    return protocol::make_error(ErrorCode::CredentialsUnreadable, read.status().message());
  }
  return checked(read.value().text(), path);
}

bool names_session_key(const std::string& path) {
  const char* const variable = std::getenv(kSessionKeyVariable);
  return !path.empty() || (variable != nullptr && *variable != '\0');
}

Status write_session_key(const std::string& path, std::string_view key) {
  if (path.empty() || key.empty()) {
    return Status{};
  }
  const std::string line = std::string{key} + "\n";
  const Status written = security::write_secret_file(path, std::as_bytes(std::span{line}));
  return written.ok() ? written
                      : protocol::make_error(ErrorCode::CredentialsUnreadable, written.message());
}

SessionKeyDescriptor::SessionKeyDescriptor() : fd_(::memfd_create("gcoord-session-key", 0)) {}

SessionKeyDescriptor::~SessionKeyDescriptor() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

bool SessionKeyDescriptor::put(std::string_view key) const {
  return fd_ >= 0 && !key.empty() &&
         ::pwrite(fd_, key.data(), key.size(), 0) == static_cast<ssize_t>(key.size());
}

}  // namespace gcoord::cli
