// Sealed records as anybody may send them who reaches the port.
//
// An input is opened as it is; then it says which bits of genuine records change, and none that
// changed may open. An opener that refused whatever came must still open what is genuine.
#include "security/records/opener.h"
#include "security/records/sealer.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace gcoord;            // NOLINT: a program of its own.
using namespace gcoord::security;  // NOLINT

using Bytes = std::vector<std::byte>;

const Bytes kSecret(32, std::byte{9});

Bytes sealed(RecordSealer& sealer, std::span<const std::byte> plain) {
  Bytes record(plain.size() + kRecordExtraBytes);
  sealer.seal(plain, record, 0);
  return record;
}

FuzzInput input_of(const Bytes& bytes) {
  const auto* const start = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {start, start + bytes.size()};
}

// Whether it was opened.
bool open(RecordOpener& opener, const Bytes& record) {
  Bytes plain(record.size());
  return opener.open(record, plain) == RecordVerdict::Opened;
}

struct Genuine {
  RecordSealer sealer{kSecret, RecordSide::Caller, {.records_max = 2}};
  const Bytes first = sealed(sealer, Bytes(5, std::byte{3}));
  const Bytes second = sealed(sealer, Bytes(64, std::byte{1}));
  const Bytes third = sealed(sealer, Bytes(1, std::byte{2}));  // Of the next key.
};

// Refused, it changes nothing; opened, which a seed may be, it is so once.
void judge_input(const Genuine& genuine, RecordOrder order, const Bytes& input) {
  RecordOpener opener{kSecret, RecordSide::Caller, order};
  if (open(opener, input)) {
    GCOORD_ASSERT(!open(opener, input));
    return;
  }
  GCOORD_ASSERT(opener.epoch() == 0);
  GCOORD_ASSERT(open(opener, genuine.first));
  RecordOpener other{kSecret, RecordSide::Caller, order};
  GCOORD_ASSERT(open(other, genuine.first));
  GCOORD_ASSERT(open(other, genuine.second));
  GCOORD_ASSERT(open(other, genuine.third));
}

// The input says which bits of genuine records change.
void judge_changes(const Genuine& genuine, RecordOrder order, const Bytes& input) {
  RecordOpener opener{kSecret, RecordSide::Caller, order};
  for (const Bytes* record : {&genuine.first, &genuine.second, &genuine.third}) {
    Bytes changed = *record;
    for (std::size_t k = 0; k < std::min(changed.size(), input.size()); ++k) {
      changed[k] ^= input[k];
    }
    GCOORD_ASSERT(changed == *record || !open(opener, changed));
    GCOORD_ASSERT(open(opener, *record));
    GCOORD_ASSERT(!open(opener, *record));
  }
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  RecordSealer sealer{kSecret, RecordSide::Caller, {.records_max = 2}};
  RecordSealer other{kSecret, RecordSide::Called};
  std::vector<FuzzInput> seeds;
  for (const std::size_t size : {0u, 1u, 64u, 200u}) {
    seeds.push_back(input_of(sealed(sealer, Bytes(size, std::byte{1}))));
  }
  seeds.push_back(input_of(sealed(other, Bytes(64, std::byte{1}))));
  seeds.push_back({});
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* start, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{start, size});
  const Bytes input{bytes.begin(), bytes.end()};
  static const Genuine genuine;
  for (const RecordOrder order : {RecordOrder::Kept, RecordOrder::Window}) {
    judge_input(genuine, order, input);
    judge_changes(genuine, order, input);
  }
  return 0;
}
