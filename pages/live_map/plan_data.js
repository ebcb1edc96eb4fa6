// What the server sends about a plan, and the plain geometry that follows from it. Nothing here touches the page.

/**
 * @typedef {{scale: number, x: number[], y: number[]}} Ties  A polynomial of third degree, see tkm_core/figures/live.py.
 * @typedef {[number, number]} Point
 * @typedef {object} Theme
 * @property {string} ground @property {string} page @property {string} grid @property {string} ink
 * @property {string} muted @property {string} accent @property {string[]} sites @property {string[]} numbers
 * @property {number} area @property {string[]} path @property {string[]} ends
 * @property {Record<string, number[][]>} modes @property {Record<string, string>} land  water, park, road, street
 *
 * @typedef {object} Place  what every map of a city needs
 * @property {{name: string, metres: number}} length  of the scale bar
 * @property {string} people @property {string} one @property {{cell: number, count: number}} crowd
 * @property {{center: Point, zoom: number, size: Point}} view @property {Point[][]} grid @property {Ties} to_map @property {Ties} to_xy
 * @property {Point} middle @property {Record<string, number>} marks @property {Record<string, Theme>} themes
 * @property {{lonlat: Point, number: number, name: string}[]} existing
 * @property {string[] | null} names  of residents
 *
 * @typedef {object} PlanPart
 * @property {string[]} t  as shown @property {string[]} values  in full, "inf" included
 * @property {boolean[]} jumps @property {number} k @property {string[]} titles @property {string[][] | null} titled  on sites, at every setting
 * @property {number[]} numbers
 * @property {string[]} kinds @property {Point[][]} xy @property {Point[][]} lonlat
 * @property {{xy: Point[], lonlat: Point[], tips: string[], than: string}} reference
 * @property {string[][] | null} served @property {string[][] | null} reach
 * @property {[Point | null, number | null, string][]} farthest
 * @property {(Point[] | null)[] | null} ways  of the farthest resident along the streets
 * @property {{name: string, size: number}} unit  of the figures, and how many metres or minutes it has
 * @property {Point[]} outline  convex, in metres @property {number} margin
 * @property {Point[][] | null} city  rings of the ground that areas cover, on the map
 * @property {Record<string, number>} tops @property {number} steps
 * @property {{lonlat: Point, xy: Point, name: string}[] | null} candidates  where facilities may stand
 * @property {{kind: string, name: string, rings: Point[][]}[]} zones
 * @property {number[] | null} arrangement  which arrangement each setting has, where the browser does not work out who serves whom
 * @property {Point[][][][] | null} grounds  rings of every facility's service area in every arrangement
 *
 * @typedef {Place & PlanPart} Plan
 *
 * @typedef {{at: number, bands: {minutes: number, rings: Point[][]}[]}} Catchments  of one setting, the widest first
 */

/** @type {Map<string, Promise<Response>>} */
const fetched = new Map();
const KEPT = 12; // answers: a few plans and the residents of a few cities

/**
 * Fetch once: an address that names its content never changes its answer. What failed is asked for again.
 * @param {string} url
 * @returns {Promise<Response>}
 */
function once(url) {
  let answer = fetched.get(url);
  if (!answer) {
    answer = fetch(url).then((response) => {
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return response;
    });
    answer.catch(() => fetched.delete(url));
    fetched.set(url, answer);
    const oldest = fetched.keys().next().value;
    if (fetched.size > KEPT && oldest) fetched.delete(oldest);
  }
  return answer.then((response) => response.clone());
}

/** @param {string} url @returns {Promise<ArrayBuffer>} */
export const bytesOf = (url) => once(url).then((response) => response.arrayBuffer());

/** @param {string} url @returns {Promise<any>} */
export const json = (url) => once(url).then((response) => response.json());

/** Residents, or cells of many: columns of equal length. */
export class Residents {
  /** @param {ArrayBuffer} bytes */
  constructor(bytes) {
    const all = new Float32Array(bytes);
    this.count = all.length / 7;
    const column = (/** @type {number} */ c) => all.subarray(c * this.count, (c + 1) * this.count);
    this.x = column(0); // metres
    this.y = column(1);
    this.mapX = column(2); // Mercator, from the view's centre
    this.mapY = column(3);
    this.people = column(4);
    this.strength = column(5); // of the drawing, up to 255
    this.radius = column(6); // of the dot in pixels; 0 for who is drawn as an area
  }

