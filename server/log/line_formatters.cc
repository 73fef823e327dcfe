#include "server/log/line_formatters.h"

#include "common/json/value.h"
#include "common/text/printable.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>

#include <array>
#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

namespace gcoord::server {

namespace {

std::string_view view_of(spdlog::string_view_t text) {
  return {text.data(), text.size()};
}

void append(std::string_view text, spdlog::memory_buf_t& out) {
  out.append(text.data(), text.data() + text.size());
}

class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line,
              const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    append(shown(view_of(line.payload)), out);
  }

  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

// RFC 3339, UTC, with milliseconds.
std::string utc_time(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t bytes = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(1000 + ms % 1000);
  return std::string(text.data(), bytes) + "." + fraction.substr(1) + "Z";
}

class JsonFormatter : public spdlog::formatter {
 public:
  explicit JsonFormatter(NodeId node) : node_(node) {}

  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    append(R"({"time":")" + utc_time(line.time), out);
    append(R"(","level":")", out);
    append(view_of(spdlog::level::to_string_view(line.level)), out);
    append(R"(","node":)" + std::to_string(node_.value) + R"(,"component":)", out);
    append(Json(view_of(line.logger_name)).dump() + R"(,"message":)", out);
    append(Json(view_of(line.payload)).dump(), out);
    append("}\n", out);
  }

  std::unique_ptr<formatter> clone() const override {
    return std::make_unique<JsonFormatter>(node_);
  }

 private:
  NodeId node_;
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_text_formatter(NodeId node) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*');
  const std::string name = node.value == 0 ? "?" : std::to_string(node.value);
  formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ node " + name + " %n: %*");
  return formatter;
}

std::unique_ptr<spdlog::formatter> make_json_formatter(NodeId node) {
  return std::make_unique<JsonFormatter>(node);
}

}  // namespace gcoord::server
