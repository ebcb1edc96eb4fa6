// The pictures over the map: service areas, residents, paths. Two-dimensional canvases, so that turning the dial never
// redraws the ground below them, and the residents pixel by pixel, which is the fastest way without a graphics card.

/** @typedef {import('./plan_data.js').Plan} Plan @typedef {import('./plan_data.js').Theme} Theme */
/** @typedef {import('./plan_data.js').Point} Point @typedef {import('./plan_data.js').Residents} Residents */
/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./shapes.js').Shapes} Shapes */
import { pixels, pixelsOf, trace } from './camera.js';
import { around, writeNames } from './names.js';
import { element } from './page.js';
import { carry, ground, serviceAreas } from './plan_data.js';
import { paintCandidates, paintZones } from './sketch.js';

/** @typedef {import('./camera.js').Camera} Camera */

const AREA = 150; // of 255: how strongly an area is coloured
const NAMED = 2000; // residents whose names are looked at for the map
const ALONE = 300; // residents who are points and still have their names written
const FADED = 0.22; // of the strength of residents whom the chosen facility does not serve

export class Painting {
  /** @param {HTMLElement} box */
  constructor(box) {
    const canvas = (/** @type {string} */ name) => {
      const made = element('canvas', `picture ${name}`, { 'aria-hidden': 'true' });
      box.append(made);
      return /** @type {HTMLCanvasElement} */ (made);
    };
    this.areas = canvas('areas');
    this.crowd = canvas('crowd');
    this.edges = canvas('edges');
    this.still = canvas('still');
    this.text = canvas('text');
    this.edged = false; // whether there are lines over the residents
    /** @type {string[]} */
    this.named = []; // what is written on the map
    /** @type {WeakMap<Residents, number[]> | undefined} */
    this.order = undefined; // residents, the most people first
    /** @type {ImageData | null} */
    this.image = null;
  }

  /** @param {Camera} camera */
  fit(camera) {
    const width = Math.round(camera.width * camera.ratio);
    const height = Math.round(camera.height * camera.ratio);
    for (const canvas of [this.areas, this.crowd, this.edges, this.still, this.text]) {
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
    }
  }

  /** @param {HTMLCanvasElement} canvas @param {Camera} camera */
  cleared(canvas, camera) {
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    pen.setTransform(camera.ratio, 0, 0, camera.ratio, 0, 0);
    pen.clearRect(0, 0, camera.width, camera.height);
    return pen;
  }

  /**
   * Service areas: tinted under residents who are dots, as lines over residents who are areas.
   * @param {Camera} camera @param {Plan} plan @param {Theme} theme
   * @param {Point[][][]} grounds  the rings of every facility's area in pixels @param {boolean} lines
   */
  paintAreas(camera, plan, theme, grounds, lines) {
    const over = lines && grounds.length > 0;
    const tints = this.cleared(this.areas, camera);
    const edges = over || this.edged ? this.cleared(this.edges, camera) : tints; // an empty picture is left alone
    this.edged = over;
    const pen = lines ? edges : tints;
    pen.save();
    if (plan.city) {
      trace(pen, plan.city.map((ring) => ring.map((corner) => pixels(camera, corner))));
      pen.clip('evenodd');
    }
    grounds.forEach((rings, j) => {
      trace(pen, rings);
      if (!lines) {
        pen.globalAlpha = theme.area;
        pen.fillStyle = theme.sites[j];
        pen.fill('evenodd');
        pen.globalAlpha = 1;
      }
      pen.lineWidth = lines ? 2.4 : 2;
      pen.strokeStyle = lines ? theme.ink : theme.page;
      pen.stroke();
    });
    pen.restore();
  }

