// A log file of a program that a test reads line by line while the program writes it.
#pragma once

#include "tests/cli/programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace gcoord::cli {

class LineFifo {
 public:
  explicit LineFifo(const std::string& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(fd_, 0);
  }

  ~LineFifo() { ::close(fd_); }

  LineFifo(const LineFifo&) = delete;
  LineFifo& operator=(const LineFifo&) = delete;

  std::string read_line() {
    std::string line;
    for (char c = 0; c != '\n';) {
      pollfd readable{fd_, POLLIN, 0};
      if (::poll(&readable, 1, static_cast<int>(kPatience.count())) != 1 ||
          ::read(fd_, &c, 1) != 1) {
        ADD_FAILURE() << "no line comes; so far: " << line;
        return line;
      }
      line += c;
    }
    return line;
  }

  // Skips lines that have none of it.
  std::string line_with(const std::string& part) {
    std::string line;
    do {
      line = read_line();
    } while (line.find(part) == std::string::npos && !testing::Test::HasFailure());
    return line;
  }

 private:
  int fd_ = -1;
};

}  // namespace gcoord::cli
