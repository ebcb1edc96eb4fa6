// Table and charts beside the map follow the dial: Streamlit drew them, and draws them anew when the dial has come to rest.

/**
 * @typedef {{traces: Record<string, Record<string, any>>, layout: Record<string, any>}} Change  what differs in a chart
 * @typedef {[string, string, string, string][]} Rows  of the table: this plan, the other, the change, its tone
 * @typedef {{rows: Rows, charts: Record<string, Change>}} Figures  at one setting
 */

const TONES = { better: 'var(--st-green-text-color)', worse: 'var(--st-orange-text-color)' };
const FADED = '0.3';

/** @returns {HTMLTableRowElement[]} of the table of key figures */
function tableRows() {
  return Array.from(document.querySelectorAll('.st-key-key_figures tbody tr'));
}

/** @param {string} name @returns {any} the chart, once it is drawn */
function chart(name) {
  return document.querySelector(`.st-key-${name} .js-plotly-plot`);
}

/** Change the words of a cell, not its nodes: those belong to Streamlit. @param {Element} cell @param {string} words */
function put(cell, words) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  const last = nodes.pop();
  if (!last) return;
  const room = nodes.length ? words.length - words.trimStart().length : 0; // figure spaces have a node of their own
  if (nodes.length) nodes[0].nodeValue = words.slice(0, room);
  last.nodeValue = words.slice(room);
}

/** Show the figures of a setting. @param {Figures} figures @param {boolean} elsewhere  than where the page has drawn them */
export function showFigures({ rows, charts }, elsewhere) {
  fadeFigures(elsewhere, ['tradeoff', 'distances'].filter((name) => !(name in charts)));
  tableRows().forEach((row, n) => {
    const cells = row.querySelectorAll('td, th');
    if (!rows[n] || cells.length < 4) return;
    const [plan, other, change, tone] = rows[n];
    put(cells[1], plan);
    put(cells[2], other);
    put(cells[3], change);
    const told = cells[3].querySelector('span[style], span[class]');
    if (told instanceof HTMLElement) told.style.color = TONES[/** @type {'better'} */ (tone)] ?? 'var(--st-gray-text-color)';
  });
  const library = /** @type {any} */ (globalThis).Plotly;
  for (const [name, { traces, layout }] of Object.entries(charts)) {
    const drawn = chart(name);
    if (!library || !drawn?.data) continue;
    const which = Object.keys(traces).map(Number).filter((n) => n < drawn.data.length);
    const keys = new Set(which.flatMap((n) => Object.keys(traces[n])));
    const data = Object.fromEntries(Array.from(keys, (key) => [key, which.map((n) => (key in traces[n] ? traces[n][key] : drawn.data[n][key]))]));
    library.update(drawn, data, layout, which);
  }
}

/** Fade what cannot follow while the dial is elsewhere. @param {boolean} elsewhere @param {string[]} [names] */
export function fadeFigures(elsewhere, names = ['key_figures', 'tradeoff', 'distances']) {
  for (const name of names) {
    const part = document.querySelector(`.st-key-${name}`);
    if (part instanceof HTMLElement) part.style.opacity = elsewhere ? FADED : '';
  }
}
