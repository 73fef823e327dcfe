#include "cli/credentials/login_options.h"

#include "cli/credentials/user_text.h"
#include "protocol/error_codes.h"
#include "security/credentials/password.h"
#include "security/secret/file.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace gcoord::cli {
namespace {

using protocol::ErrorCode;

constexpr std::size_t kFileBytesMax = security::kPasswordBytesMax + 2;

Result<std::string> first_line(const std::string& path) {
  const auto read = security::read_secret_file(path, kFileBytesMax);
  if (!read.ok()) {
    return protocol::make_error(ErrorCode::CredentialsUnreadable, read.status().message());
  }
  const std::string_view text = read.value().text();
  return std::string{text.substr(0, text.find_first_of("\r\n"))};
}

// Of the process's terminal, whatever stdin is, without showing what is typed.
class SilentTerminal {
 public:
  SilentTerminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC)) {
    silent_ = fd_ >= 0 && ::tcgetattr(fd_, &before_) == 0;
    if (silent_) {
      termios without_echo = before_;
      without_echo.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      silent_ = ::tcsetattr(fd_, TCSAFLUSH, &without_echo) == 0;
    }
  }

  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;

  ~SilentTerminal() {
    if (silent_) {
      ::tcsetattr(fd_, TCSAFLUSH, &before_);
    }
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  bool silent() const { return silent_; }

  // A line, and its end is shown.
  std::string ask(const std::string& question) const {
    write_all(question);
    std::string line;
    char letter = 0;
    while (line.size() <= security::kPasswordBytesMax && ::read(fd_, &letter, 1) == 1 &&
           letter != '\n') {
      line += letter;
    }
    write_all("\n");
    return line;
  }

 private:
  void write_all(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written <= 0) {
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  int fd_;
  bool silent_ = false;
  termios before_{};
};

Result<std::string> asked(const std::string& user) {
  const SilentTerminal terminal;
  if (!terminal.silent()) {
    return protocol::make_error(
        ErrorCode::OptionMissing,
        "the password of '" + user + "': --password-file, since there is no terminal to ask on");
  }
  return terminal.ask("password of " + user + ": ");
}

}  // namespace

Result<client::Credentials> credentials_of(const LoginOptions& options) {
  client::Credentials credentials;
  credentials.token_file = options.token_file;
  const std::string_view written = written_name(options.user);
  credentials.user = name_of_written(written);
  if (credentials.user.empty()) {
    return credentials;
  }
  if (written.size() < options.user.size()) {
    credentials.password = options.user.substr(written.size() + 1);
  } else if (!options.password_file.empty()) {
    GCOORD_TRY(credentials.password, first_line(options.password_file));
  } else if (options.token_file.empty()) {
    GCOORD_TRY(credentials.password, asked(credentials.user));
  }
  return credentials;
}

}  // namespace gcoord::cli
