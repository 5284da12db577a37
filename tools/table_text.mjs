// Figures and tables as Markdown.

export const figure = (x) => (Math.abs(x) < 0.0005 ? "0" : x.toFixed(Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : Math.abs(x) >= 1 ? 2 : 3));
export const spread = (r) => (r ? `${figure(r.median)} [${figure(r.ci95[0])}, ${figure(r.ci95[1])}]` : "–");
export const middle = (r) => (r ? figure(r.median) : "–");
export const row = (cells) => `| ${cells.join(" | ")} |`;
export const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
