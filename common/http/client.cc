#include "common/http/client.h"

#include "common/http/curl_library.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gcoord {
namespace {

// Of all heads of one exchange: interim answers, redirects and trailers too.
constexpr std::size_t kHeadBytesMax = 8192;

bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  }
  return host == "localhost";
}

// A key that is not there is for libcurl to report.
bool is_open_to_others(const std::string& key) {
  struct stat facts {};

  return !key.empty() && ::stat(key.c_str(), &facts) == 0 &&
         (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

// What may stand in the first line of a request, which a blank or a line's end would cut.
bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte > 0x20 && byte < 0x7f; });
}

// What one exchange has taken in, and why it was broken off.
struct Exchange {
  const CurlLibrary& library;
  CURL* curl;
  std::size_t body_bytes_max;
  bool sent_once;  // It must not go out again.

  std::string body{};
  std::size_t head_bytes = 0;
  std::uint32_t sent = 0;
  bool head_whole = false;
  bool head_refused = false;
  bool body_too_long = false;
};

curl_off_t announced_bytes(const Exchange& exchange) {
  curl_off_t bytes = -1;
  exchange.library.easy_getinfo(exchange.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  return bytes;
}

bool announces_too_much(const Exchange& exchange) {
  const curl_off_t bytes = announced_bytes(exchange);
  return bytes > 0 && static_cast<std::size_t>(bytes) > exchange.body_bytes_max;
}

// What libcurl hands over while easy_perform() runs. False breaks the transfer off.
bool take_head_line(std::string_view line, Exchange& exchange) {
  exchange.head_bytes += line.size();
  // libcurl takes later versions from those who pretend to speak them.
  exchange.head_refused = exchange.head_bytes > kHeadBytesMax ||
                          (line.starts_with("HTTP/") && !line.starts_with("HTTP/1."));
  exchange.head_whole =
      exchange.head_whole ? !line.starts_with("HTTP/") : line == "\r\n" || line == "\n";
  return !exchange.head_refused;
}

bool take_body(std::string_view bytes, Exchange& exchange) {
  const std::size_t room = exchange.body_bytes_max - exchange.body.size();
  exchange.body.append(bytes, 0, room);
  exchange.body_too_long = bytes.size() > room || announces_too_much(exchange);
  return !exchange.body_too_long;
}

bool may_send(Exchange& exchange) {
  ++exchange.sent;
  return !exchange.sent_once || exchange.sent == 1;
}

// The same as libcurl calls it, with the sizes of what it hands over in two factors, the first of
// which is 1. Another number than that of the bytes breaks the transfer off.
template <bool (*take)(std::string_view, Exchange&)>
constexpr auto kTake = +[](char* bytes, std::size_t, std::size_t count, void* context) {
  return take({bytes, count}, *static_cast<Exchange*>(context)) ? count : std::size_t{0};
};

template <typename... Ignored>
int allow_sending(void* context, Ignored...) {
  return may_send(*static_cast<Exchange*>(context)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

// libcurl's own sockets would pass to child processes.
constexpr auto kSocket = +[](void*, curlsocktype, curl_sockaddr* address) -> curl_socket_t {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
};

HttpResponse response_of(Exchange& exchange, HttpBody extent) {
  long status = 0;
  exchange.library.easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
  if (exchange.body_too_long || announces_too_much(exchange)) {
    extent = HttpBody::TooLong;
  }
  return {.status = static_cast<int>(status), .extent = extent, .body = std::move(exchange.body)};
}

// How a body was delimited that came to its end.
HttpBody extent_at_end(const Exchange& exchange) {
  long status = 0;
  exchange.library.easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
  curl_header* coding = nullptr;
  const bool coded =
      exchange.library.easy_header(
          exchange.curl, "Transfer-Encoding", 0, CURLH_HEADER, -1, &coding) == CURLHE_OK;
  const bool bodiless = status == 204 || status == 304;
  return coded || bodiless || announced_bytes(exchange) >= 0 ? HttpBody::Whole : HttpBody::Unsized;
}

bool is_no_http(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:  // Another protocol, or another version.
    case CURLE_WEIRD_SERVER_REPLY:    // A length that is none.
    case CURLE_OUT_OF_MEMORY:         // A line without an end.
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A handle of libcurl with its connection, and the origin as libcurl has it.
class HttpClient::Handle {
 public:
  static Result<std::unique_ptr<Handle>> create(const HttpOrigin& origin,
                                                const HttpOptions& options) {
    GCOORD_TRY(const CurlLibrary* library, load_curl_library());
    auto handle = std::make_unique<Handle>(*library, origin, options);
    if (handle->curl_ == nullptr || handle->url_ == nullptr) {
      return Status{StatusCode::ResourceExhausted, "libcurl has no memory"};
    }
    if (is_open_to_others(options.tls.key)) {
      return Status{StatusCode::PermissionDenied,
                    options.tls.key + ": others than its owner may use this key; chmod 600 it"};
    }
    if (!handle->set_origin()) {
      return Status{StatusCode::InvalidArgument, handle->name() + " is no host and port"};
    }
    return handle;
  }

  Handle(const CurlLibrary& library, const HttpOrigin& origin, const HttpOptions& options)
      : library_(library),
        origin_(origin),
        options_(options),
        curl_(library.easy_init()),
        url_(library.url()) {}

  ~Handle() {
    library_.easy_cleanup(curl_);
    library_.url_cleanup(url_);
    library_.slist_free_all(headers_);
  }

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Result<HttpResponse> exchange(const std::string& path,
                                const HttpContent* content,
                                const HttpLimits& limits) {
    if (!set_path(path)) {
      return Status{StatusCode::InvalidArgument, "no path of HTTP"};
    }
    Exchange exchange{.library = library_,
                      .curl = curl_,
                      .body_bytes_max = limits.body_bytes_max,
                      .sent_once = content != nullptr};
    library_.easy_reset(curl_);  // Its connection stays.
    set_request(content);
    set_tls();
    set_bearer();
    set_limits(limits);
    set_proxy();
    set_callbacks(exchange);
    if (refused_ != CURLE_OK) {
      return unavailable(refused_);
    }
    return judge(exchange, library_.easy_perform(curl_));
  }

 private:
  const char* scheme() const { return options_.tls.enabled ? "https" : "http"; }

  std::string name() const { return origin_.host + ":" + origin_.port; }

  // "fe80::1%eth0" has its zone apart.
  bool set_origin() {
    const std::size_t percent = origin_.host.find('%');
    const bool v6 = origin_.host.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + origin_.host.substr(0, percent) + "]" : origin_.host;
    return set_part(CURLUPART_SCHEME, scheme()) && set_part(CURLUPART_HOST, host) &&
           (!v6 || percent == std::string::npos ||
            set_part(CURLUPART_ZONEID, origin_.host.substr(percent + 1))) &&
           set_part(CURLUPART_PORT, origin_.port);
  }

  bool set_path(const std::string& path) {
    const std::size_t query = std::min(path.find('?'), path.size());
    return path.starts_with('/') && printable(path) &&
           set_part(CURLUPART_PATH, path.substr(0, query)) &&
           (query == path.size() ? library_.url_set(url_, CURLUPART_QUERY, nullptr, 0) == CURLUE_OK
                                 : set_part(CURLUPART_QUERY, path.substr(query + 1)));
  }

  bool set_part(CURLUPart part, const std::string& text) {
    return !text.empty() && library_.url_set(url_, part, text.c_str(), 0) == CURLUE_OK;
  }

  // By type, because libcurl's function takes any.
  void set(CURLoption option, long value) { keep(library_.easy_setopt(curl_, option, value)); }

  void set(CURLoption option, const char* value) {
    keep(library_.easy_setopt(curl_, option, value));
  }

  void set(CURLoption option, void* value) { keep(library_.easy_setopt(curl_, option, value)); }

  template <typename Return, typename... Arguments>
  void set(CURLoption option, Return (*value)(Arguments...)) {
    keep(library_.easy_setopt(curl_, option, value));
  }

  void keep(CURLcode code) { refused_ = refused_ == CURLE_OK ? code : refused_; }

  void set_request(const HttpContent* content) {
    refused_ = CURLE_OK;
    set(CURLOPT_CURLU, static_cast<void*>(url_));
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_PROTOCOLS_STR, scheme());
    set(CURLOPT_REDIR_PROTOCOLS_STR, scheme());
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_USERAGENT, "gcoord");
    library_.slist_free_all(std::exchange(headers_, nullptr));
    if (options_.connection == HttpConnection::Fresh) {
      set(CURLOPT_FORBID_REUSE, 1L);
      add_header("Connection: close");
    }
    if (content != nullptr) {
      set(CURLOPT_POSTFIELDSIZE, static_cast<long>(content->body.size()));
      set(CURLOPT_POSTFIELDS, static_cast<void*>(const_cast<char*>(content->body.data())));
      add_header("Content-Type: " + content->type);
      add_header("Expect:");  // A server that does not know it would cost a second.
    } else if (options_.redirects_max > 0) {
      set(CURLOPT_FOLLOWLOCATION, 1L);
      set(CURLOPT_MAXREDIRS, static_cast<long>(options_.redirects_max));
    }
    set(CURLOPT_HTTPHEADER, static_cast<void*>(headers_));
  }

  void add_header(const std::string& line) {
    headers_ = library_.slist_append(headers_, line.c_str());
  }

  // libcurl gives it to no other host.
  void set_bearer() {
    const HttpTls& tls = options_.tls;
    if (!tls.bearer.empty() && (tls.enabled || tls.bearer_in_plain || is_loopback(origin_.host))) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
      set(CURLOPT_XOAUTH2_BEARER, options_.tls.bearer.c_str());
    }
  }

  // libcurl checks chain and name by default.
  void set_tls() {
    if (!options_.tls.enabled) {
      return;
    }
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));
    if (!options_.tls.cacert.empty()) {
      set(CURLOPT_CAINFO, options_.tls.cacert.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // The system's count no more.
    }
    if (!options_.tls.cert.empty()) {
      set(CURLOPT_SSLCERT, options_.tls.cert.c_str());
      set(CURLOPT_SSLKEY, options_.tls.key.c_str());
    }
  }

  // Zero would mean no limit.
  void set_limits(const HttpLimits& limits) {
    set(CURLOPT_NOSIGNAL, 1L);
    // A look-up that is under way is left to its thread when the time is over.
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(limits.timeout.count())));
    const auto connecting = limits.connect_timeout.count() > 0
                                ? std::min(limits.connect_timeout, limits.timeout)
                                : limits.timeout;
    set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, static_cast<long>(connecting.count())));
  }

  void set_proxy() {
    const bool none = options_.proxy == HttpProxy::None ||
                      (options_.proxy == HttpProxy::BeyondLoopback && is_loopback(origin_.host));
    if (none) {
      set(CURLOPT_PROXY, "");
    }
  }

  void set_callbacks(Exchange& exchange) {
    error_.fill('\0');
    set(CURLOPT_ERRORBUFFER, static_cast<void*>(error_.data()));
    set(CURLOPT_HEADERFUNCTION, kTake<&take_head_line>);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&exchange));
    set(CURLOPT_WRITEFUNCTION, kTake<&take_body>);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&exchange));
    // The addresses and ports of both ends are of no interest.
    set(CURLOPT_PREREQFUNCTION, &allow_sending<char*, char*, int, int>);
    set(CURLOPT_PREREQDATA, static_cast<void*>(&exchange));
    set(CURLOPT_OPENSOCKETFUNCTION, kSocket);
  }

  // A transfer that was broken off is judged by what it was broken off for.
  Result<HttpResponse> judge(Exchange& exchange, CURLcode code) const {
    if (exchange.head_refused || is_no_http(code) || (code == CURLE_OK && !exchange.head_whole)) {
      return Status{StatusCode::DataLoss, name() + ": what came back is not HTTP"};
    }
    if (exchange.sent_once && exchange.sent > 1) {
      return Status{StatusCode::Unavailable, name() + ": closed the connection without an answer"};
    }
    if (exchange.body_too_long) {
      return response_of(exchange, HttpBody::TooLong);
    }
    if (code == CURLE_OK) {
      return response_of(exchange, extent_at_end(exchange));
    }
    if (code == CURLE_PARTIAL_FILE || (code == CURLE_RECV_ERROR && exchange.head_whole)) {
      return response_of(exchange, HttpBody::Cut);
    }
    return unavailable(code);
  }

  Status unavailable(CURLcode code) const {
    const char* why = error_[0] != '\0' ? error_.data() : library_.easy_strerror(code);
    return Status{code == CURLE_PEER_FAILED_VERIFICATION ? StatusCode::Unauthenticated
                                                         : StatusCode::Unavailable,
                  name() + ": " + why};
  }

  const CurlLibrary& library_;
  const HttpOrigin& origin_;
  const HttpOptions& options_;
  CURL* curl_;
  CURLU* url_;
  curl_slist* headers_ = nullptr;
  CURLcode refused_ = CURLE_OK;  // The first option that this libcurl does not take.
  std::array<char, CURL_ERROR_SIZE> error_{};
};

HttpClient::HttpClient(HttpOrigin origin, HttpOptions options)
    : origin_(std::move(origin)), options_(std::move(options)) {}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::get(const std::string& path, const HttpLimits& limits) {
  return exchange(path, nullptr, limits);
}

Result<HttpResponse> HttpClient::post(const std::string& path,
                                      const HttpContent& content,
                                      const HttpLimits& limits) {
  return exchange(path, &content, limits);
}

Result<HttpResponse> HttpClient::exchange(const std::string& path,
                                          const HttpContent* content,
                                          const HttpLimits& limits) {
  if (handle_ == nullptr) {
    GCOORD_TRY(handle_, Handle::create(origin_, options_));
  }
  return handle_->exchange(path, content, limits);
}

}  // namespace gcoord
