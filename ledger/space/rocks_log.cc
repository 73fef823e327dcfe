#include "ledger/space/rocks_log.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;

// As RocksDB's own logger has it.
std::string time_text() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  tm parts{};
  ::localtime_r(&now.tv_sec, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y/%m/%d-%H:%M:%S.", &parts);
  const int more = std::snprintf(text.data() + size,
                                 text.size() - size,
                                 "%06ld %d ",
                                 static_cast<long>(now.tv_usec),
                                 static_cast<int>(::gettid()));
  return {text.data(), size + static_cast<std::size_t>(std::max(more, 0))};
}

class RocksLog final : public rocksdb::Logger {
 public:
  explicit RocksLog(int fd) : fd_(fd) {}

  ~RocksLog() override { ::close(fd_); }

  using rocksdb::Logger::Logv;

  void Logv(const char* format, std::va_list arguments) override {
    std::va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string line(std::min(static_cast<std::size_t>(std::max(size, 0)), kLineBytesMax) + 1, ' ');
    static_cast<void>(std::vsnprintf(line.data(), line.size(), format, arguments));
    line.back() = '\n';
    line.insert(0, time_text());
    // What is refused is lost.
    [[maybe_unused]] const auto written = ::write(fd_, line.data(), line.size());
  }

 private:
  int fd_;
};

}  // namespace

rocksdb::Status open_rocks_log(const std::string& path, std::shared_ptr<rocksdb::Logger>& log) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return rocksdb::Status::IOError(path, std::strerror(errno));
  }
  log = std::make_shared<RocksLog>(fd);
  return rocksdb::Status::OK();
}

}  // namespace gcoord::ledger