  /**
   * Catchments, the widest first: each is tinted over those around it.
   * @param {Camera} camera @param {Place} place @param {Theme} theme @param {import('./plan_data.js').Catchments} reach
   */
  paintReach(camera, place, theme, reach) {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.areas.getContext('2d'));
    pen.save();
    pen.fillStyle = pen.strokeStyle = theme.accent;
    pen.lineWidth = 1;
    for (const { rings } of reach.bands) {
      trace(pen, rings.map((ring) => ring.map((corner) => pixelsOf(camera, place, corner))));
      pen.globalAlpha = 0.16;
      pen.fill('evenodd');
      pen.globalAlpha = 0.7;
      pen.stroke();
    }
    pen.restore();
  }

  /**
   * The areas nearest to each facility in a straight line, in pixels.
   * @param {Camera} camera @param {Plan} plan @param {Point[]} sites  in metres @returns {Point[][][]}
   */
  nearestAreas(camera, plan, sites) {
    return serviceAreas(ground(plan, sites), sites).map((area) =>
      area.length ? [area.map((corner) => pixels(camera, carry(plan.to_map, corner)))] : [],
    );
  }

  /**
   * @param {Camera} camera @param {Place} place @param {Residents} residents @param {Shapes | null} shapes
   * @param {number[][]} colours  of the classes @param {Uint16Array} classes
   * @param {Uint16Array} label  who serves everyone @param {number | null} chosen  the facility whose residents stand out
   */
  paintCrowd(camera, place, residents, shapes, colours, classes, label, chosen) {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.crowd.getContext('2d'));
    const { width, height } = this.crowd;
    if (!width || !height) return;
    const fits = this.image?.width === width && this.image.height === height;
    const image = fits && this.image ? this.image : pen.createImageData(width, height);
    this.image = image;
    const dots = new Uint32Array(image.data.buffer);
    const inks = Uint32Array.from(colours, ([r, g, b]) => (b << 16) | (g << 8) | r);
    if (shapes) {
      shapes.lie(camera, width, height);
      const strong = (/** @type {number} */ i) => (chosen === null || label[i] === chosen ? AREA : AREA * FADED);
      shapes.paint(dots, Uint32Array.from(classes, (one, i) => (strong(i) << 24) | inks[one]));
    } else dots.fill(0);
    const { count, mapX, mapY, strength, radius } = residents;
    const { ratio } = camera;
    const scale = camera.scale * ratio;
    const left = width / 2 - camera.centre[0] * scale;
    const top = height / 2 - camera.centre[1] * scale;
    const side = Math.max(1, Math.ceil(place.crowd.cell * scale));
    /** @type {Map<number, Stamp>} */
    const stamps = new Map();
    const cell = place.crowd.cell ? square(side) : null;
    for (let i = 0; i < count; i++) {
      if (!cell && !radius[i]) continue; // drawn as an area
      const x = Math.floor(mapX[i] * scale + left);
      const y = Math.floor(mapY[i] * scale + top);
      const stamp = cell ?? dot(stamps, radius[i] * ratio);
      const { reach } = stamp;
      if (x < -reach || y < -reach || x >= width + reach || y >= height + reach) continue;
      const ink = inks[classes[i]];
      const strong = chosen === null || label[i] === chosen ? strength[i] : strength[i] * FADED;
      const inside = x >= reach && y >= reach && x < width - reach && y < height - reach;
      for (let n = 0; n < stamp.dx.length; n++) {
        const px = x + stamp.dx[n];
        const py = y + stamp.dy[n];
        if (!inside && (px < 0 || py < 0 || px >= width || py >= height)) continue;
        const spot = py * width + px;
        const alpha = (strong * stamp.cover[n]) | 0;
        if (alpha >= dots[spot] >>> 24) dots[spot] = (alpha << 24) | ink;
      }
    }
    pen.putImageData(image, 0, 0);
  }

  /**
   * What stays while the dial turns.
   * @param {Camera} camera @param {Plan} plan @param {Theme} theme @param {string[]} layers
   * @param {Residents} residents @param {Shapes | null} shapes
   */
  paintStill(camera, plan, theme, layers, residents, shapes) {
    const pen = this.cleared(this.still, camera);
    pen.lineCap = pen.lineJoin = 'round';
    if (shapes) this.paintSeams(pen, camera, theme, shapes);
    paintZones(pen, camera, plan, theme, plan.zones);
    if (layers.includes('paths') && !plan.candidates) this.paintPaths(pen, camera, plan, theme);
    if (plan.candidates) paintCandidates(pen, camera, plan, theme, plan.candidates);
    if (layers.includes('baseline')) {
      pen.strokeStyle = theme.ink;
      pen.lineWidth = plan.marks.ring_line;
      for (const site of plan.reference.lonlat) {
        pen.beginPath();
        pen.arc(...pixelsOf(camera, plan, site), plan.marks.ring, 0, 2 * Math.PI);
        pen.stroke();
      }
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Theme} theme @param {Shapes} shapes */
  paintSeams(pen, camera, theme, shapes) {
    pen.strokeStyle = theme.page;
    pen.lineWidth = 0.8;
    pen.globalAlpha = 0.8;
    shapes.outline(pen, camera);
    pen.globalAlpha = 1;
  }

  /**
   * Names from the data: facilities first, then other candidate sites, then places by how many live there.
   * @param {Camera} camera @param {Plan} plan @param {Theme} theme @param {Residents} residents @param {Shapes | null} shapes
   * @param {number} stop  the setting of the dial
   * @param {[number, number, number, number][]} busy  where something else is written
   */
  writeNames(camera, plan, theme, residents, shapes, stop, busy) {
    const pen = this.cleared(this.text, camera);
    const spot = (/** @type {Point} */ lonlat) => pixelsOf(camera, plan, lonlat);
    const { rim, candidate } = plan.marks;
    const sites = plan.candidates ?? [];
    const open = (/** @type {{xy: Point}} */ { xy }) => plan.xy[stop].some(([x, y]) => Math.hypot(x - xy[0], y - xy[1]) < 1);
    const taken = [
      ...busy,
      ...[...plan.existing.map(({ lonlat }) => lonlat), ...plan.lonlat[stop]].map((lonlat) => around(spot(lonlat), rim)),
      ...sites.map(({ lonlat }) => around(spot(lonlat), candidate)),
    ];
    // the name of a site that was chosen comes before those of its neighbours, which would seem to be its own
    const named = (/** @type {{lonlat: Point, name: string}[]} */ list, needed = false) =>
      list.flatMap(({ lonlat, name }) => (name ? [{ text: name, at: spot(lonlat), beside: true, needed }] : []));
    const marked = [...named(sites.filter(open), true), ...named(plan.existing), ...named(sites.filter((site) => !open(site)))];
    this.order ??= new WeakMap();
    let order = this.order.get(residents);
    if (!order) {
      order = plan.names && (shapes || residents.count <= ALONE) ? residents.byPeople().slice(0, NAMED) : [];
      this.order.set(residents, order);
    }
    const places = order.flatMap((i) => {
      const text = plan.names?.[i];
      if (!text) return [];
      const box = shapes?.bounds.get(i);
      const room = box && (box[2] - box[0]) * camera.scale;
      const at = pixels(camera, [residents.mapX[i], residents.mapY[i]]);
      return [{ text, at, room, beside: !box }];
    });
    this.named = writeNames(pen, camera, [...marked, ...places], { ink: theme.ink, halo: theme.ground, taken });
  }

  /** @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Plan} plan @param {Theme} theme */
  paintPaths(pen, camera, plan, theme) {
    const places = plan.lonlat.map((sites) => sites.slice(0, plan.k).map((site) => pixelsOf(camera, plan, site)));
    for (const casing of [true, false]) {
      pen.lineWidth = casing ? plan.marks.casing : plan.marks.path;
      for (let j = 0; j < plan.k; j++) {
        let last = places[0][j];
        for (let i = 1; i < places.length; i++) {
          const here = places[i][j];
          if (plan.jumps[i]) last = here;
          if (Math.hypot(here[0] - last[0], here[1] - last[1]) < 0.5) continue;
          pen.strokeStyle = casing ? theme.page : theme.path[i];
          pen.beginPath();
          pen.moveTo(...last);
          pen.lineTo(...here);
          pen.stroke();
          last = here;
        }
      }
    }
  }
}

/** @typedef {{reach: number, dx: number[], dy: number[], cover: number[]}} Stamp  the pixels of a dot */

/** The dot of this size, made once. @param {Map<number, Stamp>} stamps @param {number} radius @returns {Stamp} */
function dot(stamps, radius) {
  let stamp = stamps.get(radius);
  if (!stamp) stamps.set(radius, (stamp = disc(radius)));
  return stamp;
}

/** The pixels of a dot with a soft rim. @param {number} radius @returns {Stamp} */
function disc(radius) {
  const reach = Math.ceil(radius + 0.5);
  /** @type {Stamp} */
  const stamp = { reach, dx: [], dy: [], cover: [] };
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(1, radius + 0.5 - Math.hypot(dx, dy));
      if (cover > 0) {
        stamp.dx.push(dx);
        stamp.dy.push(dy);
        stamp.cover.push(cover);
      }
    }
  }
  return stamp;
}

/** The pixels of a cell, from its north-western corner. @param {number} side @returns {Stamp} */
function square(side) {
  const all = Array.from({ length: side * side }, (_, n) => n);
  return { reach: side, dx: all.map((n) => n % side), dy: all.map((n) => Math.floor(n / side)), cover: all.map(() => 1) };
}
