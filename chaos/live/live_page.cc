#include "chaos/live/live_page.h"

#include "chaos/live/live_chart.h"

#include <fmt/format.h>

namespace gcoord::chaos {

namespace {

// Colours that people who see red and green alike can tell apart; dark ones by the same names.
constexpr const char* kChartStyle = R"css(
.paper{fill:#fff}.grid{stroke:#e3e6ea;stroke-width:1}
.label{font:11px system-ui,sans-serif;fill:#5b6570}.heading{font:600 12px system-ui,sans-serif;fill:#1d242b}
.window{fill:#f2a33a;fill-opacity:.13}.strike{fill:#d9822b}
.area{fill:#2f6fde;fill-opacity:.14}.rate{fill:none;stroke:#2f6fde;stroke-width:1.4}
.p50{fill:none;stroke:#168a72;stroke-width:1.4}.p99{fill:none;stroke:#a04fc4;stroke-width:1.1;stroke-opacity:.85}
.p50-name{fill:#168a72}.p99-name{fill:#a04fc4}
.leads{fill:#2f6fde}.silent{fill:#c73e4f}
@media (prefers-color-scheme:dark){
.paper{fill:#14181d}.grid{stroke:#262d35}.label{fill:#93a0ad}.heading{fill:#e6ebf0}
.window{fill:#f2a33a;fill-opacity:.12}.strike{fill:#f0a04b}.area,.leads{fill:#6fa0ff}.rate{stroke:#6fa0ff}
.p50{stroke:#4fd1b3}.p99{stroke:#cf8df0}.p50-name{fill:#4fd1b3}.p99-name{fill:#cf8df0}.silent{fill:#ef6a78}}
)css";

constexpr const char* kPageStyle = R"css(
:root{--paper:#fff;--ink:#1d242b;--soft:#5b6570;--line:#e3e6ea;--card:#f6f8fa;--good:#168a72;--bad:#c73e4f}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6ebf0;--soft:#93a0ad;--line:#262d35;--card:#1b2127;
--good:#4fd1b3;--bad:#ef6a78}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1220px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:17px;margin:38px 0 10px}p.lead{margin:0 0 22px;color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 26px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.tile b{display:block;font-size:24px;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.tile span{color:var(--soft);font-size:13px}.good b{color:var(--good)}.bad b{color:var(--bad)}
.verdict{display:inline-block;font-weight:650;padding:2px 12px;border-radius:99px;color:#fff;background:var(--good);
font-size:15px;vertical-align:4px;margin-left:10px}.verdict.no{background:var(--bad)}
.chart{width:100%;height:auto;border:1px solid var(--line);border-radius:10px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.ok{color:var(--good);font-weight:600}.no{color:var(--bad);font-weight:600}.verdict.no{color:#fff}.soft{color:var(--soft)}
pre{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px;overflow-x:auto;
font:13px/1.5 ui-monospace,monospace;margin:0;white-space:pre-wrap;word-break:break-all}
button{font:inherit;font-size:13px;padding:3px 12px;border-radius:7px;border:1px solid var(--line);
background:var(--card);color:var(--ink);cursor:pointer;margin:8px 0 0}
)css";

// Copies the command; the page is whole without it.
constexpr const char* kScript = R"js(
document.querySelector('#copy').onclick=function(){
  navigator.clipboard.writeText(document.querySelector('#replay').textContent).then(()=>{this.textContent='copied'});
};
)js";

std::string tile(const std::string& value, const std::string& name, const char* mood = "") {
  return fmt::format(R"(<div class="tile {}"><b>{}</b><span>{}</span></div>)", mood, value, name);
}

std::string tiles(const LiveResult& result) {
  const auto mood = [](bool good) { return good ? "good" : "bad"; };
  return "<div class=\"tiles\">" +
         tile(fmt::format("{}", result.violations()),
              "violations of any invariant",
              mood(result.violations() == 0)) +
         tile(fmt::format("{}", result.undecided()),
              "checkers undecided",
              mood(result.undecided() == 0)) +
         tile(fmt::format("{}", result.lost),
              fmt::format("lost of {} acknowledged changes", result.acknowledged),
              mood(result.lost == 0)) +
         tile(fmt::format("{}", result.injected()),
              fmt::format("faults injected in {:.0f} s", result.seconds)) +
         tile(fmt::format("{:.0f}/s", result.calm.per_s), "operations outside fault windows") +
         tile(fmt::format("{:.3f} %", result.availability * 100),
              "of them answered within a second") +
         tile(fmt::format("{:.0f} ms", result.led.worst_ms),
              fmt::format("worst time to a leader everywhere after healing (bound {:.0f})",
                          result.led.bound_ms),
              mood(result.led.late == 0)) +
         tile(fmt::format("{:.1f} s", result.full.worst_ms / 1000),
              fmt::format("worst time to full strength of {} nodes that lost their disks (bound "
                          "{:.0f})",
                          result.rejoined,
                          result.full.bound_ms / 1000),
              mood(result.full.late == 0)) +
         "</div>";
}

std::string failures(const LiveResult& result) {
  std::string text;
  for (const std::string& failure : result.failures) {
    text += "<li>" + escape_xml(failure) + "</li>";
  }
  for (const CheckReport& report : result.checks.reports) {
    for (const Finding& finding : report.findings) {
      text += fmt::format("<li><b>{}</b> {}: {}</li>",
                          finding.invariant,
                          escape_xml(finding.key),
                          escape_xml(finding.what));
    }
  }
  return text.empty() ? text : "<h2 class=\"no\">What is wrong</h2><ul>" + text + "</ul>";
}

std::string verdicts(const LiveResult& result) {
  std::string rows;
  for (const CheckReport& report : result.checks.reports) {
    const bool bad = report.verdict == Verdict::Violation || report.verdict == Verdict::Undecided;
    rows += fmt::format(
        R"(<tr><td>{}</td><td>{}</td><td class="{}">{}</td><td class="n">{}</td><td class="n">{}</td></tr>)",
        report.invariants,
        report.checker,
        bad                             ? "no"
        : report.verdict == Verdict::Ok ? "ok"
                                        : "soft",
        verdict_name(report.verdict),
        report.judged,
        report.violations);
  }
  const bool equal = result.agreement.agree();
  rows += fmt::format(
      R"(<tr><td>I6</td><td>replicas at the end</td><td class="{}">{}</td><td class="n">{}</td><td class="n">{}</td></tr>)",
      equal ? "ok" : "no",
      equal ? "equal" : "differ",
      result.agreement.shards_compared,
      result.agreement.shards_different + result.agreement.shards_behind);
  return "<h2>Verdicts by invariant</h2><div "
         "class=\"scroll\"><table><tr><th>number</th><th>what</th><th>verdict</th>"
         "<th>judged</th><th>violations</th></tr>" +
         rows + "</table></div>";
}

std::string injections(const LiveResult& result) {
  std::string rows;
  for (const FaultTally& tally : result.tallies) {
    rows +=
        tally.skip.empty()
            ? fmt::format(
                  R"(<tr><td>{}</td><td>{}</td><td class="n">{}</td><td class="n">{}</td><td></td></tr>)",
                  tally.name,
                  tally.table,
                  tally.injected,
                  tally.felt)
            : fmt::format(
                  R"(<tr class="soft"><td>{}</td><td>{}</td><td class="n">SKIPPED</td><td></td><td>{}</td></tr>)",
                  tally.name,
                  tally.table,
                  escape_xml(tally.skip));
  }
  return "<h2>Faults by class</h2><div class=\"scroll\"><table><tr><th>class</th><th>fault "
         "table</th><th>injected</th>"
         "<th>felt</th><th>skipped because</th></tr>" +
         rows + "</table></div>";
}

std::string strikes(const LiveResult& result) {
  std::string rows;
  for (const StrikeRecord& strike : result.strikes) {
    const double at = static_cast<double>(strike.from_ns - result.began_ns) / 1e9;
    rows += fmt::format(
        R"(<tr><td class="n">{:.1f} s</td><td>{}</td><td>{}</td><td>{}</td><td class="n">{:.1f} s</td><td class="n">{:.0f} ms</td><td class="n">{}</td></tr>)",
        at,
        escape_xml(strike.fault),
        escape_xml(strike.what),
        escape_xml(strike.outcome),
        static_cast<double>(strike.healed_ns - strike.from_ns) / 1e9,
        strike.led_after_ms,
        strike.full_after_ms > 0 ? fmt::format("{:.1f} s", strike.full_after_ms / 1000) : "");
  }
  return "<h2>Every strike</h2><div class=\"scroll\"><table><tr><th>at</th><th>class</th><th>what "
         "was done</th>"
         "<th>what came of it</th><th>lasted</th><th>led everywhere after</th><th>at full strength "
         "after</th></tr>" +
         rows + "</table></div>";
}

}  // namespace

std::string live_page(const LiveResult& result, const LiveOptions& options) {
  const bool passed = result.passed();
  std::string page =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><title>gcoord under fire</title><style>";
  page += kPageStyle;
  page += fmt::format(
      R"(</style></head><body><main><h1>gcoord under fire<span class="verdict {}">{}</span></h1>)",
      passed ? "" : "no",
      passed ? "every check held" : "a check did not hold");
  page += fmt::format(
      "<p class=\"lead\">{} real nodes with {} shards on one machine, {:.0f} s under load, seed "
      "{}; every answer that "
      "{} client processes got is judged.</p>",
      options.nodes,
      options.shards,
      result.seconds,
      options.seed,
      options.clients);
  page += tiles(result) + failures(result) + live_chart(result, options, kChartStyle);
  page += verdicts(result) + injections(result) + strikes(result);
  page += "<h2>Run it again</h2><pre id=\"replay\">" + escape_xml(options.replay) +
          "</pre><button id=\"copy\">copy</button><script>" + kScript +
          "</script></main></body></html>\n";
  return page;
}

}  // namespace gcoord::chaos
