#include "security/tls/pem_files.h"

#include "security/secret/service_credential.h"
#include "security/tls/errors.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gcoord::security {
namespace {

// Wiped at its end, whatever it held.
class FileBytes {
 public:
  FileBytes() = default;

  ~FileBytes() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

  FileBytes(FileBytes&&) = default;
  FileBytes& operator=(FileBytes&&) = delete;

  std::vector<char>& bytes() { return bytes_; }

  OwnedBio reader() const {
    return OwnedBio{BIO_new_mem_buf(bytes_.data(), static_cast<int>(bytes_.size()))};
  }

 private:
  std::vector<char> bytes_;
};

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

Status unreadable(const std::string& path, const std::string& why) {
  return Status{StatusCode::FailedPrecondition, path + ": " + why, kTlsFileUnreadable};
}

Status invalid(const std::string& path, const std::string& why) {
  return Status{StatusCode::FailedPrecondition, path + ": " + why, kTlsFileInvalid};
}

Status check_secret(const std::string& path, const struct stat& facts) {
  if (is_service_credential(path, facts)) {
    return Status{};
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status{StatusCode::FailedPrecondition,
                  path + ": others than its owner have rights on this key; chmod 600 it",
                  kTlsKeyPermissions};
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return Status{StatusCode::FailedPrecondition,
                  path + ": this key belongs to another user",
                  kTlsKeyPermissions};
  }
  return Status{};
}

Result<FileBytes> read_file(const std::string& path, bool secret) {
  const Descriptor file(path);

  struct stat facts {};

  if (file.fd() < 0 || ::fstat(file.fd(), &facts) != 0) {
    return unreadable(path, std::strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return unreadable(path, "not a file");
  }
  if (secret) {
    GCOORD_TRY_STATUS(check_secret(path, facts));
  }
  if (facts.st_size < 0 || static_cast<std::size_t>(facts.st_size) > kPemFileBytesMax) {
    return invalid(path, "too large for a PEM file");
  }
  FileBytes read;
  read.bytes().resize(static_cast<std::size_t>(facts.st_size));
  std::size_t begin = 0;
  while (begin < read.bytes().size()) {
    const ssize_t count =
        ::read(file.fd(), read.bytes().data() + begin, read.bytes().size() - begin);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return unreadable(path, std::strerror(errno));
    }
    if (count == 0) {
      break;  // It has become shorter: its end is missing, and parsing will say so.
    }
    begin += static_cast<std::size_t>(count);
  }
  return read;
}

// Else OpenSSL would request a password on the terminal.
int no_password(char* /*password*/, int /*size*/, int /*writes*/, void* /*argument*/) {
  return -1;
}

// Whether the last failure of a PEM reader was the end of the file.
bool at_end() {
  const unsigned long error = ERR_peek_last_error();
  const bool end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return end;
}

// All objects that `next` finds in the file.
template <typename Owned, typename Next>
Result<std::vector<Owned>> read_all(const std::string& path, const char* kind, Next next) {
  GCOORD_TRY(const FileBytes file, read_file(path, false));
  const OwnedBio reader = file.reader();
  std::vector<Owned> all;
  ERR_clear_error();
  while (Owned one{next(reader.get())}) {
    all.push_back(std::move(one));
  }
  if (!at_end()) {
    return invalid(path, std::string{"a damaged "} + kind);
  }
  if (all.empty()) {
    return invalid(path, std::string{"it has no "} + kind);
  }
  return all;
}

}  // namespace

Result<std::vector<OwnedCertificate>> read_certificates(const std::string& path) {
  return read_all<OwnedCertificate>(path, "certificate", [](BIO* reader) {
    return PEM_read_bio_X509(reader, nullptr, no_password, nullptr);
  });
}

Result<OwnedKey> read_key(const std::string& path) {
  GCOORD_TRY(const FileBytes file, read_file(path, true));
  const OwnedBio reader = file.reader();
  ERR_clear_error();
  OwnedKey key{PEM_read_bio_PrivateKey(reader.get(), nullptr, no_password, nullptr)};
  ERR_clear_error();
  if (key == nullptr) {
    return invalid(path, "it has no private key, or an encrypted or damaged one");
  }
  return key;
}

Result<std::vector<OwnedRevocations>> read_revocations(const std::string& path) {
  return read_all<OwnedRevocations>(path, "revocation list", [](BIO* reader) {
    return PEM_read_bio_X509_CRL(reader, nullptr, no_password, nullptr);
  });
}

}  // namespace gcoord::security
