/// The look of a report's page: on light, on dark and on paper.
enum ReportStyle {
  static let text = """
    :root { color-scheme: light dark; --ink: #1b2530; --soft: #5b6875; --line: #dbe1e7;
      --paper: #ffffff; --panel: #f5f7f9; --main: #1f6feb; --bad: #c2410c; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6ebf0; --soft: #9aa7b4; --line: #303a45; --paper: #12181f;
        --panel: #1a222b; --main: #6ea8fe; --bad: #fb923c; }
    }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--paper); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
    main { max-width: 1040px; margin: 0 auto; padding: 40px 28px 60px; }
    h1 { font-size: 32px; line-height: 1.15; margin: 0; letter-spacing: -0.01em; }
    h2 { font-size: 20px; margin: 44px 0 12px; padding-top: 16px; border-top: 1px solid var(--line); }
    h3 { font-size: 13px; font-weight: 600; margin: 0; color: var(--soft); }
    header p { color: var(--soft); margin: 6px 0 26px; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; }
    .tile { background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
      padding: 14px 16px; }
    .value { font-size: 26px; font-weight: 650; margin: 4px 0 2px; line-height: 1.2;
      font-variant-numeric: tabular-nums; }
    .change { font-size: 12.5px; color: var(--soft); margin: 0; }
    .plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(380px, 1fr)); gap: 18px 28px; }
    figure { margin: 0; }
    figcaption { font-size: 13px; font-weight: 600; color: var(--soft); margin-bottom: 4px; }
    figure p { color: var(--soft); margin: 4px 0; font-size: 13px; }
    svg { display: block; width: 100%; height: auto; }
    svg text { font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
      fill: var(--soft); font-variant-numeric: tabular-nums; }
    svg text.strong { fill: var(--ink); font-weight: 600; }
    .axis { stroke: var(--line); stroke-width: 1; }
    .curve { fill: none; stroke: var(--main); stroke-width: 2.25; stroke-linejoin: round; }
    .area { fill: var(--main); opacity: 0.1; }
    .main { fill: var(--main); } .bad { fill: var(--bad); }
    .scroll { overflow-x: auto; margin-top: 16px; }
    table { border-collapse: collapse; width: 100%; font-size: 13px;
      font-variant-numeric: tabular-nums; }
    th { text-align: left; font-weight: 600; color: var(--soft); font-size: 11px;
      letter-spacing: 0.03em; }
    th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }
    .number { text-align: right; }
    tbody tr.sum td { font-weight: 650; }
    .notes { font-size: 13.5px; color: var(--soft); } .notes h2 { color: var(--ink); }
    .notes ul { padding-left: 18px; } code { font-size: 12px; overflow-wrap: anywhere; }
    @media print {
      :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --panel: #fff;
        --main: #1f4fa8; --bad: #a13508; }
      main { max-width: none; padding: 0; } section, .tile, figure { break-inside: avoid; }
      .scroll { overflow: visible; } th, td { padding: 3px 6px; white-space: normal; }
      * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
    }

    """
}
