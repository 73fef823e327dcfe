// A candidacy under way: what Election shows, and what the client's thread changes. Thread-safe.
//
// The lock of the name is held or not; is_leader asks two atomics and the session's deadline. A
// resignation makes it false before anything is sent, and stops the campaigns that wait: they leave
// the queue (withdrawals.h). A grant that comes after the resignation that gave it up is released
// at once, so a candidate never leads against its will; and none leads by a token whose release is
// under way (term_fence.h): it asks again when that is decided.
#pragma once

#include "client/core/session_impl.h"
#include "client/elections/succession.h"
#include "gcoord/options.h"
#include "gcoord/session.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace gcoord::client {

class Candidate : public std::enable_shared_from_this<Candidate> {
 public:
  Candidate(std::shared_ptr<SessionImpl> session, std::string name)
      : session_(std::move(session)), name_(std::move(name)), office_(session_->office(name_)) {}

  const std::string& name() const { return name_; }

  const SessionImpl& session() const { return *session_; }

  const std::shared_ptr<SessionImpl>& shared_session() const { return session_; }

  void campaign(const CampaignOptions& options, Session::StatusCallback callback);

  // The callback may be empty.
  void resign(Session::StatusCallback callback);

  // Of the term that it leads in; GC6110 when there is none. In candidate_office.cc.
  void proclaim(std::string_view value, Session::StatusCallback callback);
  void transfer(SessionId target, Session::StatusCallback callback);

  TimePoint leader_until() const;

  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  // A campaign() under way.
  struct Campaign {
    std::uint64_t round = 0;
    std::stop_token stop;  // Requested by the resignation that ends the round.
    CampaignOptions options;
    std::string value;  // That of the options.
    TimePoint asked_at{};
    Session::StatusCallback callback;
  };

  void ask(const Campaign& campaign);
  void ask_again(Campaign campaign, std::uint64_t token);
  void on_grant(const Campaign& campaign, const Result<Grant>& grant);
  // The token of the term that it leads in, or 0.
  std::uint64_t led_token() const;
  void on_transferred(std::uint64_t token,
                      const Status& status,
                      const Session::StatusCallback& callback);

  // Looking at the line, as long as the term lasts; on the client's thread.
  struct Review {
    std::uint64_t token = 0;
    TimePoint interval{};
    std::shared_ptr<Succession> succession;
  };

  void begin_reviews(const Campaign& campaign, std::uint64_t token);
  void review_later(const Review& review);
  void look_at_line(const Review& review);
  void on_line(const Review& review, const Result<ElectionView>& line);
  void on_resigned(std::uint64_t token, Status status, const Session::StatusCallback& callback);

  const std::shared_ptr<SessionImpl> session_;
  const std::string name_;
  const std::shared_ptr<TermFence> office_;

  // It leads by this one, unless that is over.
  std::atomic<std::uint64_t> epoch_{0};

  std::mutex mutex_;              // Guards what follows, and the writes to epoch_.
  std::uint64_t round_ = 0;       // Rises with every resignation.
  std::stop_source stop_;         // Of the campaigns of this round.
  std::uint64_t held_token_ = 0;  // Of a lock that is not known to be released.
};

}  // namespace gcoord::client
