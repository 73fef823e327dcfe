#include "bench/trust/scripts.h"

#include "protocol/frame.h"
#include "protocol/hello.h"
#include "protocol/identities/authenticate_messages.h"
#include "protocol/read_messages.h"
#include "protocol/request.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

namespace gcoord::bench {
namespace {

using Heard = CrowdScript::Heard;
using protocol::RequestKind;

constexpr std::uint32_t kReadPatienceMs = 5000;

// Parts of one connection, whose frames are numbered.
class Frames {
 public:
  Frames() {
    add(RequestKind::Hello,
        protocol::encode(protocol::Hello{.cluster = {}, .client = "gcoord-bench-crowd"}));
  }

  void add(RequestKind kind, std::span<const std::byte> payload, std::uint32_t deadline_ms = 0) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = parts_.size();
    slot.deadline_ms = deadline_ms;
    builder_.add(slot, payload);
    parts_.emplace_back();
    builder_.finish(parts_.back());
  }

  std::vector<std::vector<std::byte>> take() { return std::move(parts_); }

 private:
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
  std::vector<std::vector<std::byte>> parts_;
};

// One reply, which must be Ok; the token of one to a login is kept where somebody wants it.
Heard hear_reply(std::span<const std::byte> bytes, std::string* token) {
  protocol::FrameDecoder decoder{protocol::FrameDirection::Replies};
  decoder.append(bytes);
  protocol::FrameView frame;
  const protocol::DecodeStep step = decoder.next(frame);
  if (step != protocol::DecodeStep::Frame) {
    return step == protocol::DecodeStep::NeedMore ? Heard::Part : Heard::Wrong;
  }
  const protocol::ReplySlot reply = frame.reply(0);
  if (reply.code != StatusCode::Ok) {
    return Heard::Wrong;
  }
  if (token != nullptr && reply.kind == RequestKind::Authenticate) {
    const auto answer = protocol::decode_authenticated(frame.payload(reply));
    if (!answer.ok()) {
      return Heard::Wrong;
    }
    *token = answer.value().token;
  }
  return Heard::Whole;
}

CrowdScript script_of(Frames frames, std::shared_ptr<std::string> token = nullptr) {
  const auto mutex = std::make_shared<std::mutex>();  // The token is that of all threads.
  return {.parts = frames.take(), .hear = [token, mutex](std::span<const std::byte> bytes) {
            const std::unique_lock lock =
                token == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock{*mutex};
            return hear_reply(bytes, token.get());
          }};
}

Heard hear_http(std::span<const std::byte> bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  constexpr std::string_view kOk = "HTTP/1.1 200";
  if (!text.starts_with(kOk.substr(0, std::min(kOk.size(), text.size())))) {
    return Heard::Wrong;
  }
  // Bodies are a few bytes and come with their header.
  const std::size_t end = text.find("\r\n\r\n");
  return end != std::string_view::npos && end + 4 < text.size() ? Heard::Whole : Heard::Part;
}

}  // namespace

CrowdScript hello_script() {
  return script_of(Frames{});
}

CrowdScript password_script(const std::string& user,
                            const std::string& password,
                            std::shared_ptr<std::string> token) {
  Frames frames;
  frames.add(RequestKind::Authenticate,
             protocol::encode_authenticate({.method = protocol::AuthenticateMethod::Password,
                                            .user = user,
                                            .password = password,
                                            .token = {}}));
  return script_of(std::move(frames), std::move(token));
}

CrowdScript token_script(const std::string& token, bool reads) {
  Frames frames;
  frames.add(RequestKind::Authenticate,
             protocol::encode_authenticate({.method = protocol::AuthenticateMethod::Token,
                                            .user = {},
                                            .password = {},
                                            .token = token}));
  if (reads) {
    protocol::LockRead read;
    read.terms.consistency = protocol::ReadConsistency::Serializable;
    read.names.push_back({"crowd/lock", FencingToken{}});
    frames.add(RequestKind::LockRead, protocol::encode_lock_read(read), kReadPatienceMs);
  }
  return script_of(std::move(frames));
}

CrowdScript http_script(const std::string& path, const std::string& json) {
  const std::string head = (json.empty() ? "GET " : "POST ") + path +
                           " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  const std::string text =
      json.empty() ? head + "\r\n"
                   : head + "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {.parts = {{bytes, bytes + text.size()}}, .hear = &hear_http};
}

}  // namespace gcoord::bench
