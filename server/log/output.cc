#include "server/log/output.h"

#include "protocol/error_codes.h"
#include "server/log/line_formatters.h"
#include "server/log/recent_lines.h"
#include "server/log_levels/present.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace gcoord::server {

namespace {

// Lines appended to a file, each by one write, so that lines of two processes do not mix.
class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(std::string file) : file_(std::move(file)) {}

  ~FileSink() override { close(); }

  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  Status open() {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
      return protocol::make_error(
          protocol::ErrorCode::OptionInvalid,
          "--log-file " + file_ + ": " + std::system_category().message(errno));
    }
    const std::lock_guard lock(mutex_);
    close();
    fd_ = fd;
    return Status{};
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t buffer;
    formatter_->format(line, buffer);
    std::size_t written = 0;
    while (written < buffer.size()) {
      const ssize_t bytes = ::write(fd_, buffer.data() + written, buffer.size() - written);
      if (bytes < 0 && errno != EINTR) {
        return;  // A log that cannot be written never stops a node.
      }
      written += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    }
  }

  void flush_() override {}

 private:
  void close() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  const std::string file_;
  int fd_ = -1;
};

constexpr std::size_t kRecentBytes = std::size_t{1} << 20;

RecentLines& recent_lines() {
  static RecentLines lines(kRecentBytes);
  return lines;
}

// Every line that is written anywhere, in the same form.
class RecentSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t buffer;
    formatter_->format(line, buffer);
    recent_lines().add({buffer.data(), buffer.size()});
  }

  void flush_() override {}
};

// Set by start_log, before there are other threads.
std::shared_ptr<FileSink>& file_sink() {
  static std::shared_ptr<FileSink> sink;
  return sink;
}

// The node that lines name in place of the one in the options; 0: none.
std::atomic<std::uint32_t>& log_node() {
  static std::atomic<std::uint32_t> node{0};
  return node;
}

}  // namespace

Status start_log(const NodeOptions& options) {
  spdlog::sink_ptr sink;
  if (options.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  } else {
    auto file = std::make_shared<FileSink>(options.log_file);
    GCOORD_TRY_STATUS(file->open());
    file_sink() = file;
    sink = std::move(file);
  }
  auto logger = std::make_shared<spdlog::logger>(
      "node", spdlog::sinks_init_list{std::move(sink), std::make_shared<RecentSink>()});
  logger->set_level(spdlog::level::trace);  // Levels are by component (server/log_levels).
  spdlog::set_default_logger(std::move(logger));
  set_log_levels(options.log_levels);
  set_log_format(options);
  return Status{};
}

Status reopen_log() {
  return file_sink() == nullptr ? Status{} : file_sink()->open();
}

void set_log_format(const NodeOptions& options) {
  // The directory of a node that joins, or has joined, says which one it is.
  const NodeId from_options = options.join.empty() ? options.node : NodeId{};
  const NodeId node = log_node() != 0 ? NodeId{log_node().load()} : from_options;
  spdlog::default_logger_raw()->set_formatter(options.log_format == LogFormat::Json
                                                  ? make_json_formatter(node)
                                                  : make_text_formatter(node));
}

void set_log_node(const NodeOptions& options) {
  log_node() = options.node.value;
  set_log_format(options);
}

std::string recent_log() {
  return recent_lines().text();
}

}  // namespace gcoord::server
