#include "cli/access/password.h"

#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "security/secret/file.h"

#include <termios.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <sstream>
#include <system_error>

namespace gcoord::cli {

namespace {

using protocol::ErrorCode;

// protocol/access/messages.h has the same.
constexpr std::size_t kBytesMax = 1024;

Result<std::string> line_of(std::istream& in) {
  std::string line;
  if (!std::getline(in, line) || line.empty() || line.size() > kBytesMax) {
    return protocol::make_error(ErrorCode::PasswordInvalid);
  }
  return line;
}

// The terminal shows nothing of what is typed while this lives.
class Unseen {
 public:
  Unseen() {
    shown_ = ::tcgetattr(STDIN_FILENO, &before_) != 0;
    if (!shown_) {
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      shown_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) != 0;
    }
  }

  ~Unseen() {
    if (!shown_) {
      static_cast<void>(::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_));
    }
  }

  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  termios before_{};
  bool shown_ = true;
};

bool is_fifo(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_fifo(path, ignored);
}

Result<std::string> ask(const std::string& question) {
  std::cerr << question << std::flush;
  const Unseen unseen;
  auto line = line_of(std::cin);
  std::cerr << "\n";
  return line;
}

}  // namespace

Result<std::string> password_of_file(const std::string& path) {
  if (path == "-") {
    return line_of(std::cin);
  }
  if (!is_fifo(path)) {  // As of a shell's <(...).
    const auto read = security::read_secret_file(path, kBytesMax + 2);
    if (!read.ok()) {
      return protocol::make_error(ErrorCode::CredentialsUnreadable, read.status().message());
    }
    std::istringstream text{std::string{read.value().text()}};
    return line_of(text);
  }
  std::ifstream file(path);
  return line_of(file);
}

Result<std::string> asked_password(const std::string& user) {
  if (::isatty(STDIN_FILENO) == 0) {
    return protocol::make_error(ErrorCode::OptionMissing,
                                "a password: --password-file FILE, or --no-password for a user "
                                "that shows a certificate");
  }
  GCOORD_TRY(std::string first, ask("Password of " + shown(user) + ": "));
  GCOORD_TRY(const std::string second, ask("The same again: "));
  if (first != second) {
    return protocol::make_error(ErrorCode::PasswordInvalid, "they differ");
  }
  return first;
}

}  // namespace gcoord::cli
