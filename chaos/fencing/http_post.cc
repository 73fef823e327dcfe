#include "chaos/fencing/http_post.h"

#include "common/json/text.h"

namespace gcoord::chaos {

namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;

Status unavailable(const std::string& what) {
  return Status{StatusCode::Unavailable, what};
}

HttpOrigin origin_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  return {.host = endpoint.substr(0, colon), .port = endpoint.substr(colon + 1)};
}

}  // namespace

HttpPost::HttpPost(const std::string& endpoint)
    : endpoint_(endpoint), client_(origin_of(endpoint), {.connection = HttpConnection::Kept}) {}

Result<Json> HttpPost::post(const std::string& path,
                            const Json& body,
                            std::chrono::milliseconds timeout) {
  const auto answered = client_.post(path,
                                     {.type = "application/json", .body = body.dump()},
                                     {.timeout = timeout, .body_bytes_max = kAnswerBytesMax});
  if (!answered.ok()) {
    return unavailable(answered.status().message());
  }
  const HttpBody extent = answered.value().extent;
  if (extent != HttpBody::Whole && extent != HttpBody::Unsized) {
    return unavailable("no whole answer came from " + endpoint_);
  }
  Json parsed = parse_json(answered.value().body);
  if (!parsed.is_object()) {
    return unavailable("what came from " + endpoint_ + " is not JSON");
  }
  if (parsed.contains("error")) {
    return Status{StatusCode::Aborted, parsed["error"].dump()};
  }
  return parsed;
}

}  // namespace gcoord::chaos
