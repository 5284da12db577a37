// Bars with their intervals, as SVG: a few rows, one or more series each, on a linear or logarithmic scale.
import { short } from "./format.js";

const BAR = 14, GAP = 3, GROUP = 12, TOP = 6;
const COLOURS = ["var(--one)", "var(--two)", "var(--three)", "var(--four)"];

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** A cost whose interval has nothing, or less, in it is no finding. */
const said = ({ median, lo }, unit) => (lo > 0 ? `${short(median)} ${unit}` : "cannot tell");

/**
 * @param rows ["sync", ...]
 * @param series [{ name, values: { row: { median, lo, hi } } }]
 * @returns markup of a figure
 */
export function bars({ title, rows, series, unit, log = false, note = "" }) {
    const [WIDTH, LABEL, RIGHT] = globalThis.matchMedia?.("(max-width: 40rem)").matches ? [380, 115, 85] : [640, 150, 120];
    const all = rows.flatMap((row) => series.map((one) => one.values[row])).filter((v) => v && Number.isFinite(v.median) && v.median > 0);
    if (!all.length) return "";
    const high = Math.max(...all.map((v) => Math.min(Math.max(v.hi, v.median), v.median * 3))), low = Math.min(...all.map((v) => v.median)) / 2;
    const span = WIDTH - LABEL - RIGHT;
    const x = (value) => LABEL + span * Math.max(0, Math.min(1, log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : value / high));
    let y = TOP, body = "";
    for (const row of rows) {
        const here = series.filter((one) => one.values[row] && Number.isFinite(one.values[row].median));
        if (!here.length) continue;
        body += `<text x="${LABEL - 8}" y="${y + (here.length * (BAR + GAP)) / 2 + 4}" text-anchor="end">${escape(row)}</text>`;
        for (const one of here) {
            const { median, lo, hi } = one.values[row], colour = COLOURS[series.indexOf(one) % COLOURS.length], middle = y + BAR / 2;
            body += `<rect x="${LABEL}" y="${y}" width="${Math.max(1, x(median) - LABEL)}" height="${BAR}" rx="2" fill="${colour}"><title>${escape(`${one.name}, ${row}: ${said(one.values[row], unit)} [${short(lo)}, ${short(hi)}]`)}</title></rect>`;
            if (Number.isFinite(lo) && Number.isFinite(hi)) body += `<line class="error" x1="${x(lo)}" x2="${x(hi)}" y1="${middle}" y2="${middle}"/>`;
            body += `<text class="soft" x="${Math.max(x(median), x(Math.min(hi, high))) + 6}" y="${middle + 4}">${lo > 0 ? short(median) : "cannot tell"}</text>`;
            y += BAR + GAP;
        }
        y += GROUP;
    }
    const legend = series.length < 2 ? "" : series.map((one, i) => `<span class="legend"><span aria-hidden="true" class="s${i % COLOURS.length}">■</span> ${escape(one.name)}</span>`).join(" ");
    const spoken = rows.map((row) => series.filter((one) => one.values[row]).map((one) => `${one.name}, ${row}: ${said(one.values[row], unit)}`).join("; ")).join(". ");
    return `<figure><h3>${escape(title)}</h3><svg viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="${escape(`${title}. ${spoken}`)}"><line class="axis" x1="${LABEL}" x2="${LABEL}" y1="0" y2="${y}"/>${body}</svg>` +
        `<figcaption>${legend}${legend ? "<br>" : ""}${escape(`${unit}${log ? ", logarithmic scale" : ""}; lines are 95% intervals. ${note}`)}</figcaption></figure>`;
}

export { escape };
