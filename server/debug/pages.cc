#include "server/debug/pages.h"

#include "server/debug/build_page.h"
#include "server/debug/cpu_profile.h"
#include "server/debug/pause.h"
#include "server/debug/thread_samples.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kSecondsMax = 30;  // Half of what an answer may take (http/limits.h).
constexpr std::uint32_t kSecondsDefault = 5;

// Three files a thread and look: ten looks a second at a node's ten threads take half a hundredth
// of a processor.
constexpr std::chrono::milliseconds kLookInterval{100};

std::optional<std::uint32_t> seconds_of(const HttpRequest& request) {
  const std::string* text = request.find("seconds");
  if (text == nullptr) {
    return kSecondsDefault;
  }
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  const bool whole = error == std::errc{} && end == text->data() + text->size();
  return whole && seconds >= 1 && seconds <= kSecondsMax ? std::optional{seconds} : std::nullopt;
}

HttpAnswer json_answer(const Json& json) {
  return {.content_type = "application/json", .body = json.dump() + "\n"};
}

HttpAnswer shown(const std::function<std::string()>& text) {
  return text ? HttpAnswer{.body = text()} : not_found();
}

HttpAnswer bad_seconds() {
  return {.status = 400,
          .body = "seconds is a number from 1 to " + std::to_string(kSecondsMax) + "\n"};
}

HttpAnswer busy() {
  return {.status = 503, .body = "threads are being sampled already; one at a time\n"};
}

HttpAnswer stopping() {
  return {.status = 503, .body = "the node stops\n"};
}

HttpAnswer only_get() {
  return {.status = 405, .body = "only GET: this page takes its time\n"};
}

// A stop once the first of two is requested.
class EitherStop {
 public:
  EitherStop(const std::stop_token& first, const std::stop_token& second)
      : on_first_(first, Request{either_}), on_second_(second, Request{either_}) {}

  std::stop_token token() const { return either_.get_token(); }

 private:
  struct Request {
    std::stop_source source;

    void operator()() { source.request_stop(); }
  };

  std::stop_source either_;
  std::stop_callback<Request> on_first_;
  std::stop_callback<Request> on_second_;
};

}  // namespace

HttpAnswer DebugPages::answer(const HttpRequest& request) {
  if (request.path == "/debug/build") {
    return build();
  }
  if (request.path == "/debug/config") {
    return shown(options_.texts.configuration);
  }
  if (request.path == "/debug/log") {
    return shown(options_.texts.recent_log);
  }
  if (request.path == "/debug/threads") {
    return threads(request);
  }
  return request.path == "/debug/profile" ? profile(request) : not_found();
}

HttpAnswer DebugPages::build() const {
  Json json = {{"node", options_.node.value},
               {"cluster_id", std::to_string(options_.cluster.value)},
               {"cluster_name", options_.cluster_name},
               {"incarnation", options_.incarnation.value}};
  merge_members(json, build_json());
  return json_answer(json);
}

HttpAnswer DebugPages::threads(const HttpRequest& request) {
  if (request.head) {
    return only_get();
  }
  const auto seconds = seconds_of(request);
  if (!seconds.has_value()) {
    return bad_seconds();
  }
  const std::unique_lock alone(sampling_, std::try_to_lock);
  if (!alone.owns_lock()) {
    return busy();
  }
  const EitherStop stop(stop_.get_token(), request.gone);
  ThreadSamples samples(static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
  const auto look_count = std::chrono::seconds{*seconds} / kLookInterval;
  for (std::int64_t look = 0; look < look_count; ++look) {
    samples.add(read_tasks());
    if (!pause_for(kLookInterval, stop.token())) {
      return stopping();
    }
  }
  samples.add(read_tasks());
  Json json = {{"seconds", *seconds}};
  merge_members(json, samples.json());
  return json_answer(json);
}

HttpAnswer DebugPages::profile(const HttpRequest& request) {
  if (request.head) {
    return only_get();
  }
  if (!options_.cpu_profiles) {
    return {.status = 403, .body = "CPU profiles are off on this node: see --cpu-profiles\n"};
  }
  const auto seconds = seconds_of(request);
  if (!seconds.has_value()) {
    return bad_seconds();
  }
  const std::unique_lock alone(sampling_, std::try_to_lock);
  if (!alone.owns_lock()) {
    return busy();
  }
  const EitherStop stop(stop_.get_token(), request.gone);
  const auto library = open_profiler_library(options_.profiler_file);
  if (!library.ok()) {
    return {.status = 501, .body = library.status().message() + "\n"};
  }
  auto profile = cpu_profile(library.value(), std::chrono::seconds{*seconds}, stop.token());
  if (!profile.ok()) {
    return profile.status().code() == StatusCode::Cancelled
               ? stopping()
               : HttpAnswer{.status = 503, .body = profile.status().message() + "\n"};
  }
  return {.content_type = "application/octet-stream", .body = std::move(profile).value()};
}

}  // namespace gcoord::server