  /** Their numbers, the place with the most people first. @returns {number[]} */
  byPeople() {
    return Array.from({ length: this.count }, (_, i) => i).sort((a, b) => this.people[b] - this.people[a]);
  }

  /** @param {string} url */
  static async from(url) {
    return new Residents(await bytesOf(url));
  }
}

/** Who serves whom in every arrangement, where it is not simply the nearest in a straight line: worked out by the server. */
export class Service {
  /** @param {ArrayBuffer} bytes  see tkm_core/figures/live_service.py */
  constructor(bytes) {
    const [arrangements, count, wide] = new Uint32Array(bytes, 0, 3);
    const [finest] = new Float32Array(bytes, 12, 1);
    const steps = new Uint16Array(bytes, 16, (arrangements + 1) * count);
    const after = 16 + steps.byteLength;
    const Labels = wide ? Uint16Array : Uint8Array;
    const labels = new Labels(bytes, after, arrangements * count);
    this.labels = (/** @type {number} */ a) => labels.subarray(a * count, (a + 1) * count);
    this.fill = (/** @type {number} */ a, /** @type {Float32Array} */ distance) => {
      for (let i = 0; i < count; i++) distance[i] = steps[a * count + i] * finest;
    };
    this.before = (/** @type {Float32Array} */ distance) => this.fill(arrangements, distance); // the reference comes last
  }

  /** @param {string} url */
  static async from(url) {
    return new Service(await bytesOf(url));
  }
}

/**
 * Who serves everyone, and how far it is in metres.
 * @param {Residents} residents
 * @param {Point[]} sites  in metres
 * @param {Uint16Array} label  filled
 * @param {Float32Array} distance  filled
 */
export function serve(residents, sites, label, distance) {
  const { x, y, count } = residents;
  const k = sites.length;
  const siteX = Float64Array.from(sites, (site) => site[0]);
  const siteY = Float64Array.from(sites, (site) => site[1]);
  for (let i = 0; i < count; i++) {
    let best = Infinity;
    let who = 0;
    for (let j = 0; j < k; j++) {
      const dx = x[i] - siteX[j];
      const dy = y[i] - siteY[j];
      const squared = dx * dx + dy * dy;
      if (squared < best) {
        best = squared;
        who = j;
      }
    }
    label[i] = who;
    distance[i] = Math.sqrt(best);
  }
}

/**
 * Everyone's class in a colour mode, as tkm_core/figures/crowd.py has it.
 * @param {string} mode  "facility", "distance" or "change"
 * @param {Plan} plan
 * @param {Uint16Array} label
 * @param {Float32Array} distance
 * @param {Float32Array} before  the distance under the reference
 * @param {Uint16Array} found  filled
 */
export function classify(mode, plan, label, distance, before, found) {
  const { steps, tops } = plan;
  const half = steps / 2;
  if (mode === 'facility') found.set(label);
  else if (mode === 'distance') {
    for (let i = 0; i < found.length; i++) found[i] = Math.min((distance[i] / tops.distance) * steps, steps - 1);
  } else {
    for (let i = 0; i < found.length; i++) {
      const share = Math.max(-1, Math.min(1, (before[i] - distance[i]) / tops.change)) * half;
      found[i] = Math.round(share) + half;
    }
  }
}

/** @param {Ties} ties @param {Point} point @returns {Point} */
export function carry(ties, [px, py]) {
  const x = px / ties.scale;
  const y = py / ties.scale;
  const powers = [1, x, y, x * x, x * y, y * y, x ** 3, x * x * y, x * y * y, y ** 3];
  const sum = (/** @type {number[]} */ by) => powers.reduce((total, power, n) => total + power * by[n], 0);
  return [sum(ties.x), sum(ties.y)];
}

