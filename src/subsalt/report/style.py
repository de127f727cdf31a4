"""How the report looks: on a screen, bright or dark, on a phone, and on paper."""

CSS = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --page: #fbfbfa; --card: #ffffff;
  --line: #dfe3e8; --accent: #1f6fb4; --good: #1c7c43; --warn: #9a6200; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --page: #14181d;
  --card: #1c222a; --line: #323b47; --accent: #6db3ee; --good: #6fce93; --warn: #e6b450; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 16px; }
header { padding-top: 28px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 40px 0 10px; font-size: 18px; border-bottom: 1px solid var(--line); padding-bottom: 4px; }
h3 { margin: 22px 0 6px; font-size: 15px; }
p { margin: 6px 0; }
.soft, caption, figcaption { color: var(--soft); font-size: 13px; }
nav { margin: 12px 0 0; font-size: 13px; display: flex; flex-wrap: wrap; gap: 2px 14px; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre { font: 12.5px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px;
  white-space: pre-wrap; }
.state { display: inline-block; border-radius: 99px; padding: 1px 11px; font-size: 13px; font-weight: 600;
  border: 1px solid currentColor; vertical-align: 4px; margin-left: 6px; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); gap: 8px; padding: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 8px 11px; }
.card b { display: block; font-size: 16px; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.card span { color: var(--soft); font-size: 12.5px; }
figure { margin: 14px 0; } figure img { max-width: 100%; height: auto; display: block; background: #fff;
  border: 1px solid var(--line); border-radius: 6px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 14px;
  align-items: start; }
.pair figure { margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; min-width: 50%; }
th, td { text-align: left; padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.number, th.number { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
tfoot td { font-weight: 600; border-bottom: 0; } tr.changed td:first-child { font-weight: 600; }
td.wide { min-width: 140px; width: 40%; }
svg.bar { width: 100%; height: 10px; display: block; margin-top: 6px; }
svg.bar rect { fill: var(--accent); } svg.bar.rest rect { fill: var(--soft); }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--accent); }
footer { color: var(--soft); font-size: 12.5px; padding-top: 34px; padding-bottom: 40px; }
@media (max-width: 520px) { .pair { grid-template-columns: 1fr; } h1 { font-size: 21px; } }
@media print { body { background: #fff; color: #000; font-size: 11px; } nav, summary { display: none; }
  details::details-content { content-visibility: visible; display: block; block-size: auto; }
  figure, .card, tr { break-inside: avoid; } h2 { break-after: avoid; } main, header { max-width: none; } }
"""
