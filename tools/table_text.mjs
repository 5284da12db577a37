// Figures and tables as Markdown.

export const figure = (x) => (Math.abs(x) < 0.0005 ? "0" : x.toFixed(Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : Math.abs(x) >= 1 ? 2 : 3));
// A record of another engine may have only its samples; of five, the range is a 94% interval of the median.
export const interval = (r) => r.ci95 ?? [Math.min(...r.samples), Math.max(...r.samples)];
export const spread = (r) => (r ? `${figure(r.median)} [${interval(r).map(figure).join(", ")}]` : "–");
export const middle = (r) => (r ? figure(r.median) : "–");
export const row = (cells) => `| ${cells.join(" | ")} |`;
export const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
