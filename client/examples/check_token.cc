// Somebody shows a token: is it good? One question, and many in few messages.
#include "example.h"

#include <vector>

using gcoord::client::TokenCheck;
using gcoord::client::Verdict;

int main() {
  auto client = example::connect();
  auto session = example::value_of(client.open_session({.ttl = std::chrono::seconds{10}}));
  auto lock = example::value_of(session.acquire("examples/checked"));
  const std::uint64_t token = lock.fence();

  example::expect(example::value_of(client.check("examples/checked", token)) == Verdict::Valid,
                  "the holder's token is valid");
  const std::vector<TokenCheck> questions = {
      {"examples/checked", token}, {"examples/checked", token + 1}, {"examples/nobody", 1}};
  const auto verdicts = example::value_of(client.check_batch(questions));
  example::expect(verdicts[0] == Verdict::Valid && verdicts[1] == Verdict::Stale &&
                      verdicts[2] == Verdict::Free,
                  "verdicts come in the order asked");

  example::expect(lock.release().ok(), "the lock is given back");
  example::expect(example::value_of(client.check("examples/checked", token)) != Verdict::Valid,
                  "the token died with its hold");
  std::printf("token %llu: valid while held, of the past after it\n",
              static_cast<unsigned long long>(token));
  return 0;
}
