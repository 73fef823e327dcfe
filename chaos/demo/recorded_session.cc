#include "chaos/demo/recorded_session.h"

namespace gcoord::chaos {

client::Result<client::Session> open_recorded_session(client::Client& client,
                                                      HistoryWriter& history,
                                                      const RecordedSessionOptions& options) {
  // The id is known once the session is open, before its lease can have run out.
  auto id = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto session = client.open_session(
      {.ttl = options.ttl,
       .on_event = [id, &history, lost = options.lost, process = options.process](
                       client::SessionEvent event) {
         if (event != client::SessionEvent::Expired) {
           return;
         }
         if (lost != nullptr) {
           // Relaxed: whoever looks only stops a little earlier or later.
           lost->store(true, std::memory_order_relaxed);
         }
         Operation ended{.process = process, .op = Op::SessionLost};
         ended.session = id->load();
         ended.call_ns = ended.return_ns = history_now_ns();
         history.write(ended);
       }});
  if (session.ok()) {
    id->store(session.value().id());
  }
  return session;
}

}  // namespace gcoord::chaos
