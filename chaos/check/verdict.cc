#include "chaos/check/verdict.h"

#include <utility>

namespace gcoord::chaos {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Ok:
      return "ok";
    case Verdict::Violation:
      return "violation";
    case Verdict::Undecided:
      return "undecided";
    case Verdict::Idle:
      return "nothing to judge";
  }
  return "undecided";
}

void CheckReport::violate(Finding finding) {
  verdict = Verdict::Violation;
  if (++violations <= kFindingsMax) {
    findings.push_back(std::move(finding));
  }
}

void CheckReport::undecide(const std::string& reason) {
  if (verdict != Verdict::Violation) {
    verdict = Verdict::Undecided;
  }
  if (undecided_reason.empty()) {
    undecided_reason = reason;
  }
}

void CheckReport::conclude() {
  if (verdict == Verdict::Idle && judged > 0) {
    verdict = Verdict::Ok;
  }
}

}  // namespace gcoord::chaos
