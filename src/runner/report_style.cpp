// The report's style sheet. Colours have one name each and two values; print takes the light ones.
#include "runner/report_page.h"

namespace kbench {

std::string_view report_style() {
  return R"css(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #5b6570;
  --line: #d5dae0; --card: #f5f7f9; --main: #1a5fd0; --good: #1a7f37; --bad: #c2272d;
  --maybe: #8a6100; --zone: #1f6feb22; --other: #8250df; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1317; --ink: #e4e8ec; --faint: #98a3ae;
  --line: #323a43; --card: #181d23; --main: #6cb0ff; --good: #4ac26b; --bad: #ff7b72;
  --maybe: #e0b040; --zone: #6cb0ff2b; --other: #c297ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 96rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p, dd, li { overflow-wrap: anywhere; }
code { font: .85em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: var(--main); }
.note { color: var(--faint); font-size: .9rem; }
.cards { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.card, section.case { background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .75rem; min-width: 0; }
section.case { margin: 0 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .75rem; margin: 0; }
dt { color: var(--faint); }
dd { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; }
td.number, th.number { text-align: right; }
td.long { white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
.pass, .faster { color: var(--good); }
.fail, .slower { color: var(--bad); }
.undecided, .warning { color: var(--maybe); }
.same { color: var(--ink); }
figure { margin: 0; min-width: 0; }
figcaption { color: var(--faint); font-size: .85rem; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; }
svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
svg text.small { font-size: 9px; }
svg .grid { stroke: var(--line); }
svg .median { stroke: var(--ink); stroke-dasharray: 4 3; }
svg .band { fill: var(--zone); }
svg .dots { stroke: var(--main); stroke-width: 4; stroke-linecap: round; fill: none; opacity: .75; }
svg .bar { fill: var(--main); }
svg .bar.slower { fill: var(--bad); }
svg .gate { stroke: var(--bad); stroke-width: 1.5; }
svg .roof { stroke: var(--ink); stroke-width: 1.5; }
svg .dot { fill: var(--main); }
svg .b .dot { fill: var(--other); }
svg .interval { stroke: currentColor; stroke-width: 2; }
svg g.faster .dot, svg g.slower .dot, svg g.undecided .dot, svg g.same .dot { fill: currentColor; }
@media (max-width: 40rem) { body { padding: .75rem; font-size: 15px; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
@media print { :root { color-scheme: light; --paper: #ffffff; --ink: #000000; --faint: #444444;
    --line: #bbbbbb; --card: #ffffff; --main: #1f4fbb; --good: #1a7f37; --bad: #a01020;
    --maybe: #6a4a00; --zone: #1f6feb22; --other: #6030b0; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  section.case, .card, figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; } th, td { white-space: normal; padding: .15rem .3rem; }
  td.long { min-width: 0; } table { font-size: 7.5pt; width: 100%; } }
)css";
}

}  // namespace kbench
