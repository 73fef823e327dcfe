#include "chaos/demo/recorded_session.h"

#include <algorithm>

namespace gcoord::chaos {

client::Result<client::Session> open_recorded_session(client::Client& client,
                                                      HistoryWriter& history,
                                                      const RecordedSessionOptions& options) {
  // The id is known once the session is open, before its lease can have run out.
  auto id = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto session = client.open_session(
      {.ttl = options.ttl,
       .on_event = [id,
                    &history,
                    lost = options.lost,
                    process = options.process,
                    certain = options.certain_until_ns](client::SessionEvent event) {
         if (event != client::SessionEvent::Expired) {
           return;
         }
         if (lost != nullptr) {
           // Relaxed: whoever looks only stops a little earlier or later.
           lost->store(true, std::memory_order_relaxed);
         }
         Operation ended{.process = process, .op = Op::SessionLost};
         ended.session = id->load();
         const std::uint64_t now_ns = history_now_ns();
         const std::uint64_t known_ns = certain == nullptr ? 0 : certain->load();
         ended.call_ns = ended.return_ns = known_ns == 0 ? now_ns : std::min(now_ns, known_ns);
         history.write(ended);
       }});
  if (session.ok()) {
    id->store(session.value().id());
    if (options.certain_until_ns != nullptr) {
      options.certain_until_ns->store(certain_until_ns(session.value()));
    }
  }
  return session;
}

std::uint64_t certain_until_ns(const client::Session& session) {
  const std::uint64_t now_ns = history_now_ns();
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(session.remaining());
  return left.count() > 0 ? now_ns + static_cast<std::uint64_t>(left.count()) : 0;
}

}  // namespace gcoord::chaos