/** Mercator with y to the south, in widths of the world. @param {Point} lonlat @returns {Point} */
export function mercator([lon, lat]) {
  const phi = (Math.max(-85, Math.min(85, lat)) * Math.PI) / 180;
  return [lon / 360, -Math.log(Math.tan(Math.PI / 4 + phi / 2)) / (2 * Math.PI)];
}

/** Longitude and latitude of a place on the map. @param {Place} place @param {Point} at @returns {Point} */
export function unmapped(place, [x, y]) {
  const north = -(y + place.middle[1]) * 2 * Math.PI;
  return [(x + place.middle[0]) * 360, ((2 * Math.atan(Math.exp(north)) - Math.PI / 2) * 180) / Math.PI];
}

/** Corners of the smallest convex shape around points, in order. @param {Point[]} points @returns {Point[]} */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (/** @type {Point} */ o, /** @type {Point} */ a, /** @type {Point} */ b) =>
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const chain = (/** @type {Point[]} */ some) => {
    /** @type {Point[]} */
    const line = [];
    for (const point of some) {
      while (line.length > 1 && turn(line[line.length - 2], line[line.length - 1], point) <= 0) line.pop();
      line.push(point);
    }
    return line.slice(0, -1);
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
}

/**
 * The ground that service areas are cut from: around residents and facilities, with a rounded margin.
 * @param {Plan} plan @param {Point[]} sites @returns {Point[]}
 */
export function ground(plan, sites) {
  const inner = convexHull([...plan.outline, ...sites]);
  const xs = inner.map((point) => point[0]);
  const ys = inner.map((point) => point[1]);
  const width = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) || 1000;
  const reach = plan.margin * width;
  const angles = Array.from({ length: 24 }, (_, n) => (n * Math.PI) / 12);
  return convexHull(
    inner.flatMap(([x, y]) =>
      angles.map((angle) => /** @type {Point} */ ([x + reach * Math.cos(angle), y + reach * Math.sin(angle)])),
    ),
  );
}

/**
 * The part of a convex ground that is nearest to each facility; empty for one that stands where an earlier one does.
 * @param {Point[]} around @param {Point[]} sites @returns {Point[][]}
 */
export function serviceAreas(around, sites) {
  return sites.map((site, j) => {
    let area = around;
    for (let other = 0; other < sites.length && area.length; other++) {
      if (other === j) continue;
      const [ax, ay] = site;
      const [bx, by] = sites[other];
      if (ax === bx && ay === by) {
        if (other < j) area = [];
        continue;
      }
      // negative on this facility's side of the line half-way between the two
      const side = (/** @type {Point} */ [x, y]) => (bx - ax) * (x - (ax + bx) / 2) + (by - ay) * (y - (ay + by) / 2);
      area = cut(area, side);
    }
    return area;
  });
}

/** @param {Point[]} area @param {(point: Point) => number} side @returns {Point[]} */
function cut(area, side) {
  /** @type {Point[]} */
  const kept = [];
  area.forEach((here, n) => {
    const next = area[(n + 1) % area.length];
    const from = side(here);
    const to = side(next);
    if (from <= 0) kept.push(here);
    if (from < 0 !== to < 0 && from !== to) {
      const share = from / (from - to);
      kept.push([here[0] + share * (next[0] - here[0]), here[1] + share * (next[1] - here[1])]);
    }
  });
  return kept;
}

/** t as a number. @param {string} value */
export const parsed = (value) => (value === 'inf' ? Infinity : Number(value));

/** Number of the setting nearest to t in proportion. @param {number[]} all @param {number} t */
export function nearest(all, t) {
  const size = (/** @type {number} */ one) => Math.log(Math.min(Math.max(one, 1e-9), 1e12));
  let best = 0;
  all.forEach((one, i) => {
    if (Math.abs(size(one) - size(t)) < Math.abs(size(all[best]) - size(t))) best = i;
  });
  return best;
}

/** A length or a time with its unit, as tkm_core/units.py writes it. @param {Plan} plan @param {number} far */
export function lengthText(plan, far) {
  const value = far / plan.unit.size;
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 1 ? 1 : 2;
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} ${plan.unit.name}`;
}
