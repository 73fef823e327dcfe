// Taking several locks in the order that everybody keeps, and giving them back when one cannot be
// had. Runs on the client's thread.
#pragma once

#include "client/core/session_impl.h"
#include "gcoord/clock.h"
#include "gcoord/options.h"
#include "gcoord/types.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

class MultiAcquire : public std::enable_shared_from_this<MultiAcquire> {
 public:
  // In the order in which they were taken.
  using Grants = std::vector<std::pair<std::string, Grant>>;
  using GrantsCallback = std::function<void(Result<Grants>)>;

  // Which names, each once; the options are those of each. GC6035 for no list of names.
  static void start(std::shared_ptr<SessionImpl> session,
                    std::vector<std::string> names,
                    const AcquireOptions& options,
                    GrantsCallback callback);

 private:
  void next();
  void on_grant(const Result<Grant>& grant);
  void give_back(const Status& why);

  std::shared_ptr<SessionImpl> session_;
  std::vector<std::string> names_;
  AcquireOptions options_;  // Its note is a view of note_, and its stop one of stop_.
  std::string note_;
  std::stop_token stop_;
  TimePoint deadline_{};
  Grants taken_;
  GrantsCallback callback_;
};

}  // namespace gcoord::client
